"""Write the best labels of many lines as text: `label<TAB>score`, one line for each."""

from typing import Any

import numpy as np

from unhot.kernels.jit import kernel
from unhot.lines.choosing import Chosen
from unhot.types import Bytes, Starts

DIGITS = 6
LONGEST = DIGITS + 4  # bytes of a tab, a score and a line feed


class AnswerWriter:
    """Turns chosen labels into bytes."""

    def __init__(self, labels: list[bytes]) -> None:
        """Take the labels as they are written."""
        self._names = np.frombuffer(b"".join(labels) or b"\0", np.uint8)
        self._offsets: Starts = np.cumsum([0, *map(len, labels)], dtype=np.int64)
        self._longest = max(map(len, labels), default=0)

    def __call__(self, chosen: Chosen) -> bytes:
        """Return the lines of labels that were chosen with k = 1; a line without a label has only a tab."""
        lines = len(chosen.starts) - 1
        out = np.empty(lines * (self._longest + LONGEST) + 1, np.uint8)
        probabilities = np.asarray(chosen.probabilities, np.float64)
        end = write_answers(chosen.starts, chosen.labels, probabilities, self._names, self._offsets, out)
        return out[:end].tobytes()


@kernel
def write_answers(starts: Any, labels: Any, probabilities: Any, names: Bytes, offsets: Any, out: Any) -> Any:
    """Write a line for each text; return the number of bytes."""
    at = 0
    for line in range(starts.size - 1):
        some = starts[line + 1] > starts[line]
        if some:
            label = labels[starts[line]]
            for i in range(offsets[label], offsets[label + 1]):
                out[at] = names[i]
                at += 1
        out[at] = 9
        at += 1
        if some:
            number = np.int64(probabilities[starts[line]] * 1e6 + 0.5)
            out[at], out[at + 1] = 48 + number // 1_000_000, 46
            number %= 1_000_000
            for i in range(6):
                out[at + 7 - i] = 48 + number % 10
                number //= 10
            at += 8
        out[at] = 10
        at += 1
    return at
