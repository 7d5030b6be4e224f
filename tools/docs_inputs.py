"""The small input files that the pages of the documentation name; tools/run_docs.py makes them.

A part of the bundled text stands for any corpus, random vectors for any vectors, and small files that
fastText and GloVe wrote (tests/golden) for those that people download.
"""

from __future__ import annotations

import gzip
import lzma
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden"
# words that pages ask for: the corpus and the vectors have them
ASKED = "king queen man woman paris italy france berlin germany river soldiers treaty nation".split()


def make_inputs(text: str, beside: Path) -> None:
    """Make the files that a page names: inputs, and the Python files beside the page."""
    for name, content in {**{path.name: path for path in beside.glob("*.py")}, **INPUTS}.items():
        path = Path(name)
        if not re.search(rf"(?<![\w./-]){re.escape(path.parts[0])}(?![\w.-]*\w)", text):
            continue
        path.parent.mkdir(exist_ok=True)
        if isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        elif isinstance(content, Path):
            shutil.copy(content, path)
        else:
            content(path)


def _write_text(path: Path) -> None:
    """Write some lines of the bundled text, and a few with the words that pages ask for."""
    from unhot.data import sotu_path

    with lzma.open(sotu_path(), "rt", encoding="utf-8") as source:
        text = re.sub(r"[^a-z\n]+", " ", source.read(50_000).lower())
    text += 5 * "".join(
        f"\nthe {word} in new york was good and reasonable in war and peace" for word in ASKED
    )
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def _write_vectors(path: Path) -> None:
    from unhot import Vectors

    rows = np.random.default_rng(len(path.name)).standard_normal((len(ASKED), 100))
    Vectors(ASKED, rows.astype(np.float32)).save(path)


INPUTS: dict[str, str | Path | Callable[[Path], None]] = {
    **dict.fromkeys(("corpus.txt", "corpus.txt.gz", "more.txt", "held_out.txt", "text.txt"), _write_text),
    **dict.fromkeys(("vectors.bin", "vectors.txt", "glove.txt", "seed2.bin"), _write_vectors),
    "words.txt": "king\nqueen\n",
    "questions-words.txt": ": capitals\nparis france berlin germany\n: gram1\nking man queen woman\n",
    "wordsim.txt": "king\tqueen\t8.5\nman\tking\t4.0\nparis\triver\t1.5\n",
    "simlex.txt": "man\twoman\t3.3\nking\tman\t2.1\ntreaty\tnation\t7.0\n",
    "bless.csv": "word,category\nking,person\nqueen,person\nfrance,country\nitaly,country\n",
    "BATS_3.0/capitals.txt": "paris\tfrance\nberlin\tgermany/nation\n",
    "8-8-8/countries.txt": "france\nitaly\ngermany\n\nking\nriver\n",
    "cc.en.300.bin": GOLDEN / "fasttext_unsup_skipgram_ns.bin",
    "lid.176.ftz": GOLDEN / "fasttext_sup_softmax_pq.ftz",
    "classifier.bin": GOLDEN / "fasttext_sup_softmax.bin",
    "test.txt": GOLDEN / "fasttext_sup_train.txt",
    "cooccurrence.bin": GOLDEN / "glove_cooccur.bin",
    "cooccurrence.shuf.bin": GOLDEN / "glove_shuffled.bin",
    "vocab.txt": GOLDEN / "glove_vocab.txt",
}
