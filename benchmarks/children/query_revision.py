"""Query a saved model with many lines: CPU seconds, after a first call that loads the kernels.

job: model (a folder), method, lines (a file), repeats -> cpu_seconds, seconds. Public names only: any
revision runs this.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import unhot

job = json.loads(sys.argv[1])
method = getattr(unhot.load(job["model"]), job["method"])
lines = Path(job["lines"]).read_text(encoding="utf-8").splitlines()
method(lines)
cpu, start = time.process_time(), time.perf_counter()
for _ in range(job["repeats"]):
    method(lines)
answer = {
    "cpu_seconds": time.process_time() - cpu,
    "seconds": time.perf_counter() - start,
    "loss": None,
    "package": str(Path(unhot.__file__).resolve().parent),
}
sys.stdout.write(json.dumps(answer) + "\n")
