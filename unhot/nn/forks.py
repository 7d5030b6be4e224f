"""PyTorch in forked processes.

The threads of PyTorch do not survive a fork, but the child still waits for them: its first large operation
would hang if the parent had used them. So a forked child works with one thread.
"""

import os

import torch

_parent = os.getpid()


def usable_threads(number: int) -> int:
    """Return how many threads PyTorch may use here: one in a forked child."""
    return number if os.getpid() == _parent else 1


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))
