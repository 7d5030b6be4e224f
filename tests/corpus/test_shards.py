"""Shards and corpus directories: writing, opening again, damage."""

import itertools
import json
import shutil
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_corpora import check_damage

from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import encode
from unhot.corpus.report import Report
from unhot.corpus.shards import ShardWriter, check_shard, map_shards
from unhot.errors import FormatError


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=12),
    st.lists(st.integers(1, 7), min_size=1, max_size=20),
    st.integers(1, 12),
)
def test_writer(tmp_path_factory, sentences, pieces, limit):
    """However the stream of ids is cut into appends, the shards are the same."""
    folder = tmp_path_factory.mktemp("s")
    ids = np.array([i for s in sentences for i in s], np.int32)
    ends = list(itertools.accumulate(map(len, sentences)))
    writer = ShardWriter(folder, limit)
    first = 0
    for step in itertools.cycle(pieces):
        last = first + step
        here = sorted({e - first for e in ends if first <= e < last or (e == last == len(ids))})
        writer.append(ids[first:last], np.array(here, np.int32))
        first = last
        if first > len(ids):
            break
    writer.close()
    writer.close()
    shards = map_shards(folder, len(writer.lengths))
    for n, length in enumerate(writer.lengths):
        check_shard(folder, n, *length, 10)
    read = [s.ids[a:b].tolist() for s in shards for a, b in itertools.pairwise(s.starts)]
    assert read == [s for s in sentences if s]
    expected, length = [], 0
    for sentence in filter(None, sentences):
        length += len(sentence)
        if length >= limit:
            expected.append(length)
            length = 0
    assert [n for n, _ in writer.lengths] == expected + [length] * (length > 0)


@pytest.fixture
def saved(tmp_path):
    sentences = [["a", "b", "a\nb"], ["a"], ["\udcff", "b", "a"]] * 50
    with encode(sentences, min_count=1, directory=tmp_path / "c") as corpus:
        assert corpus.directory == tmp_path / "c"
    return tmp_path / "c"


def test_open_again(saved):
    with Corpus.open(saved) as corpus:
        assert corpus.vocabulary.words == ["a", "b", "a\nb", "\udcff"]
        assert corpus.vocabulary.counts.tolist() == [150, 100, 50, 50]
        assert corpus.shards[0].ids[:7].tolist() == [0, 1, 2, 0, 3, 1, 0]
        assert corpus.report.invalid_utf8 == 50
        assert not corpus.shards[0].ids.flags.writeable
        assert repr(corpus) == f"Corpus(350 ids, 150 sentences, 4 words, 1 shards in {saved})"
    assert saved.is_dir()  # it is not temporary


def test_encoding_again_replaces_the_old_corpus(saved):
    shutil.copy(saved / "00000.ids", saved / "00007.ids")
    with encode([["q"]], min_count=1, directory=saved) as corpus:
        assert corpus.vocabulary.words == ["q"]
    assert sorted(p.name for p in saved.iterdir()) == [
        "00000.ids",
        "00000.starts",
        "corpus.json",
        "counts.bin",
        "vocab.txt",
    ]
    with Corpus.open(saved) as corpus:
        assert corpus.ids == 1


def test_a_directory_without_index_is_not_finished(saved):
    (saved / "corpus.json").unlink()
    with pytest.raises(FormatError, match="writing it was interrupted"):
        Corpus.open(saved)


@pytest.mark.parametrize("name", ["00000.ids", "00000.starts", "counts.bin", "vocab.txt", "corpus.json"])
def test_truncated_or_missing_files(saved, name):
    check_damage(Corpus.open, saved / name, "encode the text again")


@given(st.data())
def test_flipped_bits_never_crash(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp() / "flipped"
    if not folder.exists():
        encode([["a", "b"], ["a"]] * 3, min_count=1, directory=folder).close()
    name = data.draw(st.sampled_from(["00000.ids", "00000.starts", "counts.bin", "vocab.txt", "corpus.json"]))
    path = folder / name
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    damaged = bytearray(whole)
    damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(damaged)
    try:
        # a flip that leaves a corpus is not seen, but everything stays in range
        with Corpus.open(folder) as corpus:
            for shard in corpus.shards:
                assert shard.ids.max() < len(corpus.vocabulary)
                assert (np.diff(shard.starts) > 0).all()
    except FormatError:
        pass
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", 2),
        ("version", None),
        ("words", "many"),
        ("words", 5),
        ("words", 10**15),
        ("shards", 7),
        ("shards", [[350]]),
        ("shards", [[350, -1]]),
        ("shards", [[350, float("inf")]]),
        ("shards", [[-350, 150]]),
        ("shards", [[350, 150], [350, 150]]),
        ("shards", []),
        ("report", []),
        ("report", {"words": -1}),
        ("report", {"colour": 1}),
        ("report", {"words": "7"}),
    ],
)
def test_lying_index(saved, field, value):
    index = json.loads((saved / "corpus.json").read_text())
    (saved / "corpus.json").write_text(json.dumps({**index, field: value}))
    with pytest.raises(FormatError):
        Corpus.open(saved)
    (saved / "corpus.json").write_text(json.dumps([1]))
    with pytest.raises(FormatError, match="version None"):
        Corpus.open(saved)


def test_wild_numbers(saved):
    ids = np.fromfile(saved / "00000.ids", "<i4")
    for wild in (-1, 4):
        bad = ids.copy()
        bad[200] = wild
        bad.tofile(saved / "00000.ids")
        with pytest.raises(FormatError, match=r"an id outside 0..3"):
            Corpus.open(saved)
    ids.tofile(saved / "00000.ids")
    starts = np.fromfile(saved / "00000.starts", "<i8")
    for place, wild in ((0, 1), (5, 0), (5, 10**9), (-1, 351)):
        bad = starts.copy()
        bad[place] = wild
        bad.tofile(saved / "00000.starts")
        with pytest.raises(FormatError, match="do not rise from 0|the last sentence ends at"):
            Corpus.open(saved)


def test_order_of_words_is_checked(saved):
    (saved / "vocab.txt").write_bytes(b"a\nb\n\xff\na\\nb\n")
    with pytest.raises(FormatError, match="not ordered by their counts"):
        Corpus.open(saved)


def test_report():
    plain = Report(files=1, bytes=9, words=4, kept=3, sentences=2, types=3)
    assert str(plain) == "4 words (3 different) in 2 sentences, 9 bytes, 1 file; 3 words kept"
    assert plain.lines() == []
    assert Report.from_json(json.loads(json.dumps(plain.to_json()))) == plain
    odd = Report(invalid_utf8=1000, nul_bytes=1, byte_order_marks=2)
    assert [line.split()[0] for line in odd.lines()] == ["1,000", "1", "2"]
    assert str(odd).count("\n") == 3


def test_a_small_corpus_needs_little_memory(saved):
    tracemalloc.start()
    try:
        Corpus.open(saved).close()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
