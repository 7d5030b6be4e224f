"""Compare unhot's cells with the file that Stanford's cooccur wrote.

The same words, the same cells, how far values are apart.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.glove_cells import read_glove_vocabulary

RECORD = np.dtype([("row", "<i4"), ("column", "<i4"), ("value", "<f8")])  # rows and columns from 1, sorted
CHUNK = 1 << 22

job = json.loads(sys.argv[1])
words = read_glove_vocabulary(job["vocabulary"]).words
theirs = np.memmap(job["theirs"], RECORD, "r")
with Cells.open(job["ours"]) as cells:
    same_words = cells.vocabulary.words == words
    same_cells = same_words and len(cells) == theirs.size
    largest = 0.0
    for at in range(0, theirs.size if same_cells else 0, CHUNK):
        part = theirs[at : at + CHUNK]
        here = np.arange(at, at + part.size)
        rows = np.searchsorted(cells.starts, here, side="right") - 1
        same_cells &= bool(
            (rows == part["row"] - 1).all() and (cells.columns[here] == part["column"] - 1).all()
        )
        largest = max(largest, float(np.max(np.abs(part["value"] - cells.values[here]) / cells.values[here])))
    answer = {
        "same_words": same_words,
        "same_cells": same_cells,
        "largest_difference": largest if same_cells else None,
    }
sys.stdout.write(json.dumps(answer) + "\n")
