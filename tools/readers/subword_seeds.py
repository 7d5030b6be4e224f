"""Files with n-grams that are as they should be, for damage.py: fastText's models and floret's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unhot.vectors.formats.fasttext import new_file, write_fasttext
from unhot.vectors.formats.floret import write_floret
from unhot.vectors.formats.model_folder import write_rows
from unhot.vectors.subword_rows import SubwordRows
from unhot.vocab.subwords import Subwords

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
WORDS = [
    "the",
    "New York",
    "caf\u00e9",
    "\u4e2d\u6587",
    "\udcff",
    "</s>",
    "x\\n",
    "a\tb",
    "\u0085",
    "",
    "w" * 300,
    "_",
    "1.5",
    "of",
    "<>",
]


def special_fasttext(folder: Path) -> list[dict[str, bytes]]:
    """With n-grams: small ones, and those of fastText itself, supervised, quantised and pruned, too."""
    rng = np.random.default_rng(8)
    files = [
        {"x.ftz": path.read_bytes()}
        for pattern in ("fasttext_*.bin", "fasttext_*.ftz")
        for path in sorted(GOLDEN.glob(pattern))
    ]
    for words, cut in ((4, Subwords(minn=1, maxn=2, buckets=5)), (15, Subwords(minn=3, maxn=6, buckets=20))):
        rows = rng.standard_normal((words + cut.buckets, 3), np.float32)
        path = folder / f"small{words}.bin"
        write_fasttext(path, new_file(WORDS[:words], np.arange(words), cut, rows, rows[:words]))
        files.append({"x.ftz": path.read_bytes()})
    return files


def special_unhot(folder: Path) -> list[dict[str, bytes]]:
    """Folders of models with n-grams.

    Of both schemes, of both types of numbers, with many buckets that have no row.
    """
    rng = np.random.default_rng(10)
    files = []
    for scheme, hashes, buckets, kind in (
        ("fasttext", 1, 30, np.float32),
        ("fasttext", 1, 2**31 - 1, np.float16),
        ("floret", 2, 30, np.float32),
    ):
        cut = Subwords(minn=2, maxn=4, buckets=buckets, scheme=scheme, hashes=hashes)
        own = np.arange(len(WORDS) if cut.own_rows else 0)
        keys = rng.permutation(np.concatenate([-1 - own, np.arange(0, 30, 2)]))
        matrix: Any = rng.standard_normal((len(keys), 3)).astype(kind)
        rows = SubwordRows.of_keys(cut, matrix, keys, len(WORDS))
        path = folder / f"{scheme}{buckets}" / "x"
        write_rows(path, WORDS, np.arange(len(WORDS)), rows)
        files.append(
            {
                str(file.relative_to(path.parent)): file.read_bytes()
                for file in sorted(path.rglob("*"))
                if file.is_file()
            }
        )
    return files


def special_floret(folder: Path) -> list[dict[str, bytes]]:
    """Few and many rows, and floret's own."""
    rng = np.random.default_rng(9)
    files = [{"x.floret": (GOLDEN / "floret_table.floret").read_bytes()}]
    for buckets, dim, hashes, maxn in ((1, 1, 1, 0), (7, 3, 2, 5), (300, 2, 4, 3)):
        cut = Subwords(minn=1, maxn=maxn, buckets=buckets, scheme="floret", hashes=hashes)
        path = folder / f"{buckets}.floret"
        write_floret(
            path, SubwordRows(cut, rng.standard_normal((buckets, dim), np.float32), np.empty(0, np.int32))
        )
        files.append({"x.floret": path.read_bytes()})
    return files
