"""Trainings in a process that may have only so much memory: they say what they need and what there is."""

import random
import re
import subprocess
import sys

import pytest
from grids import soak_only

resource = pytest.importorskip("resource")
NEEDS = r"dim=2000 needs .* GB .* memory is free"
MB = 1 << 20  # of address space: enough to start, too little for what is asked


@soak_only
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep to RLIMIT_AS")
@pytest.mark.parametrize(
    ("command", "limit", "told"),
    [
        (
            ("train", "text.txt", "--dim", 2000, "--min-count", 1),
            700,
            NEEDS,
        ),
        (("classify", "train", "labels.txt", "--dim", 2000), 700, NEEDS),
        (("lm", "train", "text.txt"), 600, "not enough memory: this process can take .*B more"),
    ],
)
def test_a_limit_of_the_process_is_told(command, limit, told, tmp_path):
    drawn = random.Random(1)
    lines = [" ".join(f"w{drawn.randrange(60_000)}" for _ in range(20)) for _ in range(20_000)]
    (tmp_path / "text.txt").write_text("\n".join(lines) + "\n")
    labels = (f"__label__{'ab'[i % 2]} {line}\n" for i, line in enumerate(lines[:10_000]))
    (tmp_path / "labels.txt").write_text("".join(labels))
    arguments = [sys.executable, "-m", "unhot", *map(str, command), "-o", "model", "--threads", "1", "-q"]
    done = subprocess.run(
        arguments, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit * MB, limit * MB)),
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert re.search(told, done.stderr), done.stderr
    assert not (tmp_path / "model").exists()
