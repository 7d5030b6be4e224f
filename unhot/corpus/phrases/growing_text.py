"""A text while its phrases are found and joined: ids on disk, and words that become more with every pass."""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.corpus.indexed_folder import read_only
from unhot.corpus.phrases.pair_kernels import add_counts
from unhot.corpus.shards import Shard
from unhot.corpus.workplace import Workplace
from unhot.errors import DataError
from unhot.types import Counts, Ids

CHUNK = 1 << 20  # tokens worked on together


@dataclasses.dataclass(frozen=True)
class GrowingText:
    """Sentences as ids; the words need not be in the order of their counts."""

    shards: list[Shard]
    index: dict[str, int]  # word -> id, in the order of the ids
    counts: Counts  # [words] how often each stands in the shards; 0: in phrases only

    @property
    def tokens(self) -> int:
        """How many there are."""
        return sum(shard.ids.size for shard in self.shards)


def whole_text(corpus: Corpus) -> GrowingText:
    """The text of a corpus, without empty lines; a `DataError` if words of it were dropped."""
    corpus.check_windows()
    if corpus.ids != corpus.words:
        raise DataError(
            f"a corpus that lacks {corpus.words - corpus.ids:,} of {corpus.words:,} words, which were too "
            "rare: its neighbours need not be neighbours in the text; encode it with min_count=1, or give "
            "the text itself"
        )
    # those of the vocabulary may have been given, and kernels trust these
    counts = np.zeros(len(corpus.vocabulary), np.int64)
    for shard in corpus.shards:
        add_counts(shard.ids, counts)
    shards = corpus.shards
    if corpus.keeping.empty_lines:
        shards = [Shard(shard.ids, read_only(np.unique(shard.starts))) for shard in shards]
    return GrowingText(shards, corpus.vocabulary.index, counts)


def chunks(
    shards: list[Shard], cut: Callable[[Ids, int, int], int] | None = None
) -> Iterator[tuple[Ids, Ids]]:
    """All tokens in chunks of about CHUNK, each with the ends of sentences in it.

    `cut(ids, at, end)` says where a chunk may end in a sentence, from `at` on; None: anywhere.
    """
    for shard in shards:
        begin = 0
        while begin < shard.ids.size:
            end = min(begin + CHUNK, shard.ids.size)
            following = int(np.searchsorted(shard.starts, end))  # the first sentence end at or behind it
            if cut is not None and shard.starts[following] != end:
                end = int(cut(shard.ids, end, int(shard.starts[following])))
            first = int(np.searchsorted(shard.starts, begin, side="right"))
            last = int(np.searchsorted(shard.starts, end, side="right"))
            yield shard.ids[begin:end], (shard.starts[first:last] - begin).astype(np.int32)
            begin = end


class JoiningPlace(Workplace):
    """Where texts with phrases are kept meanwhile; nothing is published."""

    needs = "the text with phrases needs"
