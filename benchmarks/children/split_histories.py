"""Write a split of a log to files that every tool reads: histories of users, and the items that came next."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from unhot.logs.encoding import read_log
from unhot.logs.splitting import split_log

job = json.loads(sys.argv[1])
cases = split_log(read_log(job["log"], format=job["format"]), "leave-last-out").cases(job["part"])
folder = Path(job["folder"])
folder.mkdir(parents=True, exist_ok=True)
with (folder / "histories.txt").open("w", encoding="utf-8") as histories:
    for user, (begin, end) in enumerate(zip(cases.begins, cases.ends, strict=True)):
        histories.write(f"u{user} {' '.join(map(str, cases.ids[begin:end].tolist()))}\n")
targets = "".join(f"{target}\n" for target in cases.targets.tolist())
(folder / "targets.txt").write_text(targets, encoding="utf-8")
facts = {"users": len(cases.ends), "items": len(cases.item_words), "events": int(cases.ids.size)}
sys.stdout.write(json.dumps(facts) + "\n")
