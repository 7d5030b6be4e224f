"""Character n-grams (pieces), from which word vectors are composed.

A word is written with a mark at each end, `<where>`, and cut into all pieces of minn to maxn characters:
`<wh`, `whe`, `her`, `ere`, `re>` for minn = maxn = 3. A piece has no row of its own: its hash selects one of
`buckets` rows, which it shares with other pieces.

    scheme=fasttext    FNV-1a selects one row for each piece; a word of the vocabulary also has its own row.
                       This is byte for byte what fastText does.
    scheme=floret      Murmur 3 selects `hashes` rows for each piece, and the marked word is a piece, too;
                       so a few rows are enough for any vocabulary.

    combine=mean       The vector of a word is the mean of its rows. A row that it has twice counts twice, as
                       in fastText.
    combine=sum        It is the sum over the set of its rows, as in the paper: each row counts once.

Characters are Unicode code points. A single mark is not a piece. With fastText, `</s>`, the end of a line,
has no pieces; with floret it is a word like any other, as in spaCy.

References: Bojanowski et al., Enriching word vectors with subword information, 2017; Boyd & Warmerdam,
floret, 2022.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unhot.errors import ConfigError, one_of, whole
from unhot.types import Bytes, Ids, Starts
from unhot.vocab.vocabulary import decode_word, encode_word, joined_words

SCHEMES = ("fasttext", "floret")
COMBINES = ("mean", "sum")
BEGIN, END = "<", ">"
LINE_END = "</s>"
MOST_BUCKETS = 2**31 - 1
MOST_CHARACTERS = 1 << 20
FLORET_SEED = 2166136261


class Pieces(NamedTuple):
    """The buckets of many words: word i has ids[starts[i] : starts[i + 1]]."""

    starts: Starts  # [words + 1]
    ids: Ids

    def distinct(self) -> "Pieces":
        """Return the buckets without repeats within a word; the first of each stays where it is."""
        word = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        _, first = np.unique(word * (int(self.ids.max(initial=0)) + 1) + self.ids, return_index=True)
        first.sort()
        return Pieces(np.searchsorted(first, self.starts), self.ids[first])


class NgramSettings(NamedTuple):
    """The settings of `Subwords` in the form that kernels take."""

    minn: int
    maxn: int
    buckets: int
    hashes: int  # rows for each piece with floret; 0: fastText's scheme
    seed: int


@dataclass(frozen=True, kw_only=True)
class Subwords:
    """Settings that say how words are cut into pieces, how pieces are hashed, and what becomes of their rows.

    >>> Subwords(minn=3, maxn=3).ngrams("where")
    ['<wh', 'whe', 'her', 'ere', 're>']
    >>> Subwords(minn=3, maxn=6, buckets=1000).ids("cat").tolist()
    [747, 973, 137, 31, 995, 106]
    """

    minn: int = 3  # characters of the shortest piece
    maxn: int = 6  # characters of the longest piece; 0: no pieces
    buckets: int = 2_000_000  # rows that pieces share
    scheme: str = "fasttext"  # fasttext | floret
    hashes: int = 1  # floret: rows for each piece, 1 to 4
    seed: int = FLORET_SEED  # floret: seed of the hash
    combine: str = "mean"  # mean | sum: how the rows of a word become its vector

    def __post_init__(self) -> None:
        """Check the settings."""
        for field, low, high in (
            ("minn", 0, MOST_CHARACTERS),
            ("maxn", 0, MOST_CHARACTERS),
            ("buckets", 0, MOST_BUCKETS),
            ("hashes", 1, 4),
            ("seed", 0, 2**32 - 1),
        ):
            object.__setattr__(self, field, whole(field, getattr(self, field), low, high))
        one_of("scheme", self.scheme, SCHEMES)
        one_of("combine", self.combine, COMBINES)
        if self.maxn and not 1 <= self.minn <= self.maxn:
            raise ConfigError(
                f"minn={self.minn}, maxn={self.maxn}: minn must be from 1 to maxn; set maxn=0 for no n-grams"
            )
        if self.buckets == 0 and (self.maxn or self.scheme == "floret"):
            without = "maxn=0" if self.maxn else "scheme=fasttext"
            raise ConfigError(f"buckets=0: n-grams need rows; set buckets, for example 2000000, or {without}")
        if self.scheme == "fasttext" and self.hashes > 1:
            raise ConfigError(
                f"hashes={self.hashes}: with scheme=fasttext an n-gram has one row; set hashes=1, or use "
                "scheme=floret"
            )

    @property
    def own_rows(self) -> bool:
        """Whether each word of the vocabulary has its own row."""
        return self.scheme == "fasttext"

    def ngrams(self, word: str) -> list[str]:
        """Return the pieces of a word, ordered by where they begin and then by length.

        With floret, the marked word comes first.
        """
        text = encode_word(BEGIN + word + END)
        edges = [i for i, byte in enumerate(text) if byte & 0xC0 != 0x80] + [len(text)]
        last = len(edges) - 1
        pieces = [
            text[edges[i] : edges[i + n]]
            for i in range(last if self._is_cut(word) else 0)
            for n in range(self.minn, min(self.maxn, last - i) + 1)
            if not (n == 1 and i in (0, last - 1))
        ]
        return [decode_word(piece) for piece in (pieces if self.own_rows else [text, *pieces])]

    def cut(self, word: str) -> list[tuple[str, Ids]]:
        """Return the pieces of a word, each with its buckets that count: all, or with sum those not yet seen.

        A piece without such a bucket is left out.
        """
        every = self._every_id(word)
        counts = np.ones(every.size, bool)
        if self.combine == "sum":
            counts[:] = False
            counts[np.unique(every, return_index=True)[1]] = True
        shape = (-1, self.hashes)
        rows = zip(self.ngrams(word), every.reshape(shape), counts.reshape(shape), strict=True)
        return [(piece, ids[there]) for piece, ids, there in rows if there.any()]

    def ids(self, word: str) -> Ids:
        """Return the buckets of a word that count, in the order of `ngrams`.

        With floret a piece has `hashes` of them. With combine=sum each bucket is there once.
        """
        every = self._every_id(word)
        return every if self.combine == "mean" else Pieces(np.array([0, every.size]), every).distinct().ids

    def _every_id(self, word: str) -> Ids:
        from unhot.vocab.ngram_buckets import fill_ids

        raw = encode_word(BEGIN + word + END)
        # room for the most pieces that a word of this many bytes can have
        most = max(0, int(self._pieces(np.array(len(raw))))) if self._is_cut(word) else 0
        room = np.zeros((most + (not self.own_rows)) * self.hashes, np.int32)
        end = fill_ids(
            np.frombuffer(raw, np.uint8),
            np.array([0, len(raw)]),
            self._settings,
            np.array([0, room.size]),
            room,
        )
        return room[:end].copy()

    def bags(self, words: Sequence[str]) -> Pieces:
        """Return the buckets of many words, as `ids` does for one."""
        from unhot.vocab.ngram_buckets import fill_ids  # needs the compiler, which takes a while to load

        text, offsets = _marked(words)
        pieces = self._pieces(
            np.add.reduceat(text & 0xC0 != 0x80, offsets[:-1], dtype=np.int64) if words else offsets[:0]
        )
        if not self.maxn:
            pieces[:] = 0
        elif self.own_rows and LINE_END in words:
            pieces[[i for i, word in enumerate(words) if word == LINE_END]] = 0
        starts = np.zeros(len(words) + 1, np.int64)
        np.cumsum(pieces if self.own_rows else (pieces + 1) * self.hashes, out=starts[1:])
        ids = np.zeros(int(starts[-1]), np.int32)
        fill_ids(text, offsets, self._settings, starts, ids)
        return Pieces(starts, ids) if self.combine == "mean" else Pieces(starts, ids).distinct()

    @functools.cached_property
    def _settings(self) -> NgramSettings:
        return NgramSettings(
            self.minn, self.maxn, self.buckets, 0 if self.own_rows else self.hashes, self.seed
        )

    def _is_cut(self, word: str) -> bool:
        return self.maxn > 0 and not (self.own_rows and word == LINE_END)

    def most_pieces(self, lengths: Starts) -> Starts:
        """Return the most rows that words of these lengths (in characters) can have, each."""
        return (
            np.asarray(
                np.maximum(self._pieces(lengths + 2) if self.maxn else 0 * lengths, 0) + (not self.own_rows)
            )
            * self.hashes
        )

    def excess(self, lengths: Starts, size: int) -> str | None:
        """Return an error message if words of these lengths have too many n-grams for a file of `size` bytes.

        Then maxn must be damaged. Return None if all is well.
        """
        most, longest = self.most_pieces(lengths), np.minimum(self.maxn, lengths + 2)
        steps = int((longest * (lengths + 2)).sum())
        if not len(lengths) or (most.max() <= size // 2 + (1 << 16) and steps <= 64 * size + (1 << 24)):
            return None
        return (
            f"words of up to {lengths.max()} characters would have {most.sum()} n-grams of {self.minn} to "
            f"{self.maxn} characters, far too many for a file of {size} bytes; maxn is damaged"
        )

    def _pieces(self, characters: Starts) -> Starts:
        """Return the number of pieces of words of these lengths in characters, marks included.

        This is the sum of characters - n + 1 over n = minn .. maxn, in closed form.
        """
        longest = np.minimum(self.maxn, characters)
        lengths = np.maximum(longest - self.minn + 1, 0)
        marks = 2 if self.minn == 1 else 0  # the two single marks, which are not pieces
        return np.asarray(lengths * (2 * (characters + 1) - self.minn - longest) // 2 - marks)


def _marked(words: Sequence[str]) -> tuple[Bytes, Starts]:
    """Return the bytes of all words between their marks, and where each begins."""
    plain, offsets = joined_words(words)
    offsets = offsets + 2 * np.arange(len(words) + 1)
    text, inside = np.empty(plain.size + 2 * len(words), np.uint8), np.ones(plain.size + 2 * len(words), bool)
    for places, mark in ((offsets[:-1], BEGIN), (offsets[1:] - 1, END)):
        text[places], inside[places] = ord(mark), False
    text[inside] = plain
    return text, offsets
