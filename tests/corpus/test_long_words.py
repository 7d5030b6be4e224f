"""Words of more than 1,048,576 bytes: counted, reported, left out, from every source and for any block."""

import gzip
import json
import random
from itertools import pairwise

import numpy as np
import pytest
from grids import SOAK, crossed, examples
from hypothesis import given
from hypothesis import strategies as st

from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import EncodingSizes, WordChoice, encode, encode_input
from unhot.corpus.phrases import Phrases
from unhot.corpus.reading.cuts import CUTS, SURELY_LONG, after_letters, after_words, without_middles
from unhot.corpus.reading.sources import TextReader
from unhot.corpus.reading.tokenizers import NAMES, normaliser
from unhot.corpus.report import LONGEST_WORD, Report
from unhot.corpus.workplace import Workplace
from unhot.errors import DataError

LONGEST, TOO_LONG = "y" * LONGEST_WORD, "z" * (LONGEST_WORD + 1)
SENTENCES = [["a", TOO_LONG, "b"], [TOO_LONG], ["c", LONGEST]]
KEPT = [["a", "b"], ["c", LONGEST]]


def sentences_of(corpus):
    words = [*corpus.vocabulary.words, None]
    return [[words[i] for i in s.ids[a:b]] for s in corpus.shards for a, b in pairwise(s.starts)]


def sources(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    lines = [" ".join(words) for words in SENTENCES]
    (tmp_path / "t.txt").write_text("\n".join(lines))
    (tmp_path / "t.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    pq.write_table(pa.table({"text": lines}), tmp_path / "t.parquet")
    pq.write_table(pa.table({"text": SENTENCES}), tmp_path / "l.parquet")
    files = [tmp_path / name for name in ("t.txt", "t.gz", "t.parquet", "l.parquet")]
    tables = [pa.table({"text": lines}), pa.table({"text": SENTENCES}), [{"text": line} for line in lines]]
    return [*files, *tables, iter(lines), SENTENCES]


def test_every_source(tmp_path):
    for source in sources(tmp_path):
        with encode(source, min_count=1) as corpus:
            assert sentences_of(corpus) == KEPT
            assert corpus.report.long_words == 2
            assert (corpus.words, corpus.ids, corpus.report.types) == (4, 4, 4)
            said = [line for line in corpus.report.lines() if "read as parquet" not in line]
            assert said == ["2 words longer than 1,048,576 bytes were left out"]
    for source in (tmp_path / "t.txt", iter([" ".join(words) for words in SENTENCES])):
        with encode(source, min_count=1, tokenizer=str.split) as corpus:
            assert sentences_of(corpus) == KEPT
            assert corpus.report.long_words == 2


@pytest.mark.parametrize("tokenizer", [name for name in NAMES if name != "whitespace"])
def test_tokenizers_that_change_words(tokenizer, tmp_path):
    """What counts is the length of a word after it was changed: U+212A, of three bytes, becomes k."""
    (tmp_path / "t").write_text(f"A,{TOO_LONG}!B\n{TOO_LONG.upper()}\nc {LONGEST.upper()}")
    with encode(tmp_path / "t", min_count=1, tokenizer=tokenizer) as corpus:
        assert sentences_of(corpus) == KEPT
        assert corpus.report.long_words == 2
    if tokenizer == "words":
        with encode(
            iter(["\u212a" * LONGEST_WORD, "\u023a" * (LONGEST_WORD // 3 + 1)]),
            min_count=1,
            tokenizer="words",
        ) as corpus:
            assert sentences_of(corpus) == [["k" * LONGEST_WORD]]
            assert corpus.report.long_words == 1  # U+023A, of two bytes, becomes U+2C65, of three


def test_places_and_lines_stay(tmp_path):
    """With `unknown` a long word is -1; the corpus can be opened again."""
    encode(SENTENCES, min_count=1, unknown=True, empty_lines=True, directory=tmp_path / "c").close()
    with Corpus.open(tmp_path / "c") as corpus:
        assert sentences_of(corpus) == [["a", None, "b"], [None], ["c", LONGEST]]
        assert corpus.report.long_words == 2
    with encode(SENTENCES, min_count=1, empty_lines=True) as corpus:
        assert sentences_of(corpus) == [["a", "b"], [], ["c", LONGEST]]


def test_escaped_bytes_count_once():
    """Token lists escape the bytes FD, FE and FF; a word has the same length in a file and in a list."""
    odd = "\udcff" * LONGEST_WORD
    with encode([["a", odd], ["a", odd + "b"]], min_count=1) as corpus:
        assert sentences_of(corpus) == [["a", odd], ["a"]]


FEW_WORDS = [LONGEST_WORD - 1, LONGEST_WORD, LONGEST_WORD + 1, LONGEST_WORD // 2, SURELY_LONG + 70_000]
lengths = st.one_of(st.integers(1, 9), st.sampled_from([5000, 70_000, *FEW_WORDS]))
pieces = st.tuples(
    st.sampled_from(["a", "é", "中", "\u212a"]), lengths, st.sampled_from([" ", "\n", "、", "7", ","])
)


@examples(12)
@given(st.lists(pieces, min_size=1, max_size=3), st.sampled_from([100, 5000, 70_000]), st.integers(1, 3))
def test_no_block_size_and_no_number_of_threads_matters(tmp_path_factory, parts, block, threads):
    """Compare with sentences from Python, whose words are never shortened."""
    text = "first word " + "".join(letter * number + end for letter, number, end in parts)
    path = tmp_path_factory.mktemp("text") / "t"
    path.write_text(text)
    sizes = EncodingSizes(block=block, part=1000, shard=500, table=4)
    for tokenizer in NAMES:
        with (
            encode(iter(text.split("\n")), min_count=1, tokenizer=tokenizer) as plain,
            Workplace(None) as place,
        ):
            given = TextReader(path, tokenizer)
            with encode_input(given, WordChoice(1, None), place, threads, sizes) as corpus:
                assert sentences_of(corpus) == sentences_of(plain)
                assert corpus.report.long_words == plain.report.long_words
                assert corpus.vocabulary == plain.vocabulary


@pytest.mark.parametrize(("tokenizer", "pack"), crossed(NAMES, [bytes, gzip.compress]))
def test_long_words_take_no_memory(tokenizer, pack, tmp_path):
    (tmp_path / "t").write_bytes(pack(b"one " + b"x" * 30_000_000 + b" two\n" + b"y" * 20_000_000))
    most, text = 0, b""
    for block in TextReader([tmp_path / "t"], tokenizer).blocks(1 << 20):
        most = max(most, len(block))
        text += block
    assert most < 15_000_000
    assert [len(word) > LONGEST_WORD for word in text.split()] == [False, True, False, True]
    assert text.split()[0::2] == [b"one", b"two"]


def test_text_without_spaces_is_cut_where_words_end(tmp_path):
    """Chinese punctuation separates for the tokenizer `words`, and a comma does: blocks stay small."""
    text = "中文，" * 400_000 + "\n"
    (tmp_path / "t").write_text(text)
    assert max(map(len, TextReader([tmp_path / "t"], "words").blocks(1 << 20))) < 1_200_000
    with encode(tmp_path / "t", tokenizer="words") as corpus:
        assert corpus.vocabulary.words == ["中文"]
        assert (corpus.words, corpus.report.long_words) == (400_000, 0)


@given(st.binary(max_size=30), st.integers(0, 3))
def test_a_text_may_be_cut_there(raw, kind):
    """Normalised halves are the normalised whole, and the first half ends with a separator."""
    raw = raw + ["、中", "é!", "\u0301K", "a7b"][kind].encode()
    for name, find in (("words", after_words), ("text8", after_letters)):
        cut = find(raw)
        if cut:
            whole, first, second = (_normalised(name, part) for part in (raw, raw[:cut], raw[cut:]))
            assert first.split() + second.split() == whole.split()
        else:
            assert len(_normalised(name, raw).split()) <= 1


def _normalised(name, raw):
    text = np.zeros(len(raw) + 64, np.uint8)
    text[: len(raw)] = np.frombuffer(raw, np.uint8)
    out, size = normaliser(name)(text, len(raw), np.zeros(0, np.uint8))
    return out[:size].tobytes().replace(b"\0", b" ")


def test_characters_that_two_pieces_share():
    """A separator of three bytes, cut anywhere, ends a long word."""
    part = ("中" * SURELY_LONG + "、").encode()
    text = part * 3
    rng = random.Random(1)
    for shift in (0, 1, 2, 3) if SOAK else (1, 2):
        cuts = [(number + 1) * len(part) - shift for number in range(3)]
        edges = sorted({*rng.sample(range(len(text)), 60), *cuts} - {len(text)})
        parts = [text[a:b] for a, b in pairwise([0, *edges, len(text)])]
        short = b"".join(without_middles(parts, CUTS["words"]))
        words = _normalised("words", short).split()
        assert len(words) == 3
        assert all(LONGEST_WORD < len(word) for word in words)


def test_a_text_of_long_words_only(tmp_path):
    (tmp_path / "t").write_text("x" * (LONGEST_WORD + 1))
    with pytest.raises(DataError, match=r"every word of the text \(1\) is longer than 1,048,576 bytes"):
        encode(tmp_path / "t", min_count=1)


def test_phrases_take_a_text_with_long_words():
    phrases = Phrases(min_count=1, threshold=0).fit([["new", "york", TOO_LONG]] * 3)
    assert [phrase for phrase, _, _ in phrases.phrases] == ["new_york"]
    with phrases.encode([["new", "york", TOO_LONG]] * 3, min_count=1) as corpus:
        assert sentences_of(corpus) == [["new_york"]] * 3
        assert corpus.report.long_words == 3


def test_reports_of_old_versions(tmp_path):
    old = {"words": 3, "kept": 3}
    assert Report.from_json(old).long_words == 0
    assert "long_words" not in Report(words=3).to_json()
    new = Report(words=3, long_words=2)
    assert Report.from_json(json.loads(json.dumps(new.to_json()))) == new
