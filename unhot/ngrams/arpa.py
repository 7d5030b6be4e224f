r"""ARPA files, the text form of n-gram models that all programs read:

    \data\
    ngram 1=5
    ngram 2=7

    \1-grams:
    -1.2<TAB>the<TAB>-0.3        log10 of the probability, the words, log10 of the back-off weight

    \2-grams:
    -0.5<TAB>the cat

    \end\

What is read:

- The file may be compressed. Before `\data\` there may be up to 1 MB of other text. Lines of an order come in
  any order, with spaces or tabs; a back-off weight of 0 may be left out, and those of the highest order do not
  count. Numbers become the nearest float32.
- `<unk>`, `<s>` and `</s>` become the words 0, 1 and 2; the others keep the order of the file. Without `<unk>`,
  `<UNK>` is taken for it; without both, its log10 probability is -100. A missing `</s>` gets -99. `<s>`, which
  is never predicted, gets the probability zero (-inf), whatever the file says: lmplz writes 0, others -99.
- If an n-gram is listed, but not all parts of it (an n-gram of some of its words that stand together), the
  missing ones are inserted with the probability that backing off gives:

      log10 p(w | h) = backoff(h) + log10 p(w | h without its first word),   backoff(hw) = 0

  This changes no probability.

What is written: numbers with the fewest digits that read back as the same float32 (or float64, if the levels
have these); a probability or weight of zero as -99.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from unhot.corpus.reading.lexicon import add_words, lexicon, spelt
from unhot.corpus.reading.scanner import grown, new_table
from unhot.corpus.reading.separators import PADDING
from unhot.corpus.reading.streams import TextStream
from unhot.errors import DataError, FormatError
from unhot.ngrams.arpa_lines import (
    DONE,
    FIELD,
    FULL,
    HARD,
    LINE,
    MARKER,
    PLACE,
    ROW,
    START,
    STATE,
    TWICE,
    UNLISTED,
    Listed,
    follow,
    read_lines,
    write_lines,
)
from unhot.ngrams.counting import HIGHEST_ORDER
from unhot.ngrams.estimating import Level
from unhot.ngrams.symbols import BEGIN, SYMBOLS, UNKNOWN, Keys, keys_of
from unhot.types import Bytes, Floats, Ids, Starts
from unhot.vectors.formats.numbers import POWERS, nearest
from unhot.vectors.formats.shortest import shortest_doubles
from unhot.vocab.vocabulary import decode_words, encode_word, joined_words

BLOCK = 1 << 20  # bytes read at a time, and of the longest line
ROWS = 1 << 16  # n-grams written at a time
GLIMPSE = 60  # bytes of a line shown in an error
NEVER = -99.0  # a log10 probability of zero, as it is written
NO_UNKNOWN = -100.0  # the log10 probability of <unk> if a file has none, as in KenLM
OTHER_UNKNOWN = "<UNK>"

DATA = re.compile(rb"^[ \t]*\\data\\[ \t\r]*\n", re.M)
COUNT = re.compile(rb"ngram[ \t]+([0-9]{1,3})[ \t]*=[ \t]*([0-9]{1,18})")
BLANK_LINES = re.compile(rb"[ \t\r\n]*")
FIELDS = re.compile(rb"[^ \t\r]+")
WHITE = re.compile(r"[ \t\n\v\f\r]|^$")


class ArpaModel(NamedTuple):
    """A model that was read from an ARPA file."""

    words: list[str]
    levels: list[Level]
    counts: list[int]  # n-grams of each order, with the inserted ones


class ArpaFile:
    """The text of an ARPA file, read block by block."""

    def __init__(self, path: Path) -> None:
        """Begin to read a file."""
        self.path = path
        self.table, _ = add_words(new_table(1 << 10, 1 << 14), *spelt(SYMBOLS), np.zeros(len(SYMBOLS), np.int64))
        self._blocks, self._block = self._read_blocks(), bytearray()
        self._text: Bytes = np.empty(0, np.uint8)  # the block, with padding
        self._state: Starts = np.zeros(STATE, np.int64)
        self._state[LINE] = 1

    def error(self, what: str, line: int | None = None) -> FormatError:
        """Return an error about a line, or about the last one that was read."""
        return FormatError(f"{self.path}: line {self._state[LINE] - 1 if line is None else line}: {what}")

    def read_header(self) -> list[int]:
        """Read up to the first n-gram; return how many n-grams of each order the file announces."""
        found = DATA.search(self._block) if self._next_block() else None
        if found is None:
            raise self.error(r"an ARPA file must have a line \data\ in its first 1 MB, but there is none", 1)
        self._pass(found.end())
        counts: list[int] = []
        while count := COUNT.fullmatch(line := self._next_line()):
            counts.append(int(count[2]))
            if int(count[1]) != len(counts) or len(counts) > HIGHEST_ORDER:
                raise self.error(
                    f"orders must be 1, 2, ..., at most {HIGHEST_ORDER}, but the next one is {int(count[1])}"
                )
        self._check_marker(line, r"\1-grams:" if counts else "ngram 1=NUMBER")
        return counts

    def read_order(self, order: int, announced: Sequence[int]) -> Listed:
        """Read the n-grams of an order and the line behind them."""
        parts = []
        while True:
            rows, why = self._block.count(b"\n", self._state[PLACE]), FULL
            numbers = np.empty((2, rows), np.float32)
            part = Listed(np.empty((rows, order), np.int32), *numbers, np.empty(rows, np.int32))
            self._state[ROW] = 0
            while why not in (DONE, MARKER):
                why = read_lines(self._text, len(self._block), self.table, part, POWERS, self._state)
                self._mend(why, part)
            part = Listed(*(column[: self._state[ROW]].copy() for column in part))
            self._check_numbers(part)
            parts.append(part)
            if why == MARKER or not self._next_block():
                break
        last = order == len(announced)
        self._check_marker(self._next_line(), r"\end" + "\\" if last else rf"\{order + 1}-grams:")
        listed = Listed(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        if len(listed.prob) != announced[order - 1]:
            raise self.error(
                f"the file lists {len(listed.prob)} {order}-grams, but its header announces "
                f"{announced[order - 1]}"
            )
        return listed

    def words(self) -> list[str]:
        """Return the symbols and the words read so far."""
        found = lexicon(self.table, False)
        return decode_words(found.raws(np.arange(found.counts.size)))

    def _read_blocks(self) -> Iterator[bytearray]:
        """Yield blocks of whole lines."""
        rest = bytearray()
        try:
            with closing(TextStream(self.path)) as stream:
                for piece in stream:
                    rest += piece
                    if len(rest) >= BLOCK:
                        cut = rest.rfind(b"\n") + 1
                        if not cut:
                            raise self.error("is longer than 1 MB: this is no ARPA file", self._state[LINE])
                        yield rest[:cut]
                        del rest[:cut]
        except DataError as error:
            raise FormatError(str(error)) from error
        if rest:
            yield rest + b"\n"

    def _next_block(self) -> bool:
        """Go on to the next block; return False at the end of the file."""
        self._block = next(self._blocks, bytearray())
        self._text = np.frombuffer(self._block + bytes(PADDING), np.uint8)
        self._state[PLACE] = 0
        return bool(self._block)

    def _next_line(self) -> bytes:
        """Pass the next line that is not blank, and return it; nothing at the end of the file."""
        while True:
            blank = BLANK_LINES.match(self._block, self._state[PLACE])
            start = blank.end() if blank else 0
            self._pass(start)
            if start < len(self._block):
                end = self._block.find(b"\n", start)
                self._pass(end + 1)
                return bytes(self._block[start:end]).strip()
            if not self._next_block():
                return b""

    def _pass(self, place: int) -> None:
        """Go on to a place of the block."""
        self._state[LINE] += self._block.count(b"\n", self._state[PLACE], place)
        self._state[PLACE] = place

    def _check_marker(self, line: bytes, expected: str) -> None:
        """Raise an error unless a line is the expected one."""
        if not line:
            raise self.error(f"the file is cut short: it ends where {expected} is expected")
        if line != expected.encode():
            raise self.error(f"{expected} is expected, but the line is {line[:GLIMPSE]!r}")

    def _mend(self, why: int, part: Listed) -> None:
        """Do what stopped the compiled reader, or raise an error about the line."""
        if why in (DONE, MARKER):
            return
        if why == FULL:
            self.table = grown(self.table, BLOCK)
            return
        start, number = int(self._state[START]), int(self._state[LINE])
        line = bytes(self._block[start : self._block.find(b"\n", start)])
        fields, order = FIELDS.findall(line), part.words.shape[1]
        if why == HARD:
            row = self._state[ROW] - 1
            try:
                part.prob[row] = nearest(fields[0])
                part.backoff[row] = nearest(fields[-1]) if len(fields) > order + 1 else 0.0
            except ValueError as error:
                raise self.error(f"not a number: {error}", number - 1) from error
            return
        word = repr(decode_words(fields)[self._state[FIELD]])[:GLIMPSE] if why in (UNLISTED, TWICE) else ""
        raise self.error(
            {
                UNLISTED: f"the word {word} is not among the 1-grams, which must have all words",
                TWICE: f"the word {word} is among the 1-grams twice",
            }.get(
                why,
                f"a {order}-gram must be its log10 probability, {order} words and possibly a back-off weight, "
                f"but the line is {line[:GLIMPSE]!r}",
            ),
            number,
        )

    def _check_numbers(self, part: Listed) -> None:
        """Raise an error if a probability or a back-off weight makes no sense."""
        for values, good, must in (
            (part.prob, part.prob <= 0.0, "log10 probability must be at most 0"),
            (part.backoff, part.backoff < np.inf, "log10 back-off weight must be below infinity"),
        ):
            if not good.all():
                row = int(np.argmin(good))
                raise self.error(f"a {must}, but is {values[row]:g}", part.lines[row])


def read_arpa(path: str | PathLike[str]) -> ArpaModel:
    """Read a model; raise a `FormatError` if the file is damaged or no ARPA file."""
    if not Path(path).exists():
        raise DataError(f"{path}: there is no such file")
    file = ArpaFile(Path(path))
    counts = file.read_header()
    listed = [file.read_order(order, counts) for order in range(1, len(counts) + 1)]
    words = file.words()
    if not file.table.counts[UNKNOWN] and OTHER_UNKNOWN in words:
        other = words.index(OTHER_UNKNOWN)
        ids = np.arange(len(words), dtype=np.int32)
        ids[other + 1 :] -= 1
        ids[other] = UNKNOWN
        words.pop(other)
        listed = [each._replace(words=ids[each.words]) for each in listed]
    levels = _levels(file, words, listed)
    return ArpaModel(words, levels, [level.prob.size for level in levels])


def _levels(file: ArpaFile, words: list[str], listed: list[Listed]) -> list[Level]:
    """Return the levels of the n-grams of a file.

    For each n-gram that is longer than those of the level, `windows` has the n-grams of this level that it
    contains, one for each of its words with which one begins.
    """
    keys, none = keys_of(len(words)), np.zeros(0, np.int64)
    prob, backoff = np.full((2, len(words)), NEVER, np.float32)
    prob[UNKNOWN], backoff[:] = NO_UNKNOWN, 0.0
    prob[listed[0].words[:, 0]], backoff[listed[0].words[:, 0]] = listed[0].prob, listed[0].backoff
    prob[BEGIN] = -np.inf
    levels = [Level(np.zeros(0, np.int32), none, prob, backoff)]
    windows = [each.words for each in listed]
    for order in range(2, len(listed) + 1):
        own = listed[order - 1]
        codes = _codes(windows[order - 1][:, 0], own.words[:, -1], keys)
        places = np.argsort(codes, kind="stable")
        codes, prob, backoff = codes[places], own.prob[places], own.backoff[places]
        twice = np.flatnonzero(codes[1:] == codes[:-1])
        if twice.size:
            row = places[twice[0] + 1]
            name = " ".join(words[word] for word in own.words[row])
            raise file.error(f"the {order}-gram {name[:GLIMPSE]!r} is listed twice", own.lines[row])
        while True:
            begins = np.searchsorted(codes, np.arange(levels[-1].prob.size + 1) << keys.bits)
            level = Level((codes & ((1 << keys.bits) - 1)).astype(np.int32), none, prob, backoff)
            found = [np.empty((len(each), each.shape[1] - 1), np.int32) for each in windows[order:]]
            longer = list(zip(windows[order:], listed[order:], found, strict=True))
            if not sum(follow(w, each.words, order - 1, begins, level.keys, keys, f) for w, each, f in longer):
                break
            codes, prob, backoff = _inserted(codes, level, levels[-1], longer, keys)
        levels[-1] = levels[-1]._replace(begins=begins)
        levels.append(level)
        windows[order:] = found
    levels[-1] = levels[-1]._replace(backoff=np.zeros(0, np.float32))
    return levels


def _codes(histories: Any, words: Any, keys: Keys) -> Any:
    """Return numbers that sort n-grams, given as the n-grams that they continue and their last words."""
    mask = (1 << keys.bits) - 1
    return (histories.astype(np.int64) << keys.bits) | ((words.astype(np.int64) * keys.multiplier) & mask)


def _inserted(
    codes: Any, level: Level, before: Level, longer: list[tuple[Ids, Listed, Ids]], keys: Keys
) -> tuple[Any, Floats, Floats]:
    """Return the codes, probabilities and weights of a level with what longer n-grams miss in it."""
    missing, suffixes = [], []
    for windows, listed, found in longer:
        gone = found < 0
        missing.append(_codes(windows[:, :-1], listed.words[:, -found.shape[1] :], keys)[gone])
        suffixes.append(windows[:, 1:][gone])
    new, first = np.unique(np.concatenate(missing), return_index=True)
    with np.errstate(over="ignore"):
        prob = (
            before.backoff[new >> keys.bits].astype(np.float64) + before.prob[np.concatenate(suffixes)[first]]
        ).astype(np.float32)
    codes = np.concatenate([codes, new])
    places = np.argsort(codes, kind="stable")
    backoff = np.concatenate([level.backoff, np.zeros_like(prob)])
    return codes[places], np.concatenate([level.prob, prob])[places], backoff[places]


def write_arpa(file: BinaryIO, words: list[str], levels: Iterable[Level], counts: Sequence[int]) -> None:
    """Write a model, level by level; counts: how many n-grams each order has.

    Raise a `DataError` if a word is empty or contains white space (of ASCII; other programs do not take a
    no-break space for white space).
    """
    for word in words:
        if WHITE.search(word):
            raise DataError(
                f"the word {word!r} is empty or contains white space, which separates words in ARPA files: "
                "write it differently in the text, or save the model in another format"
            )
    joined, offsets = joined_words(words)
    keys, paths, begins = keys_of(len(words)), [], np.zeros(0, np.int64)
    file.write(b"\\data\\\n" + b"".join(b"ngram %d=%d\n" % item for item in enumerate(counts, 1)))
    for order, level in enumerate(levels, 1):
        assert level.prob.size == counts[order - 1]
        ids, parents = np.arange(len(words), dtype=np.int32), begins
        if order > 1:
            ids = ((level.keys.astype(np.int64) * keys.inverse) & ((1 << keys.bits) - 1)).astype(np.int32)
            parents = np.repeat(np.arange(begins.size - 1, dtype=np.min_scalar_type(begins.size)), np.diff(begins))
        paths.append((ids, parents))
        begins = level.begins
        file.write(b"\n\\%d-grams:\n" % order)
        for first in range(0, ids.size, ROWS):
            file.write(_lines(level, first, paths, joined, offsets))
    file.write(b"\n\\end\\\n")


def _lines(level: Level, first: int, paths: list[tuple[Any, Any]], joined: Bytes, offsets: Starts) -> Any:
    """Return the lines of n-grams from one on; paths: the last word and the history of all, for each order."""
    numbers = [array[first : first + ROWS] for array in (level.prob, level.backoff) if array.size]
    nodes: Any = np.arange(first, first + numbers[0].size)
    words = np.empty((nodes.size, len(paths)), np.int32)
    for order in range(len(paths), 0, -1):
        ids, parents = paths[order - 1]
        words[:, order - 1] = ids[nodes]
        nodes = parents[nodes] if order > 1 else nodes
    text = np.frombuffer(_decimals(np.column_stack(numbers).ravel()), np.uint8)
    size = text.size + words.size + np.diff(offsets)[words].sum()
    out = np.empty(size, np.uint8)
    write_lines(text, len(numbers) > 1, words, joined, offsets, out)
    return out.data


def _decimals(values: Any) -> bytes:
    """Return numbers as decimals, with a line feed behind each."""
    values = np.where(np.isneginf(values), values.dtype.type(NEVER), values)
    if values.dtype == np.float32:
        return encode_word(("%.9g\n" * values.size) % tuple(shortest_doubles(values).tolist()))
    return encode_word((("%r\n" * values.size) % tuple(values.tolist())).replace(".0\n", "\n"))
