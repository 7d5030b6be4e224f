"""kill -9 at random moments of training, saving and resuming.

What was complete is there, what was reported is not lost.

Most kills fall into a training with a checkpoint after every chunk, which spends most of its time saving;
some fall into the start and some into the last save. Runs that were killed and resumed give the same bytes as
one that nobody interrupted.
"""

import os
import random
import re
import shutil
import threading
import time

import numpy as np
import pytest
from grids import soak_only

import unhot
from unhot.errors import UnhotError
from unhot.models.load import load_unfinished
from unhot.vectors.formats.directory import FILES, MANIFEST, checkpoint_of, is_model

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs process groups and SIGKILL")
EPOCHS = 4
# one thread: the same bytes every time
SETTINGS = ("--dim", 8, "--min-count", 1, "--threads", 1, "--epochs", EPOCHS, "--seed", 3)
# a line to wait for, and how many seconds to let pass at most after it
IN_TRAINING, AT_THE_END, AT_THE_START = ("memory:", 0.5), (f"epoch {EPOCHS}/", 0.03), (None, 1.5)
MOMENTS = (IN_TRAINING, AT_THE_END, IN_TRAINING, IN_TRAINING, AT_THE_START, IN_TRAINING)
SAVER = """
import itertools, sys
import unhot
text, folder, first = sys.argv[1:]
model = unhot.SkipGram(dim=8, min_count=1, epochs=1, threads=1).fit(text)
print("ready")
for mark in itertools.count(int(first)):
    model.history.words = mark
    for matrix in model.learned.params[:2]:
        matrix[:] = mark
    model.save(folder)
    print(f"saved {mark}")  # one write, which a kill cannot cut
"""


@pytest.fixture(scope="module")
def models(run, text, tmp_path_factory):
    """A folder with an old model, and with what the training gives when nobody interrupts it."""
    folder = tmp_path_factory.mktemp("models")
    for name, other in (("old", ("--epochs", 1, "--seed", 1)), ("whole", ())):
        done = run("train", text, "-o", folder / name, *SETTINGS, *other, "--checkpoint-minutes", 0)
        assert done.returncode == 0, done.stderr
    return folder


def state_of(folder):
    """What the process was doing when it was killed, as far as its files tell."""
    for home in (folder, checkpoint_of(folder)):
        names = {path.name for path in home.iterdir()} if home.is_dir() else set()
        begun = [name for name in names if re.fullmatch(r"\.unhot-\d+-v\d+", name)]
        if begun:
            written = [name for name in FILES if (home / begun[0] / name).exists()]
            done = (home / begun[0] / MANIFEST).exists()
            return (
                "waiting for the disk"
                if done
                else f"writing {written[-1]}"
                if written
                else "beginning a version"
            )
        if any(name.startswith(".unhot-old-") for name in names):
            return "removing what is old"
        if any(name.startswith(".unhot-") for name in names):
            return "replacing CURRENT"
        versions = sum(re.fullmatch("v[0-9]+", name) is not None for name in names)
        if versions > ("CURRENT" in names):
            return "between two versions"
    return "between saves"


def check_training(folder, lines, before, whole, live):
    """What is wrong after a kill, by what the processes of this training had said until then."""
    found, wrong, said = live(folder), [], "\n".join(lines)
    words = [
        int(count.replace(",", ""))
        for count in re.findall("^checkpoint: ([0-9,]+) words", said, re.MULTILINE)
    ]
    if found not in (before, whole):
        wrong.append("the model is neither the old one nor the new one")
    if "saved to" in said and found != whole:
        wrong.append("what was reported as saved is lost")
    try:
        if found is not None or words:
            unhot.load(folder, verify=True)
        if is_model(checkpoint_of(folder)):
            unhot.load(checkpoint_of(folder), verify=True)
        if words and found != whole and load_unfinished(folder).history.words < max(words):
            wrong.append("the checkpoint is older than the one reported")
    except UnhotError as error:
        wrong.append(f"lost: {error}")
    return wrong


def killed_in(child, moment, rng):
    """Let a child run until some time in a moment.

    Return whether it was killed and did not come to the end before.
    """
    line, seconds = moment
    if line is None or child.wait_for(line):
        time.sleep(rng.uniform(0, seconds))
    killed = child.kill()
    assert killed or child.lines[-1].startswith("saved to"), child.lines
    return killed


@pytest.mark.parametrize(
    ("over", "few", "many"), [("old", 1, 20), pytest.param("nothing", 1, 15, marks=soak_only)]
)
def test_training_and_resuming(
    over, few, many, models, text, start, run, live, next_save, tally, soak, tmp_path
):
    folder, old, rng = tmp_path / "model", unhot.load(models / "old"), random.Random(f"over {over}")
    before, whole = live(models / over), live(models / "whole")
    begin = ("train", text, "-o", folder, *SETTINGS)
    wrong, said, kills = [], [], 0
    while kills < (many if soak else few) and not wrong:
        goes_on = is_model(checkpoint_of(folder))
        # nothing yet, or this training is over: the next one
        if not goes_on and live(folder) in (None, whole):
            shutil.rmtree(folder, ignore_errors=True)
            said.clear()
            if before:
                old.save(folder)
        command = ("train", "--resume", folder) if goes_on else begin
        child, moment = (
            start("-m", "unhot", *command, "--checkpoint-chunks", 1),
            MOMENTS[kills % len(MOMENTS)],
        )
        killed = killed_in(child, moment, rng)
        said += child.lines
        wrong = check_training(folder, said, before, whole, live) + next_save(folder, old)
        if killed:
            kills += 1
            tally.append(("starting" if moment == AT_THE_START else state_of(folder), wrong))
    assert wrong == []
    done = run(*(("train", "--resume", folder) if is_model(checkpoint_of(folder)) else begin))
    assert done.returncode == 0, done.stderr
    assert live(folder) == whole
    assert len(list(folder.iterdir())) == 2


def load_until(moment, folder):
    """Load a model again and again while somebody else saves it: it is always complete."""
    while time.monotonic() < moment:
        unhot.load(folder, verify=True)


def check_mark(folder, reported):
    """The mark of the model that is there, and what is wrong with it."""
    if not is_model(folder):
        return 0, ["lost"] if reported else []
    model = unhot.load(folder, verify=True)
    mark = model.history.words
    same = all(np.array_equal(np.unique(matrix), [mark]) for matrix in model.learned.params[:2])
    wrong = [] if same else [f"files of several saves in {mark}"]
    return mark, wrong + (
        [] if reported <= mark <= reported + 1 else [f"{reported} was reported as saved, {mark} is there"]
    )


@soak_only
def test_saving(models, text, start, next_save, tally, soak, tmp_path):
    folder, old, rng = tmp_path / "model", unhot.load(models / "old"), random.Random("saving")
    wrong, mark = [], 0
    for kill in range(15 if soak else 2):
        child = start("-c", SAVER, text, folder, mark + 1)
        # the first kill falls into the very first save
        assert child.wait_for("saved" if kill else "ready"), child.lines
        seconds = rng.uniform(0, 0.3 if kill else 0.01)
        timer = threading.Timer(seconds, child.kill)
        timer.start()
        if kill:
            load_until(time.monotonic() + seconds, folder)
        timer.join()
        reported = max(
            [int(line.split()[1]) for line in child.lines if line.startswith("saved")], default=mark
        )
        mark, found = check_mark(folder, reported)
        found += next_save(folder, old)
        tally.append((state_of(folder), found))
        wrong += found
    assert wrong == []
