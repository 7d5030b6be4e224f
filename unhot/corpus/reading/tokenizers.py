"""Tokenizers: separator bytes for the scanner, and two compiled normalisers that run before it.

    whitespace   ASCII white space and NUL separate tokens, a line feed ends a sentence; nothing is changed
    words        letters (lower-cased), digits and combining marks of any script (Unicode categories L, M and
                 N) form tokens; everything else separates them
    text8        Mahoney's recipe: letters a-z, lower-cased, and digits spelt out ("7" -> " seven ");
                 everything else separates tokens

`words` lower-cases each code point by itself, with Unicode's one-to-one mapping, and keeps bytes that are not
valid UTF-8 unchanged. A normaliser turns text into text that `whitespace` can split; it keeps line feeds and
NUL bytes.
"""

import functools
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from unhot.corpus.reading.separators import PADDING, separator_rows
from unhot.errors import ConfigError
from unhot.kernels.jit import inner, kernel
from unhot.types import Bytes, Ids

Tokenizer: TypeAlias = str | Callable[[str], Iterable[str]]

NAMES = ("whitespace", "words", "text8")
BLANKS = b" \t\n\v\f\r\0"  # bytes that separate tokens: a text may be cut after any of them

# Token lists are joined with bytes that UTF-8 never uses. A token from a file that is not UTF-8 may still
# contain one of these three bytes; there it is replaced by ESCAPE and 0, 1 or 2.
ESCAPE = b"\xfd"
SENTENCE_END = b"\xfe"
TOKEN_END = b"\xff"

SPACE = 32
DIGITS, NUMERALS = "zero one two three four five six seven eight nine".split(), "0123456789"
KEPT = b"\n\0"  # separators that the scanner must see
CODE_POINTS = 0x34000  # all letters are below this; the last block is CJK extension J
SELECTORS = (0xE0100, 0xE01EF)  # variation selectors: the only marks above CODE_POINTS


TEXT = separator_rows(b"\n\0", b" \t\v\f\r")
TOKEN_LISTS = separator_rows(SENTENCE_END, TOKEN_END)


def escaped(raw: bytes) -> bytes:
    """Return the bytes of a token as they stand in a joined token list."""
    return raw.replace(b"\xfd", b"\xfd\x00").replace(b"\xfe", b"\xfd\x01").replace(b"\xff", b"\xfd\x02")


def unescaped(raw: bytes) -> bytes:
    """Invert `escaped`."""
    return raw.replace(b"\xfd\x02", b"\xff").replace(b"\xfd\x01", b"\xfe").replace(b"\xfd\x00", b"\xfd")


class Normaliser(NamedTuple):
    """A compiled step that changes text before it is scanned."""

    run: Any  # kernel(text, size, out, table) -> size of out; None: nothing is changed
    table: Ids
    growth: float  # the output is at most this many times as long as the input

    def __call__(self, text: Bytes, size: int, out: Bytes) -> tuple[Bytes, int]:
        """Return the normalised text (in `out`, or in a new array if `out` is too small) and its size.

        If nothing is changed, that is the text itself.
        """
        if self.run is None:
            return text, size
        room = int(self.growth * size) + 8 + PADDING
        if len(out) < room:
            out = np.zeros(room, np.uint8)
        return out, int(self.run(text, size, out, self.table))


@functools.cache
def normaliser(name: str) -> Normaliser:
    """Return the normaliser of a tokenizer."""
    if name == "whitespace":
        return Normaliser(None, np.zeros(0, np.int32), 1.0)
    if name == "words":
        return Normaliser(keep_words, lower_table(), 1.5)
    if name == "text8":
        return Normaliser(keep_text8, spelling_table(), 7.0)
    raise ConfigError(
        f"tokenizer={name!r}: must be one of {', '.join(NAMES)}, or a function that takes a line and "
        "returns its tokens"
    )


def normalised(text: str, name: str) -> str:
    """Return a short text as the normaliser of a tokenizer writes it, in plain Python."""
    if name == "words":
        kinds = map(unicodedata.category, text)
        return "".join(
            char if kind == "Cs" else char.lower()[0] if kind[0] in "LMN" else " "
            for char, kind in zip(text, kinds, strict=True)
        )
    return "".join(
        char.lower()
        if char.isascii() and char.isalpha()
        else f" {DIGITS[int(char)]} "
        if char in NUMERALS
        else " "
        for char in text
    )


def lower_table() -> Ids:
    """Return the table of `keep_words`: code point -> lower case of a letter, digit or mark, else 0.

    Below 128, other characters map to a space, or to themselves if they are in KEPT.
    """
    table = np.zeros(CODE_POINTS, np.int32)
    category = unicodedata.category
    for code in range(CODE_POINTS):
        char = chr(code)
        if category(char)[0] in "LMN":
            # only the lower case of U+0130 is longer; its first letter is the one-to-one mapping
            table[code] = ord(char.lower()[0])
    table[:128][table[:128] == 0] = ord(" ")
    table[list(KEPT)] = list(KEPT)
    return table


def spelling_table() -> Ids:
    """Return the table of `keep_text8`: byte -> byte to write, or for a digit ~(place of its name here).

    At that place are the length of the name and then its bytes.
    """
    table = np.full(256 + 8 * 10, ord(" "), np.int32)
    table[list(KEPT)] = list(KEPT)
    for letter in range(ord("a"), ord("z") + 1):
        table[[letter, letter - 32]] = letter
    for digit, name in enumerate(DIGITS):
        spelt = f" {name} ".encode()
        place = 256 + 8 * digit
        table[ord("0") + digit] = ~place
        table[place : place + 1 + len(spelt)] = [len(spelt), *spelt]
    return table


@inner
def code_point(text: Bytes, i: Any, size: int) -> Any:
    """Return the code point at a position and its number of bytes; (-1, 1) if the bytes are not UTF-8."""
    first = np.int64(text[i])
    if first < 0x80:
        return first, 1
    if first < 0xC2 or first > 0xF4:
        return -1, 1
    n = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if i + n > size:
        return -1, 1
    code = first & (0x7F >> n)
    for k in range(1, n):
        byte = np.int64(text[i + k])
        if byte & 0xC0 != 0x80:
            return -1, 1
        code = (code << 6) | (byte & 0x3F)
    # an overlong form, a surrogate, or a code point beyond Unicode
    if (
        (n == 3 and code < 0x800)
        or (n == 4 and code < 0x10000)
        or 0xD800 <= code <= 0xDFFF
        or code > 0x10FFFF
    ):
        return -1, 1
    return code, n


@inner
def put_code_point(out: Bytes, to: int, code: int) -> int:
    """Write a code point as UTF-8; return the position after it."""
    if code < 0x80:
        out[to] = code
        return to + 1
    n = 2 if code < 0x800 else 3 if code < 0x10000 else 4
    for k in range(n - 1, 0, -1):
        out[to + k] = 0x80 | (code & 0x3F)
        code >>= 6
    out[to] = ((0xF00 >> n) & 0xFF) | code
    return to + n


@kernel
def keep_words(text: Bytes, size: int, out: Bytes, table: Ids) -> Any:
    """Write letters (lower-cased), digits and marks, and a space for everything else; return the size."""
    i, to = np.int64(0), np.int64(0)  # typed, so that the loop is not compiled twice
    while i < size:
        byte = text[i]
        if byte < 0x80:
            out[to] = table[byte]
            to += 1
            i += 1
            continue
        code, n = code_point(text, i, size)
        if code < 0:
            out[to] = byte
            to += 1
        elif code < len(table) and table[code] > 0:
            to = put_code_point(out, to, np.int64(table[code]))
        elif SELECTORS[0] <= code <= SELECTORS[1]:
            to = put_code_point(out, to, code)
        else:
            out[to] = SPACE
            to += 1
        i += n
    out[to] = SPACE  # the scanner needs a separator at the end
    return to + 1


@kernel
def keep_text8(text: Bytes, size: int, out: Bytes, table: Ids) -> Any:
    """Write a-z (lower-cased), digits spelt out, and a space for everything else; return the size."""
    to = 0
    for i in range(size):
        new = table[text[i]]
        if new >= 0:
            out[to] = new
            to += 1
        else:
            for k in range(~new + 1, ~new + 1 + table[~new]):
                out[to] = table[k]
                to += 1
    out[to] = SPACE
    return to + 1
