"""Readers of language models: ARPA files, plain and packed, KenLM's binary files, model folders."""

from __future__ import annotations

import contextlib
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import unhot
from readers.language_model_fields import kenlm_places
from readers.reader import MEGABYTE, Files, Reader, files_below
from readers.texts import PACKERS, XZ_HEADER
from unhot.errors import Diverged, FormatError
from unhot.lm.language_model import LanguageModel
from unhot.models.ngram_model import LearnedNgrams, NGramModel
from unhot.models.state import FitState
from unhot.ngrams.packing import Layout, pack
from unhot.ngrams.smoothing import parse_smoothing
from unhot.ngrams.smoothing.smoothing import FIXED, FLAT
from unhot.ngrams.trie_scorer import TrieScorer
from unhot.train.progress import Progress

GOLDEN = Path(__file__).parents[2] / "tests" / "golden"
LINES = (GOLDEN / "kn_text.txt").read_text(encoding="utf-8").splitlines()
# n-grams whose beginnings and ends are missing, numbers that are hard to read, other spellings
ODD = (
    b"some text\r\n\\data\\\r\nngram 1=4\r\nngram  2 = 1\r\nngram 3=0\r\nngram 4=2\r\n\r\n\\1-grams:\r\n"
    b"-1e-0 <UNK> -0.5\r\n-99\t<s> -0.30000001192092896\r\n-1.0000000596046448 a 0.1\n-.5\tb\n\n"
    b"\\2-grams:\n-0.1 a b -0\n\n\\3-grams:\n\\4-grams:\n-1 a b a b\n-inf b b <s> a 0\n\n\\end\\\n"
)
WORDS = b"\\data\\\nngram 1=3\n\n\\1-grams:\n-1\ta\n-2\tb\n-0.5\t</s>\n\n\\end\\\n"
TINY = ODD.replace(b"\r", b"")
# texts that are far bigger than their packed files: empty lines between n-grams, lines of blanks behind them
BOMBS = [TINY.replace(b"b\n", b"b" + b"\n" * 2 * MEGABYTE), WORDS + (b" " * 999_999 + b"\n") * 3]
# (settings, bits of a begin): the last two are what only models of 4 billion n-grams need
FOLDERS: list[tuple[dict[str, Any], int]] = [
    ({"order": 3}, 0),
    ({"order": 3, "compact": True}, 0),
    ({"order": 2, "double": True, "smoothing": "stupid_backoff"}, 0),
    ({"order": 1, "smoothing": "add_k"}, 0),
    ({"order": 4, "compact": True, "smoothing": "maximum_likelihood"}, 0),
    ({"order": 3, "smoothing": "witten_bell"}, 40),
    ({"order": 2, "double": True, "smoothing": "witten_bell"}, 40),
]
BLOCKS = 8 * MEGABYTE  # a block of 1 MB of text, and its n-grams
UNPACKED = XZ_HEADER + 128 * MEGABYTE


def arpa_seeds(_: Path) -> list[Files]:
    """Return ARPA files: of lmplz, of others, without some n-grams, with single words only."""
    names = ("kn_lmplz_modified.arpa", "kn_modified.arpa")
    golden = [(GOLDEN / name).read_bytes() for name in names]
    return [{"x.arpa": data} for data in (*golden, ODD, TINY, WORDS)]


def packed_seeds(folder: Path) -> list[Files]:
    """Return packed ARPA files, some of two streams, and some that are far bigger than their files."""
    plain = [files["x.arpa"] for files in arpa_seeds(folder)]
    found = [pack(text) for pack in PACKERS.values() for text in (*plain[1::2], *BOMBS)]
    found += [pack(plain[0][:999]) + pack(plain[0][999:]) for pack in PACKERS.values()]
    return [{"x.arpa": data} for data in found]


def kenlm_seeds(_: Path) -> list[Files]:
    """Return binary files of KenLM, also with tables that have no empty place."""
    files = [file.read_bytes() for file in sorted(GOLDEN.glob("kenlm_*.bin"))]
    return [{"x.bin": data} for data in (*files, *map(_filled, files))]


def _filled(data: bytes) -> bytes:
    """Write a key into each empty place of the tables."""
    full = bytearray(data)
    for place, size in kenlm_places(data):
        if size == 8 and place >= 200 and not any(data[place : place + size]):
            full[place] = 1
    return bytes(full)


def ngram_seeds(folder: Path) -> list[Files]:
    """Return folders of n-gram models in all layouts."""
    found = []
    for number, (settings, places) in enumerate(FOLDERS):
        model = NGramModel(**settings, threads=1).fit(iter(LINES))
        if places:
            words, _, packed = model.learned
            layout = Layout(model.compact, packed.layout.bits, places, model.double)
            learned = LearnedNgrams(words, words, pack(packed.levels(), layout, folder, 1))
            model.fit_state = FitState(learned, model.history)
        model.save(folder / str(number) / "m")
        found.append(files_below(folder / str(number)))
    return found


def neural_seeds(folder: Path) -> list[Files]:
    """Return folders of neural models, one of them cut off, and of a mixture with n-grams."""
    small: dict[str, Any] = {"dim": 4, "batch": 2, "steps": 3, "epochs": 2, "threads": 1}
    models: list[Any] = [
        unhot.NeuralLM(**small, body="lstm", output="sampled:k=2").fit(LINES),
        unhot.NeuralLM(**small, body="transformer:layers=1", output="hierarchical").fit(LINES),
        unhot.NeuralLM(**small, body="bengio:context=2").fit(LINES, callbacks=[_interrupt]),
    ]
    models.append(unhot.Mixture.of([models[0], NGramModel(order=2, threads=1).fit(iter(LINES))], LINES))
    for number, model in enumerate(models):
        model.save(folder / str(number) / "m")
    return [files_below(folder / str(number)) for number in range(len(models))]


def _interrupt(progress: Progress) -> None:
    if progress.event == "epoch":
        raise KeyboardInterrupt


def read_neural(folder: Path, rng: random.Random) -> str:
    """Open a folder and ask the model; go on with a training that was cut off."""
    with np.errstate(all="ignore"):  # a damaged number may be NaN
        model = unhot.load_language_model(folder / "m", threads=1)
        texts = sentences(model, rng)
        tokens = model.full_scores(texts[0])
        if len(tokens) != len(texts[0].split()) + 1:
            return f"{texts[0]!r}: {tokens}"
        if len(model.scores(texts)) != len(texts) or len(model.next_words(texts[1], 3)) != 3:
            return f"{texts!r}: wrong numbers of answers"
        if isinstance(model, unhot.NeuralLM) and not model.complete and model.dim == 4:
            with contextlib.suppress(Diverged):
                model.resume(LINES)
    return ""


def read_arpa(folder: Path, rng: random.Random) -> str:
    """Open an ARPA file, ask it, and write it again: no score may change, and none may be NaN."""
    model = unhot.load_language_model(folder / "x.arpa", threads=1)
    assert isinstance(model, NGramModel)
    texts = sentences(model, rng)
    scores, wrong = model.scores(texts), asked(model, texts)
    if wrong or np.isnan(scores).any():
        return wrong or f"scores {scores}"
    way = rng.random()
    if way < 0.3:
        other = model.laid_out(compact=True).laid_out(compact=False)
        return "" if np.array_equal(other.scores(texts), scores) else f"{other.scores(texts)}, not {scores}"
    return _written(model, texts) if way < 0.6 else ""


def _written(model: NGramModel, texts: list[str]) -> str:
    """Return what is wrong with the ARPA file that a model writes."""
    probs = np.concatenate([level.prob for level in model.learned.packed.levels()])
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "y.arpa")
        model.save_arpa(path)
        try:
            again = unhot.load_language_model(path, threads=1)
        except FormatError as error:
            return str(error) if (probs <= 0).all() else ""
    scores, before = again.scores(texts), model.scores(texts)
    same = (scores == before) | ~(before > -99)  # -inf is written as -99
    return "" if same.all() else f"{scores}, not {before}"


def read_kenlm(folder: Path, rng: random.Random) -> str:
    """Open a binary file of KenLM and ask it: no score may be NaN."""
    model = unhot.load_language_model(folder / "x.bin", threads=1)
    texts = sentences(model, rng)
    scores = model.scores(texts)
    return asked(model, texts) or ("" if not np.isnan(scores).any() else f"scores {scores}")


def read_ngrams(folder: Path, rng: random.Random) -> str:
    """Open a folder and ask the model; lay it out anew, write an ARPA file, or take its levels apart."""
    with np.errstate(all="ignore"):  # a damaged number may be NaN, or too large for float32
        model = unhot.load_language_model(folder / "m", threads=1)
        texts = sentences(model, rng)
        wrong, way = asked(model, texts), rng.random()
        if wrong or not isinstance(model, NGramModel) or way < 0.3:
            return wrong
        if way < 0.6 and not model.double:
            return asked(model.laid_out(compact=not model.compact), texts)
        if way < 0.8 and parse_smoothing(model.smoothing).how not in (FLAT, FIXED):
            with tempfile.TemporaryDirectory() as place:
                model.save_arpa(Path(place, "y.arpa"))
        sizes = [level.prob.size for level in model.learned.packed.levels()]
    return "" if sizes == model.learned.packed.ngrams else f"{sizes} n-grams"


def sentences(model: LanguageModel, rng: random.Random) -> list[str]:
    """Return sentences with known and unknown words."""
    # words that are one token, as a string and as bytes
    known = [word for word in model.scorer.words[:200] if [word] == word.split() and "\0" not in word]
    known = [*known, "zebra", "the", "a b a b"]
    drawn = [" ".join(rng.choices(known, k=rng.randrange(20))) for _ in range(4)]
    return [rng.choice(LINES), *(line.replace("\n", " ") for line in drawn), ""]


def asked(model: LanguageModel, texts: list[str]) -> str:
    """Return what is wrong with the answers of a model."""
    assert isinstance(model.scorer, TrieScorer)
    order = model.scorer.model.order
    for text in texts[:2]:
        tokens = model.full_scores(text)
        if len(tokens) != len(text.split()) + 1 or not all(1 <= token.length <= order for token in tokens):
            return f"{text!r}: {tokens}"
        alone, many = model.score(text), model.scores([text])[0]
        if not np.isclose(alone, many, rtol=1e-9, equal_nan=True):
            return f"{text!r}: {alone} and {many}"
    found = model.next_words(texts[0], 3)
    if len(found) != 3 or not all(type(each.probability) is float for each in found):
        return f"next words {found}"
    return "" if isinstance(model.generate(words=3, seed=1), str) else "generated"


READERS = [
    Reader("arpa", arpa_seeds, read_arpa, says_where=True, slack=BLOCKS),
    Reader("arpa-packed", packed_seeds, read_arpa, says_where=True, slack=UNPACKED, share=0.5),
    Reader("kenlm", kenlm_seeds, read_kenlm, says_where=True),
    Reader("model-ngram", ngram_seeds, read_ngrams),
    Reader("model-neural", neural_seeds, read_neural, share=0.2),
]
