"""Write the vectors of a model as files to load.

Word2vec text and binary, unhot's own folder, gensim's own file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from gensim.models import KeyedVectors

from unhot.vectors.formats import Table, read_table, write_table

job = json.loads(sys.argv[1])
folder = Path(job["folder"])
if job["model"]:
    table = read_table(Path(job["model"]))
else:
    vectors = (0.1 * np.random.default_rng(1).standard_normal((job["words"], job["dim"]))).astype(np.float32)
    table = Table([f"word{i}" for i in range(job["words"])], vectors, None)
for name in ("vectors.txt", "vectors.bin", "unhot"):
    write_table(folder / name, table)
keyed = KeyedVectors(table.vectors.shape[1])
keyed.add_vectors(table.words, np.array(table.vectors))
keyed.save(str(folder / "gensim"))
sys.stdout.write(json.dumps({"words": len(table.words), "dim": int(table.vectors.shape[1])}) + "\n")
