"""Turn sentences from Python into bytes, each with an end mark: strings, token lists, lines to be split."""

from collections.abc import Callable, Iterable, Iterator

from unhot.corpus.reading.tokenizers import SENTENCE_END, TOKEN_END, escaped
from unhot.errors import DataError
from unhot.vocab.vocabulary import decode_word, encode_word


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
        yield joined(sentence, number, " is of type {}: give a list of str for each sentence")


def joined(sentence: object, number: int, wrong: str) -> bytes:
    """Return the tokens of one sentence in the form that the scanner reads; `wrong`: if it is no list."""
    if isinstance(sentence, (str, bytes)) or not isinstance(sentence, Iterable):
        raise DataError(f"sentence {number}{wrong.format(type(sentence).__name__)}")
    tokens = sentence if isinstance(sentence, (list, tuple)) else list(sentence)
    try:
        text = "\n".join(tokens)
        # the fast path: no token contains a line feed or invalid UTF-8
        if text.count("\n") == len(tokens) - 1:
            return text.encode().replace(b"\n", TOKEN_END) + SENTENCE_END
        raws = [token.encode() for token in tokens]
    except UnicodeEncodeError:
        raws = [escaped(encode_word(token)) for token in tokens]
    except TypeError:
        wrong_one = next(token for token in tokens if not isinstance(token, str))
        raise DataError(
            f"sentence {number} holds {wrong_one!r:.80} of type {type(wrong_one).__name__}: tokens must be "
            "str; convert them with str()"
        ) from None
    return TOKEN_END.join(raws) + SENTENCE_END


def lines_of(block: bytes) -> list[str]:
    """Return the lines of a block, each of which ends with a line feed, without their ends."""
    return [line.removesuffix("\r") for line in decode_word(block).split("\n")[:-1]]


def tokenized(lines: Iterable[object], tokenizer: Callable[[str], Iterable[str]]) -> Iterator[bytes]:
    """Yield strings, split by a tokenizer function, as bytes for the scanner of token lists."""
    for number, line in enumerate(lines, 1):
        if not isinstance(line, str):
            raise DataError(
                f"sentence {number} is of type {type(line).__name__}: a tokenizer function takes str; give "
                "strings"
            )
        yield joined(tokenizer(line), number, ": the tokenizer returned {}: it must return a list of str")
