"""Windows as a net of PyTorch: input rows, and a head that predicts from them; and windows as its batches.

    h_i = x[input of example i], or the mean or sum of a bag
    L = sum_i loss(h_i, target_i)

L is the *sum* over the batch, so lr means the same as in the compiled engine, whose steps are single windows:
a row that occurs once in a batch takes the same step. The windows are the same, too, and each chunk has its
own random draws.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from unhot.errors import FormatError
from unhot.kernels.loop import Params
from unhot.kernels.window_lists import list_windows, window_buffer
from unhot.nn.head import OutputHead, OutputRows
from unhot.outputs import OutputLayer
from unhot.train.chunked_text import ChunkedText
from unhot.train.params import check_seen
from unhot.train.schedule import TextChunk
from unhot.train.torch_device import seeded
from unhot.types import Bytes, Counts, Floats

# the input rows of all examples; the example of each row, None: each row is an example; the weight of each
# row in its example, None: 1; the target of each example
WindowBatch = tuple[Tensor, Tensor | None, Tensor | None, Tensor]


class WindowNet(nn.Module):
    """The learned parameters on their device, and the arrays through which a model sees them."""

    @torch.inference_mode(False)
    def __init__(
        self,
        layer: OutputLayer,
        counts: Counts,
        params: Params,
        frozen: Bytes,
        device: torch.device,
        *,
        seed: int,
        seen: Counts,
        own: Mapping[str, Any],
    ) -> None:
        """Set up the head and the input rows; rows with 1 in `frozen` never move.

        params  to start from, without padding
        seen    how often each target was seen; empty: nothing counted yet
        own     head parameters that its rows are computed from; empty: start from the rows
        """
        super().__init__()
        counts = counts.copy()  # those of a saved model are read-only, which makes torch warn
        with seeded(device, seed % 2**63):  # the projections of adaptive softmax start at random
            dim = params.in_vectors.shape[1]
            self.head = OutputHead(layer, dim, counts, share="example", device=device, dtype=torch.float32)
        self.head.sparse = not self.head.scores_all_words
        self.in_vectors, self.in_bias = (
            nn.Parameter(torch.from_numpy(array).to(device))
            for array in (params.in_vectors, params.in_bias[:, None])
        )
        self._frozen = torch.from_numpy(frozen.astype(bool)).to(device)[:, None]
        self._start(params, seen, own, device)
        self.own: dict[str, Floats] = {name: _array(one) for name, one in _own_parameters(self.head).items()}
        self.seen: Counts = _array(self.head.seen)
        out_vectors, out_bias, ln_z = self._out_arrays()
        self.params = Params(params.in_vectors, out_vectors, out_bias, params.in_bias, ln_z)

    def _start(self, params: Params, seen: Counts, own: Mapping[str, Any], device: torch.device) -> None:
        """Set the head's parameters to the values to start from."""
        parameters = dict(self.head.named_parameters())
        out, bias, ln_z = (
            torch.from_numpy(array).to(device) for array in (params.out_vectors, params.out_bias, params.ln_z)
        )
        rows = torch.zeros_like(out) if own else out
        self.head.begin(OutputRows(rows, bias if bias.numel() else None, ln_z if ln_z.numel() else None))
        missing = _own_parameters(self.head).keys() - own.keys()
        if own and missing:
            raise FormatError(
                f"a model with {self.head.layer.spec()}: without its tensor {min(missing)!r}; the file is "
                "damaged"
            )
        with torch.no_grad():
            for name, array in own.items():
                if name not in parameters or parameters[name].shape != array.shape:
                    raise FormatError(
                        f"a model with {self.head.layer.spec()}: its tensor {name!r} {array.shape} is none "
                        "of this layer's"
                    )
                parameters[name].copy_(torch.from_numpy(np.array(array)))
            if seen.size:
                check_seen(self.head.layer.spec(), seen.size, self.head.seen.numel())
                self.head.seen.copy_(torch.from_numpy(np.array(seen)))

    def begin(self, width: int) -> tuple[Tensor, ...]:
        """Return the state before an epoch: windows carry nothing on."""
        return ()

    def forward(
        self, ids: Tensor, bag: Tensor | None, share: Tensor | None, target: Tensor, state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the summed loss of a batch (see `WindowBatch`), and the state, which stays as it is."""

        def combine(rows: Tensor) -> Tensor:
            """Return the input of each example: a row, or the sum or mean of several rows."""
            each = functional.embedding(ids, rows, sparse=True)
            if self._frozen.numel():
                each = torch.where(self._frozen[ids], each.detach(), each)
            if bag is None:
                return each
            shared = each if share is None else each * share[:, None]
            return each.new_zeros(target.shape + each.shape[1:]).index_add_(0, bag, shared)

        bias = combine(self.in_bias)[:, 0] if self.in_bias.numel() else None
        return self.head(combine(self.in_vectors), target, reduction="sum", in_bias=bias), state

    def publish(self) -> None:
        """Update the model's arrays; on the CPU most of them share memory with the parameters."""
        tensors = [self.in_vectors, self.in_bias[:, 0], self.head.seen, *_own_parameters(self.head).values()]
        sources = [*map(_array, tensors), *self._out_arrays()]
        params = self.params
        targets: list[Any] = [params.in_vectors, params.in_bias, self.seen, *self.own.values()]
        targets += [params.out_vectors, params.out_bias, params.ln_z]
        for source, target in zip(sources, targets, strict=True):
            target[...] = source

    def _out_arrays(self) -> list[Floats]:
        """Return the arrays for a model's NumPy head: rows, biases, ln Z; a missing one is empty."""
        return [
            np.zeros(0, np.float32) if tensor is None else _array(tensor) for tensor in self.head.effective()
        ]


def _own_parameters(head: OutputHead) -> dict[str, Tensor]:
    """Return the parameters that the effective rows are computed from, if those are not parameters."""
    rows = {tensor.data_ptr() for tensor in head.effective() if tensor is not None}
    return {
        name: parameter for name, parameter in head.named_parameters() if parameter.data_ptr() not in rows
    }


def _array(tensor: Tensor) -> Any:
    """Return a tensor as a NumPy array, which on the CPU shares its memory."""
    return tensor.detach().cpu().numpy()


class WindowBatches:
    """The windows of a text in batches, on a device."""

    chunk_steps, width = 1, 0
    part, parts = 0, 1

    def __init__(
        self,
        text: ChunkedText,
        wiring: Any,
        batch: int,
        device: torch.device,
        enter: Callable[[TextChunk], None],
    ) -> None:
        """Take the text, and the `Wiring` that makes examples of it; a batch has so many.

        `enter` is called before the first batch of each chunk.
        """
        self._text, self._shards = text, text.texts()
        self._wiring, self._batch = wiring, batch
        self._device = device
        self._enter, self.chunks = enter, text.chunks
        self.size, self.words = text.size, text.words
        self._buffer = window_buffer(text.longest, wiring.window.size, text.most_pieces)

    def draw_key(self, epoch: int, chunk: TextChunk) -> int:
        """Return the seed of the random numbers of a chunk."""
        return int(self._text.draw_key(epoch, chunk))

    def batches(self, epoch: int, chunk: TextChunk) -> Iterator[tuple[WindowBatch, int]]:
        """Yield the batches of a chunk in the order of the text, and their numbers of examples."""
        wiring, device = self._wiring, self._device
        where = self._text.where(epoch, chunk)
        windows = list_windows(self._shards[chunk.shard], wiring.window, where, self._buffer)
        listed, starts, targets = wiring.examples(windows)
        self._enter(chunk)
        ids, target = (torch.from_numpy(array).to(device).long() for array in (listed, targets))
        for first in range(0, len(target), self._batch):
            some = target[first : first + self._batch]
            if starts is None:
                yield (ids[first : first + self._batch], None, None, some), len(some)
                continue
            sizes = torch.from_numpy(starts[first : first + self._batch + 1]).to(device).diff()
            bag = torch.repeat_interleave(sizes)
            share = sizes[bag].float().reciprocal() if wiring.combine == "mean" else None
            yield (ids[starts[first] : starts[first + len(some)]], bag, share, some), len(some)
