"""The vocabulary: id <-> word, and how often each word was seen.

Ids are ranks: the most frequent word has id 0, and words of equal count are ordered by their UTF-8 bytes. So
the same text always gives the same ids, and "the first n ids" means "the n most frequent words".

A word is any string. In files it is UTF-8. Bytes that are not valid UTF-8 become lone surrogates in the
string (Python's `surrogateescape`), so every word of every file can be read and written unchanged.
"""

import functools
import itertools
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import DataError, FormatError, at_least
from unhot.types import Bytes, Counts, Starts

ESCAPES = {"\\": r"\\", "\n": r"\n", "\r": r"\r"}
UNESCAPES = {escaped.encode(): raw.encode() for raw, escaped in ESCAPES.items()}


class UnknownWord(DataError, KeyError):
    """A word is not in the vocabulary."""

    __str__ = Exception.__str__  # KeyError would show the message in quotes


def encode_word(word: str) -> bytes:
    """Return the bytes of a word; this inverts `decode_word` and works for every string."""
    try:
        return word.encode("utf-8", "surrogateescape")
    # other surrogates, which do not stand for a byte, e.g. half an emoji from a broken JSON file
    except UnicodeEncodeError:
        return b"".join(
            c.encode("utf-8", "surrogateescape" if "\udc80" <= c <= "\udcff" else "surrogatepass")
            for c in word
        )


def sortable(words: Sequence[str]) -> Sequence[str] | Sequence[bytes]:
    """Return what sorts as the bytes of words: the words themselves, or their bytes if one is not UTF-8."""
    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        return [encode_word(word) for word in words]
    return words


def decode_word(raw: bytes) -> str:
    """Return bytes as a word; bytes that are not valid UTF-8 become lone surrogates."""
    return raw.decode("utf-8", "surrogateescape")


def decode_words(raws: Sequence[bytes]) -> list[str]:
    """Return many byte strings as words, as `decode_word` does for one."""
    joined = b"\n".join(raws)
    # decode all words in one call; a line feed cannot be part of a longer UTF-8 sequence
    if raws and joined.count(b"\n") == len(raws) - 1:
        return decode_word(joined).split("\n")
    return [decode_word(raw) for raw in raws]


def joined_words(words: Sequence[str]) -> tuple[Bytes, Starts]:
    """Return the bytes of all words, one after another, and where each begins."""
    offsets = np.zeros(len(words) + 1, np.int64)
    raw = np.frombuffer(encode_word("\n".join(words)), np.uint8)
    ends = np.flatnonzero(raw == ord("\n"))
    if not words or ends.size != len(words) - 1:  # a word has a line feed
        raws = [encode_word(word) for word in words]
        np.cumsum([len(each) for each in raws], out=offsets[1:])
        return np.frombuffer(b"".join(raws), np.uint8), offsets
    offsets[1:] = np.append(ends, raw.size) - np.arange(len(words))
    return raw[raw != ord("\n")], offsets


def split_words(text: Bytes, starts: Starts) -> list[str]:
    """Return the words that `joined_words` joined; raise a `FormatError` unless the two belong together."""
    if text.dtype != np.uint8 or starts.dtype != np.int64:
        raise FormatError(
            f"a list of words: its text is {text.dtype} and its starts are {starts.dtype}, not uint8 and "
            "int64; it is damaged"
        )
    if text.ndim != 1 or starts.ndim != 1 or not starts.size or starts[0] != 0 or starts[-1] != text.size:
        raise FormatError("a list of words: its text and its starts do not belong together; it is damaged")
    if (np.diff(starts) < 0).any():
        raise FormatError("a list of words: its starts do not rise; it is damaged")
    raw = text.tobytes()
    return decode_words([raw[a:b] for a, b in itertools.pairwise(starts.tolist())])


def canonical(word: str) -> str:
    """Return the word as it would be read back from a file; nearly always the word itself."""
    return word if word.isascii() else decode_word(encode_word(word))


def words_text(words: Sequence[str]) -> bytes:
    r"""Return the words as bytes, one per line; backslash, line feed, carriage return become `\\ \n \r`."""
    text = "\n".join([*words, ""])
    if text.count("\n") == len(words):
        text = text.replace("\\", r"\\").replace("\r", r"\r")
    else:
        text = "".join([re.sub(r"[\\\n\r]", lambda found: ESCAPES[found[0]], word) + "\n" for word in words])
    return encode_word(text)


class Vocabulary:
    """Words in the order of their ids, with counts.

    >>> vocabulary = Vocabulary.from_counts({"the": 7, "cat": 2, "a": 2})
    >>> vocabulary.words
    ['the', 'a', 'cat']
    >>> vocabulary.id("cat")
    2
    """

    def __init__(self, words: Sequence[str], counts: ArrayLike) -> None:
        """Take words in the order of their ids; use `from_counts` to order them by count."""
        self.words: list[str] = list(words)
        self.counts: Counts = np.ascontiguousarray(counts, dtype=np.int64)  # [words]
        if self.counts.shape != (len(self.words),):
            raise DataError(
                f"there are {len(self.words)} words, but counts of shape {self.counts.shape}: give one count "
                "for each word"
            )
        if self.counts.size and self.counts.min() < 0:
            raise DataError(f"a count is {self.counts.min()}: counts must be >= 0")

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, int], *, min_count: int = 1, max_vocab: int | None = None
    ) -> "Vocabulary":
        """Make a vocabulary from a mapping word -> count.

        Keep words with a count of at least `min_count`, at most `max_vocab` of them.
        """
        check_limits(min_count, max_vocab)
        kept: dict[str, int] = {}
        for word, count in counts.items():
            if not isinstance(word, str):
                raise DataError(
                    f"the word {word!r} in counts is of type {type(word).__name__}: words must be str; "
                    "convert it with str()"
                )
            if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 0 <= count < 2**63:
                raise DataError(
                    f"the count of {word!r} is {count!r}: it must be a whole number between 0 and 2**63 - 1"
                )
            word = canonical(word)
            kept[word] = kept.get(word, 0) + int(count)
        kept = {word: count for word, count in kept.items() if count >= min_count}
        keys = zip((-count for count in kept.values()), sortable([*kept]), kept, strict=True)
        ranked = sorted(keys)[:max_vocab]
        return cls([word for _, _, word in ranked], [-count for count, _, _ in ranked])

    @functools.cached_property
    def index(self) -> dict[str, int]:
        """Word -> id."""
        index = {word: i for i, word in enumerate(self.words)}
        if len(index) != len(self.words):
            twice = next(word for i, word in enumerate(self.words) if index[word] != i)
            raise DataError(f"the word {twice!r} occurs twice in the vocabulary: words must be different")
        return index

    def __len__(self) -> int:
        """The number of words."""
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the words in the order of their ids."""
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        """Return whether a word is in the vocabulary."""
        return word in self.index

    def __eq__(self, other: object) -> bool:
        """Return whether two vocabularies have the same words and counts in the same order."""
        return (
            isinstance(other, Vocabulary)
            and self.words == other.words
            and bool(np.array_equal(self.counts, other.counts))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show the number of words, the sum of their counts, and the first words."""
        head = ", ".join(repr(word) for word in self.words[:3])
        more = ", ..." if len(self) > 3 else ""
        return f"Vocabulary({len(self)} words, {int(self.counts.sum())} tokens: {head}{more})"

    def id(self, word: str) -> int:
        """Return the id of a word; raise `UnknownWord` (a `DataError` and a `KeyError`) if it has none."""
        found = self.index.get(word)
        if found is None:
            raise UnknownWord(
                f"{word!r} is not among the {len(self)} words of the vocabulary: check spelling and case, "
                "or lower min_count"
            )
        return found

    def is_ordered(self) -> bool:
        """Return whether the ids are ranks: by falling count, then by rising bytes, each word once."""
        step = np.diff(self.counts)
        if step.size and step.max() > 0:
            return False
        pairs: Iterator[Any] = itertools.pairwise(sortable(self.words))
        return all(itertools.starmap(operator.lt, itertools.compress(pairs, (step == 0).tolist())))

    def save_words(self, path: str | Path) -> None:
        """Write the words to a file, in the format of `words_text`."""
        Path(path).write_bytes(words_text(self.words))

    @classmethod
    def load(cls, path: str | Path, counts: ArrayLike) -> "Vocabulary":
        """Read a file that `save_words` wrote; the counts are kept elsewhere and must be given."""
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise FormatError(f"{path}: byte 0: cannot be read ({error.strerror or error})") from error
        counts = np.asarray(counts, dtype=np.int64)
        if data and not data.endswith(b"\n"):
            raise FormatError(
                f"{path}: byte {len(data)}: the last line has no line end; the file is cut short, write it "
                "again"
            )
        raws = data.split(b"\n")[:-1]
        if counts.shape != (len(raws),):
            raise FormatError(
                f"{path}: byte {len(data)}: there are {len(raws)} words, but {counts.size} counts: the file "
                "is damaged or belongs to another model"
            )
        if b"\\" in data:
            raws = [_unescape(raw, f"{path}: row {row}") for row, raw in enumerate(raws, 1)]
        if counts.size and counts.min() < 0:
            raise FormatError(
                f"{path}: row {counts.argmin() + 1}: its count is {counts.min()}: the counts of this "
                "vocabulary are damaged"
            )
        return cls(decode_words(raws), counts)


def check_limits(min_count: int, max_vocab: int | None) -> None:
    """Raise a `ConfigError` if `min_count` or `max_vocab` is out of range."""
    at_least("min_count", min_count, 1)
    if max_vocab is not None:
        at_least("max_vocab", max_vocab, 1)


def _unescape(raw: bytes, where: str) -> bytes:
    def replace(found: re.Match[bytes]) -> bytes:
        if found[0] not in UNESCAPES:
            raise FormatError(
                f"{where}: the line {raw[:80]!r} contains the unknown escape {found[0]!r}: the file is "
                "damaged, write it again"
            )
        return UNESCAPES[found[0]]

    return re.sub(rb"\\.?", replace, raw)
