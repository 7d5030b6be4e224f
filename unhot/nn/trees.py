"""The paths of a tree as tensors, for hierarchical softmax in torch.

The paths stay flat arrays, as in `unhot.tree`. A batch of paths is one look-up of [batch, longest path]
steps.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from unhot.errors import ConfigError
from unhot.tree.paths import Paths, longest


class TreePaths(NamedTuple):
    """The paths of all classes: that of w is [start[w] : start[w + 1]] of node and code, root first."""

    start: Tensor  # [classes + 1], int64
    node: Tensor  # [all steps], int32
    code: Tensor  # [all steps], uint8: 0 = left, 1 = right
    longest: int  # steps of the longest path


def tree_paths(tree: Paths, device: torch.device | str | None = None) -> TreePaths:
    """Return the paths on a device; on the CPU they share the memory of the arrays, unless read-only.

    Read-only arrays are copied: torch has no read-only tensors and warns. A compiled graph cannot read the
    flag, and does not warn.
    """
    if not isinstance(tree, Paths):
        raise ConfigError(
            f"tree of type {type(tree).__name__}: must be a tree of unhot.tree, such as huffman(counts)"
        )
    compiling = torch.compiler.is_compiling()
    arrays = (part if compiling or part.flags.writeable else part.copy() for part in tree)
    start, node, code = (torch.as_tensor(array, device=device) for array in arrays)
    return TreePaths(start, node, code, longest(tree))


def steps_of(tree: TreePaths, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the inner nodes on the paths of words, the signs of their scores, and which steps exist.

    Each is [..., longest]. The sign is +1 where a path goes left, -1 where it goes right. A path that is
    shorter than the longest is padded with its own last node.
    """
    begin, end = tree.start[words].unsqueeze(-1), tree.start[words + 1].unsqueeze(-1)
    step = begin + torch.arange(tree.longest, device=words.device)
    place = torch.minimum(step, end - 1)
    return tree.node[place], 1 - 2 * tree.code[place].to(torch.int8), step < end
