"""Files of GloVe's programs: theirs are read, ours are the same bytes, damaged ones say where."""

import struct
from pathlib import Path

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st
from small_corpora import as_dict

from unhot.corpus import glove_cells
from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.corpus.encoding import encode
from unhot.corpus.glove_cells import (
    RECORD,
    read_glove_cells,
    read_glove_vocabulary,
    write_glove_cells,
    write_glove_vocabulary,
)
from unhot.errors import DataError, FormatError
from unhot.vocab.vocabulary import Vocabulary

GOLDEN = Path(__file__).parent.parent / "golden"
VOCAB = GOLDEN / "glove_vocab.txt"
WORDS = Vocabulary([f"w{i}" for i in range(6)], [9, 8, 7, 6, 5, 4])


def by_word(cells):
    words = cells.vocabulary.words
    return {(words[i], words[j]): value for (i, j), value in as_dict(cells).items()}


@pytest.mark.parametrize(
    ("name", "sides"),
    [("glove_cooccur.bin", "both"), ("glove_shuffled.bin", "both"), ("glove_cooccur_one_sided.bin", "right")],
)
def test_glove_counts_what_we_count(name, sides):
    with (
        encode(GOLDEN / "fasttext_unsup_train.txt", min_count=1) as corpus,
        cooccurrences(corpus, window=5, sides=sides) as ours,
        read_glove_cells(GOLDEN / name, VOCAB) as theirs,
    ):
        expected, found = by_word(ours), by_word(theirs)
        assert dict(zip(theirs.vocabulary.words, theirs.vocabulary.counts.tolist(), strict=True)) == {
            word: corpus.vocabulary.counts[corpus.vocabulary.id(word)] for word in corpus.vocabulary
        }
    assert found.keys() == expected.keys()
    # it adds up float64, in some order
    assert max(abs(found[pair] / value - 1) for pair, value in expected.items()) < 1e-14


@pytest.mark.parametrize("part", [1, 7, 100, 10**6])
@pytest.mark.parametrize("block", [1, 13, 10**6])
def test_shuffled_or_not_in_parts_of_any_size(part, block, monkeypatch, tmp_path):
    monkeypatch.setattr(glove_cells, "PART", part)
    monkeypatch.setattr(glove_cells, "BLOCK", block)
    for name in ("glove_cooccur.bin", "glove_shuffled.bin"):
        with read_glove_cells(GOLDEN / name, VOCAB, tmp_path / name) as cells:
            assert sorted(path.name for path in cells.directory.iterdir())[:2] == [
                "cells.columns",
                "cells.json",
            ]
            assert len(list(cells.directory.iterdir())) == 6
            write_glove_cells(cells, tmp_path / "again.bin")
        assert (tmp_path / "again.bin").read_bytes() == (GOLDEN / "glove_cooccur.bin").read_bytes()
        with Cells.open(tmp_path / name) as again:
            assert len(again) == 548


def test_the_vocabulary_is_the_same_bytes_again(tmp_path):
    vocabulary = read_glove_vocabulary(VOCAB)
    assert vocabulary.words[:3] == ["the", "in", "and"]
    assert vocabulary.counts[:3].tolist() == [30, 6, 5]
    assert "café" in vocabulary
    write_glove_vocabulary(vocabulary, tmp_path / "vocab.txt")
    assert (tmp_path / "vocab.txt").read_bytes() == VOCAB.read_bytes()


records = st.lists(
    st.tuples(st.integers(1, 6), st.integers(1, 6), st.floats(1e-300, 1e300, allow_nan=False)), max_size=60
)


@given(records, st.integers(1, 9), st.integers(1, 9))
@examples(50)
def test_records_of_the_same_words_are_added_up(tmp_path_factory, given, part, block):
    path = tmp_path_factory.getbasetemp() / "records.bin"
    path.write_bytes(b"".join(struct.pack("<iid", *record) for record in given))
    expected = {}
    for word, context, value in given:
        expected[word - 1, context - 1] = expected.get((word - 1, context - 1), 0.0) + value
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(glove_cells, "PART", part)
        patch.setattr(glove_cells, "BLOCK", block)
        with read_glove_cells(path, WORDS) as cells:
            assert as_dict(cells) == expected
            write_glove_cells(cells, path)
            with read_glove_cells(path, WORDS) as again:
                assert as_dict(again) == expected
                assert np.array_equal(again.starts, cells.starts)
    assert path.stat().st_size == RECORD.itemsize * len(expected)


def test_what_is_known_of_them_is_kept(tmp_path):
    how = {"window": 5, "weights": "distance", "sides": "both"}
    with read_glove_cells(str(GOLDEN / "glove_cooccur.bin"), str(VOCAB), tmp_path / "cells", how) as cells:
        assert cells.is_symmetric()
    with (
        Cells.open(tmp_path / "cells") as cells,
        read_glove_cells(GOLDEN / "glove_cooccur.bin", VOCAB) as others,
    ):
        assert cells.settings == how
        assert others.settings == {}


def packed(*given):
    return b"".join(struct.pack("<iid", *record) for record in given)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (packed((1, 2, 1.0))[:-1], "byte 15: the file ends inside a record"),
        (packed((1, 2, 1.0), (2, 1, 1.0)) + b"\0", "byte 33: the file ends inside a record"),
        (packed((1, 2, 1.0), (0, 1, 1.0)), "byte 16: words 0 and 1"),
        (packed((1, 2, 1.0), (1, 7, 1.0)), r"byte 16: words 1 and 7.* words must be in 1..6"),
        (packed((-1, 2, 1.0)), "byte 0: words -1 and 2"),
        (packed((1, 2, 1.0), (1, 3, 1.0), (2, 1, 0.0)), "byte 32: .*value 0.0: .*above zero"),
        (packed((1, 2, float("nan"))), "byte 0: .*value nan"),
        (packed((1, 2, float("inf"))), "byte 0: .*value inf"),
        (packed((1, 2, -1.0)), "byte 0: .*value -1.0"),
        (packed((1, 2, 1e308), (1, 2, 1e308)), "add up to more than a float64"),
    ],
)
@pytest.mark.parametrize("block", [1, 10**6])
def test_damaged_files(data, said, block, tmp_path, monkeypatch):
    monkeypatch.setattr(glove_cells, "BLOCK", block)
    (tmp_path / "damaged.bin").write_bytes(data)
    with pytest.raises(FormatError, match=said):
        read_glove_cells(tmp_path / "damaged.bin", WORDS, tmp_path / "cells")
    assert not (tmp_path / "cells").exists()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "byte 0: the file is empty"),
        (b"the 3\na 2", "byte 9: the last line has no line end"),
        (b"the 3\na\n", "byte 6: b'a': a line must be a word, a space and a whole number"),
        (b"the 3\na -2\n", "byte 6"),
        (b"the 3\n 2\n", "byte 6"),
        (b"the 3\n\n", "byte 6"),
        (b"the 3\na 1.5\n", "byte 6"),
        (b"the 3\na 9999999999999999999\n", "byte 6"),
        (b"the 3\na 2\nthe 1\n", "byte 10: the word b'the' occurs a second time"),
    ],
)
def test_damaged_vocabularies(data, said, tmp_path):
    (tmp_path / "vocab.txt").write_bytes(data)
    with pytest.raises(FormatError, match=said):
        read_glove_vocabulary(tmp_path / "vocab.txt")


def test_words_that_are_not_utf8(tmp_path):
    vocabulary = Vocabulary(["a", "\udcff\udcfe", "é"], [3, 2, 1])
    write_glove_vocabulary(vocabulary, tmp_path / "vocab.txt")
    assert (tmp_path / "vocab.txt").read_bytes() == b"a 3\n\xff\xfe 2\n\xc3\xa9 1\n"
    assert read_glove_vocabulary(tmp_path / "vocab.txt") == vocabulary


@pytest.mark.parametrize("word", ["new york", "", "a\tb", "a\n", "<unk>", "a\0b"])
def test_words_that_glove_cannot_read(word, tmp_path):
    (tmp_path / "vocab.txt").write_bytes(b"old")
    with pytest.raises(DataError, match="GloVe's programs cannot read words that are empty"):
        write_glove_vocabulary(Vocabulary(["a", word], [2, 1]), tmp_path / "vocab.txt")
    assert (tmp_path / "vocab.txt").read_bytes() == b"old"


def test_cells_below_zero_are_refused(tmp_path):
    (tmp_path / "c.bin").write_bytes(b"old")
    cells = Cells.from_arrays(WORDS, [0, 2, 2, 2, 2, 2, 2], [0, 1], [1.0, -0.5])
    with pytest.raises(DataError, match=r"a cell has the value -0.5: .* must be above zero"):
        write_glove_cells(cells, tmp_path / "c.bin")
    assert [path.name for path in tmp_path.iterdir()] == ["c.bin"]
    assert (tmp_path / "c.bin").read_bytes() == b"old"


def test_places_that_are_none(tmp_path):
    cells = Cells.from_arrays(WORDS, [0, 2, 2, 2, 2, 2, 2], [0, 1], [1.0, 0.5])
    with pytest.raises(DataError, match="cannot be written"):
        write_glove_cells(cells, tmp_path / "nowhere" / "c.bin")
    with pytest.raises(DataError, match="cannot be read"):
        read_glove_cells(tmp_path / "nowhere.bin", WORDS)
    with pytest.raises(DataError, match="cannot be read"):
        read_glove_cells(GOLDEN / "glove_cooccur.bin", tmp_path / "nowhere.txt")
