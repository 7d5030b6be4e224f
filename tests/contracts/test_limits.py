"""Where one layer becomes another, and where scores become large."""

import itertools
import math

import numpy as np
import pytest

from unhot.outputs import Head, parse_output

COUNTS = np.array([8, 4, 3, 1])
WORDS = 4
NONE = np.array([], np.int32)


def every_sequence(k):
    return [np.array(draws, np.int32) for draws in itertools.product(range(WORDS), repeat=k)]


@pytest.fixture(params=range(3))
def scores(request):
    return np.random.default_rng(request.param).normal(0, 2, WORDS)


def losses(spec, scores, draws=NONE):
    """Of all targets."""
    layer = parse_output(spec)
    return np.array([layer.reference(scores, t, draws, COUNTS) for t in range(WORDS)])


def log_prob(spec, scores, counts=COUNTS):
    """Of all words, where the scores are what a hidden vector of one gives."""
    return Head(parse_output(spec), counts, np.asarray(scores)[:, None]).log_prob([1.0])


def softmax_losses(scores):
    """By hand."""
    return math.log(sum(math.exp(s) for s in scores)) - scores


def test_softmax_by_hand(scores):
    np.testing.assert_allclose(losses("softmax", scores), softmax_losses(scores), rtol=0, atol=1e-12)


def test_softmax_without_smoothing_is_softmax(scores):
    np.testing.assert_array_equal(losses("softmax:smoothing=0", scores), losses("softmax", scores))


def test_smoothing_is_the_mean_over_all_targets_of_the_share_that_is_spread(scores):
    """L is linear in the targets, so it is (1 - e) of the target's loss and e of the mean of all losses."""
    each = softmax_losses(scores)
    for e in (0.1, 0.999):
        found = losses(f"softmax:smoothing={e}", scores)
        np.testing.assert_allclose(found, (1 - e) * each + e * each.mean(), rtol=0, atol=1e-12)
    # nearly all of it: hardly any matter which word the target is
    assert np.ptp(losses("softmax:smoothing=0.999999", scores)) < 1e-4


def test_labels_together_are_one_vs_all_of_one_target(scores):
    np.testing.assert_array_equal(losses("one_vs_all:together=true", scores), losses("one_vs_all", scores))


def test_sampled_with_all_words_drawn_once_and_hits_masked_is_softmax(scores):
    for noise in ("unigram", "uniform", "log_uniform"):
        for draws in itertools.permutations(range(WORDS)):
            found = losses(
                f"sampled:k=4,unique=true,hits=drop,noise={noise}", scores, np.array(draws, np.int32)
            )
            np.testing.assert_allclose(found, softmax_losses(scores), rtol=0, atol=1e-12)


def test_sampled_with_hits_kept_has_the_target_twice(scores):
    """What masking is about: with all words drawn, the target's own column is there once more."""
    found = losses("sampled:k=4,unique=true,hits=keep", scores, np.arange(4, dtype=np.int32))
    z = np.exp(scores).sum()
    np.testing.assert_allclose(found, np.log(z + np.exp(scores)) - scores, rtol=0, atol=1e-12)


def test_self_normalized_without_penalty_is_softmax(scores):
    np.testing.assert_array_equal(losses("self_normalized:alpha=0", scores), losses("softmax", scores))
    np.testing.assert_array_equal(log_prob("self_normalized:alpha=0", scores), log_prob("softmax", scores))
    log_z = math.log(np.exp(scores).sum())
    np.testing.assert_allclose(
        losses("self_normalized:alpha=0.3", scores), softmax_losses(scores) + 0.3 * log_z**2, rtol=1e-12
    )


@pytest.mark.parametrize("classes", [1, WORDS])
def test_one_class_for_all_words_or_for_each_is_softmax(scores, classes):
    """Of one class the row is idle; of one-word classes the word's row is."""
    layer = parse_output(f"class_based:classes={classes}")
    rows = layer.groups(COUNTS).row[:, -1 if classes == 1 else 0]
    for idle in (0.0, 5.0):
        given = np.full(layer.rows(COUNTS), idle)
        given[rows] = scores
        np.testing.assert_allclose(losses(layer.spec(), given), softmax_losses(scores), rtol=0, atol=1e-12)
        np.testing.assert_allclose(log_prob(layer.spec(), given), -softmax_losses(scores), rtol=0, atol=1e-12)


def test_adaptive_without_tails_is_softmax(scores):
    """By itself it has none where all words are needed for 80 % of the text."""
    equal = np.ones(WORDS, np.int64)
    layer = parse_output("adaptive")
    assert layer.rows(equal) == WORDS
    np.testing.assert_allclose(
        [layer.reference(scores, t, NONE, equal) for t in range(WORDS)],
        softmax_losses(scores),
        rtol=0,
        atol=1e-12,
    )
    np.testing.assert_allclose(
        log_prob("adaptive", scores, equal), -softmax_losses(scores), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("cutoffs", ["1", "3", "1,2", "2,3", "1,2,3"])
def test_adaptive_is_class_based_where_each_word_of_the_head_is_a_class(scores, cutoffs, tmp_path):
    """And each tail is one; the rows of words that are alone in their class are idle."""
    ranks = [int(rank) for rank in cutoffs.split(",")]
    # ids are ranks here
    label = [w if w < ranks[0] else WORDS + sum(w >= rank for rank in ranks) for w in range(WORDS)]
    (tmp_path / "classes").write_text("".join(f"{i}\n" for i in label))
    adaptive, classes = (
        parse_output(f"adaptive:cutoffs={cutoffs}"),
        parse_output(f"class_based:classes=file:{tmp_path / 'classes'}"),
    )
    own = np.random.default_rng(5).normal(0, 2, adaptive.rows(COUNTS))
    same = np.full(classes.rows(COUNTS), 9.0)
    for w, (top, row) in enumerate(classes.groups(COUNTS).row):
        same[top] = own[w if w < ranks[0] else ranks[0] + label[w] - WORDS - 1]
        if w >= ranks[0]:
            same[row] = own[len(ranks) + w]
    np.testing.assert_allclose(losses(adaptive.spec(), own), losses(classes.spec(), same), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        log_prob(adaptive.spec(), own), log_prob(classes.spec(), same), rtol=0, atol=1e-12
    )


def test_differentiated_with_one_band_is_softmax():
    """And with more, it is that of output vectors which are zero outside their band's slice."""
    rng, layer = np.random.default_rng(6), parse_output("differentiated:cutoffs=1,3,widths=3,2,1")
    (band,) = parse_output("differentiated").bands(np.ones(WORDS, np.int64), 6)
    assert band == (pytest.approx(np.arange(WORDS)), 0, 6)
    vectors, hidden = rng.normal(0, 1, (WORDS, 6)), rng.normal(0, 1, 6)
    from_slices, zeros = np.empty(WORDS), np.zeros((WORDS, 6))
    for ids, first, last in layer.bands(COUNTS, 6):
        from_slices[ids] = vectors[ids, first:last] @ hidden[first:last]
        zeros[ids, first:last] = vectors[ids, first:last]
    np.testing.assert_allclose(
        Head(layer, COUNTS, zeros).log_prob(hidden), -softmax_losses(from_slices), rtol=0, atol=1e-12
    )
    np.testing.assert_array_equal(losses(layer.spec(), from_slices), losses("softmax", from_slices))


def test_partition_with_all_words_is_softmax(scores):
    for draws in ([0, 1, 2, 3], [3, 1, 0, 2, 2, 0]):  # a word of the set is one column
        found = losses("partition", scores, np.array(draws, np.int32))
        np.testing.assert_allclose(found, softmax_losses(scores), rtol=0, atol=1e-12)


def test_partition_is_softmax_over_target_and_set(scores):
    found = losses("partition", scores, np.array([2, 0, 2], np.int32))
    expected = [
        softmax_losses(scores[[0, 2] + ([t] if t in (1, 3) else [])])[[0, 2, 1, 2][t]] for t in range(WORDS)
    ]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("hits", ["keep", "drop"])
@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_in_batch_is_sampled_with_draws_from_q(scores, hits, temperature):
    """The number of draws is a constant in log(k q), and falls out of the softmax."""
    for draws in every_sequence(3):
        found = losses(f"in_batch:hits={hits},q=counts,temperature={temperature}", scores, draws)
        same = losses(f"sampled:k=3,power=1,hits={hits}", scores / temperature, draws)
        np.testing.assert_allclose(found, same, rtol=0, atol=1e-12)


@pytest.mark.parametrize("hits", ["keep", "drop"])
def test_mixed_with_a_batch_of_one_is_sampled_with_uniform_noise(scores, hits):
    for draws in every_sequence(3):
        found = losses(f"mixed:k=3,hits={hits}", scores, draws)
        same = losses(f"sampled:k=3,noise=uniform,hits={hits}", scores, draws)
        np.testing.assert_allclose(found, same, rtol=0, atol=1e-12)


@pytest.mark.parametrize("setting", ["hits=keep", "hits=drop,temperature=0.5"])
def test_mixed_is_in_batch_if_all_words_are_equally_frequent(scores, setting):
    equal = np.full(WORDS, 3)
    for draws in every_sequence(3):
        for t in range(WORDS):
            found, same = (
                parse_output(f"{spec},{setting}").reference(scores, t, draws, equal)
                for spec in ("mixed:k=2", "in_batch:q=counts")
            )
            assert found == pytest.approx(same, abs=1e-12)


@pytest.mark.parametrize("spec", ["sampled:k=3", "in_batch:q=counts", "in_batch", "mixed:k=2"])
def test_a_correction_that_is_left_out_is_as_if_scores_had_it_added(scores, spec):
    """Before the softmax: what is subtracted in the one case is not in the other."""
    layer = parse_output(f"{spec}{',' if ':' in spec else ':'}temperature=0.5")
    for draws in every_sequence(3)[::7]:
        without = layer.changed(correct=False, **({"batch": 2} if layer.name == "mixed" else {}))
        shifted = scores + 0.5 * layer.log_c(COUNTS, 3)
        for t in range(WORDS):
            found = layer.reference(shifted, t, draws, COUNTS)
            assert found == pytest.approx(without.reference(scores, t, draws, COUNTS), abs=1e-12)


def test_infrequent_at_every_step_is_self_normalized_without_log_z(scores):
    step, log_z = np.array([0], np.int32), math.log(np.exp(scores).sum())
    found = losses("infrequent:alpha=0.3,gamma=1", scores, step)
    np.testing.assert_allclose(found, losses("self_normalized:alpha=0.3", scores) - log_z, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(losses("infrequent", scores), -scores)
    for gamma in (0.01, 0.5):  # the mean does not depend on the share
        spec = f"infrequent:alpha=0.3,gamma={gamma}"
        mean = gamma * losses(spec, scores, step) + (1 - gamma) * losses(spec, scores)
        np.testing.assert_allclose(mean, found, rtol=0, atol=1e-12)


def test_nce_is_negative_sampling_where_every_word_is_expected_once(scores):
    for draws in every_sequence(4):
        nce = losses("nce:k=4,noise=uniform,ln_z=0", scores, draws)
        np.testing.assert_array_equal(nce, losses("negative:k=4,noise=uniform,hits=keep", scores, draws))


@pytest.mark.parametrize("unique", ["false", "true"])
def test_nce_without_its_offset_is_negative_sampling(scores, unique):
    """The offset is ln Z + log c, c = k q for draws with replacement."""
    layer = parse_output(f"nce:k=2,power=0.75,ln_z=1.25,unique={unique}")
    q = COUNTS**0.75 / (COUNTS**0.75).sum()
    offset = 1.25 + (np.log(2 * q) if unique == "false" else layer.log_counts(layer.probability(COUNTS)))
    for draws in every_sequence(2):
        nce = losses(layer.spec(), scores + offset, draws)
        np.testing.assert_allclose(
            nce, losses(f"negative:k=2,hits=keep,unique={unique}", scores, draws), rtol=0, atol=1e-12
        )


@pytest.mark.parametrize("unique", ["false", "true"])
def test_sampled_logistic_without_its_offset_is_negative_sampling_that_drops_hits(scores, unique):
    layer = parse_output(f"sampled_logistic:k=2,unique={unique}")
    q = COUNTS**0.75 / (COUNTS**0.75).sum()
    offset = np.log(2 * q) if unique == "false" else layer.log_counts(layer.probability(COUNTS))
    for draws in every_sequence(2):
        found = losses(layer.spec(), scores + offset, draws)
        np.testing.assert_allclose(
            found, losses(f"negative:k=2,unique={unique}", scores, draws), rtol=0, atol=1e-12
        )


def test_dropped_hits_are_the_only_difference_between_drop_and_keep(scores):
    for draws in every_sequence(2):
        hits = np.array([(draws == t).sum() for t in range(WORDS)])
        more = losses("negative:k=2,hits=keep", scores, draws) - losses(
            "negative:k=2,hits=drop", scores, draws
        )
        np.testing.assert_allclose(more, hits * np.log1p(np.exp(scores)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("tree", ["huffman", "balanced"])
@pytest.mark.parametrize("score", [-2.0, 0.0, 0.7])
def test_a_tree_of_two_words_is_a_logistic_regression(tree, score):
    layer, counts = parse_output(f"hierarchical:tree={tree}"), np.array([5, 2])
    assert layer.rows(counts) == 1
    left = int(layer.paths(counts).code.tolist().index(0))
    yes = 1 / (1 + math.exp(-score))
    p = [yes, 1 - yes] if left == 0 else [1 - yes, yes]
    np.testing.assert_allclose(
        [layer.reference(np.array([score]), t, NONE, counts) for t in (0, 1)], -np.log(p), rtol=1e-12
    )
    np.testing.assert_allclose(log_prob(layer.spec(), [score], counts), np.log(p), rtol=1e-12)


NORMALISED = ["softmax", "hierarchical", "hierarchical:tree=balanced", "hierarchical:tree=file:{codes}"]
NORMALISED += ["differentiated", "adaptive", "adaptive:cutoffs={cutoffs}"]
NORMALISED += [
    f"class_based:{setting}"
    for setting in ("", "classes=1", "classes={all}", "levels=2", "levels=3", "classes=file:{classes}")
]


@pytest.mark.parametrize("spec", NORMALISED)
@pytest.mark.parametrize("words", [1, 2, 4, 11])
def test_the_loss_of_a_normalised_layer_is_minus_its_log_prob(spec, words, build):
    """Trees and classes of every kind: the losses of all words are those of a distribution."""
    layer, counts = build(spec, words), 20 - np.arange(words)
    scores = np.random.default_rng(9).normal(0, 2, layer.rows(counts))
    found = [layer.reference(scores, t, NONE, counts) for t in range(words)]
    assert sum(math.exp(-loss) for loss in found) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(log_prob(layer.spec(), scores, counts), -np.array(found), rtol=0, atol=1e-12)


def test_one_vs_all_knows_the_softmax_of_its_log_sigmoids(scores):
    """The two agree where scores are what they converge to for the same P: log odds here, log P there."""
    log_sigmoid = np.log(1 / (1 + np.exp(-scores)))
    np.testing.assert_allclose(
        log_prob("one_vs_all", scores), log_prob("softmax", log_sigmoid), rtol=0, atol=1e-12
    )
    p = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(
        log_prob("one_vs_all", np.log(p / (1 - p))), log_prob("softmax", np.log(p)), rtol=0, atol=1e-10
    )
    np.testing.assert_array_equal(log_prob("sampled_logistic", scores), log_prob("one_vs_all", scores))


def test_large_scores_are_no_trouble(every_spec, build):
    """Warnings are errors, so an overflow would be one."""
    layer = build(every_spec, WORDS)
    rng = np.random.default_rng(0)
    for scale in (1000.0, -1000.0):
        for pattern in (
            np.ones(layer.rows(COUNTS)),
            rng.choice([-1.0, 1.0], layer.rows(COUNTS)),
            rng.uniform(-1, 1, layer.rows(COUNTS)),
        ):
            scores = scale * pattern
            found = log_prob(layer.spec(), scores)
            assert np.isfinite(found).all()
            assert np.exp(found).sum() == pytest.approx(1.0, abs=1e-12)
            for t in range(WORDS):
                draws = np.resize(np.array([0, t], np.int32), getattr(layer, "k", 2))
                loss = layer.reference(scores, t, draws, COUNTS)
                assert 0 <= loss <= 1.1e6  # self_normalized and infrequent: log^2 Z


@pytest.mark.parametrize(
    ("spec", "loss"),
    [
        ("softmax", 2000.0),
        ("self_normalized:alpha=0.1", 2000.0 + 0.1 * 1000.0**2),
        ("one_vs_all", 2000.0),
        ("negative:k=2", 2000.0),
        ("nce:k=4,noise=uniform", 2000.0),
        ("sampled_logistic:k=4,noise=uniform", 2000.0),
        ("sampled:k=4,noise=uniform", 2000.0),
        ("infrequent:alpha=0.2,gamma=0.1", 1000.0 + 2 * 1000.0**2),
        ("partition", 2000.0),
        # the word 0 has twice the share of the target
        ("in_batch:temperature=2,q=counts", 1000.0 - math.log(2)),
        ("sampled:temperature=2,k=4,noise=uniform", 1000.0),
        ("mixed:k=1,temperature=2", 1000.0),
        ("differentiated", 2000.0),
    ],
)
def test_large_losses_are_exact(spec, loss):
    """The word 0 has 1000, the target 1 has -1000, and 0 is drawn once.

    Every logistic part costs 1000, a softmax the difference.
    """
    scores = np.array([1000.0, -1000.0, -1000.0, -1000.0])
    assert parse_output(spec).reference(scores, 1, np.array([0], np.int32), COUNTS) == pytest.approx(
        loss, rel=1e-12
    )
