"""A text whose phrases are being joined: ids on disk, and a list of words that grows with every pass."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import Progress, encode
from unhot.corpus.indexed_folder import read_only
from unhot.corpus.phrases.pair_kernels import add_counts
from unhot.corpus.reading.sources import Source
from unhot.corpus.reading.tokenizers import Tokenizer
from unhot.corpus.shards import Shard
from unhot.corpus.workplace import Workplace
from unhot.errors import ConfigError, DataError
from unhot.types import Counts, Ids

CHUNK = 1 << 20  # tokens processed at a time


@dataclasses.dataclass(frozen=True)
class GrowingText:
    """Sentences as ids; the words need not be ordered by count."""

    shards: list[Shard]
    index: dict[str, int]  # word -> id, in the order of the ids
    counts: Counts  # [words] how often each occurs in the shards; 0: only inside phrases

    @property
    def tokens(self) -> int:
        """The number of tokens in the text."""
        return sum(shard.ids.size for shard in self.shards)


def opened_text(
    source: Source | Corpus,
    tokenizer: Tokenizer | None,
    column: str | None,
    force: bool,
    threads: int,
    progress: Progress | None,
    kind: str | None = None,
    strict: bool = False,
) -> contextlib.AbstractContextManager[Corpus]:
    """Encode a text with all its words, or take a corpus as it is; the parameters are those of `encode`."""
    if isinstance(source, Corpus):
        if tokenizer is not None or column is not None:
            raise ConfigError(
                "tokenizer or column given with an encoded Corpus, whose text is split already: leave them "
                "out"
            )
        return contextlib.nullcontext(source)
    return encode(
        source,
        tokenizer="whitespace" if tokenizer is None else tokenizer,
        column=column,
        min_count=1,
        force=force,
        kind=kind,
        strict=strict,
        threads=threads,
        progress=progress,
    )


def whole_text(corpus: Corpus) -> GrowingText:
    """Return the text of a corpus without empty lines; raise a `DataError` if it lacks words."""
    corpus.check_windows()
    if corpus.ids != corpus.words:
        raise DataError(
            f"the corpus lacks {corpus.words - corpus.ids:,} of the text's {corpus.words:,} words (too rare "
            "ones were dropped), so words next to each other in it may not be neighbours in the text: encode "
            "it with min_count=1, or give the text itself"
        )
    # count again: the vocabulary's counts may come from the user, and kernels rely on exact counts
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
    """Yield all tokens in chunks of about CHUNK, each with the ends of sentences in it.

    `cut(ids, at, end)` returns the first position from `at` on where a chunk may end inside a sentence; None:
    anywhere.
    """
    for shard in shards:
        begin = 0
        while begin < shard.ids.size:
            end = min(begin + CHUNK, shard.ids.size)
            following = int(np.searchsorted(shard.starts, end))  # the first sentence end at or after `end`
            if cut is not None and shard.starts[following] != end:
                end = int(cut(shard.ids, end, int(shard.starts[following])))
            first = int(np.searchsorted(shard.starts, begin, side="right"))
            last = int(np.searchsorted(shard.starts, end, side="right"))
            yield shard.ids[begin:end], (shard.starts[first:last] - begin).astype(np.int32)
            begin = end


class JoiningPlace(Workplace):
    """A temporary place for texts with joined phrases; nothing is published."""

    needs = "the text with phrases needs"
