"""The device that PyTorch works on, its threads, and its random numbers.

The threads of PyTorch do not survive a fork, but the child still waits for them: its first large operation
would hang if the parent had used them. So a forked child works with one thread.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import distributed as group

from unhot.errors import ConfigError

_parent = os.getpid()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))

GENERATOR = threading.Lock()  # held while seeded: PyTorch has one generator per process


def open_device(name: str) -> torch.device:
    """Return the device of that name; raise a `ConfigError` if it cannot be used."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device).item()
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = f"{str(error).splitlines()[0]:.100}"
        raise ConfigError(f"device={name!r}: cannot be used here ({reason}); use cpu, for example") from error
    return device


@contextmanager
def seeded(device: torch.device | str, seed: int) -> Iterator[None]:
    """Seed PyTorch's generators, on the CPU and the device, for the length of a `with` block.

    The generators are then restored.
    """
    device = torch.device(device)
    if device.type == "cpu":
        with GENERATOR, torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            yield
        return
    others = range(torch.get_device_module(device).device_count())  # torch seeds all devices
    with GENERATOR, torch.random.fork_rng(devices=others, device_type=device.type):
        torch.manual_seed(seed)
        yield


def join_group(device: torch.device) -> tuple[int, int]:
    """Return the number of this process and how many there are; join the others that `torchrun` started."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not group.is_initialized():
        group.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return (group.get_rank(), group.get_world_size()) if group.is_initialized() else (0, 1)


@contextmanager
def working_threads(number: int) -> Iterator[None]:
    """Let PyTorch work with so many CPU threads for the length of a `with` block; a forked child with one."""
    before = torch.get_num_threads()
    torch.set_num_threads(number if os.getpid() == _parent else 1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
