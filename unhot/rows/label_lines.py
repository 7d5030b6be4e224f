"""Lines with labels, as fastText reads them: `__label__A __label__B some words`.

A token that begins with the prefix is a label, wherever it stands. The label is what follows the prefix.
"""

from unhot.errors import ConfigError
from unhot.rows.batches import RowBatch
from unhot.rows.records import Record
from unhot.vocab.vocabulary import decode_word

PREFIX = "__label__"
FEW = 8  # so many labels at the beginning of a line are taken off one by one
BLANKS = b" \t\n\v\f\r\0"  # bytes that separate tokens
BLANK = BLANKS.replace(b"\n", b"")
SPACES = bytes.maketrans(BLANK, b" " * len(BLANK))

LabelledText = tuple[str, list[str]]
Labelled = tuple[RowBatch, list[LabelledText]]


def check_prefix(prefix: str) -> None:
    """Raise a `ConfigError` if no token can begin with a prefix."""
    if not prefix or any(blank in prefix for blank in BLANKS.decode()):
        raise ConfigError(
            f"prefix={prefix!r}: must be at least one character, and no white space, such as {PREFIX}"
        )


def label_batch(data: bytes, prefix: str, where: str, first: int, unit: str = "line") -> Labelled:
    """Return the rows of lines that are not blank, and the text and the labels of each."""
    skip, rows = len(prefix), dict[int, LabelledText]()
    faults: dict[int, str] = {}
    for number, line in enumerate(decode_word(data.translate(SPACES)).split("\n"), first):
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
        text = text.strip(" ")
        if "" in labels:
            faults[len(rows)] = f"a label is empty, there is only its prefix {prefix}"
        if text or labels:
            rows[number] = (text, labels)
    numbers = [Record(number, b"") for number in rows]
    return RowBatch(where, len(rows), {}, unit, faults=faults, records=lambda: numbers), [*rows.values()]
