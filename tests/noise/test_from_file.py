import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError, DataError, FormatError
from unhot.noise import choose
from unhot.noise.choose import file_weights, fixed_unigram
from unhot.noise.expected import expected_counts


def weights_of(tmp_path, content):
    path = tmp_path / "weights.csv"
    path.write_bytes(content)
    return file_weights(path)


@pytest.mark.parametrize(
    ("content", "weights"),
    [
        (b"17", [17]),
        (b"the,17\ncat,2.5\n", [17, 2.5]),
        (b"the, 17 \r\n\r\ncat,0\r\n", [17, 0]),  # Windows line ends; empty lines are skipped
        (b"\n\n,1\na,b,c,1e-3\n\n", [1, 0.001]),
        (b'"a,b",4\n', [4]),
        (b"\xef\xbb\xbf5\n6", [5, 6]),  # a byte order mark
        # not UTF-8; a line separator that ends no line
        (b"\xff\xfe\x85,3\nna\xc3\xafve\xe2\x80\xa8,4", [3, 4]),
    ],
)
def test_last_field_of_each_line(tmp_path, content, weights):
    assert weights_of(tmp_path, content).tolist() == weights


@pytest.mark.parametrize(
    "field",
    [
        b"",
        b"cat",
        b"-1",
        b"-0.5",
        b"nan",
        b"inf",
        b"-inf",
        b"1e999",
        b"1_000",
        b"0x10",
        b" ",
        b"\xff",
        b"1 2",
    ],
)
def test_lines_without_a_weight_are_named(tmp_path, field):
    with pytest.raises(FormatError, match=r"weights\.csv, line 3: .*finite number >= 0"):
        weights_of(tmp_path, b"a,1\n\nb," + field + b"\nc,3\n")


def test_files_that_are_none(tmp_path, monkeypatch):
    with pytest.raises(FormatError, match="holds no weights"):
        weights_of(tmp_path, b"\n\r\n")
    with pytest.raises(FormatError, match="line 1: the last field must be a weight"):
        weights_of(tmp_path, b"   \n1\n")
    with pytest.raises(DataError, match="cannot be read: No such file"):
        file_weights(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="cannot be read"):
        file_weights(tmp_path)
    with pytest.raises(DataError, match="cannot be read: embedded null"):
        file_weights("a\0b")
    monkeypatch.setattr(choose, "LONGEST_LINE", 8)
    assert weights_of(tmp_path, b"abcde,1\nabcdef,2").tolist() == [1, 2]
    with pytest.raises(FormatError, match="line 2: longer than 8 bytes"):
        weights_of(tmp_path, b"a,1\nabcdefg,2")


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=30))
def test_numbers_survive(tmp_path_factory, weights):
    content = "\n".join(f"word {i},{weight!r}" for i, weight in enumerate(weights))
    assert weights_of(tmp_path_factory.mktemp("numbers"), content.encode()).tolist() == weights


def test_tensorflow_reserved_ids(golden):
    case = golden["extra"]["reserved_ids"]
    q = fixed_unigram(case["unigrams"], case["distortion"], case["num_reserved_ids"])
    assert q.size == case["range_max"]
    np.testing.assert_allclose(q, case["p"], rtol=1e-12)
    np.testing.assert_allclose(
        expected_counts(q, case["num_sampled"]), case["true_expected_count_all_classes"], rtol=1e-6
    )


def test_tensorflow_shards(golden):
    case = golden["extra"]["shards"]
    assert len(case["results"]) == case["num_shards"] == 2
    for result in case["results"]:
        q = fixed_unigram(
            case["unigrams"], case["distortion"], shards=case["num_shards"], shard=result["shard"]
        )
        np.testing.assert_allclose(
            expected_counts(q, case["num_sampled"]), result["true_expected_count_all_classes"], rtol=1e-6
        )


@given(
    st.lists(st.floats(0.5, 9), min_size=12, max_size=30),
    st.floats(-2, 2),
    st.integers(0, 5),
    st.integers(1, 5),
)
def test_shards_put_together_are_the_whole(weights, power, reserved, shards):
    whole = fixed_unigram(weights, power, reserved)
    assert whole[:reserved].tolist() == [0] * reserved
    np.testing.assert_allclose(
        whole[reserved:], np.array(weights) ** power / sum(w**power for w in weights), rtol=1e-12
    )
    for shard in range(shards):
        q = fixed_unigram(weights, power, reserved, shards, shard)
        ours = [i for i in range(whole.size) if i % shards == shard]
        np.testing.assert_allclose(q, whole[ours] / whole[ours].sum(), rtol=1e-12)


def test_a_weight_of_zero_is_never_drawn():
    for power in (0.0, -1.0, 0.75):
        q = fixed_unigram([0, 0.25, 0, 4.0], power)
        assert q[[0, 2]].tolist() == [0, 0]
        assert q.sum() == pytest.approx(1)
    np.testing.assert_allclose(fixed_unigram([0, 0.25, 0, 4.0], 0.5), [0, 0.2, 0, 0.8])


def test_settings_that_cannot_be():
    for settings in (
        {"reserved": -1},
        {"shards": 0},
        {"shard": 1},
        {"shards": 2, "shard": 2},
        {"shard": -1},
        {"reserved": 1.5},
        {"power": np.nan},
    ):
        with pytest.raises(ConfigError, match=f"{list(settings)[-1]}="):
            fixed_unigram([1, 2], **settings)
    with pytest.raises(DataError, match="shard 1 of 2 has no weight above zero"):
        fixed_unigram([1, 0, 1], shards=2, shard=1)
    with pytest.raises(DataError, match="no id can be drawn"):
        fixed_unigram([], reserved=3)
    for weights in ([1, -1], [1, np.nan], [1, np.inf], [[1, 2]], ["a"]):
        with pytest.raises(DataError, match="weights"):
            fixed_unigram(weights)
