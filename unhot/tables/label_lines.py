"""Lines with labels, as fastText reads them: `__label__A __label__B some words`.

A token that begins with the prefix is a label, wherever it stands. The label is what follows the prefix.
"""

from collections.abc import Iterator

from unhot.corpus.reading.tokenizers import BLANKS
from unhot.errors import ConfigError, DataError
from unhot.vocab.vocabulary import decode_word

PREFIX = "__label__"
FEW = 8  # so many labels at the beginning of a line are taken off one by one
BLANK = BLANKS.replace(b"\n", b"")
SPACES = bytes.maketrans(BLANK, b" " * len(BLANK))


def check_prefix(prefix: str) -> None:
    """Raise a `ConfigError` if no token can begin with a prefix."""
    if not prefix or any(blank in prefix for blank in BLANKS.decode()):
        raise ConfigError(
            f"prefix={prefix!r}: must be at least one character, and no white space, such as {PREFIX}"
        )


def label_rows(data: bytes, prefix: str, before: int, where: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the text and the labels of each line that is not blank; `before`: the lines before these."""
    skip, lines = len(prefix), decode_word(data.translate(SPACES)).split("\n")
    for line in lines:
        labels: list[str] = []
        text = line
        while prefix in text:
            if len(labels) < FEW and text.startswith(prefix):
                label, _, text = text.partition(" ")
                labels.append(label[skip:])
            else:
                tokens = text.split(" ")
                labels += [token[skip:] for token in tokens if token.startswith(prefix)]
                text = " ".join([token for token in tokens if not token.startswith(prefix)])
                break
        if "" in labels:
            raise DataError(
                f"{where}: line {before + lines.index(line) + 1}: a label is empty, there is only its prefix "
                f"{prefix}: write the name of the label behind it"
            )
        text = text.strip(" ")
        if text or labels:
            yield text, labels
