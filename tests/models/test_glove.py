"""GloVe as a model: what it learns, that threads and interruptions leave no trace, what it refuses."""

import numpy as np
import pytest

import unhot
from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.corpus.encoding import encode
from unhot.errors import ConfigError, DataError, Diverged, FormatError
from unhot.models.glove import GloVe, biases_of, reference
from unhot.models.load import load, load_unfinished
from unhot.train.checkpoint import Checkpoint
from unhot.train.glove import blocks
from unhot.vectors.store import Vectors

RNG = np.random.default_rng(2)
TEXT = [[f"w{i}" for i in RNG.zipf(1.4, 40) % 60] for _ in range(300)]
SMALL = {"dim": 10, "min_count": 1, "epochs": 3, "window": 4}


def parts(model):
    return list(vars(model.learned).values())[2:6]


@pytest.fixture(autouse=True)
def many_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_CELLS", 60)


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(*(parts(each) for each in (first, second)), strict=True))


def test_any_number_of_threads_gives_the_same_bytes(tmp_path):
    for threads in (1, 2, 5):
        GloVe(**SMALL, threads=threads).fit(TEXT).save(tmp_path / str(threads))
    files = [(tmp_path / name / "v1" / "model.safetensors").read_bytes() for name in ("1", "2", "5")]
    assert files[0] == files[1] == files[2]
    assert not same(GloVe(**SMALL).fit(TEXT), GloVe(**SMALL, seed=2).fit(TEXT))


def test_scores_become_logarithms_of_counts():
    """With more numbers in a vector than there are words, every cell can be fitted."""
    with encode(TEXT, min_count=1) as corpus, cooccurrences(corpus, window=4) as cells:
        model = GloVe(dim=80, min_count=1, window=4, epochs=400, lr=0.2, x_max=1.0).fit(cells)
        fitted = model.fitted
        scores = (
            fitted.word_vectors @ fitted.context_vectors.T + fitted.word_bias[:, None] + fitted.context_bias
        )
        rows = np.repeat(np.arange(len(cells.vocabulary)), np.diff(cells.starts))
        error = scores[rows, cells.columns] - np.log(cells.values)
        assert np.abs(error)[cells.values >= 1].max() < 0.02
        assert model.history.losses[-1] < 1e-4 < model.history.losses[0]
        assert all(b < a for a, b in zip(model.history.losses[:20], model.history.losses[1:21], strict=True))


def test_loss_is_the_mean_of_the_formula():
    """With a rate that moves nothing."""
    with encode(TEXT, min_count=1) as corpus, cooccurrences(corpus, window=4) as cells:
        model = GloVe(**{**SMALL, "epochs": 1}, lr=1e-20, x_max=3.0, alpha=0.6).fit(cells)
        fitted = model.fitted
        rows = np.repeat(np.arange(len(cells.vocabulary)), np.diff(cells.starts))
        u = fitted.word_vectors.astype(np.float64)[rows]
        v = fitted.context_vectors.astype(np.float64)[cells.columns]
        scores = (u * v).sum(axis=1) + fitted.word_bias[rows] + fitted.context_bias[cells.columns]
        expected = reference(cells.values, scores, 3.0, 0.6) / len(cells)
    assert model.history.losses[0] == pytest.approx(expected, rel=1e-5)


def test_biases_begin_at_independence():
    vocabulary = unhot.Vocabulary(["a", "b", "c"], [3, 2, 1])
    p = np.array([0.5, 0.3, 0.2])
    counts = 70 * np.outer(p, p)
    cells = Cells.from_arrays(vocabulary, [0, 3, 6, 9], np.tile(np.arange(3), 3), counts.reshape(-1))
    word, context = biases_of(cells)
    np.testing.assert_allclose(word[:, None] + context, np.log(counts))


def test_combined_vectors_are_what_everybody_reads(tmp_path):
    made = {
        kind: GloVe(**SMALL, combine=kind).fit(TEXT) for kind in ("half", "sum", "mean", "word", "context")
    }
    word, context = made["word"].vectors["w1"], made["context"].vectors["w1"]
    np.testing.assert_array_equal(made["sum"].vectors["w1"], word + context)
    np.testing.assert_array_equal(made["mean"].vectors["w1"], (word + context) / 2)
    np.testing.assert_array_equal(made["half"].vectors["w1"], word + context / 2)
    np.testing.assert_array_equal(GloVe(**SMALL).fit(TEXT).vectors["w1"], word + context / 2)
    np.testing.assert_array_equal(made["sum"].word_vectors["w1"], word)
    np.testing.assert_array_equal(made["sum"].context_vectors["w1"], context)
    made["sum"].save(tmp_path / "m")
    np.testing.assert_array_equal(Vectors.load(tmp_path / "m")["w1"], word + context)
    again = load(tmp_path / "m")
    assert isinstance(again, GloVe)
    assert same(again, made["sum"])
    assert again.config() == made["sum"].config()
    assert again.history.losses == made["sum"].history.losses
    assert again.vocabulary == made["sum"].vocabulary
    np.testing.assert_array_equal(again.vectors["w1"], word + context)


def company(rng, groups=4, each=6, rare=4):
    """Return lines in which words of a group stand together, and rare words beside one of them only."""
    lines = [
        [f"common{rng.integers(0, each)}.{group}" for _ in range(6)]
        + [f"w{i}" for i in rng.integers(0, 10, 3)]
        for group in rng.integers(0, groups, 1000)
    ]
    for line in lines:
        rng.shuffle(line)
    for group, word, friend in np.ndindex(groups, each, rare):
        one = f"common{word}.{group}"
        lines += [[one, f"rare{friend}.{word}.{group}", one]] * 3
    return lines


def test_half_of_the_contexts_leaves_rare_companions_less_room():
    """Words that stand next to a word are less near to it in u + v / 2 than in u + v."""
    lines, shares = company(np.random.default_rng(1)), {}
    for kind in ("half", "sum"):
        models = [
            GloVe(dim=20, min_count=1, window=4, seed=seed, combine=kind).fit(lines) for seed in (1, 2, 3)
        ]
        near = [
            other
            for model in models
            for word in model.vocabulary.words
            if word.startswith("common")
            for other, _ in model.vectors.most_similar(word, topn=5)
        ]
        shares[kind] = np.mean([word.startswith("rare") for word in near])
    assert shares["half"] < shares["sum"] - 0.03


@pytest.mark.parametrize("at", [1, 7, 11])
def test_resumed_as_if_it_had_never_stopped(tmp_path, at):
    whole = GloVe(**SMALL, threads=2).fit(TEXT)
    done = []

    def stop(progress):
        done.append(progress.event)
        if progress.event == "progress" and done.count("progress") == at:
            raise KeyboardInterrupt

    model = GloVe(**SMALL, threads=2).fit(TEXT, callbacks=[stop])
    assert model.history.interrupted
    assert not model.complete
    model.save(tmp_path / "m")
    again = load_unfinished(tmp_path / "m")
    again.resume(TEXT)
    assert same(again, whole)
    assert again.history.losses == pytest.approx(whole.history.losses)
    assert again.complete
    again.save(tmp_path / "m")
    with pytest.raises(DataError, match="is complete: to learn from more text, call fit again"):
        load_unfinished(tmp_path / "m").resume(TEXT)


def test_resumed_from_a_checkpoint_and_a_file(tmp_path):
    (tmp_path / "t.txt").write_text("\n".join(" ".join(line) for line in TEXT))
    whole = GloVe(**SMALL).fit(tmp_path / "t.txt")

    def fail(progress):
        if progress.event == "epoch" and progress.epoch == 2:
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        GloVe(**SMALL).fit(
            tmp_path / "t.txt", checkpoint=Checkpoint(path=tmp_path / "m", chunks=5), callbacks=[fail]
        )
    again = load_unfinished(tmp_path / "m").resume()
    assert same(again, whole)


def test_another_text_is_no_resumption(tmp_path):
    def stop(progress):
        if progress.event == "epoch":
            raise KeyboardInterrupt

    model = GloVe(**SMALL).fit(TEXT, callbacks=[stop])
    with pytest.raises(DataError, match="not the text"):
        model.resume(TEXT[1:])


def test_text_corpus_cells_and_their_folder_are_the_same(tmp_path):
    from_text = GloVe(**SMALL).fit(TEXT)
    with encode(TEXT, min_count=1) as corpus:
        assert same(GloVe(**SMALL).fit(corpus), from_text)
        with cooccurrences(corpus, window=4, directory=tmp_path / "cells") as cells:
            assert same(GloVe(**SMALL).fit(cells), from_text)
    notes = []
    opened = GloVe(**{**SMALL, "window": 9}).fit(tmp_path / "cells", note=notes.append)
    assert same(opened, from_text)
    assert opened.config()["window"] == 4
    assert any("window=4" in line for line in notes)
    GloVe(**SMALL).fit(TEXT, directory=tmp_path / "kept")
    assert same(GloVe(**SMALL).fit(tmp_path / "kept" / "cells"), from_text)


def test_a_rate_that_is_too_high_ends_in_the_last_good_state():
    model = GloVe(**SMALL, lr=1e25)
    with pytest.raises(Diverged, match=r"lower lr, for example 0\.05$"):
        model.fit(TEXT)
    assert np.isfinite(model.vectors.vectors).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"x_max": 0}, "x_max"),
        ({"alpha": -1}, "alpha"),
        ({"lr": 0}, "lr"),
        ({"epochs": 0}, "epochs"),
        ({"combine": "both"}, "combine='both'.*sum, mean, word, context"),
        ({"weights": "square"}, "weights"),
        ({"memory": "lots"}, "memory"),
        ({"dim": 0}, "dim"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ConfigError, match=message):
        GloVe(**settings)


def test_what_cannot_be_learned_is_said():
    with pytest.raises(DataError, match="no two words"):
        GloVe(min_count=1).fit([["a"], ["b"]])
    cells = Cells.from_arrays(unhot.Vocabulary(["a", "b"], [1, 1]), [0, 1, 2], [1, 0], [-1.0, 1.0])
    with pytest.raises(DataError, match="PMI"):
        GloVe().fit(cells)
    with pytest.raises(DataError, match="fit first"):
        _ = GloVe().vectors


def test_damaged_tensors_are_refused(tmp_path):
    from unhot.vectors.formats.directory import load_model, save_model

    GloVe(**SMALL).fit(TEXT).save(tmp_path / "m")
    saved = load_model(tmp_path / "m")
    tensors = {
        name: np.array(array)
        for name, array in saved.tensors.items()
        if name not in ("word_vectors", "counts")
    }
    save_model(tmp_path / "n", saved.config, saved.vocabulary, tensors)
    with pytest.raises(FormatError, match="word_vectors"):
        load(tmp_path / "n")


def test_whole_folders_are_the_same_bytes_too(tmp_path):
    """Losses are sums over blocks, which threads finish in any order."""
    for run, threads in enumerate((1, 4, 4, 4)):
        GloVe(**SMALL, threads=threads).fit(TEXT).save(tmp_path / str(run))
    configs = {
        (tmp_path / str(run) / "v1" / "config.json").read_text().replace('"threads": 4', '"threads": 1')
        for run in range(4)
    }
    assert len(configs) == 1


def test_a_state_is_saved_without_padding(tmp_path):
    """It is resumed on machines with other vectors."""

    def stop(progress):
        if progress.event == "epoch":
            raise KeyboardInterrupt

    GloVe(**SMALL).fit(TEXT, callbacks=[stop]).save(tmp_path / "m")
    from unhot.vectors.formats.directory import load_model

    assert load_model(tmp_path / "m").tensors["in_squares"].shape[1] == SMALL["dim"] + 2


def test_a_block_that_fails_leaves_the_model_as_it_was(monkeypatch):
    whole = GloVe(**SMALL, threads=3).fit(TEXT)
    read, calls = blocks.BlockReader.read, []

    def fails(self, block):
        calls.append(block)
        if len(calls) == 20:
            raise OSError("a bad disk")
        return read(self, block)

    monkeypatch.setattr(blocks.BlockReader, "read", fails)
    model = GloVe(**SMALL, threads=3)
    with pytest.raises(OSError, match="a bad disk"):
        model.fit(TEXT)
    assert model.vocabulary is None
    assert same(model.fit(TEXT), whole)


def test_a_file_that_is_cut_short_is_an_error_not_a_hang(tmp_path):
    with encode(TEXT, min_count=1) as corpus, cooccurrences(corpus, window=4) as cells:
        made = blocks.Blocks(cells, lambda x: (x, x), 16, 1, 1)
        reader = blocks.BlockReader(made)
        made.path.write_bytes(b"")
        with pytest.raises(DataError, match="cut short"):
            reader.read(0)
        reader.close()
        made.close()


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    GloVe(**SMALL).fit(TEXT)
    with pytest.raises(DataError):
        GloVe(min_count=1).fit([["a"]])
    assert list(tmp_path.iterdir()) == []


def test_cells_that_say_nonsense_are_refused():
    words = unhot.Vocabulary(["a", "b"], [1, 1])
    with pytest.raises(DataError, match="window='wide'"):
        GloVe().fit(Cells.from_arrays(words, [0, 1, 2], [1, 0], [1.0, 1.0], {"window": "wide"}))
    with pytest.raises(DataError, match="1e-50"):
        GloVe().fit(Cells.from_arrays(words, [0, 1, 2], [1, 0], [1e-50, 1.0]))
    cells = Cells.from_arrays(words, [0, 1, 2], [1, 0], [1.0, 1.0])
    cells.close()
    with pytest.raises(DataError, match="closed"):
        GloVe().fit(cells)
    with pytest.raises(ConfigError, match=r"Phrases\.load"):
        GloVe().fit([["a", "b"]], phrases="list.json")


def test_resumed_from_a_folder_of_cells(tmp_path):
    with encode(TEXT, min_count=1) as corpus, cooccurrences(corpus, window=4, directory=tmp_path / "cells"):
        pass

    def stop(progress):
        if progress.event == "epoch":
            raise KeyboardInterrupt

    GloVe(**SMALL).fit(str(tmp_path / "cells"), callbacks=[stop]).save(tmp_path / "m")
    for source in (None, str(tmp_path / "cells"), tmp_path / "cells"):
        assert same(load_unfinished(tmp_path / "m").resume(source), GloVe(**SMALL).fit(TEXT))
