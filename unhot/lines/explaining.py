"""Explain a score: it is a sum over the rows of a line, so the share of each row is exact.

s = h . o + bias,   h = scale * sum of w_r x_r,   share of row r = scale * w_r x_r . o
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unhot.lines.predictor import LinePredictor
from unhot.lines.run_hashes import run_hashes, word_hash
from unhot.types import Floats
from unhot.vocab.subwords import LINE_END


class LinePiece(NamedTuple):
    """A word, a run of words or a character n-gram of a line, and its row."""

    text: str
    kind: str  # word | run | n-gram
    first: int  # the first of its words in the line
    last: int  # and the last
    row: int


@dataclass(frozen=True)
class PieceShare:
    """The share of a piece in a score."""

    text: str
    kind: str
    first: int
    last: int
    share: float


@dataclass(frozen=True)
class Decision:
    """One score that decides on a label: the sum of its bias and all shares."""

    name: str
    score: float
    bias: float
    shares: list[PieceShare]


@dataclass(frozen=True)
class Explanation:
    """Why a line has a label."""

    label: str
    probability: float
    words: list[str]
    decisions: list[Decision]


def line_pieces(predictor: LinePredictor, words: list[str]) -> list[LinePiece]:
    """Return the pieces of a line that have rows; each known word and each run is there once."""
    lines, model = predictor.lines, predictor.model
    subwords = model.rows.subwords
    found: list[LinePiece] = []
    seen: set[object] = set()
    for place, word in enumerate(words):
        known = lines.index.get(word)
        if known is not None and model.distinct and word in seen:
            continue
        seen.add(word)
        if known is not None:
            found.append(LinePiece(word, "word", place, place, int(model.rows.word_rows[known])))
        if subwords.maxn and word != LINE_END:
            ngrams = subwords.ngrams(word)
            rows = model.rows.rows_of(np.array([word_hash(n) % subwords.buckets for n in ngrams], np.int32))
            found += [LinePiece(n, "n-gram", place, place, int(r)) for n, r in zip(ngrams, rows, strict=True)]
    for first in range(len(words)):
        for last in range(first + 1, min(first + model.longest, len(words))):
            bucket = (
                run_hashes(words[first : last + 1], last - first + 1)[last - first - 1] % subwords.buckets
            )
            if not model.distinct or bucket not in seen:
                seen.add(bucket)
                row = int(model.rows.rows_of(np.array([bucket], np.int32))[0])
                found.append(LinePiece(" ".join(words[first : last + 1]), "run", first, last, row))
    return [piece for piece in found if piece.row >= 0]


def shares(predictor: LinePredictor, pieces: list[LinePiece], out_row: Floats) -> list[PieceShare]:
    """Return the share of each piece in the score of an output row."""
    model, rows = predictor.model, np.array([piece.row for piece in pieces], np.int64)
    weights = model.weights[rows].astype(np.float64) if model.weights.size else np.ones(rows.size)
    scale = max(float(weights @ weights), 1e-300) ** -model.power
    values = scale * weights * (model.rows.take(rows).astype(np.float64) @ out_row)
    return [
        PieceShare(piece.text, piece.kind, piece.first, piece.last, float(value))
        for piece, value in zip(pieces, values, strict=True)
    ]


def word_shares(words: list[str], found: list[PieceShare]) -> list[float]:
    """Return the share of each word: its own, those of its n-grams, and its part of those of runs."""
    out = [0.0] * len(words)
    for piece in found:
        for place in range(piece.first, piece.last + 1):
            out[place] += piece.share / (piece.last - piece.first + 1)
    return out
