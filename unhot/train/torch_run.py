"""Training with PyTorch: mini-batches, any output layer, any device.

    h_i = x[input of example i], or the mean or sum of a bag
    L = sum_i loss(h_i, target_i)
    every parameter -= lr dL/dparameter

L is the *sum* over the batch, so lr means the same as in the compiled engine, whose steps are single windows:
a row that occurs once in a batch takes the same step. A row that occurs often takes all its steps at once,
from where it stood before the batch. To keep this from running away, no row moves farther than `FARTHEST` in
one batch.

The windows are the same as in the compiled engine. Each chunk has its own random draws. So with one thread on
the CPU the same seed gives the same bytes, and a resumed training ends with the same bytes as well. PyTorch's
own generator is left unchanged.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from unhot.errors import FormatError
from unhot.kernels.loop import Params
from unhot.kernels.window_lists import list_windows, window_buffer
from unhot.nn.head import OutputHead, OutputRows
from unhot.outputs import OutputLayer
from unhot.train.chunked_text import ChunkedText
from unhot.train.epoch_run import EpochRun, Plan
from unhot.train.params import check_seen
from unhot.train.schedule import TextChunk
from unhot.train.text_parts import TextParts
from unhot.train.torch_batches import Batches, ExampleArrays
from unhot.train.torch_device import seeded, working_threads
from unhot.types import Bytes, Counts, Floats

# the farthest that a row may move in one step: rows of every example, such as the root of a tree, would
# otherwise leap
FARTHEST = 1.0


class Batch(NamedTuple):
    """A batch of examples, on the device."""

    ids: Tensor  # [inputs] the input rows of all examples
    bag: Tensor | None  # [inputs] the example of each input row; None: each row is an example
    share: Tensor | None  # [inputs] the weight of each input row in its example; None: 1
    target: Tensor  # [examples]

    def combine(self, rows: Tensor) -> Tensor:
        """Return the input of each example: a row, or the sum or mean of several rows."""
        each = rows[self.ids]
        if self.bag is None:
            return each
        return each.new_zeros(self.target.shape + each.shape[1:]).index_add_(0, self.bag, self._shared(each))

    def spread(self, gradient: Tensor) -> Tensor:
        """Return the gradient of each input row, from the gradients of the examples."""
        return gradient if self.bag is None else self._shared(gradient[self.bag])

    def _shared(self, each: Tensor) -> Tensor:
        if self.share is None:
            return each
        return each * (self.share[:, None] if each.ndim > 1 else self.share)


def batches_of(examples: ExampleArrays, how: Batches, device: torch.device) -> Iterator[Batch]:
    """Yield the examples of a chunk in batches, in the order of the text."""
    ids, target = (torch.from_numpy(array).to(device).long() for array in (examples.ids, examples.target))
    for first in range(0, len(target), how.size):
        some = target[first : first + how.size]
        if examples.starts is None:
            yield Batch(ids[first : first + how.size], None, None, some)
            continue
        starts = torch.from_numpy(examples.starts[first : first + how.size + 1]).to(device)
        sizes = starts.diff()
        bag = torch.repeat_interleave(sizes)
        yield Batch(
            ids[examples.starts[first] : examples.starts[first + len(some)]],
            bag,
            sizes[bag].float().reciprocal() if how.mean else None,
            some,
        )


class TorchStart(NamedTuple):
    """The values that a training starts from."""

    params: Params  # without padding
    seen: Counts  # how often each target was seen; empty: nothing counted yet
    own: Mapping[str, Any]  # head parameters that its rows are computed from; empty: start from the rows
    seed: int


class Weights:
    """The learned parameters on their device, and the arrays through which a model sees them."""

    @torch.inference_mode(False)
    def __init__(
        self, layer: OutputLayer, counts: Counts, begun: TorchStart, device: torch.device, threads: int
    ) -> None:
        """Set up the head and the input rows; `threads` is the number of CPU threads."""
        self.device, self.threads = device, threads
        # the counts of a saved model are read-only, which makes torch warn
        params, counts = begun.params, counts.copy()
        with seeded(self.device, begun.seed % 2**63):  # the projections of adaptive softmax start at random
            dim = params.in_vectors.shape[1]
            self.head = OutputHead(
                layer, dim, counts, share="example", device=self.device, dtype=torch.float32
            )
        self.head.sparse = not self.head.scores_all_words
        self.in_vectors, self.in_bias = (
            torch.from_numpy(array).to(self.device) for array in (params.in_vectors, params.in_bias)
        )
        self._begin(begun)
        self.own: dict[str, Floats] = {
            name: _array(parameter) for name, parameter in _own_parameters(self.head).items()
        }
        self.seen: Counts = _array(self.head.seen)
        out_vectors, out_bias, ln_z = self._out_arrays()
        self.params = Params(params.in_vectors, out_vectors, out_bias, params.in_bias, ln_z)

    def _begin(self, begun: TorchStart) -> None:
        params, own = begun.params, begun.own
        parameters = dict(self.head.named_parameters())
        out, bias, ln_z = (
            torch.from_numpy(array).to(self.device)
            for array in (params.out_vectors, params.out_bias, params.ln_z)
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
            if begun.seen.size:
                check_seen(self.head.layer.spec(), begun.seen.size, self.head.seen.numel())
                self.head.seen.copy_(torch.from_numpy(np.array(begun.seen)))

    def state(self) -> list[Tensor]:
        """Return all tensors that training changes."""
        return [
            self.in_vectors,
            self.in_bias,
            *(parameter.data for parameter in self.head.parameters()),
            self.head.seen,
        ]

    def publish(self) -> None:
        """Update the model's arrays; on the CPU most of them share memory with the parameters."""
        tensors = [self.in_vectors, self.in_bias, self.head.seen, *_own_parameters(self.head).values()]
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


class TorchRun(EpochRun[TextChunk]):
    """A training run with PyTorch."""

    paced = True  # callbacks may use PyTorch's generator, which the draws come from

    def __init__(
        self,
        text: ChunkedText,
        weights: Weights,
        batches: Batches,
        parts: TextParts | None,
        frozen: Bytes,
        plan: Plan,
    ) -> None:
        super().__init__(text.chunks, text.corpus.ids, plan, (), words=text.corpus.words)
        self._text, self._shards = text, text.texts()
        self._weights, self._batches = weights, batches
        self._parts = parts
        self._frozen = torch.from_numpy(frozen.astype(bool)).to(weights.device)
        self._buffer = window_buffer(text.longest, batches.window.size, text.most_pieces)
        self._copies = [torch.empty_like(tensor) for tensor in weights.state()]

    def train(self) -> None:
        """Train with the requested number of PyTorch threads."""
        with working_threads(self._weights.threads):
            super().train()

    def learn(self, epoch: int, chunk: TextChunk, lr: float, thread: int) -> tuple[float, int]:
        """Train a chunk batch by batch; return its summed loss and its number of examples."""
        head, device = self._weights.head, self._weights.device
        how = self._batches
        where = self._text.where(epoch, chunk)
        examples = how.examples(list_windows(self._shards[chunk.shard], how.window, where, self._buffer))
        if self._parts is not None:
            head.set_partition(self._parts.words(chunk))
        with seeded(device, int(where.draw_key)), torch.enable_grad():
            losses = [self._step(batch, lr) for batch in batches_of(examples, how, device)]
        loss = float(torch.stack(losses).cpu().double().sum()) if losses else 0.0
        return loss, examples.target.size

    def _step(self, batch: Batch, lr: float) -> Tensor:
        """Take one step of gradient descent; return the summed loss."""
        weights = self._weights
        hidden = batch.combine(weights.in_vectors).requires_grad_()
        bias = batch.combine(weights.in_bias).requires_grad_() if weights.in_bias.numel() else None
        loss: Tensor = weights.head(hidden, batch.target, reduction="sum", in_bias=bias)
        loss.backward()
        with torch.no_grad():
            for rows, used in ((weights.in_vectors, hidden), (weights.in_bias, bias)):
                if used is not None and used.grad is not None:
                    self._descend_inputs(rows, batch, batch.spread(used.grad), lr)
            for parameter in weights.head.parameters():
                if parameter.grad is not None:
                    _descend(parameter, parameter.grad, lr)
                    parameter.grad = None
        return loss.detach()

    def _descend_inputs(self, rows: Tensor, batch: Batch, gradient: Tensor, lr: float) -> None:
        """Move the input rows of a batch, except frozen ones."""
        if self._frozen.numel():
            stays = self._frozen[batch.ids]
            gradient = torch.where(stays[:, None] if gradient.ndim > 1 else stays, 0.0, gradient)
        _descend_rows(rows, batch.ids, gradient, lr)

    def keep_state(self) -> None:
        """Copy all tensors that training changes."""
        for good, tensor in zip(self._copies, self._weights.state(), strict=True):
            good.copy_(tensor)

    def restore_state(self) -> None:
        """Restore the tensors from their copies."""
        for good, tensor in zip(self._copies, self._weights.state(), strict=True):
            tensor.copy_(good)

    def finite(self) -> bool:
        """Return whether all learned numbers are finite."""
        return all(bool(torch.isfinite(tensor).all()) for tensor in self._weights.state())

    def publish(self) -> None:
        """Update the model's arrays."""
        self._weights.publish()


def _descend(parameter: Tensor, gradient: Tensor, lr: float) -> None:
    """Move a parameter: all its rows, or those that a sparse gradient contains."""
    if gradient.is_sparse:
        _descend_rows(parameter, gradient._indices()[0], gradient._values(), lr)
    else:
        parameter.sub_(_clipped(gradient, lr))


def _descend_rows(rows: Tensor, ids: Tensor, gradient: Tensor, lr: float) -> None:
    """Move the rows `ids`; an id that occurs several times has its gradients summed."""
    different, place = ids.unique(return_inverse=True)
    total = gradient.new_zeros(different.shape + gradient.shape[1:]).index_add_(0, place, gradient)
    rows.index_add_(0, different, _clipped(total, lr), alpha=-1)


def _clipped(gradient: Tensor, lr: float) -> Tensor:
    """Return lr times the gradient, with each row shortened to at most `FARTHEST`.

    A row of infinite length becomes NaN, so that the training notices it.
    """
    length = gradient.abs() if gradient.ndim == 1 else torch.linalg.vector_norm(gradient, dim=1, keepdim=True)
    return gradient * torch.where(length.isinf(), torch.nan, (FARTHEST / length).clamp(max=lr))


def _own_parameters(head: OutputHead) -> dict[str, Tensor]:
    """Return the parameters that the effective rows are computed from, if those are not parameters."""
    rows = {tensor.data_ptr() for tensor in head.effective() if tensor is not None}
    return {
        name: parameter for name, parameter in head.named_parameters() if parameter.data_ptr() not in rows
    }


def _array(tensor: Tensor) -> Any:
    """Return a tensor as a NumPy array, which on the CPU shares its memory."""
    return tensor.detach().cpu().numpy()
