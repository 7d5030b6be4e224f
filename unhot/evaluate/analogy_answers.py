"""Answer analogies with vectors.

    add   3CosAdd: the word r with the largest  cos(r, b) - cos(r, a) + cos(r, c)
    mul   3CosMul: the word r with the largest  cos'(r, b) cos'(r, c) / (cos'(r, a) + 1e-6)
                                                cos' = (1 + cos) / 2

3CosAdd finds the same word as `most_similar(positive=[b, c], negative=[a])`, which divides all scores by the
same length. Thousands of questions consist of a few hundred words. So the cosines of these words with a block
of candidates are computed once (for dense vectors, in one matrix product), and a question only combines three
rows of them (`analogy_scores.py`).
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from unhot.evaluate.lookup import WordLookup
from unhot.types import Ids

METHODS = ("add", "mul")
BLOCK = 1024  # candidates at a time
TABLE = 1 << 22  # the most cosines at a time, if the questions have very many words


def answers(lookup: WordLookup, asked: Ids, method: str, tell: Callable[[int, int], None]) -> Ids:
    """Return the row that answers each question [questions, 3] of rows a, b, c; -1 if there is none.

    Of equal scores, the first row wins. a, b and c, and other spellings of them (see `WordLookup.names`), are
    never answers. `tell` is called with the number of candidates done and their total.
    """
    from unhot.evaluate.analogy_scores import GROUP, Answers, Questions, Quotient, Sum, answer

    words, places = np.unique(asked, return_inverse=True)
    cosines = lookup.cosines_with(words)
    questions = Questions(places.reshape(asked.shape).astype(np.int32), lookup.names[asked])
    best = Answers(np.full(len(asked), -1, np.int32), np.full(len(asked), -np.inf, np.float32))
    width = min(BLOCK, max(1, TABLE // (words.size * GROUP)) * GROUP)
    table = np.empty((words.size, width), np.float32)
    ends = np.linspace(0, len(asked), lookup.vectors.threads + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(lookup.vectors.threads) as pool:
        for first in range(0, lookup.size, width):
            last = min(first + width, lookup.size)
            table[:, : last - first] = cosines(first, last)
            table[:, last - first :] = np.nan
            if method == "mul":
                table += 1
                table *= 0.5
            flat = table.reshape(-1)
            scores = Sum(flat) if method == "add" else Quotient(flat)
            jobs = [
                pool.submit(answer, scores, width, first, lookup.names, questions, best, *chunk)
                for chunk in pairwise(ends)
            ]
            for job in jobs:
                job.result()
            tell(last, lookup.size)
    return best.rows
