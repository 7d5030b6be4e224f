import json
from pathlib import Path

import numpy as np
import pytest

from unhot.noise.rules import unigram
from unhot.vocab.subsampling import keep_probability, rank_keep_probability

GOLDEN = Path(__file__).parent.parent / "golden"
TABLES = json.loads((GOLDEN / "gensim_vocabulary_tables.json").read_text())["vocabulary_tables"]
RANKS = json.loads((GOLDEN / "keras_skipgrams.json").read_text())["sampling_tables"]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"sample {table['sample']}")
def test_gensim_keeps_as_many(table):
    counts = np.array(table["counts"])
    np.testing.assert_allclose(
        keep_probability(counts, table["sample"]), table["keep_probability"], rtol=1e-6
    )
    np.testing.assert_allclose(
        np.cumsum(unigram(counts, 0.75)), table["cumulative_negative_sampling"], atol=1e-8
    )


@pytest.mark.parametrize("table", RANKS, ids=lambda table: f"size {table['size']}")
def test_keras_sampling_table(table):
    np.testing.assert_allclose(
        rank_keep_probability(table["size"], table["sampling_factor"]), table["table"], rtol=1e-12
    )


def test_no_sampling_keeps_everything():
    assert (keep_probability(np.array([1000, 1]), 0) == 1).all()
