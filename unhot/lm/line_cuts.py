"""Lines of bytes to ids: the compiled first step of scoring a text."""

from typing import Any

import numpy as np

from unhot.corpus.reading.scanner import find_from, first_slot
from unhot.corpus.reading.token_cuts import AHEAD, LINE_FEED, find_tokens
from unhot.kernels.jit import kernel
from unhot.lm.symbols import UNKNOWN


@kernel
def cut_lines(
    text: Any, size: Any, rows: Any, words: Any, token: Any, keys: Any, ids: Any, starts: Any
) -> Any:
    """Write the ids of the words of lines, and where each line begins; return the number of lines."""
    line = np.int64(0)
    n = np.int64(0)
    start = -1
    starts[0] = 0
    for base in range(0, size, AHEAD):
        tokens, start = find_tokens(text, base, size, rows, start, words, token, keys)
        for i in range(tokens):
            at, length = token[i, 0], token[i, 1]
            if length == LINE_FEED:
                line += 1
                starts[line] = n
            else:
                found, _ = find_from(words, text, at, length, keys[i], first_slot(words, keys[i]))
                ids[n] = max(found, UNKNOWN)
                n += 1
    return line
