"""Two trainings into one folder, a disk that fills up, a kill: no model is lost.

A training that nobody killed says where its model is, and it is there: in the folder, or in another place if
the disk was full. One that was refused says so before it trains. The folder always holds a complete model.
"""

import os
import random
import time

import pytest
from grids import soak_only

import unhot
from unhot.errors import UnhotError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs process groups and SIGKILL")
SETTINGS = ("--dim", 8, "--min-count", 1, "--threads", 1, "--epochs", 3, "--checkpoint-chunks", 5)
REFUSED = ("another process is writing here", "the model will need ")


def seed_of(folder):
    """The seed of a model, every byte of which is as it was written; None: there is no such model."""
    try:
        return unhot.load(folder, verify=True).seed
    except UnhotError:
        return None


def what_became(child, seed, killed):
    """What a training came to, and whether its model is lost."""
    said = "\n".join(child.lines)
    last = child.lines[-1] if child.lines else ""
    if killed:
        return "killed", False
    if last.startswith("saved to "):
        return "saved", False
    if " instead: move it" in last:
        place = last.rpartition("saved it to ")[2].partition(" instead")[0]
        return "elsewhere", seed_of(place) != seed
    if any(reason in last for reason in REFUSED):
        return "refused", "epoch 1/" in said
    return f"ended with {last!r}", True


def play(rng, text, start, disk, fill, seeds):
    """A round: two trainings, perhaps a full disk, perhaps a kill; what became of each, and what is wrong."""
    folder = disk / "model"
    before = seed_of(folder)
    children = []
    for seed in seeds:
        command = ("train", text, "-o", folder, *SETTINGS, "--seed", seed, "--overwrite")
        children.append(start("-m", "unhot", *command))
        time.sleep(rng.choice([0.0, 0.5, 2.0]) * rng.random())
    children[0].wait_for(rng.choice(["memory:", "disk:", "checkpoint:", "epoch 2/", "epoch 3/"]))
    time.sleep(0.3 * rng.random())
    if rng.random() < 0.6:
        fill(rng.choice([0, 3, 100]))
    if rng.random() < 0.3:
        time.sleep(0.3 * rng.random())
        (disk / "filler").unlink(missing_ok=True)
    victim = rng.choice([0, 1, None])
    killed = [child.kill() if number == victim else False for number, child in enumerate(children)]
    for child in children:
        child.finish()
    (disk / "filler").unlink(missing_ok=True)
    ends = [what_became(*each) for each in zip(children, seeds, killed, strict=True)]
    wrong = [end for end, lost in ends if lost]
    possible = {seed for (end, _), seed in zip(ends, seeds, strict=True) if end in ("saved", "killed")}
    if not any(end == "saved" for end, _ in ends):
        possible.add(before)
    if seed_of(folder) not in possible:
        wrong.append(f"the folder holds {seed_of(folder)}, not one of {possible}: {ends}")
    names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    if not any(killed) and any(name.startswith(".unhot-") for name in names):
        wrong.append(f"{names} are left")
    return [end for end, _ in ends], wrong


@soak_only
@pytest.mark.parametrize("small_disk", ["8m"], indirect=True)
def test_two_writers(text, start, small_disk, fill, tally, soak):
    rng = random.Random(6)
    for number in range(100 if soak else 1):
        ends, wrong = play(rng, text, start, small_disk, fill, (2 * number + 1, 2 * number + 2))
        tally.append((" and ".join(sorted(end.partition(" ")[0] for end in ends)), wrong))
        assert not wrong
