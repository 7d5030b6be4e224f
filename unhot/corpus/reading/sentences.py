"""Turn sentences from Python into blocks of bytes: strings, token lists, lines that a function splits."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

from unhot.corpus.reading.files import FileReader, line_blocks
from unhot.corpus.reading.text_blocks import Block, Pool
from unhot.corpus.reading.tokenizers import SENTENCE_END, TOKEN_END, escaped
from unhot.errors import DataError
from unhot.rows.batches import RowReport
from unhot.vocab.vocabulary import decode_word, encode_word


class SentenceReader:
    """Put sentences, which are bytes with an end mark, together into blocks."""

    files = byte_order_marks = 0  # sentences from Python have none

    def __init__(self, sentences: Iterator[bytes], rows: RowReport | None = None) -> None:
        """Take the sentences; an item may hold several of them. `rows`: of the table that they come from."""
        self._sentences = sentences
        self.rows, self.recognized = rows or RowReport(), list[str]()
        self.bytes = 0  # read so far

    def progress(self) -> tuple[int, int | None]:
        """Return the bytes read so far, and None because the total is unknown."""
        return self.bytes, None

    def blocks(self, pool: Pool, size: int) -> Generator[Block, None, None]:
        """Yield blocks of about `size` bytes, each of whole sentences."""
        waiting: list[bytes] = []  # appending them one by one would take longer than to scan them
        length = 0
        for sentence in self._sentences:
            waiting.append(sentence)
            length += len(sentence)
            if length >= size:
                yield self._block(pool, waiting)
                length = 0
        yield self._block(pool, waiting)

    def lines(self) -> Iterator[str]:
        """Yield the sentences, each of which ends with a line feed, as strings."""
        for chunk in self._sentences:
            yield from decode_word(chunk).split("\n")[:-1]

    def _block(self, pool: Pool, waiting: list[bytes]) -> Block:
        """Return a block of sentences, and forget them."""
        block = pool.take()
        block.append(b"".join(waiting))
        self.bytes += block.size
        waiting.clear()
        return block


def joined_strings(sentences: Iterable[object]) -> Iterator[bytes]:
    """Yield strings as bytes for the text scanner; a line feed inside a sentence becomes a space."""
    for number, sentence in enumerate(sentences, 1):
        if not isinstance(sentence, str):
            raise DataError(
                f"sentence {number} is of type {type(sentence).__name__}, but the first one was a str: give "
                "strings or token lists, not both"
            )
        yield encode_word(sentence.replace("\n", " ")) + b"\n"


def joined_lists(sentences: Iterable[object]) -> Iterator[bytes]:
    """Yield token lists as bytes for the scanner of token lists; the scanner ignores empty tokens."""
    for number, sentence in enumerate(sentences, 1):
        if isinstance(sentence, (str, bytes)) or not isinstance(sentence, Iterable):
            raise DataError(
                f"sentence {number} is of type {type(sentence).__name__}: give a list of str for each "
                "sentence"
            )
        yield joined(sentence if isinstance(sentence, (list, tuple)) else list(sentence), number)


def joined(tokens: Sequence[str], number: int) -> bytes:
    """Return the tokens of one sentence in the form that the scanner reads."""
    try:
        text = "\n".join(tokens)
        # the fast path: no token contains a line feed or invalid UTF-8
        if text.count("\n") == len(tokens) - 1:
            return text.encode().replace(b"\n", TOKEN_END) + SENTENCE_END
        raws = [token.encode() for token in tokens]
    except UnicodeEncodeError:
        raws = [escaped(encode_word(token)) for token in tokens]
    except TypeError:
        wrong = next(token for token in tokens if not isinstance(token, str))
        raise DataError(
            f"sentence {number} holds {wrong!r:.80} of type {type(wrong).__name__}: tokens must be str; "
            "convert them with str()"
        ) from None
    return TOKEN_END.join(raws) + SENTENCE_END


def file_lines(files: FileReader, size: int) -> Iterator[str]:
    """Yield the lines of files; the reader must cut blocks at line feeds only."""
    for block in line_blocks(files, size):
        text = decode_word(block)
        for line in text.removesuffix("\n").split("\n") if text else ():
            yield line.removesuffix("\r")


def tokenized(lines: Iterable[object], tokenizer: Callable[[str], Iterable[str]]) -> Iterator[bytes]:
    """Yield strings, split by a tokenizer function, as bytes for the scanner of token lists."""
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise DataError(
                f"sentence {number} is of type {type(line).__name__}: a tokenizer function takes str; give "
                "strings"
            )
        tokens = tokenizer(line)
        if isinstance(tokens, (str, bytes)) or not isinstance(tokens, Iterable):
            raise DataError(
                f"sentence {number}: the tokenizer returned {type(tokens).__name__}: it must return a list "
                "of str"
            )
        yield joined(tokens if isinstance(tokens, (list, tuple)) else list(tokens), number)
