"""Neural language models: trained, resumed to the byte, saved, asked."""

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from grids import crossed, soak_only

torch = pytest.importorskip("torch")

import unhot  # noqa: E402
from unhot.errors import ConfigError, DataError, FormatError  # noqa: E402
from unhot.models.neural_lm import NeuralLM  # noqa: E402
from unhot.nn.bodies import BODIES  # noqa: E402
from unhot.outputs import LAYERS  # noqa: E402
from unhot.train.checkpoint import Checkpoint  # noqa: E402

RNG = np.random.default_rng(7)
NEXT = {"a": "b", "b": "c", "c": "d", "d": "a"}


def lines(number, seed):
    """Lines that go round a b c d, from a random place, with some noise."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(number):
        word, line = str(rng.choice(list(NEXT))), []
        for _ in range(rng.integers(1, 9)):
            line.append(word)
            word = NEXT[word] if rng.random() < 0.9 else str(rng.choice(list(NEXT)))
        out.append(" ".join(line))
    return out


TRAIN, VALID = lines(300, 1), lines(40, 2)
SMALL = {"dim": 12, "batch": 4, "steps": 5, "threads": 1, "dropout": 0.2, "epochs": 2}


def small(**more):
    return NeuralLM(**{**SMALL, **more})


def folder_bytes(path):
    return {file.name: file.read_bytes() for file in sorted(Path(path).rglob("*.safetensors"))}


@pytest.mark.parametrize("body", sorted(BODIES))
def test_every_body_learns(body):
    model = small(body=body, epochs=4, dropout=0.0, lr=0.015).fit(TRAIN)
    assert model.history.losses[-1] < model.history.losses[0]
    found = model.perplexity(VALID)
    assert found.tokens == sum(len(line.split()) + 1 for line in VALID)
    assert found.perplexity < 4  # of five tokens, at random: 5
    best = model.next_words("a b c", 1)[0]
    assert best.word in ("d", "</s>")


@pytest.mark.parametrize(("body", "optimizer"), crossed(sorted(BODIES), ["adamw", "adagrad"]))
def test_a_resumed_training_gives_the_same_bytes(body, optimizer, tmp_path):
    how = {"body": body, "optimizer": optimizer, "validation": None, "output": "sampled:k=3"}
    text = TRAIN[:150]
    small(**how).fit(text).save(tmp_path / "whole")

    class Stop(Exception):
        pass

    def stop(progress):
        if (
            progress.event == "progress"
            and progress.epoch == 2
            and progress.words > 1.3 * progress.total_words / 2
        ):
            raise Stop

    with pytest.raises(Stop):
        small(**how).fit(
            text, checkpoint=Checkpoint(path=tmp_path / "cut", chunks=2, minutes=None), callbacks=[stop]
        )
    again = unhot.load_unfinished(tmp_path / "cut")
    assert 0 < again.history.position.chunk
    again.resume(text).save(tmp_path / "cut")
    assert folder_bytes(tmp_path / "cut") == folder_bytes(tmp_path / "whole")


def test_the_best_net_survives_a_resume(tmp_path):
    """Also with validation: the model is that of the best epoch, whether it was interrupted or not."""
    valid = tmp_path / "valid.txt"
    backwards = [" ".join(reversed(line.split())) for line in VALID]  # the more it learns, the worse
    valid.write_text("\n".join(backwards) + "\n")
    how = {"validation": str(valid), "epochs": 4, "patience": 9, "lr": 0.03, "warmup": 0}
    whole = small(**how).fit(TRAIN)
    whole.save(tmp_path / "whole")
    assert int(np.argmin(whole.history.validation)) < 3

    def stop(progress):
        if progress.event == "epoch" and progress.epoch == 3:
            raise KeyboardInterrupt

    cut = small(**how).fit(TRAIN, callbacks=[stop])
    assert cut.history.interrupted
    cut.save(tmp_path / "cut")
    again = unhot.load(tmp_path / "cut").resume(TRAIN)
    again.save(tmp_path / "cut")
    assert again.history.validation == whole.history.validation
    assert folder_bytes(tmp_path / "cut") == folder_bytes(tmp_path / "whole")


def test_a_failed_resume_leaves_the_model_as_it_was(tmp_path):
    def interrupt(progress):
        if progress.event == "epoch" and progress.epoch == 1:
            raise KeyboardInterrupt

    def fail(progress):
        if progress.event == "epoch" and progress.epoch == 2:
            raise ValueError("enough")

    how = {"epochs": 3, "validation": VALID}
    small(**how).fit(TRAIN).save(tmp_path / "whole")
    model = small(**how).fit(TRAIN, callbacks=[interrupt])
    before = model.perplexity(VALID), model.history.validation
    model.save(tmp_path / "before")
    with pytest.raises(ValueError, match="enough"):
        model.resume(TRAIN, callbacks=[fail])
    assert (model.perplexity(VALID), model.history.validation) == before
    model.save(tmp_path / "after")
    assert folder_bytes(tmp_path / "after") == folder_bytes(tmp_path / "before")
    model.resume(TRAIN).save(tmp_path / "resumed")
    assert folder_bytes(tmp_path / "resumed") == folder_bytes(tmp_path / "whole")


@pytest.mark.parametrize("layer", sorted(LAYERS))
def test_every_layer_is_normalised_and_saved(layer, tmp_path):
    spec = "adaptive:cutoffs=3" if layer == "adaptive" else layer
    model = small(output=spec, body="rnn").fit(TRAIN[:100])
    model.save(tmp_path / "model")
    again = unhot.load(tmp_path / "model")
    assert again.perplexity(VALID) == model.perplexity(VALID)
    assert again.complete
    p = [word.probability for word in again.next_words("a b", 6)]
    assert sum(p) == pytest.approx(1, abs=1e-5)
    assert math.isfinite(again.score("a b zebra"))


def test_scores_agree():
    model = small().fit(TRAIN)
    each = model.full_scores("a b zebra d")
    assert [token.unknown for token in each] == [False, False, True, False, False]
    assert model.score("a b zebra d") == pytest.approx(sum(token.log10 for token in each))
    state, total = model.state(), 0.0
    for word in "a b zebra d </s>".split():
        token, state = model.advance(state, word)
        total += token.log10
    assert total == pytest.approx(model.score("a b zebra d"), abs=1e-5)
    texts = ["a b", "", "c d a", "b"]
    assert model.scores(texts) == pytest.approx([model.score(text) for text in texts], abs=1e-5)
    alone = model.perplexity(texts, carry=False)
    assert alone.log10 == pytest.approx(model.scores(texts).sum(), abs=1e-5)
    assert alone.log10 != model.perplexity(texts).log10
    assert model.generate("a", seed=3, words=5) == model.generate("a", seed=3, words=5)


def test_a_text_in_blocks_is_one_text(monkeypatch):
    """What is carried over from block to block, and long lines that are cut into pieces."""
    from unhot.lm import scorer
    from unhot.nn import net_scorer

    model = small().fit(TRAIN)
    whole, alone = model.perplexity(VALID), model.perplexity([" ".join(VALID)], carry=False)
    monkeypatch.setattr(scorer, "AT_ONCE", 3)
    monkeypatch.setattr(net_scorer, "PIECE", 4)
    monkeypatch.setattr(net_scorer, "SCORES", 12)
    assert model.perplexity(VALID).log10 == pytest.approx(whole.log10, abs=1e-4)
    assert model.perplexity([" ".join(VALID)], carry=False).log10 == pytest.approx(alone.log10, abs=1e-4)


def test_minutes_end_a_training():
    rates = []
    model = small(minutes=0.01, epochs=10_000).fit(
        TRAIN, callbacks=[lambda progress: rates.append(progress.lr)]
    )
    assert model.complete
    assert 0.5 < model.history.seconds < 20
    assert rates[-1] < 0.2 * max(rates)


def test_validation_stops_a_training(tmp_path):
    notes = []
    model = small(validation=VALID, lr=0.5, epochs=50, patience=2, dropout=0.0)
    model.fit(TRAIN, note=notes.append)
    assert model.complete
    assert len(model.history.validation) < 50
    assert any("perplexity" in note for note in notes)
    assert math.log(model.perplexity(VALID).perplexity) == pytest.approx(
        min(model.history.validation), rel=1e-5
    )


def test_a_rate_that_is_far_too_high_is_said():
    with pytest.raises(unhot.errors.Diverged, match="lr=1e"):
        small(lr=1e38, optimizer="sgd", clip=0.0, body="rnn").fit(TRAIN)


def test_embeddings_begin_with_vectors():
    vectors = unhot.Vectors(["a", "zebra"], np.full((2, 12), 0.5, np.float32))
    model = small(lr=1e-12, weight_decay=0.0)
    model.fit(TRAIN, start=vectors)
    table = model.learned.net.body.embedding.weight.detach().numpy()
    assert np.allclose(table[model.vocabulary.id("a")], 0.5)
    assert np.abs(table[model.vocabulary.id("b")]).max() < 0.11
    with pytest.raises(DataError, match="12 numbers, but dim=5"):
        small(dim=5).fit(TRAIN, start=vectors)
    with pytest.raises(ConfigError, match="must be Vectors"):
        small().fit(TRAIN, start=7)


def test_sparse_gradients_give_the_same_model():
    def table(**how):
        net = small(output="sampled:k=2", optimizer="adagrad", **how).fit(TRAIN).learned.net
        return net.body.embedding.weight.detach().numpy(), net.head.sparse

    (sparse, is_sparse), (dense, is_dense) = table(weight_decay=0.0), table(weight_decay=1e-30)
    assert (is_sparse, is_dense) == (True, False)
    assert np.allclose(sparse, dense, atol=1e-5)


def test_rare_words_are_unknown():
    model = small(min_count=2).fit([*TRAIN, "zebra"])
    assert model.vocabulary.words[:2] == ["<unk>", "</s>"]
    assert "zebra" not in model.vocabulary.index
    assert model.perplexity(["zebra"]).unknown == 1


def test_wrong_settings(tmp_path):
    for wrong, why in [
        ({"body": "brain"}, "no body 'brain'"),
        ({"output": "brain"}, "brain"),
        ({"dropout": 1.0}, "must be less than 1"),
        ({"optimizer": "adam"}, "optimizer"),
        ({"minutes": 0}, "minutes=0: must be more than 0"),
    ]:
        with pytest.raises(ConfigError, match=why):
            NeuralLM(**wrong)
    with pytest.raises(DataError, match="no such file"):
        small(validation=str(tmp_path / "none")).fit(TRAIN)
    with pytest.raises(DataError, match="the word </s>"):
        small().fit(["a </s> b"])


def test_damaged_folders(tmp_path):
    from unhot.vectors.formats.directory import load_model

    small().fit(TRAIN).save(tmp_path / "model")
    saved = load_model(tmp_path / "model")
    without = {name: tensor for name, tensor in saved.tensors.items() if "weight_hh" not in name}
    with pytest.raises(FormatError, match="weight_hh_l0' has the shape None, but must have"):
        NeuralLM.from_saved(saved._replace(tensors=without))
    with pytest.raises(FormatError, match="must have"):
        NeuralLM.from_saved(saved._replace(config={**saved.config, "dim": 13}))


TWO = """
import json, os, sys
import unhot
text = json.load(open(sys.argv[1]))
how = {"dim": 12, "batch": 4, "steps": 5, "threads": 1, "dropout": 0.0, "epochs": 2}
model = unhot.NeuralLM(optimizer="sgd", clip=0.0, **how).fit(text)
if os.environ["RANK"] == "0":
    model.save(sys.argv[2])
print(json.dumps(model.perplexity(text[:40]).perplexity), flush=True)
os._exit(0)  # gloo's threads may abort an orderly end
"""


@soak_only  # it starts two processes of torch; the gradients of several batches are summed as in one process
def test_two_processes_learn_what_one_learns(tmp_path):
    (tmp_path / "text.json").write_text(json.dumps(TRAIN))
    alone = small(dropout=0.0, optimizer="sgd", clip=0.0).fit(TRAIN)
    base = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(20000 + RNG.integers(20000)), "WORLD_SIZE": "2"}

    command = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        TWO,
        str(tmp_path / "text.json"),
        str(tmp_path / "model"),
    ]
    processes = [
        subprocess.Popen(
            command,
            env={**os.environ, **base, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    outs = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outs
    found = [json.loads(out) for out, _ in outs]
    assert found[0] == found[1]
    assert found[0] == pytest.approx(alone.perplexity(TRAIN[:40]).perplexity, rel=2e-3)


def test_a_width_that_the_file_does_not_have_allocates_nothing(tmp_path):
    from unhot.vectors.formats.directory import load_model

    small().fit(TRAIN).save(tmp_path / "model")
    saved = load_model(tmp_path / "model")
    with pytest.raises(FormatError, match="must have"):  # it would be 69 GB
        NeuralLM.from_saved(saved._replace(config={**saved.config, "body": "lstm:units=65536"}))


def test_products_in_bfloat16_learn():
    assert small(autocast=True, epochs=4, lr=0.01, dropout=0.0).fit(TRAIN).perplexity(VALID).perplexity < 4.5


def test_a_damaged_state_of_a_training_is_said(tmp_path):
    from unhot.vectors.formats.directory import load_model

    def stop(progress):
        if progress.event == "epoch":
            raise KeyboardInterrupt

    small().fit(TRAIN, callbacks=[stop]).save(tmp_path / "cut")
    saved = load_model(tmp_path / "cut")
    moment = next(name for name in saved.tensors if name.endswith("embedding.weight.exp_avg"))
    for name, tensor in (("carried.0", np.zeros((4, 13), np.float32)), (moment, np.zeros((6, 12)))):
        with pytest.raises(FormatError, match=f"{name} has the shape"):
            NeuralLM.from_saved(saved._replace(tensors={**saved.tensors, name: tensor})).resume(TRAIN)
    without = {name: tensor for name, tensor in saved.tensors.items() if name != "carried.1"}
    with pytest.raises(FormatError, match="carried.1 has the shape None"):
        NeuralLM.from_saved(saved._replace(tensors=without)).resume(TRAIN)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_answers_after_its_parent():
    """The threads of PyTorch do not survive the fork: a child that waits for them never ends."""
    text = [" ".join(f"w{i}" for i in range(first, first + 20)) for first in range(0, 4000, 20)]
    model, line = small(min_count=1, epochs=1).fit(text), "w1 w2 " * 40
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        answer = model.score(line)
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)
            again = small(min_count=1, epochs=1, threads=2).fit(text)
            os._exit(0 if model.score(line) == pytest.approx(answer) and again.score(line) < 0 else 1)
        assert os.waitpid(pid, 0)[1] == 0
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
