"""Every place where unhot reads files or bytes from outside, for tools/fuzz.py.

Vectors (vector_files.py):

    unhot             a folder of vectors, as a table
    word2vec-text     word2vec's text format
    word2vec-binary   word2vec's binary format
    fasttext          .bin and .ftz of fastText, as a table
    glove             GloVe's text format
    npy               a NumPy matrix and its words
    safetensors       one safetensors file
    model2vec         a folder of model2vec
    parquet           columns of words and vectors
    projector         files of TensorBoard's projector
    floret            floret's table
    ngrams-fasttext   a fastText file, opened and asked for unseen words
    ngrams-unhot      a folder with n-grams, opened and asked for unseen words
    hnsw              a kept search graph

Models (model_folders.py): finished, cut off, with a checkpoint; by load, load(verify), load_unfinished, ...

    model-skipgram    layers with noise, with learned noise, with a tree
    model-exact       skip-gram trained on cells
    model-cbow        layers with classes, with all words
    model-fasttext    with n-grams
    model-glove       GloVe
    model-svd         SVD of PMI
    model-classifier  with n-grams, with a tree of labels
    resume            a training that was cut off, of every kind, and its next epochs
    fasttext-module   a fastText file and lines with labels, read as by fastText's Python module

Language models (language_models.py), asked for scores and next words, in other layouts, written again:

    arpa              ARPA files
    arpa-packed       compressed ones, also far bigger than their files
    kenlm             binary files of KenLM, also with tables that have no empty place
    model-ngram       folders in the quick and in the compact layout, with single and double precision
    model-neural      neural models, one of them cut off, and a mixture

What unhot keeps of a text (corpora.py):

    corpus            an encoded text, with unknown words, empty lines, and labels beside it
    cells             co-occurrence cells
    sparse-vectors    cells, asked for neighbours
    glove-cells       cooccurrence.bin and vocab.txt of GloVe's programs
    glove-vocabulary  vocab.txt of GloVe's programs
    vocabulary        a list of words

Text (texts.py), with every tokenizer:

    text              plain text
    text-gz           compressed text, also several streams, also far bigger than its file
    text-bz2          likewise
    text-xz           likewise
    text-zst          likewise
    text-parquet      columns of strings or of tokens
    text-json         objects with a text, one a line or in a list
    text-beside       a text with labels beside it
    text-gensim       lines, as gensim reads them

Rows (tables.py), read with labels, or copied with new columns into any format:

    rows-lines        lines with labels, plain and packed
    rows-csv          a header line and rows of strings
    rows-tsv          likewise, with tabs
    rows-jsonl        an object a line
    rows-list         JSON, a list of objects
    rows-parquet      columns of many types
    rows-arrow        Arrow's files and streams
    rows-unnamed      files that only their bytes tell

Logs (logs.py), read as events, and files about items:

    log-csv           a header line and rows, with quotes, dates, side columns and sessions
    log-tsv           likewise, with tabs
    log-jsonl         an object a line
    log-list          JSON, a list of objects
    log-parquet       columns of many types
    log-arrow         Arrow's files and streams
    log-unnamed       files that only their bytes tell
    log-lines         lines of sessions, and MovieLens' ratings
    graph             edges with and without weights, CSV, lists of neighbours
    model-graph       a saved model of graph vectors
    items-csv         names and values of items
    items-jsonl       an object a line
    items-list        JSON, a list of objects
    items-object      JSON, an object: item -> columns, values or a name
    items-u.item      a file of MovieLens
    items-movies.dat  likewise

Recommenders (recommenders.py), loaded and asked:

    model-recommender every kind but towers, with names and logs
    model-tower       every tower, with features, side values and logs, and one that was cut off
    log-folder        a kept log, opened, cut and read

Lists that a user writes, and settings (lists.py):

    phrases           a list of phrases
    noise             weights of noise
    tree              the codes of a tree
    classes           the classes of words
    similarity        pairs of words, with scores
    analogies         questions in the formats of Google and of BATS
    categories        words and their categories
    outliers          sets of words with outliers
    word-lists        words to freeze, connectors of phrases
    gensim-counts     word2vec's text format, packed, with counts in a file of their own
    claim             who writes into a folder
    output-specs      the specs of output layers
    sizes             numbers of bytes

Not among them: plugins, which are programs; the cache of compiled kernels, which only unhot writes; files of
/proc; tables and sentences from Python, which are not bytes; standard input, which is read as a file is.
"""

from readers import (
    corpora,
    graphs,
    language_models,
    lists,
    logs,
    model_folders,
    recommenders,
    tables,
    texts,
    vector_files,
)
from readers.reader import Reader

READERS: dict[str, Reader] = {
    reader.name: reader
    for module in (
        *(vector_files, model_folders, language_models, corpora, texts),
        *(tables, logs, graphs, recommenders, lists),
    )
    for reader in module.READERS
}
