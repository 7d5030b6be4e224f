import numpy as np
import pytest

from unhot.errors import ConfigError, DataError, FormatError
from unhot.noise.choose import NOISES, check_noise, noise_probability
from unhot.noise.rules import log_uniform, unigram

COUNTS = np.array([8, 4, 1, 0])


def test_noise_by_name(tmp_path):
    path = tmp_path / "weights.csv"
    path.write_text("a,4\nb,0\nc,9\nd,16\n")
    expected = {
        "unigram": unigram(COUNTS, 0.5),
        "uniform": np.full(4, 0.25),
        "log_uniform": log_uniform(COUNTS),
        "learned": np.sqrt([9, 5, 2, 1]) / np.sqrt([9, 5, 2, 1]).sum(),
        f"file:{path}": np.array([2, 0, 3, 4]) / 9,
    }
    assert len(expected) == len(NOISES)
    for spec, q in expected.items():
        check_noise("nce:noise", spec)
        np.testing.assert_allclose(noise_probability(spec, COUNTS, 0.5), q, rtol=1e-12)


def test_learned_is_the_streaming_estimate():
    seen = np.ones(4)  # each id starts with a count of one
    np.add.at(seen, np.repeat(np.arange(4), COUNTS), 1)
    np.testing.assert_allclose(noise_probability("learned", COUNTS, 1.0), seen / seen.sum(), rtol=1e-12)


@pytest.mark.parametrize(
    "spec", ["", "zipf", "Uniform", "file", "file:", "file:PATH "[:4], None, 3, ["unigram"]]
)
def test_unknown_names(spec):
    with pytest.raises(
        ConfigError, match=r"nce:noise=.*must be one of unigram, uniform, log_uniform, learned, file:PATH"
    ):
        check_noise("nce:noise", spec)
    with pytest.raises(ConfigError, match="^noise="):
        noise_probability(spec, COUNTS, 1.0)


def test_files_that_do_not_fit(tmp_path):
    check_noise("noise", "file:nowhere.csv")  # not opened yet
    with pytest.raises(DataError, match=r"nowhere\.csv: cannot be read"):
        noise_probability(f"file:{tmp_path}/nowhere.csv", COUNTS, 1.0)
    path = tmp_path / "weights.csv"
    path.write_text("1\n2\n3\n")
    with pytest.raises(ConfigError, match="3 weights for 4 words: .*line i for id i"):
        noise_probability(f"file:{path}", COUNTS, 1.0)
    path.write_text("1\n2\nword\n4\n")
    with pytest.raises(FormatError, match="line 3"):
        noise_probability(f"file:{path}", COUNTS, 1.0)
    path.write_text("0\n0\n0\n0\n")
    with pytest.raises(DataError, match="no id can be drawn"):
        noise_probability(f"file:{path}", COUNTS, 1.0)


def test_log_uniform_checks_the_order():
    with pytest.raises(DataError, match="at id 1"):
        noise_probability("log_uniform", COUNTS[::-1][1:], 1.0)
