"""What is known of items beside the log: values of side columns, such as brand=acme."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from unhot.corpus.given_ids import flat
from unhot.errors import ConfigError, DataError
from unhot.largest import largest
from unhot.logs.log import Log
from unhot.types import Ids, Starts


class SideValues(NamedTuple):
    """The values of all items: item i has the values ids[starts[i] : starts[i + 1]], each once."""

    words: Sequence[str] = ()  # COLUMN=VALUE
    starts: Starts = np.zeros(1, np.int64)  # [items + 1]
    ids: Ids = np.zeros(0, np.int32)

    def known(self, given: Mapping[str, str | Sequence[str]]) -> Ids:
        """Return the ids of given values, column -> value or values; raise a `DataError` if none is known."""
        if not isinstance(given, Mapping):
            raise ConfigError(f"values={given!r:.80}: give a mapping of side columns to values")
        pairs = [
            f"{column}={value}"
            for column, values in given.items()
            for value in ([values] if isinstance(values, str) else values)
        ]
        index = {word: number for number, word in enumerate(self.words)}
        found = [index[pair] for pair in dict.fromkeys(pairs) if pair in index]
        if not self.words:
            raise DataError("this model has no side values: train it with side columns (side=, or --side)")
        if not found:
            raise DataError(
                f"none of {', '.join(pairs)[:200] or 'no values'} is among the {len(self.words):,} side "
                f"values of the model, such as {', '.join(self.words[:3]) or 'none'}"
            )
        return np.array(found, np.int32)

    def kin(self, values: Ids, k: int) -> Ids:
        """Return the k items that share most of some values; of several, those with the lowest ids."""
        items = self.starts.size - 1
        owners = np.repeat(np.arange(items), np.diff(self.starts))
        shared = np.bincount(owners, np.isin(self.ids, values), items)
        order = largest(shared, k)
        return order[shared[order] > 0].astype(np.int32)


NO_SIDES = SideValues()


def side_values(log: Log) -> SideValues:
    """Return the values of the items of a log in all its side columns."""
    words: list[str] = []
    owners, ids = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for column, corpus in log.sides.items():
        numbers, starts = flat(corpus)
        owners.append(np.repeat(np.arange(len(log.items)), np.diff(starts)))
        ids.append(numbers + len(words))
        words += [f"{column}={value}" for value in corpus.vocabulary.words]
    owner, values = np.concatenate(owners), np.concatenate(ids)
    order = np.argsort(owner, kind="stable")
    sizes = np.bincount(owner, minlength=len(log.items))
    return SideValues(words, np.append(0, np.cumsum(sizes)), values[order].astype(np.int32))
