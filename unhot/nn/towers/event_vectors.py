"""The vectors of events: of their items, of the side values of items, of the features of events.

    e = x[item]
    s_f = mean of w_v g[v] over the values v of the item in side column f
    c = sum_j w_j t[value j]

`unhot/items/feature_rows.py` says which row and which weight w a value has. Padding has vectors of zeros.
"""

import numpy as np
import torch
from torch import Tensor, nn

from unhot.items.feature_rows import SideRows

WIDTH = 0.02  # standard deviation of the numbers of new vectors


class EventVectors(nn.Module):
    """Tables of vectors, and their look-up.

    items    how many items there are
    sides    the rows of their side values
    rows     how many rows the features of events have
    """

    starts: Tensor
    rows: Tensor
    weights: Tensor
    column_of: Tensor

    def __init__(self, items: int, dim: int, sides: SideRows, rows: int) -> None:
        super().__init__()
        self.columns = sides.number
        self.items = _table(items, dim)
        self.sides = _table(sides.size, dim)
        self.features = _table(rows, dim)
        arrays = {"starts": sides.starts, "rows": sides.rows, "column_of": sides.columns}
        for name, array in arrays.items():
            self.register_buffer(name, torch.from_numpy(np.array(array, np.int64)), persistent=False)
        self.register_buffer("weights", torch.from_numpy(np.array(sides.weights)), persistent=False)

    @property
    def dim(self) -> int:
        """The length of the vectors."""
        return self.items.embedding_dim

    def of_items(self, items: Tensor) -> Tensor:
        """Return the vectors of items [...]: [..., dim]; zeros for -1."""
        found: Tensor = self.items(items.clamp(min=0)) * (items >= 0)[..., None]
        return found

    def of_sides(self, items: Tensor) -> Tensor:
        """Return the mean of the values of items [...] in each side column: [..., columns, dim]."""
        owner, entries = self.entries_of(items.reshape(-1))
        cell = owner * self.columns + self.column_of[entries]
        number = items.numel() * self.columns
        sums = self.items.weight.new_zeros(number, self.dim).index_add(0, cell, self.of_entries(entries))
        sizes = torch.bincount(cell, minlength=number).clamp(min=1)
        return (sums / sizes[:, None]).reshape(*items.shape, self.columns, self.dim)

    def of_features(self, rows: Tensor | None, weights: Tensor | None) -> Tensor | None:
        """Return the sum of the values of features [..., features]: [..., dim]; None without features."""
        if rows is None or weights is None or not self.features.num_embeddings:  # no feature has a value
            return None
        there = (rows >= 0) * weights
        found: Tensor = (self.features(rows.clamp(min=0)) * there[..., None]).sum(dim=-2)
        return found

    def entries_of(self, items: Tensor) -> tuple[Tensor, Tensor]:
        """Return the places of the items [n], -1: none, of all their entries of side values; the entries."""
        known = items.clamp(min=0)
        sizes = (self.starts[known + 1] - self.starts[known]) * (items >= 0)
        owner = torch.repeat_interleave(sizes)
        before = (sizes.cumsum(0) - sizes)[owner]
        places = self.starts[known][owner] + torch.arange(owner.numel(), device=items.device) - before
        return owner, places

    def of_entries(self, entries: Tensor) -> Tensor:
        """Return the vectors of entries of side values: [n, dim]."""
        found: Tensor = self.sides(self.rows[entries]) * self.weights[entries, None]
        return found

    def sums(self, items: Tensor, rows: Tensor | None, weights: Tensor | None) -> Tensor:
        """Return everything known of events as one vector each: [..., dim]."""
        found = self.of_items(items)
        if self.columns:
            found = found + self.of_sides(items).sum(dim=-2)
        features = self.of_features(rows, weights)
        return found if features is None else found + features


def _table(rows: int, dim: int) -> nn.Embedding:
    table = nn.Embedding(rows, dim)
    table.weight.requires_grad_(rows > 0)  # processes that share a training wait for every gradient
    if not table.weight.is_meta:
        nn.init.normal_(table.weight, std=WIDTH)
    return table


def sets_of(owner: Tensor, rows: Tensor, vectors: Tensor, many: int) -> tuple[Tensor, Tensor]:
    """Return each pair of an owner and a row once: the owners, and the means of the vectors of equal pairs.

    owner    int64 [n];  rows  int64 [n], below `many`;  vectors  [n, dim]
    """
    keys, place, sizes = (owner * many + rows).unique(return_inverse=True, return_counts=True)
    sums = vectors.new_zeros(keys.numel(), vectors.shape[1]).index_add(0, place, vectors)
    return keys // many, sums / sizes[:, None]


def attended(owner: Tensor, rows: Tensor, queries: Tensor) -> Tensor:
    """Return sum_k softmax_k(g_k . q) g_k over the rows g_k of each owner, with the query q of the owner.

    owner    int64 [n];  rows  [n, dim];  queries  [owners, dim]  ->  [owners, dim], zeros without rows
    """
    scores = (rows * queries[owner]).sum(dim=1)
    top = scores.new_full((len(queries),), -torch.inf).scatter_reduce(0, owner, scores.detach(), "amax")
    weights = (scores - top[owner]).exp()
    total = weights.new_zeros(len(queries)).index_add(0, owner, weights)
    found = rows.new_zeros(queries.shape).index_add(0, owner, rows * weights[:, None])
    return found / total.clamp(min=torch.finfo(total.dtype).tiny)[:, None]


def relu_layers(sizes: list[int], dropout: float) -> nn.Sequential:
    """Return linear layers with ReLU and dropout between them: the last one is linear alone."""
    layers: list[nn.Module] = []
    for before, after in zip(sizes[:-1], sizes[1:], strict=True):
        layers += [nn.Linear(before, after), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*layers[:-2])
