"""Skip-gram on cells: what it converges to, and that it is a training like any other."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, log_softmax

import unhot
from unhot.corpus import encode
from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.errors import ConfigError, DataError, Diverged, UnhotError
from unhot.evaluate import held_out
from unhot.models.exact import LR, MOST_WORDS
from unhot.models.load import load_unfinished
from unhot.train.checkpoint import Checkpoint, fingerprint
from unhot.train.exact_run import mixed_rows, rows_of_step, steps_of_epoch
from unhot.vocab.vocabulary import Vocabulary

WORDS = 12
EXACT = {
    **{"dim": 16, "min_count": 1, "window": 2, "sample": 0.0, "shrink": False},
    **{"on": "cells", "epochs": 200, "threads": 1},
}
SMALL = {"dim": 6, "min_count": 2, "window": 3, "epochs": 6, "on": "cells", "threads": 1}


def planted_text(lines=150, seed=5):
    """Words that follow each other as a matrix says, with strong and with weak ties."""
    rng = np.random.default_rng(seed)
    follows = rng.dirichlet(np.full(WORDS, 0.4), WORDS) * 0.9 + 0.1 / WORDS
    text = []
    for _ in range(lines):
        line = [int(rng.integers(WORDS))]
        for _ in range(29):
            line.append(int(rng.choice(WORDS, p=follows[line[-1]])))
        text.append([f"w{word}" for word in line])
    return text


@pytest.fixture(scope="module")
def text():
    return planted_text()


@pytest.fixture(scope="module")
def cells(text):
    with encode(text, min_count=1) as corpus, cooccurrences(corpus, window=2, weights="flat") as counted:
        yield counted


@pytest.fixture(scope="module")
def pairs(cells):
    """X as a matrix."""
    matrix = np.zeros((WORDS, WORDS))
    for i in range(WORDS):
        columns, values = cells.row(i)
        matrix[i, columns] = values
    return matrix


def all_scores(model):
    params = model.learned.params
    scores = params.in_vectors.astype(np.float64) @ params.out_vectors.T.astype(np.float64)
    return scores + params.out_bias if params.out_bias.size else scores


def negative_loss(scores, pairs, draws):
    """Of negative sampling, hits=keep, in expectation: nats a pair."""
    each = pairs * np.logaddexp(0.0, -scores) + pairs.sum(axis=1, keepdims=True) * draws * np.logaddexp(
        0.0, scores
    )
    return each.sum() / pairs.sum()


def test_softmax_reaches_the_conditional_probabilities(cells, pairs):
    model = unhot.SkipGram(**EXACT, output="softmax").fit(cells)
    p = pairs / pairs.sum(axis=1, keepdims=True)
    log_p = log_softmax(all_scores(model), axis=1)
    kl = np.where(pairs > 0, p * (np.log(np.where(pairs > 0, p, 1.0)) - log_p), 0.0).sum(axis=1)
    assert kl.max() < 1e-4
    entropy = -(pairs * np.log(np.where(pairs > 0, p, 1.0))).sum() / pairs.sum()
    assert model.history.losses[-1] == pytest.approx(entropy, abs=1e-4)
    assert model.history.losses[-1] >= entropy - 1e-7


def test_one_vs_all_reaches_the_odds(cells, pairs):
    model = unhot.SkipGram(**EXACT, output="one_vs_all:bias=true").fit(cells)
    assert expit(all_scores(model)) == pytest.approx(pairs / pairs.sum(axis=1, keepdims=True), abs=1e-4)


@pytest.mark.parametrize("hits", ["keep", "drop"])
def test_negative_sampling_reaches_its_closed_form(hits, cells, pairs):
    model = unhot.SkipGram(**{**EXACT, "epochs": 400}, output=f"negative:k=5,hits={hits}").fit(cells)
    q, p = model.layer.probability(cells.vocabulary.counts), pairs / pairs.sum(axis=1, keepdims=True)
    seen = pairs > 0
    goal = np.log(np.where(seen, p, 1.0) / (5 * q)) - (0.0 if hits == "keep" else np.log1p(-p))
    assert all_scores(model)[seen] == pytest.approx(goal[seen], abs=1e-3)


def test_nce_reaches_log_probabilities(cells, pairs):
    model = unhot.SkipGram(**EXACT, output="nce:k=5,bias=true").fit(cells)
    seen, p = pairs > 0, pairs / pairs.sum(axis=1, keepdims=True)
    assert all_scores(model)[seen] == pytest.approx(np.log(p[seen]), abs=1e-3)


def test_sampled_training_approaches_the_same(text, cells, pairs):
    """Ordinary training on text, by draws.

    Its scores tend to log(P / (k q)), which the cells give without any.
    """
    settings = {**EXACT, "on": "text", "epochs": 150, "lr": 0.05, "threads": 1}
    model = unhot.SkipGram(**settings, output="negative:k=5,hits=keep").fit(text)
    q, p = model.layer.probability(cells.vocabulary.counts), pairs / pairs.sum(axis=1, keepdims=True)
    often = pairs >= 20  # rarer pairs have scores that the draws leave uncertain
    goal, found = np.log(p[often] / np.broadcast_to(5 * q, p.shape)[often]), all_scores(model)[often]
    assert model.vocabulary == cells.vocabulary
    assert np.corrcoef(goal, found)[0, 1] > 0.99
    assert np.abs(goal - found).mean() < 0.1
    exact = unhot.SkipGram(**EXACT, output="negative:k=5,hits=keep").fit(cells)
    least, there = (negative_loss(all_scores(each), pairs, 5 * q) for each in (exact, model))
    assert exact.history.losses[-1] == pytest.approx(least, abs=1e-5)
    assert least < there < least + 0.02


def test_the_exact_minimum_is_not_above_any_other(text, cells, pairs):
    """With few numbers, the exact training on cells must not lose to a sampled one.

    By the exact loss of the training text.
    """
    few = {**EXACT, "dim": 3, "output": "softmax:bias=true", "seed": 2}
    exact = unhot.SkipGram(**few).fit(cells)
    sampled = unhot.SkipGram(**{**few, "on": "text", "epochs": 10, "lr": 0.1}).fit(text)
    best, other = (held_out(each, text).cross_entropy for each in (exact, sampled))
    assert best < other + 1e-3
    assert best == pytest.approx(exact.history.losses[-1], abs=1e-4)
    scores = all_scores(exact)
    assert best == pytest.approx(-(pairs * log_softmax(scores, axis=1)).sum() / pairs.sum(), rel=1e-6)


def test_text_and_cells_give_the_same_bytes(text, cells):
    settings = {**EXACT, "epochs": 3, "output": "softmax:bias=true"}
    one, other = unhot.SkipGram(**settings).fit(text), unhot.SkipGram(**settings).fit(cells)
    assert np.array_equal(one.learned.params.in_vectors, other.learned.params.in_vectors)
    assert one.history.losses == other.history.losses
    assert one.history.pairs == 3 * round(cells.row_sums().sum())


def test_the_threads_do_not_matter(cells):
    one, other = (
        unhot.SkipGram(**{**EXACT, "epochs": 5, "threads": threads}).fit(cells) for threads in (1, 3)
    )
    assert np.array_equal(one.learned.params.in_vectors, other.learned.params.in_vectors)
    assert one.history.losses == other.history.losses


def test_sampling_and_shrinking_are_those_of_training(text):
    """Sub-sampled words are dropped by the draws of the first epoch.

    A window that shrinks has pairs with weights.
    """
    settings = {**EXACT, "epochs": 1, "sample": 0.05, "shrink": True, "seed": 9}
    model = unhot.SkipGram(**settings).fit(text)
    with (
        encode(text, min_count=1) as corpus,
        cooccurrences(corpus, window=2, weights="dynamic", sample=0.05, seed=9) as counted,
    ):
        whole = counted.row_sums().sum()
        again = unhot.SkipGram(**settings).fit(counted)
    assert model.history.pairs == round(whole) < 0.8 * 4 * 150 * 30
    assert again.history.losses == model.history.losses


class Stop(Exception):
    """Ends a training from a callback."""


@pytest.mark.parametrize("output", ["softmax:bias=true", "nce:ln_z=per_input", "nce:ln_z=learned,bias=true"])
@pytest.mark.parametrize("chunks", [3, 12, 25])
def test_a_resumed_training_is_the_same_bytes(output, chunks, text, cells, tmp_path):
    settings = {**SMALL, "output": output}
    unhot.SkipGram(**settings).fit(text).save(tmp_path / "whole")
    seen = []

    def stop(progress):
        seen.extend([1] * (progress.event == "progress"))
        if len(seen) == chunks:
            raise Stop

    with pytest.raises(Stop):
        unhot.SkipGram(**settings).fit(
            text, checkpoint=Checkpoint(path=tmp_path / "cut", chunks=1), callbacks=[stop]
        )
    model = load_unfinished(tmp_path / "cut")
    assert model.on == "cells"
    model.resume(text).save(tmp_path / "cut")
    for name in ("model.safetensors", "config.json"):
        ends = [next((tmp_path / folder).rglob(name)).read_bytes() for folder in ("whole", "cut")]
        assert ends[0] == ends[1]


def test_only_an_unfinished_model_keeps_its_squares(cells):
    model = unhot.SkipGram(**EXACT).fit(cells, callbacks=[press])
    assert model.history.interrupted
    assert set(model.learned.squares) == {"in_vectors", "out_vectors"}
    assert "squares.in_vectors" in model.learned.tensors(complete=False)
    assert not model.learned.own  # what a torch head has learned
    model.epochs = 2
    model.resume(cells)
    assert not model.learned.squares
    assert len(model.history.losses) == 2
    other = Cells.from_arrays(cells.vocabulary, cells.starts, cells.columns, cells.values * 2)
    again = unhot.SkipGram(**EXACT).fit(cells, callbacks=[press])
    with pytest.raises(DataError, match="not the text"):
        again.resume(other)
    # begins anew, from these vectors
    fresh = unhot.SkipGram(**{**EXACT, "epochs": 1}).fit(cells, start=again)
    assert fresh.history.losses[0] < model.history.losses[0]


def test_diverged_goes_back(cells):
    model = unhot.SkipGram(**{**EXACT, "lr": 1e25, "epochs": 3})
    with pytest.raises(Diverged, match=f"lower lr, for example {LR:g}$"):
        model.fit(cells)
    assert np.isfinite(model.learned.params.in_vectors).all()
    assert np.abs(model.learned.params.in_vectors).max() < 1


def test_progress_and_notes(cells, text):
    told, notes = [], []
    unhot.SkipGram(**{**EXACT, "epochs": 2, "output": "softmax"}).fit(
        text, callbacks=[told.append], note=notes.append
    )
    assert [each.event for each in told].count("epoch") == 2
    assert told[0].details["on"] == "cells"
    assert told[0].details["memory"] > 0
    assert told[-1].words == told[-1].total_words
    assert any(line.startswith("counted 144 cells of 12 words in") for line in notes)
    assert any("mean squares" in line for line in notes)


def test_frozen_words_stay(cells):
    first = unhot.SkipGram(**{**EXACT, "epochs": 2}).fit(cells)
    model = unhot.SkipGram(**{**EXACT, "epochs": 2}).fit(cells, start=first, frozen=["w3", "w7"])
    for word in cells.vocabulary.words:
        assert np.array_equal(model.vectors[word], first.vectors[word]) == (word in ("w3", "w7"))


def test_words_that_stand_alone_are_no_trouble():
    model = unhot.SkipGram(dim=4, min_count=1, on="cells", epochs=3, sample=0).fit(
        [["a", "b", "a"], ["c"], ["d"]]
    )
    assert np.isfinite(model.learned.params.in_vectors).all()
    assert np.isfinite(model.history.losses).all()
    for lines in ([["a"], ["b"]], [["a", "b", "a"]]):  # of the second, sub-sampling leaves nothing
        with pytest.raises(DataError, match="nothing to learn"):
            unhot.SkipGram(dim=4, min_count=1, on="cells", epochs=3).fit(lines)


def test_what_is_refused(cells, text):
    with pytest.raises(ConfigError, match="use one of softmax"):
        unhot.SkipGram(on="cells", output="hierarchical")
    with pytest.raises(ConfigError, match=r"on='pairs': must be one of text, cells"):
        unhot.SkipGram(on="pairs")
    with pytest.raises(ConfigError, match="engine"):
        unhot.SkipGram(on="cells", output="softmax", engine="torch")
    with pytest.raises(ConfigError, match="on='cells'"):
        unhot.SkipGram().fit(cells)
    with pytest.raises(ConfigError, match="leave predict out"):
        unhot.SkipGram(on="cells", predict="contexts")
    with pytest.raises(ConfigError, match="unique=false"):
        unhot.SkipGram(on="cells", output="negative:unique=true")
    below = Cells.from_arrays(cells.vocabulary, cells.starts, cells.columns, -cells.values)
    with pytest.raises(DataError, match="not below zero"):
        unhot.SkipGram(**EXACT).fit(below)


def chain(words):
    """Cells of words that stand in a row."""
    vocabulary = Vocabulary([f"w{i}" for i in range(words)], np.full(words, 2, np.int64))
    return Cells.from_arrays(vocabulary, np.arange(words + 1), (np.arange(words) + 1) % words, np.ones(words))


def test_too_many_words():
    """The setting max_vocab raises the limit, and never lowers it."""
    many = chain(MOST_WORDS + 1)
    for most in (None, 5, MOST_WORDS):
        with pytest.raises(
            DataError,
            match=r"10,001 words.*at most 10,000 words are allowed.*max_vocab=10000.*max_vocab=10001",
        ):
            unhot.SkipGram(on="cells", max_vocab=most).fit(many)
    for cells, most in ((chain(12), 5), (many, MOST_WORDS + 1)):
        model = unhot.SkipGram(on="cells", max_vocab=most, dim=1, epochs=1)
        model.fit(cells, callbacks=[press])
        assert model.history.interrupted


def press(progress):
    """Ctrl-C, after the first step."""
    if progress.event == "progress":
        raise KeyboardInterrupt


def test_settings_that_changed_since_are_checked(cells, text):
    model = unhot.SkipGram(**EXACT)
    model.engine = "torch"
    for source in (cells, text):
        with pytest.raises(ConfigError, match="leave engine out"):
            model.fit(source)
    with pytest.raises(UnhotError, match="nowhere"):
        unhot.SkipGram(**EXACT, output="negative:noise=file:nowhere").fit(cells)
    with encode(text, min_count=1) as corpus, cooccurrences(corpus, window=2) as closed:
        pass
    with pytest.raises(DataError, match="closed"):
        unhot.SkipGram(**EXACT).fit(closed)


def test_given_cells_bring_their_settings(text):
    notes = []
    with (
        encode(text, min_count=1) as corpus,
        cooccurrences(corpus, window=4, weights="dynamic", sample=0.1) as counted,
    ):
        model = unhot.SkipGram(**{**EXACT, "epochs": 1}).fit(counted, note=notes.append)
    assert [model.config()[name] for name in ("window", "sample", "shrink")] == [4, 0.1, True]
    assert {"window", "sample", "shrink"} <= {
        line.partition("=")[0] for line in notes if "the cells were counted with it" in line
    }
    with (
        encode(text, min_count=1) as corpus,
        cooccurrences(corpus, window=4, weights="distance", sides="left") as counted,
    ):
        model = unhot.SkipGram(**{**EXACT, "epochs": 1, "shrink": True}).fit(counted, note=notes.append)
    assert model.config()["shrink"] is False
    assert any(line.startswith("weights='distance'") for line in notes)
    assert any(line.startswith("sides='left'") for line in notes)
    unknown = Cells.from_arrays(
        counted.vocabulary, np.arange(13), np.zeros(12, np.int32), np.ones(12), {"window": 0}
    )
    with pytest.raises(DataError, match="window=0"):
        unhot.SkipGram(**EXACT).fit(unknown)


def test_the_default_rate_is_that_of_what_it_is_trained_on(cells, tmp_path):
    on_cells = unhot.SkipGram(on="cells")
    assert (on_cells.lr, on_cells.first_lr, on_cells.config()["lr"]) == (None, 0.05, 0.05)
    assert replace(on_cells, on="text").config()["lr"] == unhot.SkipGram.default_lr
    assert replace(unhot.SkipGram(), on="cells").config()["lr"] == 0.05
    assert unhot.SkipGram(on="cells", lr=0.3).first_lr == 0.3
    rates = []
    unhot.SkipGram(**{**EXACT, "epochs": 1}).fit(
        cells, callbacks=[lambda progress: rates.append(progress.lr)]
    )
    assert rates[0] == 0.05


def test_cells_are_kept_and_counting_is_told(text, cells, tmp_path):
    told = []
    settings = {**EXACT, "epochs": 2}
    model = unhot.SkipGram(**settings).fit(
        text, directory=tmp_path, counting=lambda done, rows: told.append((done, rows))
    )
    assert told[-1] == (WORDS, WORDS)
    with Cells.open(tmp_path / "cells") as kept:
        assert fingerprint(kept) == fingerprint(cells)
    again = unhot.SkipGram(**settings).fit(tmp_path / "cells")
    assert again.history.losses == model.history.losses


def test_other_cells_are_refused_by_resume(text, cells):
    """Also those of the same text, counted in another way; the text itself is as good as its cells."""
    for name, value in (("window", 3), ("sample", 0.05), ("shrink", True)):
        model = unhot.SkipGram(**EXACT).fit(text, callbacks=[press])
        setattr(model, name, value)
        with pytest.raises(DataError, match="not the text"):
            model.resume(text)
    model = unhot.SkipGram(**{**EXACT, "epochs": 2}).fit(text, callbacks=[press])
    model.resume(cells)
    assert model.complete


def test_many_threads(text):
    """Counting keeps to its budget whatever they are."""
    model = unhot.SkipGram(**{**EXACT, "epochs": 1, "threads": 100}).fit(text)
    assert model.complete


def test_warming_up_compiles_what_counts(monkeypatch):
    called = []
    monkeypatch.setattr("unhot.models.exact.warm_up_counting", lambda: called.append(1))
    unhot.SkipGram(on="cells").warm_up()
    assert called


def test_every_word_is_visited_once_and_strata_are_mixed():
    for words in (1, 7, 8, 300, 3001):
        steps = steps_of_epoch(words)
        epochs = [mixed_rows(words, steps, 1, epoch) for epoch in range(2)]
        for rows in epochs:
            assert sorted(np.concatenate(rows).tolist()) == list(range(words))
            assert max(map(len, rows)) <= rows_of_step(words)
            assert all(set(row[:3] // steps) == set(range(min(3, len(row)))) for row in rows)
    assert [row.tolist() for row in epochs[0]] != [row.tolist() for row in epochs[1]]
