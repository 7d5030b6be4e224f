import numpy as np
import pytest

from unhot.errors import ConfigError, DataError
from unhot.noise.expected import expected_counts
from unhot.noise.learned import LearnedUnigram


def test_tensorflow_steps(golden):
    case = golden["extra"]["learned_unigram"]
    noise = LearnedUnigram(case["range_max"])
    assert len(case["steps"]) == 6
    for step in case["steps"]:
        assert noise.seen.tolist() == step["weights_before"]
        np.testing.assert_allclose(noise.probability, step["p_before"], rtol=1e-12)
        c = expected_counts(noise.probability, case["num_sampled"])
        for row, ids in enumerate(step["true_classes"]):
            np.testing.assert_allclose(c[ids], step[f"true_expected_count_row{row}"], rtol=1e-6)
        np.testing.assert_allclose(c[step["sampled"]], step["sampled_expected_count"], rtol=1e-6)
        noise.update(step["true_classes"])


def test_every_occurrence_counts():
    noise = LearnedUnigram(3)
    noise.update(np.array([[2, 2], [0, 2]], np.int32))
    noise.update([])
    noise.update(np.array([2], np.uint8))
    assert noise.seen.tolist() == [2, 1, 5]
    assert noise.seen.dtype == np.int64


@pytest.mark.parametrize(
    ("ids", "message"),
    [([0, 3], "id 3: "), ([-1, 5], "id -1: "), ([0.5], "float64"), (["a"], "whole numbers")],
)
def test_bad_ids_change_nothing(ids, message):
    noise = LearnedUnigram(3)
    with pytest.raises(DataError, match=message):
        noise.update(ids)
    assert noise.seen.tolist() == [1, 1, 1]


def test_words():
    with pytest.raises(ConfigError, match="words=0"):
        LearnedUnigram(0)
