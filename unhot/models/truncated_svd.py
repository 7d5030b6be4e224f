"""Compute the largest singular values of sparse cells, and their vectors, by random projection.

    X ~ U S V'        U'U = V'V = I,   S: the largest singular values, descending

    Q = G                                         random numbers [words, dim + oversampling]
    Q = orthonormal(X' Y - a Q T),  Y = X Q T,  `rounds` times        T: makes Y orthonormal
    X Q = U S W',   V = Q W                       from (X Q)'(X Q) = W S^2 W', a small matrix

Each round multiplies the part of Q in the direction of singular value s by s^2 - a, so Q turns towards the
largest singular values. The shift a is 0 at first. Later it is half the square of the smallest value that Q
follows. The shift widens the gaps between the values and keeps their order. Only the last values are not
exact; more `oversampling` and more `rounds` make them more exact. T scales all directions to the same length
half-way: in X'X Q their lengths are s^2, and float32 would lose those with s below 6e-4 of the largest.

X is divided by its largest value. Large products are computed in float32, all small matrices in float64. So
values are right to about 1e-6 of the largest; directions with s below 3e-7 of it are rounding errors and are
set to zero.

References: Halko, Martinsson and Tropp, Finding structure with randomness, 2011; Feng, Yu and Xie, the shift,
2022 (dashSVD).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.cells.sparse_rows import cuts, multiply, multiply_transposed, rows_of
from unhot.errors import ConfigError, DataError, at_least, whole
from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.simd.tiles import shape
from unhot.threads import in_order
from unhot.train.params import padded
from unhot.types import Doubles, Floats
from unhot.vocab.vocabulary import Vocabulary

BLOCK = 1 << 14  # rows that are converted to float64 at a time
ROUNDING = 1e-13  # directions with less than this share of the largest squared length are rounding errors

Progress = Callable[[int, int], None]


class Factors(NamedTuple):
    """A decomposition X ~ u diag(s) v'.

    If X has fewer than dim directions above 3e-7 of the largest, the rest of s, u and v is 0.
    """

    u: Floats  # [words, dim]
    s: Doubles  # [dim] descending
    v: Floats  # [words, dim]


def truncated_svd(
    cells: Cells,
    dim: int,
    *,
    oversampling: int = 28,
    rounds: int = 6,
    seed: int = 1,
    threads: int = 2,
    progress: Progress | None = None,
) -> Factors:
    """Compute the `dim` largest singular values of cells, and their vectors.

    oversampling   how many extra directions are followed
    rounds         how often the directions are multiplied by X and X'
    progress       called with the number of rounds done and the total

    The sign of each column of u makes its entry of largest magnitude positive. The same seed and number of
    threads give the same bits.
    """
    words = len(cells.vocabulary)
    dim, oversampling = whole("dim", dim, 1), whole("oversampling", oversampling, 0)
    rounds = whole("rounds", rounds, 1)
    seed, threads = whole("seed", seed, 0, 2**64 - 1), whole("threads", threads, 1, 1024)
    if dim > words:
        raise ConfigError(
            f"dim={dim}: must be at most {words}, the number of words; use a smaller dim, or more text"
        )
    tell, width = progress or (lambda done, total: None), min(words, dim + oversampling)
    products = _Products(cells, width, threads)
    q, shift = products.zeros(), 0.0
    q[:, :width] = np.random.default_rng(seed).standard_normal((words, width), dtype=np.float32)
    for done in range(rounds):
        y = products.times(q)
        lengths, turn = _divide_by_lengths(y[:, :width])
        _multiply(q[:, :width], turn)
        if done > 0:  # at first q is random, not orthonormal, so the lengths mean nothing yet
            shift = max(shift, float(lengths[0]) ** 2 / 2)
        q *= np.float32(shift)
        z = products.transposed_times(y)
        z -= q
        _divide_by_lengths(z[:, :width])
        _divide_by_lengths(z[:, :width])  # again, to remove the rounding errors of float32
        q = z
        tell(done + 1, rounds)
    return _factors(products.times(q)[:, :width], q[:, :width], dim, products.largest)


def weighted(factors: Factors, power: float = 0.5, contexts: bool = False) -> Floats:
    """Return the word vectors u s^power, or (u + v) s^power with `contexts`.

    power=1 keeps the scale of the matrix, power=0 gives all directions the same length; 0.5 is usually best.
    """
    power, some = at_least("power", power, 0), factors.s > 0
    scale = np.zeros(factors.s.shape, np.float32)
    with np.errstate(over="ignore"):
        scale[some] = factors.s[some] ** power
    if np.isinf(scale).any():
        raise ConfigError(
            f"power={power:g}: singular values up to {factors.s.max():g} to that power are too large; use a "
            "smaller power"
        )
    return (factors.u + factors.v if contexts else factors.u) * scale


def plan(words: int, width: int, threads: int) -> dict[str, int]:
    """Return the bytes needed to follow `width` directions."""
    # at the end q, X q, u and v exist at the same time
    return {"directions": 4 * words * padded(width) * max(4, threads + 2)}


def warm_up(width: int) -> None:
    """Compile the products with `width` directions, or load them from disk."""
    one = Cells(Vocabulary(["a"], [1]), (np.array([0, 1]), np.zeros(1, np.int32), np.ones(1)), {})
    products = _Products(one, width, 1)
    products.transposed_times(products.times(products.zeros()))


def _factors(y: Floats, q: Floats, dim: int, scale: float) -> Factors:
    """Compute the factors from X Q = U S W', V = Q W; y is X Q / scale."""
    squares, turn = _directions(y)
    keep = slice(None, -dim - 1, -1)  # the dim largest, descending
    s, turn = np.sqrt(squares[keep]), turn[:, keep]
    inverse = np.divide(1.0, s, out=np.zeros_like(s), where=s > 0)
    u, v = y @ (turn * inverse).astype(np.float32), q @ (turn * (s > 0)).astype(np.float32)
    largest = np.abs(u).argmax(axis=0)
    signs = np.where(u[largest, np.arange(dim)] < 0, np.float32(-1), np.float32(1))
    u *= signs
    v *= signs
    with np.errstate(over="ignore"):
        s *= scale
    if np.isinf(s).any():
        raise DataError(
            f"values up to {scale:g}: their singular values overflow; divide the values by a constant first"
        )
    return Factors(u, s, v)


def _directions(z: Floats) -> tuple[Doubles, Doubles]:
    """Return the eigenvalues of z'z, ascending, and its eigenvectors: z'z = turn diag(squares) turn'.

    The eigenvalues are the squared lengths of the columns of z @ turn.
    """
    gram = np.zeros((z.shape[1], z.shape[1]))
    for at in range(0, len(z), BLOCK):
        part = z[at : at + BLOCK].astype(np.float64)
        gram += part.T @ part
    squares, turn = np.linalg.eigh(gram)
    return np.where(squares > ROUNDING * squares[-1], squares, 0.0), turn


def _divide_by_lengths(z: Floats) -> tuple[Doubles, Doubles]:
    """Make the columns of z orthonormal up to rounding, in place.

    Return the lengths of the columns of z @ turn, ascending, and the matrix that z was multiplied by.
    """
    squares, turn = _directions(z)
    lengths = np.sqrt(squares)
    turn *= np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    _multiply(z, turn)
    return lengths, turn


def _multiply(z: Floats, turn: Doubles) -> None:
    """Replace z by z @ turn, in place."""
    for at in range(0, len(z), BLOCK):
        z[at : at + BLOCK] = z[at : at + BLOCK] @ turn.astype(np.float32)


class _Products:
    """Products of X / largest and X' / largest with dense matrices [words, stride], on threads."""

    def __init__(self, cells: Cells, width: int, threads: int) -> None:
        stride = padded(width)
        self.shape, self.rows = shape(stride), rows_of(cells.starts, cells.columns, cells.values)
        self.parts = cuts(cells.starts, threads)
        longest = int(np.diff(cells.starts).max(initial=1))
        self.scratch = [aligned_zeros(longest) for _ in self.parts]
        self.largest = float(max(cells.values.max(initial=0.0), -cells.values.min(initial=0.0))) or 1.0
        self.zeros: Callable[[], Floats] = lambda: aligned_zeros((len(cells.vocabulary), stride))

    def times(self, q: Floats) -> Floats:
        """Return X q / largest."""
        out = self.zeros()
        self._on_threads(
            lambda n: multiply(self.shape, self.rows, self.largest, q, self.scratch[n], *self.parts[n], out)
        )
        return out

    def transposed_times(self, y: Floats) -> Floats:
        """Return X' y / largest; each thread adds to its own matrix."""
        outs = [self.zeros() for _ in self.parts]
        self._on_threads(
            lambda n: multiply_transposed(
                self.shape, self.rows, self.largest, y, self.scratch[n], *self.parts[n], outs[n]
            )
        )
        for other in outs[1:]:
            outs[0] += other
        return outs[0]

    def _on_threads(self, work: Callable[[int], None]) -> None:
        """Call work(n) for each part n of the rows."""
        list(in_order(range(len(self.parts)), work, len(self.parts)))
