"""Random walks on a graph, made while they are trained on; a walk is a sentence of nodes.

A walk of at most `length` nodes begins at each node, some times in each epoch. From node v it goes on to a
neighbour x with probability proportional to the weight w_vx. It ends early at a node without neighbours.

With p and q the walk also remembers the node t from which it came to v (node2vec):

    probability of x  ~  w_vx f,    f = 1/p if x = t,   1 if there is an arc from t to x,   1/q otherwise

x is drawn by w_vx and accepted with probability f / max(1, 1/p, 1/q), otherwise drawn again. So no table of
pairs of arcs is needed. Most neighbours are accepted without a look at the arcs of t, since every f is at
least min(1, 1/p, 1/q).

The bits of a walk depend on its number, the seed and the epoch, so any number of threads makes the same
walks. Arcs are the cells of a matrix, in rows with rising columns (corpus/cells).

References: Perozzi et al., DeepWalk: online learning of social representations, 2014; Grover and Leskovec,
node2vec: scalable feature learning for networks, 2016.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.indexed_folder import read_only
from unhot.kernels.jit import inner, kernel
from unhot.kernels.order import shuffled
from unhot.kernels.rng import GAMMA, below, bits_at, mix, stream_key
from unhot.kernels.windows import close_sentence, keep_threshold, keep_words, put_word
from unhot.noise.alias import alias_rows, draw_within
from unhot.threads import in_order, parts_of
from unhot.types import Ids, Starts, Words64
from unhot.vocab.vocabulary import Vocabulary

_32, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
NOWHERE = -1  # the node before the first of a walk, and behind the last
BLOCK = 1 << 12  # walks that a thread writes down at a time
COUNTED = 1 << 20  # walks whose steps are counted, about; at least one from each node


class Arcs(NamedTuple):
    """The neighbours of each node, and how to draw one."""

    starts: Starts  # [nodes + 1]
    columns: Ids  # [arcs] neighbours, rising in each row
    table: Words64  # [arcs] an alias table for each row; empty: all neighbours are equally likely
    # of 32 random bits, the largest with which a step back to t, to a neighbour of t, and to any other node
    # is accepted; then the smallest of the three
    back: int
    near: int
    away: int
    least: int


class Walks(NamedTuple):
    """Walks as a text: kernels read it where they read a `Text`."""

    arcs: Arcs
    length: int
    keep: Any  # uint32 [nodes], see `Text`


@dataclass(frozen=True)
class GraphWalks:
    """The walks of a training, in place of a corpus: `walks` times as many as there are nodes."""

    graph: Cells
    walks: int
    length: int
    p: float = 1.0
    q: float = 1.0

    @property
    def vocabulary(self) -> Vocabulary:
        """The nodes."""
        return self.graph.vocabulary

    @property
    def whole(self) -> int:
        """The positions that belong together: those of a walk."""
        return self.length

    @property
    def ids(self) -> int:
        """The positions of all walks, as if none ended early."""
        return len(self.vocabulary) * self.walks * self.length

    @cached_property
    def sinks(self) -> int:
        """The nodes without an outgoing arc."""
        return int((np.diff(self.graph.starts) == 0).sum())

    @cached_property
    def words(self) -> int:
        """The nodes on the walks of an epoch.

        If walks end early, those of the first epoch with seed 1 are counted, or a part of them in a large
        graph. Each chunk of a training has walks from all over the graph, so the share of the positions that
        are done, which sets the learning rate, is that of the steps, too.
        """
        if not self.sinks:
            return self.ids
        rounds = max(1, min(self.walks, COUNTED // len(self.vocabulary)))
        arcs, key = self.arcs, stream_key(1, 0, 0)

        def steps(part: range) -> int:
            out = np.empty((len(part), self.length), np.int32)
            write_walks(arcs, key, part.start, out)
            return int((out >= 0).sum())

        counted = sum(in_order(parts_of(rounds * len(self.vocabulary), BLOCK), steps, 2))
        return round(counted * self.walks / rounds)

    @property
    def sizes(self) -> list[int]:
        """The positions of each shard; there is one."""
        return [self.ids]

    def check_windows(self) -> None:
        """Do nothing: all nodes are known."""

    @cached_property
    def arcs(self) -> Arcs:
        """The arcs as kernels read them."""
        values, table = self.graph.values, np.zeros(0, np.uint64)
        if values.size and (values != values[0]).any():
            table = alias_rows(self.graph.starts, values)
        factors = np.array([1 / self.p, 1.0, 1 / self.q])
        back, near, away = keep_threshold(factors / factors.max()).tolist()
        starts, columns = read_only(self.graph.starts), read_only(self.graph.columns)
        return Arcs(starts, columns, read_only(table), back, near, away, min(back, near, away))

    def text(self, keep: Any) -> Walks:
        """Return all walks as kernels read them; `keep`: see `Text`."""
        return Walks(self.arcs, self.length, keep)

    def write(self, seed: int = 1, epoch: int = 0, threads: int = 2) -> Ids:
        """Return the walks of an epoch, [walks, length], -1 where a walk has ended.

        They are those of a training with this seed, and do not depend on the number of threads.
        """
        out = np.empty((len(self.vocabulary) * self.walks, self.length), np.int32)
        arcs, key = self.arcs, stream_key(seed, epoch, 0)

        def work(part: range) -> None:
            write_walks(arcs, key, part.start, out[part.start : part.stop])

        list(in_order(parts_of(len(out), BLOCK), work, threads))
        return out


def no_walks() -> Walks:
    """Return a graph without arcs to compile with; arrays are read-only, as those that are mapped."""
    starts, columns = np.zeros(2, np.int64), np.zeros(0, np.int32)
    table = np.zeros(0, np.uint64)
    arcs = Arcs(read_only(starts), read_only(columns), read_only(table), 0, 0, 0, 0)
    return Walks(arcs, 1, keep_threshold(np.ones(1)))


@inner
def has_arc(arcs: Any, source: Any, target: Any) -> Any:
    """Return whether there is an arc, by binary search."""
    low, high = arcs.starts[source], arcs.starts[source + 1]
    while low < high:
        middle = (low + high) // 2
        if arcs.columns[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low < arcs.starts[source + 1] and arcs.columns[low] == target


@inner
def next_node(arcs: Any, before: Any, node: Any, state: Any) -> Any:
    """Return the node that comes after `before` and `node`, NOWHERE if there is none, and the new state."""
    begin, size = arcs.starts[node], arcs.starts[node + 1] - arcs.starts[node]
    if size == 0:
        return np.int32(NOWHERE), state
    while True:
        state += GAMMA
        bits = mix(state)
        at = np.int64(draw_within(arcs.table, begin, size, bits)) if arcs.table.size else below(bits, size)
        other = arcs.columns[begin + at]
        if before < 0 or arcs.least == 0xFFFFFFFF:
            return other, state
        state += GAMMA
        coin = np.int64(mix(state) >> _32)
        if coin <= arcs.least:
            return other, state
        chance = arcs.back if other == before else arcs.near if has_arc(arcs, before, other) else arcs.away
        if coin <= chance:
            return other, state


@keep_words.register(Walks)
def _keep_walks(text: Any, where: Any, window: Any, kept: Any) -> Any:
    """Write the walks of a chunk to `kept`, one after another, and return the place behind the last node.

    Whether a node survives sub-sampling, and how far it sees, is decided by bits of its position.
    """
    number, nodes = (where.end - where.begin) // text.length, text.keep.size
    place = window.size
    for piece in range(where.first, where.last):
        walk = shuffled(where.order_key, piece, number)
        node, before = np.int32(walk % nodes), np.int32(NOWHERE)
        state, begin = bits_at(where.window_key, walk), place
        for step in range(text.length):
            bits = bits_at(where.window_key ^ _LOW, walk * text.length + step)
            place += put_word(text.keep, window, bits, node, kept, place)
            after, state = next_node(text.arcs, before, node, state)
            before, node = node, after
            if node < 0:
                break
        close_sentence(kept, begin, place, window)
        kept.line[begin] = walk
    return place


@kernel
def write_walks(arcs: Any, key: Any, first: Any, out: Any) -> None:
    """Write down the walks from number `first` on."""
    for i in range(out.shape[0]):
        walk = first + i
        node, before = np.int32(walk % (arcs.starts.size - 1)), np.int32(NOWHERE)
        state = bits_at(key, walk)
        for step in range(out.shape[1]):
            out[i, step] = node
            if node >= 0:
                after, state = next_node(arcs, before, node, state)
                before, node = node, after
