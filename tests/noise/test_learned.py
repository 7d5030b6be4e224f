import numpy as np

from unhot.noise.expected import expected_counts
from unhot.noise.rules import unigram


def test_tensorflow_steps(golden):
    """TensorFlow's learned sampler draws from the counts of true classes so far, each plus one."""
    case = golden["extra"]["learned_unigram"]
    seen = np.ones(case["range_max"], np.int64)
    assert len(case["steps"]) == 6
    for step in case["steps"]:
        assert seen.tolist() == step["weights_before"]
        q = unigram(seen, 1.0)
        np.testing.assert_allclose(q, step["p_before"], rtol=1e-12)
        c = expected_counts(q, case["num_sampled"])
        for row, ids in enumerate(step["true_classes"]):
            np.testing.assert_allclose(c[ids], step[f"true_expected_count_row{row}"], rtol=1e-6)
        np.testing.assert_allclose(c[step["sampled"]], step["sampled_expected_count"], rtol=1e-6)
        np.add.at(seen, step["true_classes"], 1)
