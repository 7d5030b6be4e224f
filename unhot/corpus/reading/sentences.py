"""Sentences from Python as blocks of bytes: strings, token lists, lines that a function splits."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

from unhot.corpus.reading.files import FileReader
from unhot.corpus.reading.text_blocks import Block, Pool
from unhot.corpus.reading.tokenizers import SENTENCE_END, TOKEN_END, escaped
from unhot.errors import DataError
from unhot.vocab.vocabulary import decode_word, encode_word


class SentenceReader:
    """Sentences as bytes, each with its end, put together to blocks."""

    files = byte_order_marks = 0  # there are none

    def __init__(self, sentences: Iterator[bytes]) -> None:
        """Several sentences may come together."""
        self._sentences = sentences
        self.bytes = 0  # read so far

    def progress(self) -> tuple[int, int | None]:
        """Bytes read; of how many is not known."""
        return self.bytes, None

    def blocks(self, pool: Pool, size: int) -> Generator[Block, None, None]:
        """Blocks of whole sentences of about `size` bytes."""
        block = pool.take()
        for sentence in self._sentences:
            block.append(sentence)
            self.bytes += len(sentence)
            if block.size >= size:
                yield block
                block = pool.take()
        yield block


def joined_strings(sentences: Iterable[object]) -> Iterator[bytes]:
    """Strings for the scanner of text: a line feed inside a sentence is only white space."""
    for number, sentence in enumerate(sentences, 1):
        if not isinstance(sentence, str):
            raise DataError(
                f"sentence {number} is of type {type(sentence).__name__}, the first one was a str: give "
                "strings or token lists, not both"
            )
        yield encode_word(sentence.replace("\n", " ")) + b"\n"


def joined_lists(sentences: Iterable[object]) -> Iterator[bytes]:
    """Token lists for the scanner of token lists; an empty token is no token."""
    for number, sentence in enumerate(sentences, 1):
        if isinstance(sentence, (str, bytes)) or not isinstance(sentence, Iterable):
            raise DataError(
                f"sentence {number} is of type {type(sentence).__name__}: give a list of str for each "
                "sentence"
            )
        yield joined(sentence if isinstance(sentence, (list, tuple)) else list(sentence), number)


def joined(tokens: Sequence[str], number: int) -> bytes:
    """One sentence in the form the scanner reads."""
    try:
        text = "\n".join(tokens)
        # the quick way: no token holds a line feed or bytes that are not UTF-8
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
    """The lines of files, which must cut at line feeds only."""
    pool = Pool()
    for block in files.blocks(pool, size):
        text = decode_word(block.text[: block.size].tobytes())
        pool.give(block)
        for line in text.removesuffix("\n").split("\n") if text else ():
            yield line.removesuffix("\r")


def tokenized(lines: Iterable[object], tokenizer: Callable[[str], Iterable[str]]) -> Iterator[bytes]:
    """Strings, split by a function."""
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
