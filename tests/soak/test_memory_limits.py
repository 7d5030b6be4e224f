"""Trainings in a process that may have only so much memory: they say what they need and what there is."""

import random
import re
import subprocess
import sys

import pytest
from grids import soak_only

resource = pytest.importorskip("resource")
MB = 1 << 20


def limited(command, limit, folder):
    """Run a command in a process that may have so many MB of address space."""
    drawn = random.Random(1)
    lines = [" ".join(f"w{drawn.randrange(60_000)}" for _ in range(20)) for _ in range(20_000)]
    (folder / "text.txt").write_text("\n".join(lines) + "\n")
    labels = (f"__label__{'ab'[i % 2]} {line}\n" for i, line in enumerate(lines[:10_000]))
    (folder / "labels.txt").write_text("".join(labels))
    arguments = [sys.executable, "-m", "unhot", *map(str, command), "-o", "model", "--threads", "1", "-q"]
    done = subprocess.run(
        arguments, cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit * MB, limit * MB)),
    )  # fmt: skip
    assert (folder / "model").exists() == (done.returncode == 0)
    return done


@soak_only
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep to RLIMIT_AS")
@pytest.mark.parametrize(
    "command",
    [
        ("train", "text.txt", "--dim", 2000, "--min-count", 1),
        ("classify", "train", "labels.txt", "--dim", 2000),
    ],
)
def test_a_limit_of_the_process_is_told(command, tmp_path):
    done = limited(command, 700, tmp_path)
    assert done.returncode == 1, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert re.search(r"dim=2000 needs .* GB .* memory is free", done.stderr), done.stderr


@soak_only
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep to RLIMIT_AS")
def test_an_ngram_model_tells_what_it_needs(tmp_path):
    """From limits at which it cannot even read the text, up to those at which it is trained."""
    told = []
    for limit in range(660, 1000, 20):
        done = limited(("lm", "train", "text.txt", "--order", 16), limit, tmp_path)
        if done.returncode == 0:
            break
        assert "this is a bug" not in done.stderr
        told.append(done.stderr)
    needs = r"400,000 words needs up to 232.3 MB \(.* mapped files .*\), but .*B of memory is free"
    assert re.search(needs, told[-1]), told
