"""The base class of towers, and the events that they read.

    events [batch, steps]  ->  user vectors [batch, steps, dim], one after each event         (causal)
                               user vectors [batch, 1, dim], one after the last event         (not causal)
                               interests [batch, 1, K, dim], several after the last event

Events stand oldest first. Shorter histories are padded at the end, so a causal tower needs no mask.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from unhot.errors import ConfigError
from unhot.nn.towers.event_vectors import EventVectors
from unhot.specs import registering

TOWERS: dict[str, type["Tower"]] = {}
Kind = TypeVar("Kind", bound=type["Tower"])


class EventBatch(NamedTuple):
    """The events of some histories, oldest first, and padded at the end."""

    items: Tensor  # int64 [batch, steps] -1: padding
    gaps: Tensor | None = None  # float32 [batch, steps] minutes since the event before; None: not known
    rows: Tensor | None = None  # int [batch, steps, features] the rows of the values of features, -1: none
    weights: Tensor | None = None  # float32 [batch, steps, features] what each row is multiplied by
    # float32 [batch, asked] how long before the end of the log each target was, as a share of the log's time;
    # None: 0
    ages: Tensor | None = None

    @property
    def there(self) -> Tensor:
        """Which places hold an event: bool [batch, steps]."""
        return self.items >= 0

    @property
    def last(self) -> Tensor:
        """The place of the last event of each history: int64 [batch, 1]."""
        return (self.there.sum(dim=1, keepdim=True) - 1).clamp(min=0)

    @property
    def numbers(self) -> Tensor:
        """How many events come after each one: int64 [batch, steps], negative at the padding."""
        return self.last - torch.arange(self.items.shape[1], device=self.items.device)


class Tower(nn.Module):
    """Turns events into user vectors; a derived class says how."""

    causal: ClassVar[bool] = True  # whether it gives a vector after each event, or only one after the last

    def __init__(self, settings: Any, columns: int) -> None:
        """Take the settings of the model, and how many side columns items have."""
        super().__init__()
        self.dim, self.length = settings.dim, settings.length
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, batch: EventBatch, events: EventVectors) -> Tensor:
        """Return the user vectors of a batch; `events` looks up the vectors of its events."""
        raise NotImplementedError

    def chosen(self, interests: Tensor, targets: Tensor) -> Tensor:
        """Return the vector to train of several interests [..., K, dim], for target rows [..., dim]."""
        raise NotImplementedError


def tower(name: str) -> Callable[[Kind], Kind]:
    """Register a tower under the name of its model."""
    return registering(TOWERS, name, "tower")


def tower_of(kind: type[Any]) -> type[Tower]:
    """Return the tower of a kind of model: its own one, or that of the nearest base class that has one."""
    names = [vars(each).get("name") for each in kind.__mro__]
    if found := [TOWERS[name] for name in names if name in TOWERS]:
        return found[0]
    raise ConfigError(f"{kind.name}: has no tower; register one with @tower({kind.name!r})")


def at_place(rows: Tensor, place: Tensor) -> Tensor:
    """Return one row of each history: [batch, steps, dim], [batch, 1] -> [batch, dim]."""
    return rows.gather(1, place[:, :, None].expand(-1, -1, rows.shape[2]))[:, 0]
