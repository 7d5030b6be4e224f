r"""ARPA files, the text form of n-gram models that all programs understand.

    \data\
    ngram 1=5
    ngram 2=7

    \1-grams:
    -1.2<TAB>the<TAB>-0.3      log10 of the probability, the words, log10 of the back-off weight

    \2-grams:
    -0.5<TAB>the cat           the highest order has no back-off weights

    \end\

What is read:

- The file may be compressed. Its first 1 MB has `\data\` and the counts, with any text before them. The
  n-grams of an order come in any order, with spaces or tabs. A missing back-off weight is 0, and those of the
  highest order do not count. Numbers become the nearest float32.
- `<unk>`, `<s>` and `</s>` become the words 0, 1 and 2; the others keep the order of the file. If `<unk>` is
  missing, `<UNK>` stands for it; if both are, its log10 probability is -100. A missing `</s>` gets -99.
  `<s>`, which is never predicted, gets -inf, whatever the file says: lmplz writes 0, others -99.
- If an n-gram is listed, but not every n-gram of successive words of it, the missing ones are inserted with
  the probability that backing off gives. So no probability changes:

      log10 p(w | h) = backoff(h) + log10 p(w | h without its first word),   backoff(hw) = 0

What is written: numbers with the fewest digits that read back as the same float32 (the same float64, if the
levels have these); -inf becomes -99.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from unhot.corpus.reading.lexicon import add_words, lexicon, spelt
from unhot.corpus.reading.scanner import WORDS, grown, new_table
from unhot.corpus.reading.separators import PADDING
from unhot.errors import DataError, FormatError
from unhot.ngrams.arpa_lines import DONE, FULL, MALFORMED, PLACE, ROW, Listed, follow, read_lines, write_lines
from unhot.ngrams.counting import HIGHEST_ORDER
from unhot.ngrams.estimating import Level
from unhot.ngrams.symbols import BEGIN, SYMBOLS, UNKNOWN, Keys, keys_of
from unhot.rows.streams import TextStream
from unhot.types import Starts
from unhot.vectors.formats.numbers import LINE_FEED, POWERS, nearest
from unhot.vectors.formats.shortest import shortest_doubles
from unhot.vocab.vocabulary import decode_words, encode_word

BLOCK = 1 << 20  # bytes read at a time, and of the longest line
ROWS = 1 << 14  # n-grams written at a time
GLIMPSE = 60  # bytes of a line shown in an error
NEVER = -99.0  # how -inf is written
NO_UNKNOWN = -100.0  # the log10 probability of <unk> if a file has none, as in KenLM
OTHER_UNKNOWN = "<UNK>"
HEADER = re.compile(
    rb"^[ \t]*\\data\\\s*\n"
    rb"((?:[ \t]*ngram[ \t]+\d{1,3}[ \t]*=[ \t]*\d{1,18}\s*\n)+)"
    rb"[ \t]*\\1-grams:[ \t\r]*\n",
    re.M,
)
COUNT = re.compile(rb"(\d+)[ \t]*=[ \t]*(\d+)")
FIELDS = re.compile(rb"[^ \t\r]+")
WHITE = re.compile(r"[ \t\n\v\f\r]|^$")  # no-break spaces and the like do not separate words


class ArpaModel(NamedTuple):
    """A model that was read from an ARPA file."""

    words: list[str]
    levels: list[Level]
    counts: list[int]  # n-grams of each order, with the inserted ones


def _line_blocks(path: Path) -> Iterator[tuple[bytes, int]]:
    """Yield a text in blocks of whole lines with the number of their first lines, and nothing at its end."""
    rest, line = bytearray(), 1
    try:
        with closing(TextStream(path)) as stream:
            for piece in stream:
                rest += piece
                if len(rest) >= BLOCK:
                    block = bytes(rest[: rest.rfind(b"\n") + 1])
                    if not block:
                        raise FormatError(f"{path}: line {line} is longer than 1 MB: this is no ARPA file")
                    yield block, line
                    del rest[: len(block)]
                    line += block.count(b"\n")
    except DataError as error:
        raise FormatError(f"{error} (from line {line} on)") from error
    if rest:
        yield bytes(rest + b"\n"), line
    yield b"", line + rest.count(b"\n")


class ArpaFile:
    """The text of an ARPA file, read block by block."""

    def __init__(self, path: Path) -> None:
        """Begin to read a file."""
        self.path = path
        self._table, _ = add_words(new_table(1 << 10, 1 << 14), *spelt(SYMBOLS), np.zeros(3, np.int64))
        self._state: Starts = np.zeros(2, np.int64)
        self._blocks = _line_blocks(path)
        self._next_block()

    def read_header(self) -> list[int]:
        """Read up to the first n-gram; return how many n-grams of each order the file announces."""
        header = HEADER.search(self._block)
        counts = COUNT.findall(header[1]) if header else []
        orders = [int(order) for order, _ in counts]
        if header is None or orders != [*range(1, len(orders) + 1)] or len(orders) > HIGHEST_ORDER:
            place = max(self._block.find(b"\\data\\"), 0)
            raise self._error(
                rf"an ARPA file must begin with \data\, ngram 1=NUMBER, ngram 2=NUMBER, ... (at most "
                rf"{HIGHEST_ORDER}) and \1-grams:, but here is {self._block[place : place + GLIMPSE]!r}",
                place,
            )
        self._state[PLACE] = header.end()
        return [int(count) for _, count in counts]

    def read_order(self, order: int, announced: Sequence[int]) -> Listed:
        """Read the n-grams of an order and the line behind them."""
        parts: list[Listed] = []
        why, known = DONE, self._table.state[WORDS] if order > 1 else 1 << 31
        while why == DONE and (not parts or self._next_block()):
            rows, self._state[ROW] = self._block.count(b"\n"), 0
            prob, backoff = np.empty(rows, np.float32), np.empty(rows, np.float32)
            part = Listed(np.empty((rows, order), np.int32), prob, backoff, np.empty(rows, np.int32))
            text = np.frombuffer(self._block + bytes(PADDING), np.uint8)
            while (why := read_lines(text, len(self._block), self._table, part, POWERS, self._state)) == FULL:
                self._table = grown(self._table, BLOCK)
            if why == MALFORMED:
                raise self._malformed(int(self._state[PLACE]), order)
            part = self._finished(part, int(self._state[ROW]))
            self.refuse((part.words >= known).any(1), part, "has a word that is not among the 1-grams")
            self.refuse(~(part.prob <= 0), part, "must have a log10 probability of at most 0")
            self.refuse(~(part.backoff < np.inf), part, "must have a log10 back-off weight below infinity")
            parts.append(part)
        listed, line = Listed(*map(np.concatenate, zip(*parts, strict=True))), self._line(self._state[PLACE])
        marker = b"\\end\\" if order == len(announced) else b"\\%d-grams:" % (order + 1)
        if line.strip() != marker or listed.prob.size != announced[order - 1]:
            raise self._error(
                f"the header announces {announced[order - 1]} {order}-grams, and {marker.decode()} must come "
                f"then, but here are {listed.prob.size}, then {line[:GLIMPSE] or 'the end of the file'!r}",
                int(self._state[PLACE]),
            )
        self._state[PLACE] += len(line) + 1
        return listed

    def words(self) -> list[str]:
        """Return the symbols and the words read so far."""
        found = lexicon(self._table, False)
        return decode_words(found.raws(np.arange(found.counts.size)))

    def refuse(self, bad: Any, listed: Listed, why: str, words: list[str] | None = None) -> None:
        """Raise an error if an n-gram is bad."""
        if bad.any():
            row, words = int(np.argmax(bad)), words or self.words()
            name = " ".join([words[word] for word in listed.words[row]])
            raise FormatError(
                f"{self.path}: line {listed.lines[row]}: the n-gram {name[:GLIMPSE]!r} {why}; its numbers "
                f"are {listed.prob[row]:g} and {listed.backoff[row]:g}"
            )

    def sort(self, codes: Any, listed: Listed, words: list[str]) -> Any:
        """Return the places of sorted n-grams; raise an error if two are the same."""
        places, twice = np.argsort(codes, kind="stable"), np.zeros(codes.size, bool)
        twice[places[1:]] = np.diff(codes[places]) == 0
        self.refuse(twice, listed, "is listed twice", words)
        return places

    def _next_block(self) -> bool:
        """Go on to the next block; return False at the end of the file, which is an empty block."""
        self._block, self._lines = next(self._blocks)  # _lines: the number of its first line
        self._state[PLACE] = 0
        return bool(self._block)

    def _line(self, place: int) -> bytes:
        """Return the line that begins at a place of the block."""
        return self._block[place : self._block.find(b"\n", place)]

    def _error(self, what: str, place: int) -> FormatError:
        """Return an error about the line at a place of the block."""
        line = self._lines + self._block.count(b"\n", 0, place)
        return FormatError(f"{self.path}: line {line}: {what}")

    def _malformed(self, place: int, order: int) -> FormatError:
        return self._error(
            f"an n-gram must be its log10 probability, {order} words and possibly its log10 back-off weight, "
            f"but the line is {self._line(place)[:GLIMPSE]!r}",
            place,
        )

    def _finished(self, part: Listed, rows: int) -> Listed:
        """Return the first rows of a part, with the numbers of their lines, and read what is hard to read."""
        part = Listed(*(column[:rows].copy() for column in part))
        for row in np.flatnonzero(np.isnan(part.prob) | np.isnan(part.backoff)).tolist():
            fields = FIELDS.findall(self._line(part.lines[row]))
            try:
                for values, field in ((part.prob, fields[0]), (part.backoff, fields[-1])):
                    values[row] = nearest(field) if np.isnan(values[row]) else values[row]
            except ValueError as error:
                raise self._malformed(part.lines[row], part.words.shape[1]) from error
        ends = np.flatnonzero(np.frombuffer(self._block, np.uint8) == LINE_FEED)
        return part._replace(lines=(self._lines + np.searchsorted(ends, part.lines)).astype(np.int32))


def read_arpa(path: str | PathLike[str]) -> ArpaModel:
    """Read a model; raise a `FormatError` if the file is damaged or is not an ARPA file."""
    if not Path(path).exists():
        raise DataError(f"{path}: there is no such file")
    file = ArpaFile(Path(path))
    counts = file.read_header()
    listed = [file.read_order(order, counts) for order in range(1, len(counts) + 1)]
    words = file.words()
    if OTHER_UNKNOWN in words and not (listed[0].words == UNKNOWN).any():
        other = words.index(OTHER_UNKNOWN)
        ids = np.arange(len(words)) - (np.arange(len(words)) > other)
        ids[other] = UNKNOWN
        listed = [each._replace(words=ids[each.words].astype(np.int32)) for each in listed]
        words.pop(other)
    levels = _levels(file, words, listed)
    return ArpaModel(words, levels, [level.prob.size for level in levels])


def _levels(file: ArpaFile, words: list[str], listed: list[Listed]) -> list[Level]:
    """Return the levels of the n-grams of a file.

    For each n-gram that is longer than those of the level, `windows` has the n-grams of this level that it
    contains, from the one that begins with its first word on.
    """
    keys, none = keys_of(len(words)), np.zeros(0, np.int64)
    ids, windows = listed[0].words[:, 0], [each.words for each in listed]
    prob, backoff = np.full(len(words), NEVER, np.float32), np.zeros(len(words), np.float32)
    prob[UNKNOWN] = NO_UNKNOWN
    prob[ids], backoff[ids] = listed[0].prob, listed[0].backoff
    prob[BEGIN] = -np.inf
    file.sort(ids, listed[0], words)
    levels = [Level(none.astype(np.int32), none, prob, backoff)]
    for order in range(2, len(listed) + 1):
        own, missing = listed[order - 1], True
        codes = _codes(windows[order - 1][:, 0], own.words[:, -1], keys)
        places = file.sort(codes, own, words)
        codes, prob = codes[places], own.prob[places]
        backoff = own.backoff[places]
        while missing:
            begins = np.searchsorted(codes, np.arange(levels[-1].prob.size + 1) << keys.bits)
            level = Level((codes & ((1 << keys.bits) - 1)).astype(np.int32), none, prob, backoff)
            found = [np.empty((len(each), each.shape[1] - 1), np.int32) for each in windows[order:]]
            longer = list(zip(windows[order:], [each.words for each in listed[order:]], found, strict=True))
            missing = any([follow(*each, order - 1, begins, level.keys, keys) for each in longer])
            if missing:
                codes, prob, backoff = _inserted(codes, level, levels[-1], longer, keys)
        levels[-1] = levels[-1]._replace(begins=begins)
        levels.append(level)
        windows[order:] = found
    levels[-1] = levels[-1]._replace(backoff=np.zeros(0, np.float32))
    return levels


def _codes(histories: Any, words: Any, keys: Keys) -> Any:
    """Return numbers that sort n-grams, which are given as the n-grams that they continue and last words."""
    own = (words.astype(np.int64) * keys.multiplier) & ((1 << keys.bits) - 1)
    return (histories.astype(np.int64) << keys.bits) | own


def _inserted(codes: Any, level: Level, before: Level, longer: list[Any], keys: Keys) -> tuple[Any, Any, Any]:
    """Return the codes, probabilities and weights of a level with what longer n-grams miss in it."""
    lost, suffixes = [], []
    for windows, words, found in longer:
        lost.append(_codes(windows[:, :-1], words[:, -found.shape[1] :], keys)[found < 0])
        suffixes.append(windows[:, 1:][found < 0])
    new, first = np.unique(np.concatenate(lost), return_index=True)
    with np.errstate(over="ignore"):
        lower = before.prob[np.concatenate(suffixes)[first]].astype(np.float64)
        prob = np.append(level.prob, (before.backoff[new >> keys.bits] + lower).astype(np.float32))
    codes, backoff = np.append(codes, new), np.append(level.backoff, np.zeros(new.size, np.float32))
    places = np.argsort(codes)
    return codes[places], prob[places], backoff[places]


def write_arpa(file: BinaryIO, words: list[str], levels: Iterable[Level], counts: Sequence[int]) -> None:
    """Write a model, level by level; counts: how many n-grams each order has.

    Raise a `DataError` if a word is empty or contains white space.
    """
    for word in filter(WHITE.search, words):
        raise DataError(
            f"the word {word!r} is empty or contains white space, which separates words in ARPA files: "
            "write it differently in the text, or save the model in another format"
        )
    joined = np.frombuffer(encode_word("\n".join([*words, ""])), np.uint8)
    starts = np.append(0, np.flatnonzero(joined == LINE_FEED) + 1)
    keys, begins = keys_of(len(words)), np.array([0, len(words)])
    paths: list[tuple[Any, Any]] = []  # for each order, the last word and the history of all n-grams
    file.write(b"\\data\\\n" + b"".join([b"ngram %d=%d\n" % item for item in enumerate(counts, 1)]))
    for order, level in enumerate(levels, 1):
        ids = np.arange(len(words)) if order == 1 else level.keys.astype(np.int64) * keys.inverse
        before = np.arange(begins.size - 1, dtype=np.min_scalar_type(begins.size))
        paths.append(((ids & ((1 << keys.bits) - 1)).astype(np.int32), np.repeat(before, np.diff(begins))))
        begins = level.begins
        file.write(b"\n\\%d-grams:\n" % order)
        for first in range(0, ids.size, ROWS):
            nodes, path = np.arange(first, min(first + ROWS, ids.size)), []
            numbers = [array[nodes] for array in (level.prob, level.backoff) if array.size]
            for last_words, histories in reversed(paths):
                path.append(last_words[nodes])
                nodes = histories[nodes]
            text = np.frombuffer(_decimals(np.stack(numbers, 1)), np.uint8)
            spelled = np.stack(path[::-1], 1)
            out = np.empty(text.size + np.diff(starts)[spelled].sum(), np.uint8)
            write_lines(text, len(numbers) > 1, spelled, joined, starts, out)
            file.write(out.data)
    file.write(b"\n\\end\\\n")


def _decimals(values: Any) -> bytes:
    """Return numbers with the fewest digits, each with a line feed behind it."""
    values = np.where(np.isneginf(values), values.dtype.type(NEVER), values).ravel()
    single = values.dtype == np.float32
    doubles: list[float] = (shortest_doubles(values) if single else values).tolist()
    return ((b"%.9g\n" if single else b"%r\n") * len(doubles) % tuple(doubles)).replace(b".0\n", b"\n")
