"""Write a corpus whose ids are known already, such as the sequences of a log."""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from unhot.corpus.cells import row_ranges
from unhot.corpus.corpus import BESIDE, Corpus
from unhot.corpus.encoding import finished
from unhot.corpus.report import Report
from unhot.corpus.shards import Keeping, ShardWriter
from unhot.corpus.workplace import Workplace
from unhot.types import Ids, Starts
from unhot.vocab.vocabulary import Vocabulary

BLOCK = 1 << 22  # ids written at a time, unless one line has more

C = TypeVar("C", bound=Corpus)


class IdText(NamedTuple):
    """Lines of ids: line i is ids[starts[i] : starts[i + 1]]."""

    ids: Ids
    starts: Starts  # [lines + 1]
    vocabulary: Vocabulary


def write_ids(text: IdText, place: Workplace, kind: type[C], beside: Mapping[str, IdText] | None = None) -> C:
    """Write a corpus of class `kind` to a place; with texts `beside` it, lines may be empty.

    The caller has entered the place, and may have written other files to `place.work`.
    """
    for name, other in (beside or {}).items():
        with Workplace(place.work / BESIDE / name) as folder:
            write_ids(other, folder, Corpus, {}).close()
    keeping = Keeping(empty_lines=beside is not None)
    writer = ShardWriter(place.work, empty_lines=keeping.empty_lines)
    starts = text.starts
    for first, last in row_ranges(np.diff(starts), BLOCK):
        breaks = (starts[first + 1 : last + 1] - starts[first]).astype(np.int32)
        writer.append(text.ids[starts[first] : starts[last]], breaks)
    report = Report(words=text.ids.size, kept=text.ids.size, types=len(text.vocabulary))
    lines = {name: other.starts.size - 1 for name, other in (beside or {}).items()}
    return finished(place, text.vocabulary, writer, report, keeping, lines, kind)


def flat(corpus: Corpus) -> tuple[Any, Any]:
    """Return all ids of a corpus and where its lines begin; without a copy if there is one shard."""
    if len(corpus.shards) == 1:
        return corpus.shards[0]
    before = np.cumsum([0, *(shard.ids.size for shard in corpus.shards)])
    starts = [shard.starts[:-1] + at for shard, at in zip(corpus.shards, before, strict=False)]
    ids = [np.empty(0, np.int32), *(shard.ids for shard in corpus.shards)]
    return np.concatenate(ids), np.concatenate([*starts, before[-1:]])
