"""A neural language model as a module: a body, and an output layer on its hidden vectors."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from unhot.errors import ConfigError, FormatError
from unhot.lm.symbols import IGNORED
from unhot.nn.bodies import Body, parse_body
from unhot.nn.bodies.body import State
from unhot.nn.head import OutputHead
from unhot.outputs import OutputLayer
from unhot.types import Counts, Floats


def as_tensors(arrays: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return copies of arrays, which may be mapped from a file, as tensors."""
    return {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}


def shapes_only() -> torch.device:
    """Return a context in which parameters have shapes, but no numbers and no memory."""
    return torch.device("meta")


class LanguageNet(nn.Module):
    """Predicts each next word of a text.

    tie     use the embeddings as output vectors; None: wherever the body and the layer allow it
    sparse  make sparse gradients of embeddings and output vectors, where the layer does not score all words
    """

    def __init__(
        self,
        body: str,
        output: str | OutputLayer,
        counts: Counts,
        dim: int,
        *,
        dropout: float = 0.0,
        tie: bool | None = None,
        sparse: bool = False,
    ) -> None:
        super().__init__()
        self.body: Body = parse_body(body).build(counts.size, dim, dropout)
        fits = self.body.ties and self.body.width == dim
        if tie and not fits:
            raise ConfigError(
                f"tie=True: the hidden vectors of {self.body.spec()} have {self.body.width} numbers and "
                f"cannot share those of embeddings with {dim}; leave tie out, or set units={dim}"
            )
        self.head = self._head(output, counts, fits if tie is None else tie, tie is not None)
        if self.head.layer.biases().each_input:
            raise ConfigError(
                f"output={self.head.layer.spec()}: learns a bias for each input, but the inputs of a "
                "language model are never the same; use ln_z=learned or leave ln_z out"
            )
        if sparse and not self.head.scores_all_words:
            self.head.sparse = self.body.embedding.sparse = True

    def _head(self, output: str | OutputLayer, counts: Counts, tie: bool, wanted: bool) -> OutputHead:
        """Return the output layer, tied if it can be; raise its error if it must be."""
        weight = self.body.embedding.weight
        assert isinstance(weight, nn.Parameter)
        try:
            return OutputHead(output, self.body.width, counts, weight=weight if tie else None)
        except ConfigError:
            if not tie or wanted:
                raise
            return OutputHead(output, self.body.width, counts)

    def own_state(self) -> dict[str, Tensor]:
        """Return what a saved model holds: parameters and counters, tied ones once, no tables of counts."""
        kept = dict(self.state_dict())
        del kept["head.counts"]
        if self.head.tied:
            del kept["head.weight"]
        return {name: tensor for name, tensor in kept.items() if tensor.numel()}

    def check_state(self, state: Mapping[str, Any]) -> None:
        """Raise a `FormatError` unless arrays are those of `own_state`, by names, shapes and types."""
        own = self.own_state()
        for name in sorted({*own, *state}):
            shapes = [None if name not in one else tuple(one[name].shape) for one in (own, state)]
            if shapes[0] != shapes[1]:
                raise FormatError(
                    f"a neural model: tensor {name!r} has the shape {shapes[1]}, but must have {shapes[0]}; "
                    "the file is damaged"
                )
            if f"torch.{state[name].dtype}" != str(own[name].dtype):
                raise FormatError(
                    f"a neural model: tensor {name!r} is {state[name].dtype}, but must be {own[name].dtype}; "
                    "the file is damaged"
                )

    @torch.no_grad()
    def set_state(self, state: Mapping[str, Tensor]) -> None:
        """Take what `own_state` returned."""
        for name, tensor in self.own_state().items():
            tensor.copy_(state[name])

    @torch.no_grad()
    def set_embeddings(self, ids: Sequence[int], rows: Floats) -> None:
        """Set the embeddings of some words."""
        self.body.embedding.weight[torch.tensor(ids)] = torch.from_numpy(rows)

    def begin(self, batch: int) -> State:
        """Return the state before any word."""
        return self.body.begin(batch)

    def forward(self, ids: Tensor, target: Tensor, state: State) -> tuple[Tensor, State]:
        """Return the mean loss of targets [batch, steps], each predicted from the ids up to its place.

        Also return the state to go on from.
        """
        hidden, after = self.body(ids, state)
        if self.head.layer.part_words() is not None and self.training:
            self.head.set_partition(target[target != IGNORED].unique())
        return self.head(hidden, target, ignore_index=IGNORED), tuple(one.detach() for one in after)
