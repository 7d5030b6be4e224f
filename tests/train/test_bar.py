"""`fit(progress=True)`: a bar on a terminal, one updated output in a notebook, elsewhere a line an epoch."""

import re
import subprocess
import sys
import types

import pytest

import unhot
from unhot.errors import ConfigError, DataError
from unhot.screen import notebook

TEXT = [[f"w{(7 * i + j) % 10}" for j in range(30)] for i in range(200)]
SMALL = {"dim": 4, "min_count": 1, "epochs": 3, "threads": 1}


class Shown:
    """An output of a cell, as IPython gives it: every state that it has had."""

    def __init__(self, bar):
        self.states = []
        self.update(bar)

    def update(self, bar):
        self.states.append((repr(bar), bar._repr_html_()))


@pytest.fixture
def cell(monkeypatch):
    """The outputs of a cell in a notebook that is made up; tests have no IPython."""
    outputs = []

    def display(bar, *, display_id):
        assert display_id
        outputs.append(Shown(bar))
        return outputs[-1]

    ipython, shown = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=None)
    ipython.display, shown.display = shown, display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    monkeypatch.setattr(notebook, "PAUSE", 0.0)
    return outputs


def test_a_library_is_silent(capfd):
    unhot.SkipGram(**SMALL).fit(TEXT)
    assert capfd.readouterr() == ("", "")


def test_elsewhere_a_line_for_each_epoch(capfd):
    model = unhot.SkipGram(**SMALL).fit(TEXT, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    losses = re.findall(r"^epoch (\d)/3: loss ([\d.]+), [\d,]+ words/s$", err, re.MULTILINE)
    assert losses == [(str(i), f"{loss:.4f}") for i, loss in enumerate(model.history.losses, 1)]
    assert "200 sentences" in err  # notes, too


def test_a_notebook_has_one_output(cell, capfd):
    unhot.SkipGram(**SMALL).fit(TEXT, progress=True)
    (output,) = cell
    texts = [text for text, _ in output.states]
    assert texts[0] == ""
    assert any(text.startswith("epoch 1/3  ") for text in texts)
    assert re.match(r"epoch 3/3  100%  [\d,]+ words/s  loss \d", texts[-1])
    assert '<progress value="18000" max="18000"></progress> <code>epoch 3/3' in output.states[-1][1]
    out, err = capfd.readouterr()
    assert "200 sentences" in out
    assert err == ""


def test_a_notebook_is_not_flooded(cell, monkeypatch):
    monkeypatch.setattr(notebook, "PAUSE", 100.0)
    unhot.SkipGram(**SMALL).fit(TEXT, progress=True)
    assert len(cell[0].states) <= 3  # the first, the last, and one between


def test_a_bar_that_ends_early_does_not_move_on(cell):
    with pytest.raises(DataError):
        unhot.SkipGram(**SMALL).fit("nowhere.txt", progress=True)
    (output,) = cell
    assert "<progress></progress>" in output.states[1][1]
    assert "<progress" not in output.states[-1][1]


def test_ipython_in_a_terminal_is_no_notebook(cell, monkeypatch):
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: types.SimpleNamespace())
    unhot.SkipGram(**SMALL).fit(TEXT, progress=True)
    assert cell == []


def test_other_listeners_hear_the_same(capfd):
    notes, seen = [], []
    unhot.SkipGram(**SMALL).fit(TEXT, progress=True, note=notes.append, callbacks=[seen.append])
    assert [progress.epoch for progress in seen if progress.event == "epoch"] == [1, 2, 3]
    assert any("200 sentences" in line for line in notes)
    assert "200 sentences" not in capfd.readouterr().err
    unhot.GloVe(**SMALL).fit(TEXT, progress=True)
    assert "cells/s" in capfd.readouterr().err


def test_resume_shows_the_progress(capfd):
    def stop(progress):
        if progress.event == "epoch":
            raise KeyboardInterrupt

    model = unhot.SkipGram(**SMALL).fit(TEXT, callbacks=[stop])
    model.resume(TEXT, progress=True)
    assert re.findall(r"^epoch (\d)/3: ", capfd.readouterr().err, re.MULTILINE) == ["2", "3"]


@pytest.mark.parametrize("wrong", [1, "yes", None])
def test_it_is_true_or_false(wrong):
    with pytest.raises(ConfigError, match="progress=.*: must be True, to show the progress, or False"):
        unhot.SkipGram(**SMALL).fit(TEXT, progress=wrong)


ON_TERMINAL = """
import sys, unhot
before = sys.stdout, sys.stderr
text = [[f"w{(7 * i + j) % 10}" for j in range(30)] for i in range(200)]
unhot.SkipGram(dim=4, min_count=1, epochs=3, threads=1).fit(text, progress=True)
print("same" if (sys.stdout, sys.stderr) == before else "other")
"""


def test_a_terminal_has_a_bar_and_its_streams_back():
    pty = pytest.importorskip("pty")
    import os

    master, end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen([sys.executable, "-c", ON_TERMINAL], stdout=end, stderr=end, env=environment)
    os.close(end)
    shown = b""
    try:
        while block := os.read(master, 1 << 16):
            shown += block
    except OSError:  # the other end is closed
        pass
    os.close(master)
    assert process.wait(60) == 0, shown
    text = shown.decode()
    assert "epoch 3/3" in text
    assert "100%" in text
    assert "epoch 3/3: loss" not in text
    assert text.rstrip().endswith("same")
