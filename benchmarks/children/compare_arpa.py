"""Compare two ARPA files: the same n-grams, how far probabilities and back-off weights are apart.

It reads the files by itself, so that an error of unhot's reader cannot hide one of its writer. The
probability of <s>, which no model predicts, is left out: lmplz writes 0 for it, others -99.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import BinaryIO

BEGIN = b"<s>"


def ngrams(file: BinaryIO) -> Iterator[tuple[bytes, float, float]]:
    """The n-grams of the next order, with their probabilities and weights; a missing weight is 0."""
    for line in file:
        if line.startswith(b"\\") and line.rstrip().endswith(b"-grams:"):
            break
    for line in file:
        parts = line.rstrip(b"\r\n").split(b"\t")
        if len(parts) < 2:  # an empty line ends an order
            break
        yield parts[1], float(parts[0]), float(parts[2]) if len(parts) > 2 else 0.0


def compare(ours: BinaryIO, theirs: BinaryIO) -> tuple[int, int, float, float]:
    """n-grams of the next order in our file, how many are in both files, the largest differences."""
    known = {ngram: (log_prob, backoff) for ngram, log_prob, backoff in ngrams(theirs)}
    found = same = 0
    log_prob_apart = backoff_apart = 0.0
    for ngram, log_prob, backoff in ngrams(ours):
        found += 1
        other = known.pop(ngram, None)
        if other is not None:
            same += 1
            if ngram != BEGIN:
                log_prob_apart = max(log_prob_apart, abs(log_prob - other[0]))
            backoff_apart = max(backoff_apart, abs(backoff - other[1]))
    return found + len(known), same, log_prob_apart, backoff_apart


job = json.loads(sys.argv[1])
orders = []
with open(job["ours"], "rb") as ours, open(job["theirs"], "rb") as theirs:  # noqa: PTH123
    while (compared := compare(ours, theirs))[0]:
        orders.append(compared)
answer = {
    "ngrams": sum(found for found, _, _, _ in orders),
    "same_ngrams": sum(same for _, same, _, _ in orders),
    "log_prob_difference": max((apart for _, _, apart, _ in orders), default=0.0),
    "backoff_difference": max((apart for _, _, _, apart in orders), default=0.0),
}
sys.stdout.write(json.dumps(answer) + "\n")
