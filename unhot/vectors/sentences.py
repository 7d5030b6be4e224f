"""Vectors of sentences and documents, made of the vectors of their words. `Vectors` has these as methods.

    mean    s = 1/n sum_i v_i / |v_i|                as fastText's get_sentence_vector of word vectors
    sif     s = 1/n sum_i v_i a / (a + p(w_i))       smooth inverse frequency, p(w) = count(w) / all counts

The sums are over the n words that have a vector with a direction. Unseen words are left out, unless vectors
of n-grams compose them; then their count is 0. A text without such words has a vector of zeros.

All sentences have much in common, such as the direction of frequent words, and it can be subtracted. U is the
matrix whose rows are the first right singular vectors of a matrix of many sentences (not centred):

    s - U' U s

The paper's SIF is `sentence_vectors(texts, weights="sif", remove=1)`.

Reference: Arora, Liang & Ma, A simple but tough-to-beat baseline for sentence embeddings, 2017.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import ConfigError, DataError, at_least, one_of, whole
from unhot.index.lengths import directed, norms, unit
from unhot.types import Doubles, Floats
from unhot.vectors.queries import KEYS, Key
from unhot.vectors.word_rows import WordRows
from unhot.vocab.vocabulary import decode_word, encode_word

Text: TypeAlias = str | Sequence[Key]  # a text to be split, or its words
Tokenizer: TypeAlias = str | Callable[[str], Iterable[str]]
WEIGHTS = ("mean", "sif")
SMOOTH = 1e-3  # the paper's a
NEARLY = 1e-4  # how far rows of length one at right angles may be from that, after rounding
WORD = re.compile(r"[^ \t\n\v\f\r\0]+")  # as the tokeniser whitespace splits


def sentence_vectors(
    vectors: WordRows,
    texts: Iterable[Text],
    *,
    weights: str = "mean",
    remove: int | ArrayLike = 0,
    a: float = SMOOTH,
    pre_normalize: bool | None = None,
    tokenizer: Tokenizer = "whitespace",
) -> Floats:
    """Return a vector for each text: [texts, dim].

    texts           strings, or lists of words
    weights         "mean", or "sif", which needs counts
    remove          how many common components of these texts to subtract, or the components themselves, as
                    `common_components` returns them
    a               for sif: words with p(w) much above it count little
    pre_normalize   divide the words' vectors by their lengths; None: for mean, not for sif
    tokenizer       how strings are split: whitespace, words, text8, or a function, as in training
    """
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        what = "a string" if isinstance(texts, str) else f"{texts!r:.60}"
        raise ConfigError(f"texts is {what}: give a list of texts, or use sentence_vector for one text")
    sums = _sums(vectors, texts, weights, a, pre_normalize, tokenizer)
    if np.ndim(remove) == 0:
        found = whole("remove", remove, 0, vectors.vector_size)
        components = common_components(sums, found) if found else np.zeros((0, sums.shape[1]))
    else:
        components = _checked(remove, vectors.vector_size)
    return _without(sums, components).astype(np.float32)


def sentence_vector(
    vectors: WordRows,
    text: Text,
    *,
    weights: str = "mean",
    remove: int | ArrayLike = 0,
    a: float = SMOOTH,
    pre_normalize: bool | None = None,
    tokenizer: Tokenizer = "whitespace",
) -> Floats:
    """Return the vector of one text [dim]; see `sentence_vectors`.

    `remove` takes components, which must come from many texts: see `common_components`.
    """
    components = _checked(remove, vectors.vector_size)
    sums = _sums(vectors, [text], weights, a, pre_normalize, tokenizer)
    return np.asarray(_without(sums, components)[0], np.float32)


def document_similarity(
    vectors: WordRows,
    document1: Text,
    document2: Text,
    *,
    weights: str = "mean",
    remove: int | ArrayLike = 0,
    a: float = SMOOTH,
    pre_normalize: bool | None = None,
    tokenizer: Tokenizer = "whitespace",
) -> float:
    """Return the cosine of the vectors of two texts; 0 if one has no known word. See `sentence_vector`."""
    components = _checked(remove, vectors.vector_size)
    sums = _sums(vectors, [document1, document2], weights, a, pre_normalize, tokenizer)
    one, other = _without(sums, components)
    return float(unit(one) @ unit(other))


def common_components(sentences: ArrayLike, n: int = 1) -> Doubles:
    """Return the first n right singular vectors of a matrix of sentence vectors: [n, dim].

    >>> common_components([[3.0, 0.1], [-2.0, 0.0], [4.0, -0.1]]).round(2) ** 2
    array([[1., 0.]])
    """
    rows = np.asarray(sentences, np.float64)
    if rows.ndim != 2:
        raise DataError(f"sentences of shape {rows.shape}: must be a matrix with a row for each sentence")
    rows = rows[directed(norms(rows))]
    n = whole("n", n, 1, rows.shape[1])
    if len(rows) <= n:
        raise DataError(
            f"{len(rows)} sentences with a vector are too few for {n} common components: give more, or the "
            "components of other sentences"
        )
    # R of rows = Q R has the same right singular vectors, and only dim rows
    return np.linalg.svd(np.linalg.qr(rows, mode="r"))[2][:n]


def words_of(text: Text, tokenizer: Tokenizer = "whitespace") -> list[Key]:
    """Split a string into words as in training; other texts are words already.

    >>> words_of("Twice: he's here.", "words")
    ['twice', 'he', 's', 'here']
    """
    if not isinstance(text, str):
        several = isinstance(text, Iterable) and not isinstance(text, bytes)
        words = list(text) if several else []
        if not several or not all(isinstance(word, KEYS) for word in words):
            raise DataError(f"a text is {text!r:.60}: must be a string, or a list of words")
        return words
    if callable(tokenizer):
        return list(tokenizer(text))
    if tokenizer != "whitespace":
        text = _normalised(text, tokenizer)
    return list(WORD.findall(text))


def _normalised(text: str, tokenizer: str) -> str:
    """Return the text as a tokeniser of training changes it before it is split at white space."""
    # imported late: these load the compiler
    from unhot.corpus.reading.separators import PADDING
    from unhot.corpus.reading.tokenizers import normaliser

    raw = encode_word(text)
    given = np.frombuffer(raw + bytes(PADDING), np.uint8).copy()  # writeable, as in training
    out, size = normaliser(tokenizer)(given, len(raw), np.empty(0, np.uint8))
    return decode_word(out[:size].tobytes())


def _sums(
    vectors: WordRows,
    texts: Iterable[Text],
    weights: str,
    a: float,
    pre_normalize: bool | None,
    tokenizer: Tokenizer,
) -> Doubles:
    """Return the weighted means by the formulas above: float64 [texts, dim]."""
    one_of("weights", weights, WEIGHTS)
    places: dict[Key, int] = {}  # every different known word, in the order of its first use
    lists = []
    for text in texts:
        known = [word for word in words_of(text, tokenizer) if word in places or word in vectors]
        lists.append(np.array([places.setdefault(word, len(places)) for word in known], np.int64))
    rows = vectors[list(places)]
    lengths = norms(rows)
    has_direction = directed(lengths)
    factor = _inverse_frequencies(vectors, list(places), a) if weights == "sif" else np.ones(len(places))
    if pre_normalize if pre_normalize is not None else weights == "mean":
        factor = np.divide(factor, lengths, out=np.zeros(len(places)), where=has_direction)
    out = np.zeros((len(lists), vectors.vector_size))
    for i, every in enumerate(lists):
        used = every[has_direction[every]]
        if used.size:
            out[i] = factor[used] @ rows[used].astype(np.float64) / used.size
    return out


def _inverse_frequencies(vectors: WordRows, words: Sequence[Key], a: float) -> Doubles:
    """Return a / (a + p(w)) for each word; words without a row have p = 0."""
    if at_least("a", a, 0) == 0:
        raise ConfigError("a=0: must be above 0; the paper uses 1e-3")
    if vectors.counts is None:
        raise DataError(
            "weights='sif': these vectors have no counts, because most formats do not store them: read the "
            "vectors from the model's own folder, or set vectors.counts"
        )
    total = max(1, int(vectors.counts.sum()))
    counts = [vectors.counts[vectors.get_index(word)] if vectors.has_index_for(word) else 0 for word in words]
    return a / (a + np.array(counts, np.float64) / total)


def _checked(components: int | ArrayLike, dim: int) -> Doubles:
    """Return given components as a matrix [components, dim]; raise an error for a number other than 0."""
    rows = np.asarray(components, np.float64)
    if rows.ndim == 0:
        if rows != 0:
            raise ConfigError(
                f"remove={rows:g}: common components come from many texts: give those of "
                f"common_components(vectors.sentence_vectors(texts), {rows:g})"
            )
        return np.zeros((0, dim))
    rows = rows[None] if rows.ndim == 1 else rows
    fits = rows.ndim == 2 and rows.shape[1] == dim
    if not fits or not np.allclose(rows @ rows.T, np.eye(len(rows)), atol=NEARLY):
        raise DataError(
            f"remove of shape {np.shape(components)}: must be rows of {dim} numbers, of length one and at "
            "right angles, as common_components returns them"
        )
    return rows


def _without(sentences: Doubles, components: Doubles) -> Doubles:
    return sentences - (sentences @ components.T) @ components
