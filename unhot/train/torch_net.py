"""One trainer for all nets of PyTorch: batches in, loss out.

    lr = first lr * min(1, steps so far / warmup) * max(FLOOR, 1 - share)        (see epoch_run.py)

A net is a module with two methods: `begin(batch)` returns the state before an epoch, and `net(*batch, state)`
returns the mean loss and the state after the batch, from which the next one goes on. All random numbers of a
chunk come from the seed and the chunk's place. So a training resumed from its parameters, its optimiser and
its states gives the same bytes as one that was never interrupted (on the CPU, with the same threads).

With `torchrun`, each process reads its own streams, and gradients are averaged (DistributedDataParallel).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn, optim
from torch import distributed as group

from unhot.errors import FormatError
from unhot.kernels.rng import key_from, stream_key
from unhot.train.epoch_run import EpochRun, Plan
from unhot.train.schedule import Chunk
from unhot.train.torch_device import seeded, working_threads

DRAWS = 17  # what the random numbers of a chunk are for; of other processes, the numbers behind it
OPTIMIZER, CARRIED = "optimizer.", "carried."


class NetBatches(Protocol):
    """Where examples come from."""

    size: int  # examples of an epoch
    chunks: list[Chunk]
    chunk_steps: int  # steps of a chunk
    width: int  # what the net begins with: how many states it carries on

    def batches(self, epoch: int, chunk: Chunk) -> Iterable[tuple[tuple[Any, ...], int]]:
        """Yield the arrays that the net takes, and the number of examples, for each step of a chunk."""


@dataclass(frozen=True)
class Descent:
    """How parameters move."""

    optimizer: str = "adamw"  # adamw, sgd or adagrad
    weight_decay: float = 0.0
    warmup: int = 0  # steps in which the rate rises
    clip: float = 0.0  # the longest gradient; 0: any
    autocast: bool = False  # compute products in bfloat16
    threads: int = 1


def make_optimizer(how: Descent, net: nn.Module, lr: float) -> optim.Optimizer:
    """Return the optimiser; biases and other vectors do not decay."""
    every = list(net.parameters())
    groups = [
        {"params": [one for one in every if one.ndim > 1], "weight_decay": how.weight_decay},
        {"params": [one for one in every if one.ndim <= 1], "weight_decay": 0.0},
    ]
    if how.optimizer == "adamw":
        return optim.AdamW(groups, lr=lr, fused=True)
    if how.optimizer == "adagrad":
        return optim.Adagrad(groups, lr=lr)
    return optim.SGD(groups, lr=lr)


def limit(parameters: Iterable[nn.Parameter], longest: float) -> None:
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


class NetRun(EpochRun[Chunk]):
    """A training of a net."""

    paced = True  # callbacks may use PyTorch's generator, which all draws come from

    def __init__(self, net: Any, source: NetBatches, how: Descent, plan: Plan, device: torch.device) -> None:
        super().__init__(source.chunks, source.size, plan, ())
        self._net, self._source = net, source
        self._how, self._device = how, device
        self._rank = group.get_rank() if group.is_initialized() else 0
        self._called = nn.parallel.DistributedDataParallel(net) if group.is_initialized() else net
        self._optimizer = make_optimizer(how, net, plan.lr)
        self._names = {parameter: name for name, parameter in net.named_parameters()}
        self._state: tuple[Tensor, ...] = ()
        self._kept: dict[str, Tensor] = {}

    def train(self) -> None:
        """Train with the requested number of PyTorch threads."""
        with working_threads(self._how.threads):
            super().train()

    def learn(self, epoch: int, chunk: Chunk, lr: float, thread: int) -> tuple[float, int]:
        """Train a chunk; return its summed loss and its number of examples."""
        if chunk.number == 0:
            self._state = self._net.begin(self._source.width)
        for settings in self._optimizer.param_groups:
            settings["lr"] = lr
        key = key_from(stream_key(self._plan.seed, epoch, DRAWS + self._rank), chunk.number)
        total, pairs = torch.zeros((), dtype=torch.float64), 0
        self._net.train()
        with seeded(self._device, int(key) % 2**63), torch.enable_grad():
            for arrays, size in self._source.batches(epoch, chunk):
                batch = tuple(torch.from_numpy(array).to(self._device) for array in arrays)
                total += self._step(batch).cpu().double() * size
                pairs += size
        return float(total), pairs

    def _step(self, batch: tuple[Any, ...]) -> Tensor:
        """Take one step; return the mean loss."""
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._how.autocast):
            loss, self._state = self._called(*batch, self._state)
        self._optimizer.zero_grad()
        loss.backward()
        if self._how.clip:
            limit(self._net.parameters(), self._how.clip)
        with torch.sparse.check_sparse_tensor_invariants(enable=False):  # torch warns if nobody says
            self._optimizer.step()
        return loss.detach()  # type: ignore[no-any-return]

    def rate(self, epoch: int, chunk: Chunk) -> float:
        """Return the learning rate of a chunk."""
        steps = self._source.chunk_steps * (epoch * len(self.chunks) + chunk.number + 1)
        return self.falling(self._plan.lr * min(1.0, steps / max(1, self._how.warmup)), epoch, chunk)

    def time_share(self) -> float:
        """Return the share of the minutes that has passed, by the clock of the first process."""
        share = super().time_share()
        if share and group.is_initialized():
            told = torch.tensor([share])
            group.broadcast(told, 0)
            share = float(told)
        return share

    # ---- the state of a training

    def tensors(self) -> dict[str, Tensor]:
        """Return what resuming needs beside the parameters: the optimiser's state and the carried state."""
        found = {f"{CARRIED}{i}": one for i, one in enumerate(self._state)}
        for parameter, values in self._optimizer.state.items():
            for name, value in values.items():
                if isinstance(value, Tensor):
                    found[f"{OPTIMIZER}{self._names[parameter]}.{name}"] = value
        return found

    def resume(self, saved: Mapping[str, Tensor]) -> None:
        """Take the state that `tensors` returned."""
        self._state = self._net.begin(self._source.width)
        if f"{CARRIED}0" in saved and not self._rank:
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
        """Copy all tensors that training changes."""
        self._kept = {name: tensor.clone() for name, tensor in self._everything().items()}

    def restore_state(self) -> None:
        """Restore the tensors from their copies."""
        own = self._net.state_dict()
        self._net.load_state_dict({name: self._kept[name] for name in own})
        self.resume({name: tensor for name, tensor in self._kept.items() if name not in own})

    def finite(self) -> bool:
        """Return whether all learned numbers are finite."""
        return all(bool(torch.isfinite(tensor).all()) for tensor in self._everything().values())


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
