"""The lines of a log as sets: each item once."""

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.corpus.given_ids import IdText, write_ids
from unhot.corpus.workplace import Workplace
from unhot.logs.log import Log
from unhot.types import Ids, Starts
from unhot.vocab.vocabulary import Vocabulary


def first_places(ids: Ids, starts: Starts) -> Starts:
    """Return the places of the first event of each item in each line.

    >>> first_places(np.array([7, 8, 7, 7]), np.array([0, 3, 4])).tolist()
    [0, 1, 3]
    """
    sizes = np.diff(starts)
    keys = np.repeat(np.arange(sizes.size), sizes) * (int(ids.max(initial=0)) + 1) + ids
    return np.sort(np.unique(keys, return_index=True)[1])


def merged_lines(log: Log) -> Corpus:
    """Return a corpus of the lines, each item once; its counts are the lines that have an item.

    Its ids are those of the log, so its words need not be ordered by their counts.
    """
    ids, starts = log.ids_of_lines, log.starts
    kept = first_places(ids, starts)
    counts = np.bincount(ids[kept], minlength=len(log.items))
    text = IdText(ids[kept], np.searchsorted(kept, starts), Vocabulary(log.items.words, counts))
    with Workplace(None) as place:
        return write_ids(text, place, Corpus)
