"""The small input files that the pages of the documentation name; tools/run_docs.py makes them.

A part of the bundled text stands for any corpus, random vectors for any vectors, and small files that
fastText and GloVe wrote (tests/golden) for those that people download.
"""

from __future__ import annotations

import gzip
import lzma
import random
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


# words of reviews that praise, and of reviews that complain
PRAISE, COMPLAINT = "good great lovely superb".split(), "bad poor dull awful".split()


def _reviews(seed: int) -> list[tuple[str, str]]:
    """Return short reviews and what they say: good or bad; every seventh says the opposite."""
    draw = random.Random(seed)
    found = []
    for number in range(200):
        label = ("good", "bad")[number % 2]
        words = [draw.choice(PRAISE if (label == "good") != (number % 7 == 0) else COMPLAINT)]
        words += draw.choices("the film was a story with actors and music".split(), k=6)
        found.append((" ".join(draw.sample(words, len(words))), label))
    return found


def _write_edges(path: Path) -> None:
    """Write the edges of a ring of nodes that also know the second and third next; or their labels."""
    if path.name == "edges.txt":
        lines = [f"n{n} n{(n + step) % 60}" for n in range(60) for step in (1, 2, 3)]
    else:
        lines = [f"n{n} part{n // 15}" for n in range(60)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_labelled(path: Path) -> None:
    """Write label lines: with one label, or, in the file of tags, with two."""
    tagged = path.name == "tags.txt"
    with path.open("w", encoding="utf-8") as file:
        for text, label in _reviews(len(path.name)):
            more = f" __label__{'music' if 'music' in text else 'film'}" if tagged else ""
            file.write(f"__label__{label}{more} {text}\n")


def _write_reviews(path: Path) -> None:
    """Write a table: with a column of labels, unless its name says that it is new."""
    new = path.stem == "new"
    with path.open("w", encoding="utf-8") as file:
        file.write("id,body\n" if new else "body,stars\n")
        for number, (text, label) in enumerate(_reviews(len(path.name))):
            file.write(f"{number},{text}\n" if new else f"{text},{5 if label == 'good' else 1}\n")


def _write_log(path: Path) -> None:
    """Write the log of a small generated shop, and the names of its items beside it."""
    from unhot.data.shop import make_shop, write_shop

    write_shop(make_shop(users=60, items=64, tastes=4, markets=2), path.with_name("log.csv"))


INPUTS: dict[str, str | Path | Callable[[Path], None]] = {
    **dict.fromkeys(("corpus.txt", "corpus.txt.gz", "more.txt", "held_out.txt", "text.txt"), _write_text),
    **dict.fromkeys(("vectors.bin", "vectors.txt", "glove.txt", "seed2.bin"), _write_vectors),
    **dict.fromkeys(("labelled.txt", "labelled_test.txt", "tags.txt"), _write_labelled),
    **dict.fromkeys(("reviews.csv", "new.csv"), _write_reviews),
    **dict.fromkeys(("log.csv", "items.csv"), _write_log),
    **dict.fromkeys(("edges.txt", "node_labels.txt"), _write_edges),
    "new_items.csv": "item,market,price\nnew1,0,1\nnew2,1,4\n",
    "pages.jsonl": '{"id": 1, "body": "the nation was good"}\n{"id": 2, "body": "zzz qqq"}\n',
    "news.csv": 'world,Talks,"Two states, one treaty"\nsports,Final,"They won, again"\n' * 20,
    "plays.txt": "".join(f"u{n % 9}\ti{n % 7}\t{n}\n" for n in range(60)),
    "new.txt": "a good film\nhow dull the story was\n",
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
