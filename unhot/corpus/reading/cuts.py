"""Where a text may be cut into blocks, and how the middle of very long words is skipped.

A text may be cut after anything that separates words. So a stretch without such a place is a single word, and
its length is the only limit to the size of a block. Of a word that is surely too long, only the beginning and
the end are passed on: what is left is still too long, so the scanner leaves it out like the whole word.
"""

import string
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass

import numpy as np

from unhot.corpus.reading.tokenizers import (
    BLANKS,
    CODE_POINTS,
    SELECTORS,
    SENTENCE_END,
    TOKEN_END,
    normaliser,
)
from unhot.corpus.report import LONGEST_WORD

# A word of more bytes than this is too long after lower-casing, too: no letter shrinks to less than a third
# of its bytes (U+212A, three bytes, becomes k).
SURELY_LONG = 4 * LONGEST_WORD
# Takes the place of the bytes that are skipped. It is too long for a word by itself, and as ASCII letters it
# forms no character with the bytes around it.
STAND_IN = b"x" * (LONGEST_WORD + 1)
TAIL = 3  # bytes of a character that may lie in the piece before: UTF-8 has at most four

LETTERS = string.ascii_letters.encode()
WORD_BYTES = LETTERS + string.digits.encode() + bytes(range(128, 256))
# how Python decodes bytes that are not UTF-8, which the tokenizer `words` keeps: escaped, or replaced
ESCAPED, REPLACED = (0xDC80, 0xDCFF), (0xFFFD, 0xFFFD)


@dataclass(frozen=True)
class Cuts:
    """The places where a text may be cut: after any byte of `usual`, or where `other` says."""

    usual: bytes
    # text -> the position after its last separator, 0 if it has none
    other: Callable[[bytes], int] | None = None
    skips: bool = True  # a stretch without a place to cut is one word, whose middle may be skipped

    def last(self, piece: bytes) -> int:
        """Return the last place where a piece of text may be cut; 0: there is none."""
        cut = max(piece.rfind(byte) for byte in self.usual) + 1
        return self.other(piece) if self.other is not None and not cut else cut

    def inside(self, piece: bytes, before: bytes) -> bool:
        """Return whether a piece has a place to cut; `before`: the last bytes of the piece before."""
        if any(byte in piece for byte in self.usual):
            return True
        return self.other is not None and self.other(before + piece) > len(before)


def after_letters(piece: bytes) -> int:
    """Return where the text before the last ASCII letters ends: for text8, all other bytes separate words."""
    return len(piece.rstrip(LETTERS))


def after_words(piece: bytes) -> int:
    """Return the position after the last character that separates words for the tokenizer `words`."""
    cut = len(piece.rstrip(WORD_BYTES))
    if cut:
        return cut
    # Python takes long to escape bytes that are not UTF-8: they are replaced, if nothing else looks like that
    replace = "\ufffd".encode() not in piece
    text = piece.decode("utf-8", "replace" if replace else "surrogateescape")
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    separates = normaliser("words").table[np.minimum(codes, CODE_POINTS - 1)] == 0
    for low, high in (SELECTORS, REPLACED if replace else ESCAPED):
        separates &= (codes < low) | (codes > high)
    places = np.flatnonzero(separates)
    if not places.size:
        return 0
    last = text[places[-1]].encode()
    return piece.rfind(last) + len(last)


# by the tokenizer that will read the text; None: lines stay whole
CUTS = {
    "whitespace": Cuts(BLANKS),
    "words": Cuts(BLANKS, after_words),
    "text8": Cuts(BLANKS, after_letters),
    None: Cuts(b"\n", skips=False),
}
TOKENS = Cuts(TOKEN_END + SENTENCE_END)
SENTENCES = Cuts(SENTENCE_END + b"\n", skips=False)  # pieces are whole ones


def without_middles(pieces: Iterable[bytes], cuts: Cuts) -> Generator[bytes, None, None]:
    """Yield a text without the middle of words that are surely too long; it may be cut at the same places."""
    length = 0  # known bytes of the word at the end of the text so far
    before = b""  # the last bytes of the text so far
    for piece in pieces:
        if cuts.inside(piece, before):
            # a separator may begin in bytes that were skipped
            yield before + piece if length > SURELY_LONG else piece
            length = 0
        elif length <= SURELY_LONG:
            length += len(piece)
            yield piece + STAND_IN if length > SURELY_LONG else piece
        before = (before + piece[-TAIL:])[-TAIL:]
