"""Write rows, learn from them, or predict labels of them; measured after a first run on a few rows.

job: task, few, whole and out (files) -> cpu_seconds, seconds, peak_mb. Public names: any revision runs it.
    write    rows: write files of a log and of texts with each ending below the folder `whole`
    log      read a log, train Popularity on it
    predict  copy a table with labels, by `unhot classify predict`
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import unhot
from unhot.cli.main import group

USERS, ITEMS, WORDS = 100_000, 50_000, 5_000
CHUNK = 1_000_000
FORMATS = ("csv", "jsonl", "parquet")

job = json.loads(sys.argv[1])


def write(folder: Path, name: str, rows: int, seed: int = 1) -> None:
    """Write rows in all formats, some at a time."""
    rng, files = random.Random(seed), [folder / f"{name}.{kind}" for kind in FORMATS[:2]]
    writers: list[pa.parquet.ParquetWriter] = []
    for path in files:
        path.write_bytes(b"")
    for first in range(0, rows, CHUNK):
        numbers = range(first, min(first + CHUNK, rows))
        if name.endswith("log"):
            columns = {
                "user": [f"u{int(USERS * rng.random())}" for _ in numbers],
                "item": [f"i{int(ITEMS * rng.random() ** 2)}" for _ in numbers],
                "time": [1_600_000_000 + row for row in numbers],
            }
        else:
            words = [[f"w{int(WORDS * rng.random() ** 2)}" for _ in range(20)] for _ in numbers]
            columns = {"id": [*numbers], "text": [" ".join(row) for row in words]}
            columns["label"] = [row[0][-1] for row in words]
        table = pa.table(columns)
        with files[0].open("ab") as file:
            options = pyarrow.csv.WriteOptions(include_header=not first, quoting_style="none")
            pyarrow.csv.write_csv(table, file, options)
        with files[1].open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in table.to_pylist())
        writers = writers or [pyarrow.parquet.ParquetWriter(folder / f"{name}.parquet", table.schema)]
        writers[0].write_table(table)
    writers[0].close()


def work(path: str) -> None:
    """Do the task."""
    if job["task"] == "log":
        unhot.Popularity().fit(path)
    else:
        arguments = [
            "classify",
            "predict",
            job["model"],
            path,
            "-o",
            job["out"],
            "-q",
            "--rename",
            "label=guess",
        ]
        group.main([*arguments, "--column", "text"], standalone_mode=False)


if job["task"] == "write":
    for name, rows in (
        ("few-log", 20_000),
        ("log", job["rows"]),
        ("few-texts", 2_000),
        ("texts", job["texts"]),
    ):
        write(Path(job["whole"]), name, rows)
    unhot.Classifier(epochs=1).fit(str(Path(job["whole"], "few-texts.csv"))).save(job["model"])
    answer = {}
else:
    work(job["few"])
    cpu, start = time.process_time(), time.perf_counter()
    work(job["whole"])
    answer = {"cpu_seconds": time.process_time() - cpu, "seconds": time.perf_counter() - start}
    answer["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6)
sys.stdout.write(json.dumps({**answer, "package": str(Path(unhot.__file__).resolve().parent)}) + "\n")
