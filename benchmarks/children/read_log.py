"""Read a log: its events, then all of it as sequences on disk; then count skip-markov on it."""

from __future__ import annotations

import json
import resource
import sys
import time

from unhot.logs.encoding import read_log
from unhot.logs.events import read_events
from unhot.models.skip_markov import SkipMarkov

job = json.loads(sys.argv[1])


def seconds_since(start: float) -> float:
    """Seconds, rounded."""
    return round(time.perf_counter() - start, 3)


start = time.perf_counter()
rows = len(read_events(job["path"], threads=job["threads"]).items)
answer = {"rows": rows, "events_seconds": seconds_since(start)}
start = time.perf_counter()
log = read_log(job["path"], threads=job["threads"])
answer["seconds"] = seconds_since(start)
answer["reading_peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6)
start = time.perf_counter()
model = SkipMarkov(threads=job["threads"]).fit(log)
answer |= {"skip_markov_seconds": seconds_since(start), "users": len(log.users), "items": len(log.items)}
sys.stdout.write(json.dumps(answer) + "\n")
