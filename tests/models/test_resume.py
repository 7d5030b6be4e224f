"""Checkpoints, and going on from them: with one thread the same bytes as without a stop."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import unhot
from unhot.errors import ConfigError, DataError, Diverged, FormatError
from unhot.models.load import load_unfinished
from unhot.train.checkpoint import Checkpoint, Timer, fingerprint
from unhot.vectors.formats.directory import checkpoint_of, is_model, load_model, save_model

RNG = np.random.default_rng(7)
TEXT = [[f"w{i}" for i in RNG.zipf(1.5, RNG.integers(1, 40)) if i < 50] for _ in range(1000)]
SMALL = {"dim": 8, "min_count": 2, "epochs": 3, "window": 3, "sample": 1e-2, "threads": 1}


class Stop(Exception):
    """Ends a training from a callback."""


def after(chunks, path=None):
    """A callback that stops after so many chunks, and not before there is a checkpoint.

    A busy machine may tell of several at once.
    """
    seen = []

    def stop(progress):
        seen.extend([1] * (progress.event == "progress"))
        if len(seen) >= chunks and (path is None or is_model(checkpoint_of(path))):
            raise Stop

    return stop


def cut_off(model, path, chunks, text=TEXT, **how):
    """Train with frequent checkpoints until it is stopped."""
    with pytest.raises(Stop):
        model.fit(text, checkpoint=Checkpoint(path=path, chunks=5), callbacks=[after(chunks, path)], **how)
    return load_unfinished(path)


def digest(folder):
    files = sorted(p for p in Path(folder).rglob("*") if p.is_file())
    return {p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


LAYERS = (
    "negative:k=5",
    "negative:k=5,noise=learned",
    "nce:k=20,ln_z=learned,bias=true",
    "hierarchical",
    "softmax:bias=true",
)


@pytest.mark.parametrize("output", LAYERS)
@pytest.mark.parametrize("kind", [unhot.SkipGram, unhot.CBOW])
def test_a_resumed_training_is_the_same_bytes(kind, output, tmp_path):
    kind(**SMALL, output=output).fit(TEXT).save(tmp_path / "whole")
    model = cut_off(kind(**SMALL, output=output), tmp_path / "cut", 40)
    assert model.history.position.chunk > 0 or model.history.position.epoch > 0
    assert len(model.history.losses) == model.history.position.epoch < 3
    model.resume(TEXT)
    model.save(tmp_path / "cut")
    assert digest(tmp_path / "cut") == digest(tmp_path / "whole")


def test_cut_off_again_and_again(tmp_path):
    unhot.SkipGram(**SMALL).fit(TEXT).save(tmp_path / "whole")
    model = cut_off(unhot.SkipGram(**SMALL), tmp_path / "cut", 12)
    positions = []
    for chunks in (9, 20, 31):
        positions.append(model.history.position)
        with pytest.raises(Stop):
            model.resume(
                TEXT, checkpoint=Checkpoint(path=tmp_path / "cut", chunks=3), callbacks=[after(chunks)]
            )
        model = load_unfinished(tmp_path / "cut")
    assert positions == sorted(positions)
    model.resume(TEXT).save(tmp_path / "cut")
    assert digest(tmp_path / "cut") == digest(tmp_path / "whole")


def test_frozen_rows_stay_frozen_when_resumed(tmp_path):
    whole = unhot.SkipGram(**SMALL).fit(TEXT, frozen=["w1", "w3"])
    model = cut_off(unhot.SkipGram(**SMALL), tmp_path / "cut", 40, frozen=["w1", "w3"])
    model.resume(TEXT)
    np.testing.assert_array_equal(model.vectors.vectors, whole.vectors.vectors)
    model.save(tmp_path / "done")
    assert "frozen" not in load_model(tmp_path / "done").tensors


def test_a_checkpoint_is_a_model(tmp_path):
    cut_off(unhot.SkipGram(**SMALL), tmp_path / "m", 40)
    assert [path.name for path in (tmp_path / "m").iterdir()] == ["checkpoint"]
    assert unhot.load(tmp_path / "m", verify=True).vectors.most_similar("w1", topn=1)
    assert unhot.Vectors.load(tmp_path / "m").words == unhot.load(tmp_path / "m").vectors.words


def test_a_model_that_is_there_stays_until_the_next_one_is_complete(tmp_path):
    unhot.SkipGram(**SMALL, seed=9).fit(TEXT).save(tmp_path / "m")
    before = digest(tmp_path / "m" / "v1")
    model = cut_off(unhot.SkipGram(**SMALL), tmp_path / "m", 40)
    assert digest(tmp_path / "m" / "v1") == before
    assert unhot.load(tmp_path / "m").seed == 9
    model.resume(TEXT).save(tmp_path / "m")
    assert unhot.load(tmp_path / "m").seed == 1
    assert not checkpoint_of(tmp_path / "m").exists()


def test_files_are_found_again(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, TEXT)))
    model = cut_off(unhot.SkipGram(**SMALL), tmp_path / "m", 40, text=str(tmp_path / "text.txt"))
    whole = unhot.SkipGram(**SMALL).fit(tmp_path / "text.txt")
    np.testing.assert_array_equal(model.resume().vectors.vectors, whole.vectors.vectors)


def test_another_text_is_refused(tmp_path):
    model = cut_off(unhot.SkipGram(**SMALL), tmp_path / "m", 40)
    swapped = [*TEXT[:-2], TEXT[-1], TEXT[-2]]
    for other in (TEXT[:-1], swapped, [["w1", "w2"]] * 10):
        with pytest.raises(DataError, match="not the text that the training started with"):
            model.resume(other)
    with pytest.raises(DataError, match="give it as source"):
        model.resume()


def test_nothing_to_resume(tmp_path):
    model = unhot.SkipGram(**SMALL).fit(TEXT)
    with pytest.raises(DataError, match=r"is complete: to learn from more text, use fit"):
        model.resume(TEXT)
    model.save(tmp_path / "m")
    before, told = model.vectors.vectors.copy(), []
    for each in (model, load_unfinished(tmp_path / "m")):
        assert each.resume(note=told.append, callbacks=[lambda progress: 1 / 0]) is each
        np.testing.assert_array_equal(each.vectors.vectors, before)
    assert told == 2 * ["this training is complete: nothing is left to do"]
    with pytest.raises(DataError, match="call fit first"):
        unhot.SkipGram().resume(TEXT)


@pytest.mark.parametrize(
    "damage", [{"epoch": -1}, {"epoch": 3}, {"loss": "much"}, {"chunk": None}, {"seconds": []}]
)
def test_a_damaged_state_is_a_format_error(damage, tmp_path):
    cut_off(unhot.SkipGram(**SMALL), tmp_path / "m", 40)
    saved = load_model(tmp_path / "m")
    training = {**saved.config["training"], **damage}
    for name, config in (
        ("state", {"training": training}),
        ("text", {"training": "much"}),
        ("losses", {"losses": 5}),
        ("large", {"losses": [10**400]}),
        ("source", {"training": {**saved.config["training"], "source": 5}}),
        ("names", {"training": {**saved.config["training"], "source": [5]}}),
        ("column", {"training": {**saved.config["training"], "column": ["text"]}}),
        ("words", {"words": "x"}),
    ):
        save_model(tmp_path / name, {**saved.config, **config}, saved.vocabulary, dict(saved.tensors))
        with pytest.raises(FormatError, match="(state|origin) of the training"):
            unhot.load(tmp_path / name)


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (lambda rows: rows[:-1], DataError, r"has 48 output rows, but negative.* has 49 for its words"),
        (lambda rows: np.vstack([rows, rows[:1]]), DataError, "has 50 output rows"),
        (lambda rows: rows[:, 1:].copy(), FormatError, r"out_vectors have the shape \(49, 7\)"),
    ],
)
def test_output_rows_that_do_not_fit(change, error, said, tmp_path):
    model = cut_off(unhot.SkipGram(**SMALL), tmp_path / "m", 40)
    assert len(model.vocabulary) == 49
    saved = load_model(tmp_path / "m")
    tensors = {**saved.tensors, "out_vectors": change(np.array(saved.tensors["out_vectors"]))}
    save_model(tmp_path / "n", saved.config, saved.vocabulary, tensors)
    with pytest.raises(error, match=said):
        unhot.load(tmp_path / "n").resume(TEXT)


@pytest.mark.parametrize("engine", ["compiled", "torch"])
def test_counts_of_noise_that_the_layer_does_not_count(engine, tmp_path):
    cut_off(unhot.SkipGram(**SMALL, engine=engine), tmp_path / "m", 1 if engine == "torch" else 40)
    saved = load_model(tmp_path / "m")
    tensors = {**saved.tensors, "seen": np.ones(len(saved.vocabulary), np.int64)}
    save_model(tmp_path / "n", saved.config, saved.vocabulary, tensors)
    with pytest.raises(FormatError, match="'seen' has 49 counts of learned noise, but must have 0"):
        unhot.load(tmp_path / "n").resume(TEXT)


def test_more_chunks_than_there_are_is_damage(tmp_path):
    model = cut_off(unhot.SkipGram(**SMALL), tmp_path / "m", 40)
    model.history.position = model.history.position._replace(chunk=10**6)
    with pytest.raises(FormatError, match="1000000 of .* chunks; it is damaged"):
        model.resume(TEXT)


def test_a_failing_checkpoint_does_not_end_the_training(tmp_path):
    (tmp_path / "m").mkdir()
    notes, checkpoint = [], Checkpoint(path=tmp_path / "m", chunks=20)

    def stand_in_the_way(progress):
        if progress.event == "start":
            (tmp_path / "m" / "checkpoint").write_text("in the way")

    model = unhot.SkipGram(**SMALL).fit(
        TEXT, checkpoint=checkpoint, note=notes.append, callbacks=[stand_in_the_way]
    )
    assert len(model.history.losses) == 3
    assert [
        note for note in notes if note.startswith("no checkpoint: ") and note.endswith("training goes on")
    ]


def test_when_a_checkpoint_is_due(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("unhot.train.checkpoint.time.monotonic", lambda: now[0])
    assert not any(Timer(None).due() for _ in range(100))
    by_chunks = Timer(Checkpoint(path="m", minutes=None, chunks=3))
    assert [by_chunks.due() for _ in range(4)] == [False, False, True, True]
    by_time = Timer(Checkpoint(path="m", minutes=2))
    assert not by_time.due()
    now[0] = 120.0
    assert by_time.due()
    by_time.begin()
    assert not by_time.due()


def test_a_place_for_checkpoints_is_looked_at_before_the_training(tmp_path):
    (tmp_path / "checkpoint").write_text("a file")
    with pytest.raises(DataError, match="is not an unhot model"):
        unhot.SkipGram(**SMALL).fit(TEXT, checkpoint=Checkpoint(path=tmp_path))
    with pytest.raises(ConfigError, match="path=None: must be the path of a model's folder"):
        Checkpoint(path=None)


def test_divergence_also_takes_back_what_noise_has_counted(monkeypatch):
    settings = {**SMALL, "output": "negative:k=5,noise=learned"}
    whole = unhot.SkipGram(**{**settings, "epochs": 1}).fit(TEXT)
    monkeypatch.setattr(
        "unhot.train.epoch_run.learning_rate", lambda lr, epoch, epochs, share: 1e-30 if epoch < 1 else 1e12
    )
    model = unhot.SkipGram(**settings)
    with pytest.raises(Diverged, match="after 1 epochs"):
        model.fit(TEXT)
    np.testing.assert_array_equal(model.learned.seen, whole.learned.seen)


def test_a_fit_that_is_refused_leaves_the_model_as_it_was(tmp_path):
    model = unhot.SkipGram(**SMALL, output="negative:k=20,unique=true").fit(TEXT)
    with pytest.raises(ConfigError, match="distinct draws"):
        model.fit([["a", "b"]] * 50)
    model.save(tmp_path / "m")
    assert "training" not in load_model(tmp_path / "m").config
    assert len(model.history.losses) == 3


def test_a_text_that_is_gone_is_named(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, TEXT)))
    model = cut_off(unhot.SkipGram(**SMALL), tmp_path / "m", 40, text=str(tmp_path / "text.txt"))
    (tmp_path / "text.txt").unlink()
    with pytest.raises(DataError, match=r"text\.txt: no such file"):
        model.resume()


@pytest.mark.parametrize(
    ("settings", "told"),
    [({"minutes": -1}, "minutes=-1: must be >= 0"), ({"chunks": 0}, "chunks=0: must be >= 1")],
)
def test_bad_intervals_are_named(settings, told):
    with pytest.raises(ConfigError, match=told):
        Checkpoint(path="m", **settings)


def test_the_fingerprint_sees_words_and_order():
    def print_of(text, **settings):
        with unhot.corpus.encode(iter(text), min_count=1, **settings) as corpus:
            return fingerprint(corpus)

    text = [["a", "b"], ["b", "c", "a"]]
    assert print_of(text) == print_of(text, threads=1)
    assert (
        len(
            {
                print_of(t)
                for t in (text, text[::-1], [["a", "b", "b"], ["c", "a"]], [["x", "b"], ["b", "c", "x"]])
            }
        )
        == 4
    )


INTERRUPTED = """
    import signal, sys, numpy as np, unhot
    # a job in the background begins with Ctrl-C ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    text = [[f"w{i}" for i in np.random.default_rng(0).integers(0, 50, 100)] for _ in range(100)]
    def tell(progress):
        if progress.event == "progress":
            print(progress.words, flush=True)
    model = unhot.SkipGram(dim=8, epochs=int(sys.argv[2]), threads=1).fit(text, callbacks=[tell])
    model.save(sys.argv[1])
"""


def test_ctrl_c_can_be_resumed(tmp_path):
    """Whenever it comes: what is saved is a whole number of chunks."""
    text = [[f"w{i}" for i in np.random.default_rng(0).integers(0, 50, 100)] for _ in range(100)]
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED), str(tmp_path / "m"), "400"],
        stdout=subprocess.PIPE,
        text=True,
    )
    child.stdout.readline()
    time.sleep(0.3)
    os.kill(child.pid, signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == 0
    model = load_unfinished(tmp_path / "m")
    assert 0 < model.history.position.epoch < 400
    model.resume(text).save(tmp_path / "m")
    unhot.SkipGram(dim=8, epochs=400, threads=1).fit(text).save(tmp_path / "whole")
    live = [
        json.loads((tmp_path / name / version / "config.json").read_text())
        for name, version in (("m", "v2"), ("whole", "v1"))
    ]
    assert live[0] == live[1]
    assert (tmp_path / "m/v2/model.safetensors").read_bytes() == (
        tmp_path / "whole/v1/model.safetensors"
    ).read_bytes()
