"""A kill at every touch of the disk, one after the other (`make test`: every ninth).

Of the last save of a training and of a checkpoint.
"""

import itertools
import os
import shutil
import signal
import sys

import pytest
from grids import crossed

import unhot
from unhot.vectors.formats.directory import checkpoint_of, is_model

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]
TOUCHES = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate"}


def killed_at(step, work):
    """Do some work in a child that dies at its step-th touch of the disk.

    Return whether it got to the end.
    """
    pid = os.fork()
    if pid == 0:
        left = step

        def hook(event, _arguments):
            nonlocal left
            left -= event in TOUCHES
            if left < 0:
                os._exit(9)  # as abrupt as SIGKILL: nothing is flushed, nothing is cleaned up

        signal.alarm(60)  # never hang
        try:
            sys.addaudithook(hook)
            work()
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, 9)
    return code == 0


@pytest.mark.parametrize(("what", "old"), crossed(["model", "checkpoint", "first checkpoint"], [True, False]))
def test_every_step(what, old, small, live, next_save, soak, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # only a power cut needs it, see test_power_cut
    before, after = unhot.load(small / "old"), unhot.load(small / "new")
    template, folder = tmp_path / "template", tmp_path / "model"
    template.mkdir()
    if old:
        before.save(template)
    if what != "first checkpoint":
        before.save(checkpoint_of(template))
    target = folder if what == "model" else checkpoint_of(folder)
    wrong, news = {}, []
    for step in itertools.count(0, 1 if soak else 9):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(template, folder)
        was = live(target)
        done = killed_at(step, lambda: after.save(target))
        found = next_save(folder, before)
        news.append(live(target) == live(small / "new"))
        if not news[-1] and live(target) != was:
            found.append("neither the old one nor the new one")
        if not news[-1] and what != "first checkpoint" and not is_model(checkpoint_of(folder)):
            found.append("the checkpoint went before the model was there")
        if what != "model" and live(folder) != live(template):
            found.append("a checkpoint changed the model")
        if is_model(folder):
            unhot.load(folder, verify=True)
        wrong |= {step: found} if found else {}
        if done:
            break
    assert wrong == {}
    assert news == sorted(news)  # once it is there, it stays
    assert step > 15
    assert not news[2]
    assert news[-1]
