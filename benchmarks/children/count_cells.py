"""Count the co-occurrences of an encoded text within a budget.

What memory that took, and a digest of the counts.

Buffers are memory that is not a mapped file: on Linux RssAnon, read every 2 ms, less what the process had
before. Kernels are loaded before, by counting a few words.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
from pathlib import Path

from unhot import Corpus
from unhot.corpus.cooccurrence import cooccurrences
from unhot.corpus.encoding import encode

STATUS = Path("/proc/self/status")


def anonymous_bytes() -> int:
    """Memory of this process that no file is behind; 0 where the system does not tell."""
    lines = STATUS.read_text(encoding="ascii").splitlines() if STATUS.exists() else []
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


class Watch(threading.Thread):
    """Remembers the most anonymous memory, until it is told to stop."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.over, self.most = threading.Event(), 0

    def run(self) -> None:
        """Look every 2 ms."""
        while not self.over.wait(0.002):
            self.most = max(self.most, anonymous_bytes())


job = json.loads(sys.argv[1])
how = {name: job[name] for name in ("window", "threads")}
with encode([["few", "words", "are", "enough"]] * 10, min_count=1) as few, cooccurrences(few, **how):
    pass
with Corpus.open(job["corpus"]) as corpus:
    before, watch = anonymous_bytes(), Watch()
    watch.start()
    start = time.perf_counter()
    with cooccurrences(corpus, **how, memory=job["memory"], directory=job["folder"]) as cells:
        seconds = time.perf_counter() - start
        watch.over.set()
        watch.join()
        digest = hashlib.sha256()
        for array in (cells.starts, cells.columns, cells.values):
            digest.update(array.data)
        answer = {
            "cells_seconds": seconds,
            "cells": len(cells),
            "vocabulary": len(cells.vocabulary),
            "buffers_mb": (watch.most - before) / 1e6,
            "digest": digest.hexdigest()[:16],
        }
sys.stdout.write(json.dumps(answer) + "\n")
