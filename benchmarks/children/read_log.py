"""Read the events of a log."""

from __future__ import annotations

import json
import sys
import time

from unhot.logs.events import read_events

job = json.loads(sys.argv[1])
start = time.perf_counter()
events = read_events(job["path"], threads=job["threads"])
seconds = time.perf_counter() - start
answer = {"seconds": round(seconds, 3), "rows": len(events.items), "users": len(events.user_words)}
sys.stdout.write(json.dumps(answer) + "\n")
