"""The base class of bodies.

A body is one registered class: a dataclass of its settings, and a module after `build`.

    ids [batch, steps], state  ->  hidden vectors [batch, steps, width], the state to go on from

A state is a tuple of tensors whose first dimension is the batch. A text may be cut into pieces of any length:
with the states carried on, the hidden vectors are the same. Gradients end where a piece begins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, ClassVar, TypeAlias, TypeVar

import torch
from torch import Tensor, nn

from unhot.errors import ConfigError
from unhot.specs import Range, checked, parse_spec, registering, spec_of, type_hints

State: TypeAlias = tuple[Tensor, ...]
BODIES: dict[str, type[Body]] = {}
AnyBody = TypeVar("AnyBody", bound="type[Body]")
RANGE = 0.1  # embeddings begin evenly spread over -RANGE .. RANGE


def body(name: str) -> Callable[[AnyBody], AnyBody]:
    """Register a body under a name."""
    return registering(BODIES, name, "body")


def parse_body(spec: str) -> Body:
    """Make a body of its spec, such as `lstm:layers=2`; it has no parameters yet."""
    if not isinstance(spec, str):
        raise ConfigError(f"body={spec!r:.80}: must be a name with settings, such as lstm:layers=2")
    return parse_spec(spec, BODIES, "body", "body")


@dataclass(eq=False, repr=False)
class Body(nn.Module):
    """Settings of a body; after `build`, also its parameters."""

    units: Annotated[int, Range(0, 1 << 16)] = 0  # length of the hidden vectors; 0: that of the embeddings
    layers: Annotated[int, Range(1, 1 << 10)] = 1

    name: ClassVar[str]  # set by the decorator `body`
    ties: ClassVar[bool] = True  # whether the output vectors can be the embeddings

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__init__()
        for name in (field.name for field in fields(self)):
            kind = type_hints(type(self))[name]
            setattr(self, name, checked(f"{self.name}:{name}", getattr(self, name), kind))

    def spec(self) -> str:
        """Return the spec, with all settings."""
        return spec_of(self.name, self)

    def build(self, words: int, dim: int, dropout: float) -> Body:
        """Make the parameters."""
        self.dim, self.dropout = dim, dropout
        self.embedding = nn.Embedding(words, dim)
        nn.init.uniform_(self.embedding.weight, -RANGE, RANGE)
        self.make()
        return self

    @property
    def width(self) -> int:
        """The length of the hidden vectors."""
        return self.units or self.dim

    def make(self) -> None:
        """Make all parameters but the embeddings."""
        raise NotImplementedError

    def begin(self, batch: int) -> State:
        """Return the state before any word."""
        raise NotImplementedError

    def forward(self, ids: Tensor, state: State) -> tuple[Tensor, State]:
        """Return the hidden vectors, and the state after the words."""
        raise NotImplementedError

    def zeros(self, *shape: int) -> Tensor:
        """Return zeros of the type and on the device of the parameters."""
        return self.embedding.weight.new_zeros(shape)

    def drop(self, x: Tensor) -> Tensor:
        """Drop numbers of vectors [batch, steps, width] at random, while it is trained."""
        return nn.functional.dropout(x, self.dropout, self.training)

    def drop_held(self, x: Tensor) -> Tensor:
        """Do the same with one choice for all steps (Gal and Ghahramani, 2016)."""
        if not self.training or not self.dropout:
            return x
        kept = torch.empty_like(x[:, :1]).bernoulli_(1 - self.dropout)
        return x * (kept / (1 - self.dropout))
