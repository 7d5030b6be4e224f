"""The words of a language model: symbols first, then the words of the text."""

from collections.abc import Sequence

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.errors import DataError
from unhot.types import Ids

UNKNOWN = 0  # the id of `<unk>`, in every language model
UNKNOWN_WORD = "<unk>"
BEGIN_WORD, END_WORD = "<s>", "</s>"
# of models that read a text as one stream: a line begins behind the end of the one before it
STREAM_SYMBOLS = (UNKNOWN_WORD, END_WORD)
STREAM_END = STREAM_SYMBOLS.index(END_WORD)
SKIPPED = (UNKNOWN_WORD, BEGIN_WORD, END_WORD)  # what skip_symbols reads as white space, as lmplz does
IGNORED = -100  # in place of the id of a token that is not to be predicted


def model_words(corpus: Corpus, symbols: Sequence[str]) -> tuple[list[str], Ids]:
    """Return the words of a model, and which of them each id of the corpus is, with that of id -1 first.

    `symbols` come before the words, `<unk>` as the first of them.
    """
    index = corpus.vocabulary.index
    for symbol in (BEGIN_WORD, END_WORD):
        if symbol in index:
            raise DataError(
                f"line {_first_line(corpus, index[symbol]):,} of the text has the word {symbol}, with which "
                "a language model marks where lines begin and end: remove it, or leave out all such words "
                "with skip_symbols (--skip-symbols)"
            )
    words = [word for word in corpus.vocabulary.words if word != UNKNOWN_WORD]
    ids = np.arange(len(symbols) - 1, len(index) + len(symbols), dtype=np.int32)
    ids[0] = UNKNOWN
    if UNKNOWN_WORD in index:
        unknown = index[UNKNOWN_WORD] + 1
        ids[unknown + 1 :] -= 1
        ids[unknown] = UNKNOWN
    return [*symbols, *words], ids


def _first_line(corpus: Corpus, id: int) -> int:
    """Return the number of the first line with a word, from 1 on; dropped lines do not count."""
    before = 0
    for shard in corpus.shards:
        places = np.flatnonzero(shard.ids == id)
        if places.size:
            return before + int(np.searchsorted(shard.starts, places[0], side="right"))
        before += shard.starts.size - 1
    return before
