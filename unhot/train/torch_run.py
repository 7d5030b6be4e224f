"""One trainer for all nets of PyTorch: batches in, loss out, on any device.

    lr = first lr * min(1, steps so far / warmup) * max(FLOOR, 1 - share)        (see epoch_run.py)

A net is a module with two methods: `begin(width)` returns the state before an epoch, and `net(*batch, state)`
returns the loss and the state after the batch, from which the next one goes on. Batches come from windows of
a text (torch_window_net.py) or from streams of it (streams.py). All random numbers of a chunk come from
the seed and the chunk's place, and PyTorch's own generator is left unchanged. So a training resumed from its
parameters, its optimizer and its states gives the same bytes as one that was never interrupted (on the CPU,
with the same threads).

With `torchrun`, each process reads its own part of the examples, and gradients are averaged
(DistributedDataParallel).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn, optim
from torch import distributed as group

from unhot.errors import FormatError
from unhot.train.epoch_run import EpochRun, Plan
from unhot.train.state_copy import StateCopy
from unhot.train.torch_device import seeded, working_threads

OPTIMIZER, CARRIED = "optimizer.", "carried."
# the farthest that a row may move in one step: rows of every example, such as the root of a tree, would
# otherwise leap
FARTHEST = 1.0


class NetBatches(Protocol):
    """Where examples come from."""

    size: int  # examples of an epoch, or positions
    words: int  # words of an epoch, as progress reports count them
    chunks: list[Any]
    chunk_steps: int  # steps of a chunk
    width: int  # what the net begins with: how many states it carries on
    part: int  # the number of this process
    parts: int  # processes that share the examples

    def draw_key(self, epoch: int, chunk: Any) -> int:
        """Return the seed of the random numbers of a chunk."""

    def batches(self, epoch: int, chunk: Any) -> Iterable[tuple[tuple[Any, ...], int]]:
        """Yield the arrays that the net takes, and the number of examples, for each step of a chunk."""


@dataclass(frozen=True)
class Descent:
    """How parameters move."""

    optimizer: Literal["adamw", "sgd", "adagrad", "rows"] = "adamw"  # rows: see `RowDescent`
    weight_decay: float = 0.0
    warmup: int = 0  # steps in which the rate rises
    clip: float = 0.0  # the longest gradient; 0: any
    autocast: bool = False  # compute products in bfloat16
    threads: int = 1
    reduction: Literal["mean", "sum"] = "mean"  # what the net's loss is of the losses of a batch


class RowDescent(optim.Optimizer):
    """Gradient descent by rows, in which no row leaps.

        row -= lr g, shortened to at most FARTHEST        g: the gradient of the row, summed over the batch

    A row that occurs often in a batch takes all its steps at once, from where it stood before the batch. To
    keep this from running away, no row moves farther than `FARTHEST` in one step. A sparse gradient moves
    only the rows that it contains.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float) -> None:
        super().__init__(parameters, {"lr": lr})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters; PyTorch's own method first imports its compiler, which takes seconds."""
        self.param_groups.append({**self.defaults, **param_group})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Move all parameters that have a gradient."""
        for settings in self.param_groups:
            for parameter in settings["params"]:
                if parameter.grad is not None:
                    _descend(parameter, parameter.grad, settings["lr"])


def _descend(parameter: Tensor, gradient: Tensor, lr: float) -> None:
    """Move a parameter: all its rows, or those of a sparse gradient, with the gradients of each summed."""
    if not gradient.is_sparse:
        parameter.sub_(_clipped(gradient, lr))
        return
    ids, values = gradient._indices()[0], gradient._values()
    different, place = ids.unique(return_inverse=True)
    total = values.new_zeros(different.shape + values.shape[1:]).index_add_(0, place, values)
    parameter.index_add_(0, different, _clipped(total, lr), alpha=-1)


def _clipped(gradient: Tensor, lr: float) -> Tensor:
    """Return lr times the gradient, with each row shortened to at most `FARTHEST`.

    A row of infinite length becomes NaN, so that the training notices it.
    """
    length = gradient.abs() if gradient.ndim == 1 else torch.linalg.vector_norm(gradient, dim=1, keepdim=True)
    return gradient * torch.where(length.isinf(), torch.nan, (FARTHEST / length).clamp(max=lr))


def make_optimizer(how: Descent, net: nn.Module, lr: float) -> optim.Optimizer:
    """Return the optimizer; biases and other vectors do not decay."""
    every = list(net.parameters())
    if how.optimizer == "rows":
        return RowDescent(every, lr)
    groups = [
        {"params": [one for one in every if one.ndim > 1], "weight_decay": how.weight_decay},
        {"params": [one for one in every if one.ndim <= 1], "weight_decay": 0.0},
    ]
    if how.optimizer == "adamw":
        return optim.AdamW(groups, lr=lr, fused=True)
    if how.optimizer == "adagrad":
        return optim.Adagrad(groups, lr=lr)
    return optim.SGD(groups, lr=lr)


def clip_gradients(parameters: Iterable[nn.Parameter], longest: float) -> None:
    """Shorten all gradients together to at most `longest`."""
    gradients = []
    for parameter in parameters:
        if parameter.grad is not None and parameter.grad.is_sparse:
            parameter.grad = parameter.grad.coalesce()
            gradients.append(parameter.grad._values())
        elif parameter.grad is not None:
            gradients.append(parameter.grad)
    length = nn.utils.get_total_norm(gradients)
    torch._foreach_mul_(gradients, (longest / length).clamp(max=1.0))


class TorchRun(EpochRun[Any]):
    """A training of a net."""

    paced = True  # callbacks may use PyTorch's generator, which all draws come from

    def __init__(
        self,
        net: Any,
        source: NetBatches,
        how: Descent,
        plan: Plan,
        device: torch.device,
        publish: Callable[[], None] = lambda: None,
    ) -> None:
        """Take the net on its device; `publish` updates a model that has copies of its parameters."""
        super().__init__(source.chunks, source.size, plan, (), words=source.words)
        self._net, self._source = net, source
        self._how, self._device = how, device
        self._publish = publish
        self._called = nn.parallel.DistributedDataParallel(net) if source.parts > 1 else net
        self._optimizer = make_optimizer(how, net, plan.lr)
        self._names = {parameter: name for name, parameter in net.named_parameters()}
        self._state: tuple[Tensor, ...] = ()

    def train(self) -> None:
        """Train with the requested number of PyTorch threads."""
        with working_threads(self._how.threads):
            super().train()

    def learn(self, epoch: int, chunk: Any, lr: float, thread: int) -> tuple[float, int]:
        """Train a chunk batch by batch; return its summed loss and its number of examples."""
        if chunk.number == 0:
            self._state = self._net.begin(self._source.width)
        for settings in self._optimizer.param_groups:
            settings["lr"] = lr
        losses, sizes = [], []
        self._net.train()
        with seeded(self._device, self._source.draw_key(epoch, chunk)), torch.enable_grad():
            for arrays, size in self._source.batches(epoch, chunk):
                losses.append(self._step(arrays))
                sizes.append(size)
        summed = torch.stack(losses).cpu().double() if losses else torch.zeros(0)
        if self._how.reduction == "mean":
            summed *= torch.tensor(sizes)
        return float(summed.sum()), sum(sizes)

    def _step(self, arrays: tuple[Any, ...]) -> Tensor:
        """Take one step; return the loss of the batch."""
        batch = [one if one is None else torch.as_tensor(one, device=self._device) for one in arrays]
        self._net.zero_grad()
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._how.autocast):
            loss, self._state = self._called(*batch, self._state)
        loss.backward()
        if self._how.clip:
            clip_gradients(self._net.parameters(), self._how.clip)
        with torch.sparse.check_sparse_tensor_invariants(enable=False):  # torch warns if nobody says
            self._optimizer.step()
        return loss.detach()  # type: ignore[no-any-return]

    def rate(self, epoch: int, chunk: Any) -> float:
        """Return the learning rate of a chunk."""
        steps = self._source.chunk_steps * (epoch * len(self.chunks) + chunk.number + 1)
        return self.falling(self._plan.lr * min(1.0, steps / max(1, self._how.warmup)), epoch, chunk)

    def time_share(self) -> float:
        """Return the share of the minutes that has passed, by the clock of the first process."""
        share = super().time_share()
        if share and self._source.parts > 1:
            told = torch.tensor([share])
            group.broadcast(told, 0)
            share = float(told)
        return share

    # ---- the state of a training

    def tensors(self) -> dict[str, Tensor]:
        """Return what resuming needs beside the parameters: the optimizer's state and the carried state."""
        found = {f"{CARRIED}{i}": one for i, one in enumerate(self._state)}
        for parameter, values in self._optimizer.state.items():
            for name, value in values.items():
                if isinstance(value, Tensor):
                    found[f"{OPTIMIZER}{self._names[parameter]}.{name}"] = value
        return found

    def resume(self, saved: Mapping[str, Tensor]) -> None:
        """Take the state that `tensors` returned; other tensors are left alone."""
        self._state = self._net.begin(self._source.width)
        if f"{CARRIED}0" in saved and not self._source.part:
            for number, one in enumerate(self._state):
                one.copy_(_like(saved, f"{CARRIED}{number}", one))
        self._optimizer.state.clear()
        for parameter, name in self._names.items():
            prefix = f"{OPTIMIZER}{name}."
            mine = [each.removeprefix(prefix) for each in saved if each.startswith(prefix)]
            if mine:
                self._optimizer.state[parameter] = {
                    each: _like(saved, prefix + each, parameter).to(parameter.device, copy=True)
                    for each in mine
                }

    def _everything(self) -> dict[str, Tensor]:
        return {**self._net.state_dict(), **self.tensors()}

    def keep_state(self) -> None:
        """Copy all tensors that training changes; an optimizer makes some of them at its first step."""
        self._good = StateCopy(self._everything())
        super().keep_state()

    def restore_state(self) -> None:
        """Restore the tensors from their copies."""
        super().restore_state()
        self.resume(self._good.tensors)

    def finite(self) -> bool:
        """Return whether all learned numbers are finite."""
        return all(bool(torch.isfinite(tensor).all()) for tensor in self._everything().values())

    def publish(self) -> None:
        """Update the model, if it has copies of the parameters."""
        self._publish()


def _like(saved: Mapping[str, Tensor], name: str, own: Tensor) -> Tensor:
    """Return a saved tensor; raise a `FormatError` unless it is a number, or has the shape of another one."""
    found = saved.get(name)
    if found is None or (found.ndim and (found.shape, found.dtype) != (own.shape, own.dtype)):
        has = None if found is None else tuple(found.shape)
        raise FormatError(
            f"the state of the training: {name} has the shape {has}, but must have {tuple(own.shape)}; it is "
            "damaged"
        )
    return found
