"""Readers of lists that a user writes (phrases, weights, codes, classes, questions), and of settings."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np

from readers.reader import MEGABYTE, Files, Reader, data_of
from unhot.claims import check_unclaimed
from unhot.cli.phrases import _connectors
from unhot.cli.train import _frozen
from unhot.compat.gensim.models.keyedvectors import KeyedVectors
from unhot.corpus.phrases import Phrases
from unhot.errors import DataError
from unhot.evaluate import analogies, categories, outliers, similarity
from unhot.noise.choose import noise_probability
from unhot.outputs import parse_output
from unhot.sizes import bytes_of
from unhot.tree.classes import groups_from_map
from unhot.tree.given import from_codes, read_classes, read_codes
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import decode_word

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

WORDS = ["a", "b", "c", "d", "new", "york", "caf\u00e9"]
VECTORS = Vectors(WORDS, np.random.default_rng(3).standard_normal((len(WORDS), 4)).astype(np.float32))


def of(*texts: bytes) -> Callable[[Path], list[Files]]:
    """Return seeds of one file each, named x."""
    return lambda _: [{"x": text} for text in texts]


def phrase_seeds(folder: Path) -> list[Files]:
    """Return lists of phrases of one pass and of two, with connectors, and without phrases."""
    text = [["new", "york", "is", "in", "the", "state", "of", "new", "york", "\udcff"]] * 8
    found = []
    for settings in (
        {"threshold": 0},
        {"threshold": [1, 0], "connectors": ["of", "the"]},
        {"threshold": 9e9},
    ):
        phrases = Phrases(min_count=1, threads=1, **settings).fit(iter(text))
        phrases.save(folder / "x")
        found.append({"x": (folder / "x").read_bytes()})
    return found


def read_phrases(folder: Path, rng: random.Random) -> str:
    """Load phrases, and join some words."""
    phrases = Phrases.load(folder / "x")
    joined = phrases.transform(["new", "york", "of", "the", "city"])
    return "" if 1 <= len(joined) <= 5 else f"joined {joined}"


def read_noise(folder: Path, rng: random.Random) -> str:
    """Read weights as noise over as many ids."""
    path = folder / "x"
    lines = len([line for line in data_of(path).split(b"\n") if line.strip(b"\r\n")])
    q = noise_probability(f"file:{path}", np.ones(lines, np.int64), rng.choice([1.0, 0.75, -3.0]))
    return "" if q.shape == (lines,) and abs(q.sum() - 1) < 1e-6 and q.min() >= 0 else f"q {q}"


def read_tree(folder: Path, rng: random.Random) -> str:
    """Read codes as a tree."""
    codes = read_codes(folder / "x").tobytes().decode().split("\n")
    paths = from_codes(codes, np.arange(len(codes))[::-1])
    return "" if np.diff(paths.start).tolist() == list(map(len, codes)) else "paths of another length"


def read_class_map(folder: Path, rng: random.Random) -> str:
    """Read classes as groups of words."""
    classes = read_classes(folder / "x")
    groups = groups_from_map(classes, np.arange(classes.size))
    return "" if groups.row.shape == (classes.size, 2) else f"rows {groups.row.shape}"


def read_similarity(folder: Path, rng: random.Random) -> str:
    """Measure vectors on pairs of words."""
    found = similarity(VECTORS, folder / "x")
    return "" if 0 <= found.unknown <= found.pairs and not abs(found.spearman) > 1.001 else f"{found}"


def read_analogies(folder: Path, rng: random.Random) -> str:
    """Measure vectors on analogies."""
    found = analogies(VECTORS, folder / "x", method=rng.choice(["add", "mul"]))
    return "" if found.total.questions == sum(each.questions for each in found.sections) else f"{found}"


def read_categories(folder: Path, rng: random.Random) -> str:
    """Measure vectors on categories."""
    found = categories(VECTORS, folder / "x")
    return "" if not found.purity > 1.001 else f"{found}"


def read_outliers(folder: Path, rng: random.Random) -> str:
    """Measure vectors on outliers."""
    found = outliers(VECTORS, folder / "x")
    return "" if found.total.found <= found.total.questions else f"{found}"


def read_word_list(folder: Path, rng: random.Random) -> str:
    """Read lists of words of the command line."""
    frozen, connectors = _frozen(str(folder / "x")), _connectors(str(folder / "x"))
    return "" if frozen is not None and all(map(str, [*frozen, *connectors])) is not None else "no words"


def counted_seeds(_: Path) -> list[Files]:
    """Return vectors in word2vec's text format, packed and plain, with counts in a file."""
    text = b"3 2\na 1 2\nb 3 4\ncaf\xc3\xa9 5 6\n"
    return [{"x": data, "counts": b"a 7\nb 3\ncaf\xc3\xa9 1\n"} for data in (text, gzip.compress(text))]


def read_counted(folder: Path, rng: random.Random) -> str:
    """Read vectors and counts as gensim does."""
    how = {
        "binary": rng.random() < 0.1,
        "limit": rng.choice([None, None, 2]),
        "no_header": rng.random() < 0.1,
    }
    how["no_header"] = how["no_header"] and not how["binary"]
    found = KeyedVectors.load_word2vec_format(folder / "x", folder / "counts", **how)  # type: ignore[arg-type]
    return "" if len(found.words) == len(found.vectors) else f"{len(found.words)} words"


def read_spec(folder: Path, rng: random.Random) -> str:
    """Read the spec of an output layer; written again, it is the same layer."""
    layer = parse_output(decode_word(data_of(folder / "x")))
    return "" if parse_output(layer.spec()) == layer else f"{layer.spec()} is not {layer}"


def read_size(folder: Path, rng: random.Random) -> str:
    """Read a number of bytes."""
    found = bytes_of("memory", decode_word(data_of(folder / "x")))
    return "" if isinstance(found, int) and found >= 0 else f"{found}"


def read_claim(folder: Path, rng: random.Random) -> str:
    """Ask who holds a folder that is held."""
    if not (folder / "x").exists() or fcntl is None:
        return ""
    with (folder / "x").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            check_unclaimed(folder / "x", folder)
        except DataError as error:
            return "" if f"{folder}: another process is writing here" in str(error) else str(error)
    return ""


SPECS = [
    b"negative:k=5,power=0.75,noise=unigram,hits=drop",
    b"nce:k=2,noise=learned",
    b"sampled:k=3,noise=file:some,where.csv",
    b"hierarchical:tree=balanced",
    b"class_based:classes=10",
    b"adaptive",
    b"self_normalized:alpha=0.1",
    b"infrequent",
    b"in_batch:temperature=0.1,correct=false,normalized=true",
    b"mixed:k=5,batch=32",
    b"partition",
    b"differentiated",
    b"sampled_logistic",
    b"one_vs_all",
    b"softmax",
]
DRAWS = 16 * MEGABYTE  # an interval is drawn from so many numbers at a time
GOOGLE = b": capital\na b c d\nc d a b\n: gram1\nA new york caf\xc3\xa9\n"
BATS = b"a\tb/c\nc\td\nnew\tyork/caf\xc3\xa9\n"
READERS = [
    Reader("phrases", phrase_seeds, read_phrases),
    Reader("noise", of(b"the,7\nof,3.5\n\n0\n1e3\n", b"1\n"), read_noise),
    Reader("tree", of(b"the,0\nof,10\na,110\n111\n", b"0\n1\n", b"only,\n"), read_tree),
    Reader("classes", of(b"the,0\nof,-5\na,0\nb,77\n", b"1\n"), read_class_map),
    Reader(
        "similarity",
        of(b"word1,word2,score\na,b,3.5\nc,d,1\nx,y,2\n", b"a\tb\t1\nb\tc\t2\n", b"# c\na b 1\na c 5\n"),
        read_similarity,
        slack=DRAWS,
    ),
    Reader("analogies", of(GOOGLE, BATS, b"a b c d\n", b"a b\nc d\n"), read_analogies, slack=DRAWS),
    Reader(
        "categories",
        of(b"category,word\nx,a\nx,b\ny,new\ny,york\ny,\n", b"a\tx\nb\tx\nnew\ty\n", b"a x\nb y\nc x\n"),
        read_categories,
        slack=DRAWS,
    ),
    Reader(
        "outliers",
        of(b"a\nb\nc\n\nnew\nyork\n", b"\xef\xbb\xbfa\r\nb\r\n\r\nd\r\n"),
        read_outliers,
        slack=DRAWS,
    ),
    Reader("word-lists", of(b"the\nof\n\xff\n\n", b"a b\r\nc"), read_word_list),
    Reader("gensim-counts", counted_seeds, read_counted),
    Reader("output-specs", of(*SPECS), read_spec),
    Reader("claim", of(b'{"pid": 1, "host": "h", "since": "today", "command": "unhot"}', b""), read_claim),
    Reader("sizes", of(b"200MB", b" 1.5 GB ", b"1000", b"0.1k", b"12T"), read_size),
]
