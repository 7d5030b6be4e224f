"""Compare two ARPA files: the same n-grams, how far probabilities and back-off weights are apart.

It reads the files by itself, so that an error of unhot's reader cannot hide one of its writer. The
probability of <s>, which no model predicts, is left out: lmplz writes 0 for it, others -99.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

BEGIN = b"<s>"


def read_counts(file: BinaryIO) -> list[int]:
    """The n-grams of each order, as the head of a file announces them; read on to the first n-gram."""
    head = list(iter(lambda: file.readline().strip(), b"\\1-grams:"))
    return [int(line.partition(b"=")[2]) for line in head if line.startswith(b"ngram ")]


def read_ngrams(file: BinaryIO, count: int) -> Iterator[tuple[bytes, float, float]]:
    """The n-grams of an order with probabilities and weights; read on to the first n-gram of the next order.

    A missing weight is 0.
    """
    for line in islice(file, count):
        log_prob, ngram, *backoff = line.rstrip(b"\r\n").split(b"\t")
        yield ngram, float(log_prob), float(backoff[0]) if backoff else 0.0
    for line in file:
        if line.startswith(b"\\"):
            break


def compare(ours: BinaryIO, theirs: BinaryIO) -> dict[str, float]:
    """How many n-grams there are, how many are in both files, and the largest differences of these."""
    ngrams = same = 0
    log_prob_apart = backoff_apart = 0.0
    for our_count, their_count in zip(read_counts(ours), read_counts(theirs), strict=True):
        known = {ngram: numbers for ngram, *numbers in read_ngrams(theirs, their_count)}
        for ngram, log_prob, backoff in read_ngrams(ours, our_count):
            ngrams += 1
            other = known.pop(ngram, None)
            if other is not None:
                same += 1
                if ngram != BEGIN:
                    log_prob_apart = max(log_prob_apart, abs(log_prob - other[0]))
                backoff_apart = max(backoff_apart, abs(backoff - other[1]))
        ngrams += len(known)
    return {
        "ngrams": ngrams,
        "same_ngrams": same,
        "log_prob_difference": log_prob_apart,
        "backoff_difference": backoff_apart,
    }


job = json.loads(sys.argv[1])
with Path(job["ours"]).open("rb") as ours, Path(job["theirs"]).open("rb") as theirs:
    answer = compare(ours, theirs)
sys.stdout.write(json.dumps(answer) + "\n")
