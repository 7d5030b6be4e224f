"""Candidate samplers against TensorFlow's (tests/golden/README.md): counts, frequencies, distinct draws."""

import inspect
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats
from tensorflow_counts import tensorflow_expected_counts

from unhot.errors import ConfigError, DataError, FormatError
from unhot.nn import functional as F
from unhot.noise.rules import log_uniform as log_uniform_probability

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "tf_samplers.json").read_text(encoding="utf-8"))
UNIGRAMS, EXTRA = GOLDEN["unigrams"], GOLDEN["extra"]
CASES = {case["name"]: case for case in GOLDEN["cases"]}
SAMPLERS = {
    "log_uniform": F.log_uniform,
    "uniform": F.uniform,
    "fixed_unigram_0.75": partial(F.fixed_unigram, unigrams=UNIGRAMS, distortion=0.75),
    "fixed_unigram_1.0": partial(F.fixed_unigram, unigrams=UNIGRAMS, distortion=1.0),
}
EVERY = torch.arange(50).unsqueeze(0)  # all classes as the true classes of one example


def generator(seed=1):
    return torch.Generator().manual_seed(seed)


def chi_square(counts, expected):
    """The probability of frequencies like these or stranger; impossible ids must not occur."""
    counts, expected = np.asarray(counts), np.asarray(expected)
    assert not counts[expected == 0].any()
    return stats.chisquare(counts[expected > 0], expected[expected > 0]).pvalue


def tries_of(drawn, q, k):
    """The number of tries that the expected counts stand for."""
    return next(
        t
        for t in range(k, 400)
        if np.allclose(drawn.true_expected_count[0], tensorflow_expected_counts(q, k, t), atol=1e-6)
    )


# ---- TensorFlow's values


@pytest.mark.parametrize("name", CASES)
def test_with_replacement_the_expected_counts_are_those_of_tensorflow(name):
    case = CASES[name]
    drawn = SAMPLERS[name](EVERY, 50, 10, False, 50)
    expected = np.array(case["not_unique"]["true_expected_count_all_classes"])
    np.testing.assert_allclose(drawn.true_expected_count[0], expected, atol=1e-6)
    np.testing.assert_allclose(drawn.sampled_expected_count, expected[drawn.sampled_candidates], atol=1e-6)
    assert [part.dtype for part in drawn] == [torch.int64, torch.float32, torch.float32]
    exact = SAMPLERS[name](EVERY, 50, 10, False, 50, dtype=torch.float64).true_expected_count[0]
    np.testing.assert_allclose(exact, 10 * np.array(case["probability"]), rtol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_distinct_draws_have_the_expected_counts_of_tensorflow(name):
    """Those of the number of tries that the call took; TensorFlow's own calls are in the file."""
    case, tries = CASES[name], []
    q, goes_on = np.array(case["probability"]), generator()
    for _ in range(40):
        drawn = SAMPLERS[name](EVERY, 50, 10, True, 50, seed=goes_on)
        assert drawn.sampled_candidates.unique().numel() == 10
        tries.append(tries_of(drawn, q, 10))
        by_id = drawn.true_expected_count[0][drawn.sampled_candidates]
        torch.testing.assert_close(drawn.sampled_expected_count, by_id)
    for call in case["unique"]:
        expected = tensorflow_expected_counts(q, 10, call["num_tries"])
        np.testing.assert_allclose(expected, call["true_expected_count_all_classes"], atol=1e-6)
    theirs = case["unique_inclusion"]
    assert min(tries) >= 10
    assert np.mean(tries) == pytest.approx(theirs["mean_num_tries"], abs=2.5)


@pytest.mark.parametrize("name", CASES)
def test_frequencies(name):
    case = CASES[name]
    drawn = SAMPLERS[name](EVERY, 50, 200_000, False, 50, seed=3)
    counts = torch.bincount(drawn.sampled_candidates, minlength=50)
    assert chi_square(counts, 200_000 * np.array(case["probability"])) > 1e-4


@pytest.mark.parametrize("name", CASES)
def test_distinct_draws_include_each_class_as_often_as_in_tensorflow(name):
    theirs, goes_on = CASES[name]["unique_inclusion"], generator(5)
    batches = 1500
    ids = torch.cat(
        [
            SAMPLERS[name](EVERY[:, :1], 1, 10, True, 50, seed=goes_on).sampled_candidates
            for _ in range(batches)
        ]
    )
    ours, share = (
        torch.bincount(ids, minlength=50).numpy(),
        np.array(theirs["inclusion_counts"]) / theirs["batches"],
    )
    assert not ours[share == 0].any()
    deviation = np.sqrt(share * (1 - share) * (1 / batches + 1 / theirs["batches"]))
    assert (np.abs(ours / batches - share) <= 4.5 * deviation + 1e-9).all()


def test_reserved_ids():
    case = EXTRA["reserved_ids"]
    sample = partial(
        F.fixed_unigram, range_max=8, unigrams=case["unigrams"], num_reserved_ids=2, distortion=0.75
    )
    drawn = sample(torch.arange(8).unsqueeze(0), 8, 4, False)
    np.testing.assert_allclose(
        drawn.true_expected_count[0], case["true_expected_count_all_classes"], atol=1e-6
    )
    many = sample(torch.tensor([[2]]), 1, 20_000, False, seed=1).sampled_candidates
    assert chi_square(torch.bincount(many, minlength=8), 20_000 * np.array(case["p"])) > 1e-4


def test_shards():
    case = EXTRA["shards"]
    for result in case["results"]:
        shard = partial(
            F.fixed_unigram, range_max=3, unigrams=case["unigrams"], num_shards=2, shard=result["shard"]
        )
        drawn = shard(torch.arange(3).unsqueeze(0), 3, 4, False)
        np.testing.assert_allclose(
            drawn.true_expected_count[0], result["true_expected_count_all_classes"], atol=1e-6
        )


def test_as_many_distinct_draws_as_classes():
    drawn = F.log_uniform(torch.arange(6).unsqueeze(0), 6, 6, True, 6, seed=1)
    assert (
        sorted(drawn.sampled_candidates.tolist())
        == EXTRA["unique_num_sampled_equals_range"]["sampled_sorted"]
    )
    assert tries_of(drawn, log_uniform_probability(np.ones(6, np.int64)), 6) > 6


def test_all():
    case = EXTRA["all_candidate_sampler"]
    drawn = F.all(torch.tensor([[1, 2]]), 2, case["num_sampled"], True)
    assert drawn.sampled_candidates.tolist() == case["sampled"]
    assert drawn.true_expected_count.tolist() == case["true_expected_count"]
    assert drawn.sampled_expected_count.tolist() == case["sampled_expected_count"]


def test_learned_unigram_over_the_batches_of_tensorflow():
    case = EXTRA["learned_unigram"]
    seen = torch.ones(12, dtype=torch.int64)
    for step in case["steps"]:
        assert seen.tolist() == step["weights_before"]
        drawn = F.learned_unigram(torch.tensor(step["true_classes"]), 12, 5, False, 12, seen=seen)
        np.testing.assert_allclose(drawn.true_expected_count[0], step["true_expected_count_row0"], atol=1e-6)
        np.testing.assert_allclose(drawn.true_expected_count[1], step["true_expected_count_row1"], atol=1e-6)
        np.testing.assert_allclose(
            drawn.sampled_expected_count, 5 * np.array(step["p_before"])[drawn.sampled_candidates], atol=1e-6
        )


@pytest.mark.parametrize("unique", [False, True])
def test_learned_unigram_draws_by_its_counters(unique):
    seen = torch.tensor([1, 50, 3, 1, 200, 9])
    q, goes_on = (seen / seen.sum()).numpy(), generator()
    ids = torch.empty(0, dtype=torch.int64)
    for _ in range(2000):
        before = seen.clone()
        drawn = F.learned_unigram(torch.tensor([[0]]), 1, 2, unique, 6, seed=goes_on, seen=before)
        assert before.tolist() == [2, 50, 3, 1, 200, 9]
        ids = torch.cat([ids, drawn.sampled_candidates])
    if not unique:
        assert chi_square(torch.bincount(ids, minlength=6), 4000 * q) > 1e-4
        return
    # first, or second after j
    inclusion = q * (1 + np.array([sum(q[j] / (1 - q[j]) for j in range(6) if j != i) for i in range(6)]))
    share = torch.bincount(ids, minlength=6).numpy() / 2000
    assert (np.abs(share - inclusion) <= 4.5 * np.sqrt(inclusion * (1 - inclusion) / 2000)).all()


# ---- distinct draws that are too rare to wait for


def test_a_race_takes_over_where_draws_would_take_for_ever():
    """TensorFlow draws on: here 1 / q is 1e12 tries."""
    weights = [1.0] * 8 + [1e-12, 3e-12]
    drawn = F.fixed_unigram(torch.tensor([[0]]), 1, 9, True, 10, unigrams=weights, seed=1)
    assert set(drawn.sampled_candidates.tolist()) > set(range(8))
    rare = [
        F.fixed_unigram(torch.tensor([[0]]), 1, 9, True, 10, unigrams=weights, seed=s)
        .sampled_candidates.max()
        .item()
        for s in range(200)
    ]
    assert 0.6 < np.mean(np.array(rare) == 9) < 0.9  # 3 in 4
    drawn = F.fixed_unigram(EVERY[:, :10], 10, 9, True, 10, unigrams=weights, seed=2, dtype=torch.float64)
    tries = np.log1p(-drawn.true_expected_count[0, 9].item()) / np.log1p(-3e-12 / 8)
    assert 1e9 < tries < 1e14


def test_a_race_and_draws_are_one_distribution(monkeypatch):
    """The pairs that come first and second are as frequent however early the race begins."""
    monkeypatch.setattr("unhot.nn.samplers.PATIENCE", 0)
    q, goes_on = np.array([0.85, 0.1, 0.05]), generator()
    counts = np.zeros((3, 3))
    for _ in range(2000):
        first, second = F.fixed_unigram(
            torch.tensor([[0]]), 1, 2, True, 3, unigrams=q, seed=goes_on
        ).sampled_candidates
        counts[first, second] += 1
    expected = 2000 * (q[:, None] * q / (1 - q[:, None])) * (1 - np.eye(3))
    assert chi_square(counts.ravel(), expected.ravel()) > 1e-4


def test_one_class():
    for sampler in (F.log_uniform, F.uniform, partial(F.fixed_unigram, unigrams=[2.0])):
        for unique in (True, False):
            drawn = sampler(torch.tensor([[0]]), 1, 1, unique, 1)
            assert [part.tolist() for part in drawn] == [[0], [[1.0]], [1.0]]


def test_a_large_range_is_reached():
    drawn = F.log_uniform(torch.tensor([[0]]), 1, 100_000, False, 2**40, seed=1).sampled_candidates
    assert 0 <= drawn.min() < 10
    assert 2**38 < drawn.max() < 2**40


# ---- seeds, files, graphs


def test_seeds():
    def ids(seed):
        return F.log_uniform(EVERY, 50, 20, True, 50, seed).sampled_candidates.tolist()

    assert ids(1) == ids(1)
    assert ids(1) != ids(2)
    goes_on = generator(1)
    assert ids(goes_on) == ids(1)
    assert ids(goes_on) != ids(1)
    torch.manual_seed(4)
    first = ids(None)
    assert first != ids(None)
    torch.manual_seed(4)
    assert first == ids(None)


def test_weights_from_a_file_are_read_again_when_they_change(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("the,3\ncat,1\n")
    sample = partial(F.fixed_unigram, torch.tensor([[0, 1]]), 2, 4, False, 2)
    np.testing.assert_allclose(sample(vocab_file=path).true_expected_count, [[3, 1]])
    np.testing.assert_allclose(sample(str(path), 2.0).true_expected_count, [[3.6, 0.4]])
    np.testing.assert_allclose(sample(path, unigrams=None).true_expected_count, [[3, 1]])
    path.write_text("the,1\ncat,1\n\n")
    np.testing.assert_allclose(sample(vocab_file=path).true_expected_count, [[2, 2]])
    path.write_text("the,one\n")
    with pytest.raises(FormatError, match="line 1"):
        sample(vocab_file=path)


def learned(weights):
    return torch.tensor(weights, dtype=torch.bfloat16, requires_grad=True)


@pytest.mark.parametrize("kind", [np.array, torch.tensor, learned, tuple])
def test_unigrams_of_any_kind(kind):
    drawn = F.fixed_unigram(torch.tensor([[0, 1]]), 2, 4, False, 2, unigrams=kind([3, 1]))
    assert drawn.true_expected_count.tolist() == [[3.0, 1.0]]


@pytest.mark.parametrize(
    "sampler", [F.log_uniform, F.uniform, partial(F.learned_unigram, seen=torch.ones(50, dtype=torch.int64))]
)
def test_samplers_with_replacement_are_one_graph(sampler):
    torch._dynamo.reset()
    graph = torch.compile(
        lambda classes: sampler(classes, 1, 9, False, 50), backend="aot_eager", fullgraph=True
    )
    classes = torch.tensor([[3], [49]])
    ids = [graph(classes).sampled_candidates.tolist() for _ in range(10)]
    assert all(0 <= id < 50 for row in ids for id in row)
    assert ids[0] != ids[1]


def test_parameters_have_tensorflows_names_and_order():
    common = ["true_classes", "num_true", "num_sampled", "unique", "range_max"]
    weights = ["vocab_file", "distortion", "num_reserved_ids", "num_shards", "shard", "unigrams"]
    wanted = {
        F.log_uniform: [*common, "seed"],
        F.uniform: [*common, "seed"],
        F.learned_unigram: [*common, "seed"],
        F.fixed_unigram: [*common, *weights, "seed"],
        F.all: [*common[:-1], "seed"],
    }
    for sampler, names in wanted.items():
        found = [
            name
            for name, parameter in inspect.signature(sampler).parameters.items()
            if parameter.kind != parameter.KEYWORD_ONLY
        ]
        assert found == names


# ---- nonsense

ONE = torch.tensor([[3]])
NONSENSE = [
    (
        lambda: F.log_uniform(ONE, 1, 11, True, 10),
        ConfigError,
        "num_sampled=11 distinct draws: must be <= 10",
    ),
    (lambda: F.uniform(ONE, 1, 0, False, 10), ConfigError, "num_sampled=0: must be >= 1"),
    (lambda: F.uniform(ONE, 1, 5, False, 0), ConfigError, "range_max=0"),
    (
        lambda: F.log_uniform(torch.tensor([[100]]), 1, 5, False, 10),
        DataError,
        "id 100: must be between 0 and 9",
    ),
    (lambda: F.uniform(torch.tensor([[-1]]), 1, 5, False, 10), DataError, "id -1: must be between 0 and 9"),
    (lambda: F.all(torch.tensor([[6]]), 1, 6, True), DataError, "id 6: must be between 0 and 5"),
    (
        lambda: F.log_uniform(torch.tensor([3]), 1, 5, False, 10),
        DataError,
        r"true_classes of shape \(1,\).*unsqueeze",
    ),
    (lambda: F.log_uniform(ONE, 2, 5, False, 10), DataError, "with num_true=2"),
    (lambda: F.log_uniform(ONE.double(), 1, 5, False, 10), DataError, "whole numbers"),
    (lambda: F.log_uniform(ONE, 1, 5, False, 10, seed=1.5), ConfigError, "seed=1.5: must be a whole number"),
    (lambda: F.fixed_unigram(ONE, 1, 5, False, 6), ConfigError, "either as unigrams or as vocab_file"),
    (
        lambda: F.fixed_unigram(ONE, 1, 5, False, 6, "words.csv", unigrams=[1]),
        ConfigError,
        "either as unigrams or as vocab_file",
    ),
    (lambda: F.fixed_unigram(ONE, 1, 5, False, 6, "no such file"), DataError, "no such file: cannot be read"),
    (
        lambda: F.fixed_unigram(ONE, 1, 5, False, 6, unigrams=[1, 2, 3, 4, 5]),
        ConfigError,
        "range_max=6: must be 5, the number of ids with weights",
    ),
    (lambda: F.fixed_unigram(ONE, 1, 5, False, 5, unigrams=[1, 2, -3, 4, 5]), DataError, "-3.0 for id 2"),
    (
        lambda: F.fixed_unigram(ONE, 1, 3, True, 5, unigrams=[1, 2, 0, 0, 0]),
        ConfigError,
        "num_sampled=3 distinct draws: must be <= 2",
    ),
    (lambda: F.fixed_unigram(ONE, 1, 3, True, 5, unigrams=[0.0] * 5), DataError, "no weight above zero"),
    (
        lambda: F.fixed_unigram(ONE, 1, 3, True, 5, unigrams=[1] * 5, distortion=np.inf),
        ConfigError,
        "distortion=inf",
    ),
    (
        lambda: F.fixed_unigram(ONE, 1, 3, True, 5, unigrams=[1] * 5, num_shards=2, shard=2),
        ConfigError,
        "shard=2: must be <= 1",
    ),
    (
        lambda: F.fixed_unigram(ONE, 1, 3, True, 5, unigrams=[1] * 5, num_shards=0),
        ConfigError,
        "num_shards=0: must be >= 1",
    ),
    (
        lambda: F.fixed_unigram(ONE, 1, 3, True, 5, unigrams=[1] * 5, num_reserved_ids=-1),
        ConfigError,
        "num_reserved_ids=-1: must be >= 0",
    ),
    (lambda: F.fixed_unigram(ONE, 1, 5, False, 6, unigrams=None), ConfigError, "give the weights either as"),
    (
        lambda: F.fixed_unigram(ONE, 1, 5, False, 6, unigrams=3),
        DataError,
        r"unigrams of shape \(\): must be one row",
    ),
    (
        lambda: F.fixed_unigram([[3]], 1, 5, False, 5, unigrams=[1] * 5),
        DataError,
        "true_classes of type list: must be a tensor",
    ),
    (
        lambda: F.uniform(ONE.numpy(), 1, 5, False, 10),
        DataError,
        "true_classes of type ndarray: must be a tensor",
    ),
    (
        lambda: F.learned_unigram(ONE, 1, 3, True, 5, seen=[1] * 5),
        DataError,
        "seen of type list: must be a tensor",
    ),
    (
        lambda: F.learned_unigram(ONE, 1, 3, True, 5, seen=torch.ones(4, dtype=torch.int64)),
        DataError,
        r"must be int64 of shape \(5,\)",
    ),
    (
        lambda: F.learned_unigram(ONE, 1, 3, True, 5, seen=torch.ones(5)),
        DataError,
        "type torch.float32: must be int64",
    ),
    (
        lambda: F.learned_unigram(ONE, 1, 3, True, 5, seen=torch.arange(5)),
        DataError,
        "0 for id 0: every counter must be at least 1",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), NONSENSE, ids=[case[2] for case in NONSENSE])
def test_nonsense_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_refused_batch_is_not_counted():
    seen = torch.ones(5, dtype=torch.int64)
    with pytest.raises(ConfigError):
        F.learned_unigram(ONE, 1, 6, True, 5, seen=seen)
    assert seen.tolist() == [1] * 5
