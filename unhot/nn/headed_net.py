"""A net with an output layer: what language models and towers share, the head and the saved state."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from unhot.errors import ConfigError, FormatError
from unhot.nn.head import OutputHead
from unhot.outputs import OutputLayer
from unhot.types import Counts


def as_tensors(arrays: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return copies of arrays, which may be mapped from a file, as tensors."""
    return {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}


def shapes_only() -> torch.device:
    """Return a context in which parameters have shapes, but no numbers and no memory."""
    return torch.device("meta")


class HeadedNet(nn.Module):
    """A net whose attribute `head` is its output layer."""

    head: OutputHead

    def add_head(
        self,
        output: str | OutputLayer,
        counts: Counts,
        width: int,
        weight: Tensor,
        *,
        tie: bool,
        wanted: bool,
    ) -> None:
        """Add the output layer.

        tie     use `weight` as output vectors, if the layer can
        wanted  raise the error of a layer that cannot
        """
        assert isinstance(weight, nn.Parameter)
        try:
            self.head = OutputHead(output, width, counts, weight=weight if tie else None)
        except ConfigError:
            if not tie or wanted:
                raise
            self.head = OutputHead(output, width, counts)
        if self.head.layer.biases().each_input:
            raise ConfigError(
                f"output={self.head.layer.spec()}: learns a bias for each input, but the inputs of this "
                "model are never the same; use ln_z=learned or leave ln_z out"
            )

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

    def enter_part(self, target: Tensor) -> None:
        """Set the words of a part to the targets of a batch, for layers that learn part by part."""
        if self.head.layer.part_words() is not None and self.training:
            self.head.set_partition(target.unique())
