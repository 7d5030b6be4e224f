"""What a corpus can keep beside words: empty lines, places of unknown words, and other texts line by line."""

import hashlib
import itertools
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st
from small_corpora import as_dict

from unhot.corpus import Column, Corpus, Phrases, cooccurrence, cooccurrences, corpus_pairs, encode
from unhot.corpus.encoding import EncodingSizes, WordChoice, encode_input
from unhot.corpus.reading.sources import TextReader
from unhot.corpus.shards import Keeping, ShardWriter, check_shard, map_shards
from unhot.corpus.workplace import Workplace
from unhot.errors import ConfigError, DataError, FormatError

LINES = st.lists(st.lists(st.sampled_from(["a", "b", "c", "dd", "e" * 70]), max_size=5), max_size=12)
BOTH = [(False, False), (False, True), (True, False), (True, True)]


def read(corpus):
    """All sentences as words; None: unknown."""
    words = [*corpus.vocabulary.words, None]
    return [[words[i] for i in s.ids[a:b]] for s in corpus.shards for a, b in itertools.pairwise(s.starts)]


def naive(lines, min_count, empty_lines, unknown):
    """The same in plain Python."""
    counts = Counter(itertools.chain(*lines))
    kept = [[word if counts[word] >= min_count else None for word in line] for line in lines]
    if not unknown:
        kept = [[word for word in line if word is not None] for line in kept]
    return kept if empty_lines else [line for line in kept if line]


@examples(80)
@given(
    LINES.filter(any),
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
    st.integers(1, 3),
    st.sampled_from([(1, 1, 1), (7, 64, 3), (100, 1000, 10**6)]),
    st.sampled_from(["file", "strings", "lists", "function"]),
)
def test_a_naive_encoder_gives_the_same(
    tmp_path_factory, lines, min_count, empty_lines, unknown, threads, sizes, kind
):
    expected = naive(lines, min_count, empty_lines, unknown)
    if max(Counter(itertools.chain(*lines)).values()) < min_count:
        return
    folder = tmp_path_factory.mktemp("lines")
    strings = [" ".join(line) for line in lines]
    (folder / "t").write_text("".join(line + "\n" for line in strings))
    source = {"strings": iter(strings), "lists": lines}.get(kind, folder / "t")
    tokenizer = str.split if kind == "function" else "whitespace"
    sizes = EncodingSizes(block=sizes[0], part=sizes[1], shard=sizes[2], table=1)
    text = TextReader(source, tokenizer, None, empty_lines)
    keeping = Keeping(empty_lines, unknown)
    with Workplace(folder / "c") as place:
        encode_input(text, WordChoice(min_count, None), place, threads, sizes, None, keeping).close()
    with Corpus.open(folder / "c") as corpus:
        assert read(corpus) == expected
        assert corpus.sentences == len(expected)
        assert corpus.words == sum(map(len, lines))
        assert corpus.ids == sum(word is not None for line in expected for word in line)
        assert corpus.keeping == (empty_lines, unknown)
        assert all(shard.ids.size for shard in corpus.shards)


@pytest.mark.parametrize(("empty_lines", "unknown"), BOTH)
def test_threads_and_blocks_change_nothing(tmp_path, empty_lines, unknown):
    rng = np.random.default_rng(0)
    lines = [" ".join(f"w{int(x)}" for x in rng.zipf(1.3, rng.integers(0, 9)) % 300) for _ in range(500)]
    (tmp_path / "t").write_text("\n".join(lines))
    keeping = Keeping(empty_lines, unknown)
    with encode(tmp_path / "t", min_count=2, empty_lines=empty_lines, unknown=unknown) as expected:
        assert not empty_lines or expected.sentences == 500
        for threads, block in ((1, 50), (3, 777)):
            text = TextReader(tmp_path / "t", nulls=empty_lines)
            sizes = EncodingSizes(block=block, part=1000, table=1)
            with (
                Workplace(None) as place,
                encode_input(text, WordChoice(2, None), place, threads, sizes, None, keeping) as corpus,
            ):
                assert corpus.report == expected.report
                assert np.array_equal(corpus.shards[0].ids, expected.shards[0].ids)
                assert np.array_equal(corpus.shards[0].starts, expected.shards[0].starts)


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=12).filter(any),
    st.lists(st.integers(0, 5), min_size=1, max_size=9).filter(any),
    st.integers(1, 9),
)
def test_the_writer_of_empty_lines(tmp_path_factory, sentences, steps, limit):
    """However the stream is cut, also between two empty lines, the shards are the same and none lacks ids."""
    folder = tmp_path_factory.mktemp("s")
    ends = list(itertools.accumulate(map(len, sentences)))
    ids = np.array([i for sentence in sentences for i in sentence], np.int32)
    events = sorted([(i, 0, i) for i in range(ids.size)] + [(end - 0.5, 1, end) for end in ends])
    writer = ShardWriter(folder, limit, empty_lines=True)
    for step in itertools.cycle(steps):
        part, events = events[:step], events[step:]
        here = [place for _, is_break, place in part if not is_break]
        first = here[0] if here else next((place for _, _, place in part), 0)
        breaks = [place - first for _, is_break, place in part if is_break]
        writer.append(ids[first : first + len(here)], np.array(breaks, np.int32))
        if not events:
            break
    writer.close()
    shards = map_shards(folder, len(writer.lengths))
    for number, length in enumerate(writer.lengths):
        check_shard(folder, number, *length, 10, Keeping(empty_lines=True))
    assert [s.ids[a:b].tolist() for s in shards for a, b in itertools.pairwise(s.starts)] == sentences
    assert all(shard.ids.size >= limit for shard in shards[:-1])


def digest(folder):
    found = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def test_the_default_writes_the_same_bytes_as_ever(tmp_path):
    """Digests of the folders that unhot wrote before it could keep more."""
    text = ["the cat sat on the mat", "", "a cat", "x", "the the\n end \0 of it", "caf\u00e9 7"] * 7
    encode(iter(text), min_count=1, directory=tmp_path / "strings").close()
    lists = [line.split() for line in text]
    encode(lists, min_count=8, max_vocab=4, directory=tmp_path / "lists").close()
    (tmp_path / "t").write_bytes("\r\n".join(text).encode())
    encode(tmp_path / "t", tokenizer="words", min_count=2, directory=tmp_path / "file").close()
    assert [digest(tmp_path / name) for name in ("strings", "lists", "file")] == [
        "3fd7a5c4ab97e38d555b23cac887ef022b6554636ec6e7be84e05c58e3bc3e20",
        "1c5a0678b383b0aee34931c0da1d49925f9e129310a2161f69d6b318b29b75d8",
        "4231674ef89d3d1c51411ddb0fb4fed2079e324afcc9e5f97255229897031438",
    ]


def test_lines_of_several_files_and_ends_without_a_line_feed(tmp_path):
    for name, text in (("0", b"a\n\n"), ("1", b""), ("2", b"\n\xef\xbb\xbf b"), ("3", b"\r\nc\r\n \0\n")):
        (tmp_path / name).write_bytes(text)
    with encode(tmp_path, min_count=1, tokenizer="words", empty_lines=True) as corpus:
        assert read(corpus) == [["a"], [], [], ["b"], [], ["c"], []]


@pytest.mark.parametrize("unknown", [False, True])
def test_nothing_known_is_an_error(unknown):
    for text in ([[]], [["a"], []]):
        with pytest.raises(DataError, match="the text has no words|none of the 1 words in counts occurs"):
            encode(text, counts={"q": 1} if text[0] else None, empty_lines=True, unknown=unknown, min_count=1)


def test_rows_without_value_are_lines(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    texts, lists = [None, "a b", "", None, "b\nc", None], [None, ["a", "b"], [], None, ["b", "c"], None]
    expected = [[], ["a", "b"], [], [], ["b", "c"], []]
    table = pa.table({"text": texts, "tokens": pa.array(lists, pa.list_(pa.string()))})
    parquet.write_table(table, tmp_path / "t.parquet")
    for column in ("text", "tokens"):
        for source in (table, tmp_path / "t.parquet", table.to_pylist()):
            with encode(source, min_count=1, column=column, empty_lines=True) as corpus:
                assert read(corpus) == expected
            with encode(source, min_count=1, column=column) as corpus:
                assert read(corpus) == [line for line in expected if line]
    for source in (table, tmp_path / "t.parquet", table.to_pylist()):
        with encode(source, min_count=1, tokenizer=str.split, empty_lines=True) as corpus:
            assert read(corpus) == expected


TEXT = ["a b a", "", "c", "q q a", "b"]
LABELS = ["x", "x y", "", "z", "y"]


def test_labels_beside_a_text(tmp_path):
    (tmp_path / "labels").write_text("\n".join(LABELS))
    users = [[], ["u 1"], ["u 1", "u2"], [], ["u2"]]
    beside = {"labels": tmp_path / "labels", "users": users}
    with encode(iter(TEXT), min_count=2, beside=beside, directory=tmp_path / "c") as corpus:
        assert read(corpus) == [["a", "b", "a"], [], [], ["q", "q", "a"], ["b"]]
        for made in (corpus, Corpus.open(tmp_path / "c")):
            assert made.keeping.empty_lines
            assert sorted(made.beside) == ["labels", "users"]
            assert read(made.beside["labels"]) == [line.split() for line in LABELS]
            assert read(made.beside["users"]) == users
            assert made.beside["labels"].vocabulary.words == ["x", "y", "z"]
    assert corpus.beside["labels"].shards == []  # closed with the text
    assert (tmp_path / "c" / "beside" / "labels" / "corpus.json").is_file()


def test_a_temporary_corpus_takes_what_is_beside_it_along():
    corpus = encode(iter(TEXT), min_count=1, beside={"labels": iter(LABELS)})
    folder = corpus.directory
    assert read(corpus.beside["labels"]) == [line.split() for line in LABELS]
    corpus.close()
    assert not folder.exists()


def test_encoding_again_replaces_what_was_beside(tmp_path):
    encode(iter(TEXT), min_count=1, beside={"labels": iter(LABELS)}, directory=tmp_path / "c").close()
    (tmp_path / "c" / "beside" / "mine").mkdir()
    (tmp_path / "c" / "beside" / "mine" / "note").write_text("x")
    encode(iter(TEXT), min_count=1, beside={"users": iter(LABELS)}, directory=tmp_path / "c").close()
    with Corpus.open(tmp_path / "c") as corpus:
        assert list(corpus.beside) == ["users"]
    encode(iter(TEXT), min_count=1, directory=tmp_path / "c").close()
    with Corpus.open(tmp_path / "c") as corpus:
        assert corpus.beside == {}
    # what is not ours stays
    assert [path.name for path in (tmp_path / "c" / "beside").rglob("*")] == ["mine", "note"]


def test_a_column_of_the_same_table(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"text": TEXT, "label": [None, *LABELS[1:]]})
    parquet.write_table(table, tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet", table.to_pylist()):
        with encode(source, min_count=1, beside={"labels": Column("label")}) as corpus:
            assert read(corpus) == [line.split() for line in TEXT]
            assert read(corpus.beside["labels"]) == [[], *(line.split() for line in LABELS[1:])]
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    for once in (iter(table.to_pylist()), reader):
        with pytest.raises(
            ConfigError, match="'label' needs a second pass, .* can be read only once: give a table"
        ):
            encode(once, min_count=1, column="text", beside={"labels": Column("label")})
    with pytest.raises(DataError, match="column 'nosuch': there is no such column"):
        encode(table, min_count=1, beside={"labels": Column("nosuch")})


def test_lines_that_do_not_fit(tmp_path):
    for labels in (LABELS[:-1], [*LABELS, ""]):
        message = f"beside: labels has {len(labels)} lines, the text has 5: give one line for each"
        with pytest.raises(DataError, match=message):
            encode(iter(TEXT), min_count=1, beside={"labels": iter(labels)}, directory=tmp_path / "c")
        assert not (tmp_path / "c").exists()
    for name in ("", "../x", "a/b", ".", "a b", 7):
        with pytest.raises(ConfigError, match="use letters, digits, - and _ only"):
            encode(iter(TEXT), min_count=1, beside={name: iter(LABELS)})
    with pytest.raises(DataError, match="no such file"):
        encode(iter(TEXT), min_count=1, beside={"labels": "nosuch.txt"})


@examples(40)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=20),
    st.data(),
)
def test_the_same_lines_of_all(tmp_path_factory, lengths, data):
    """Shards of a text and of what is beside it end at different lines."""
    folder = tmp_path_factory.mktemp("aligned")
    texts = [[[f"{i}"] * n for i, n in enumerate(each)] for each in zip(*lengths, strict=True)]
    if not all(any(text) for text in texts):
        return
    places = (folder, folder / "beside" / "labels", folder / "beside" / "users")
    for text, place, limit in zip(texts, places, (3, 5, 8), strict=True):
        keeping = Keeping(empty_lines=True)
        sizes = EncodingSizes(block=16, shard=limit)
        with Workplace(place) as work:
            opened = TextReader(text, nulls=True)
            encode_input(opened, WordChoice(1, None), work, 1, sizes, None, keeping).close()
    index = json.loads((folder / "corpus.json").read_text())
    (folder / "corpus.json").write_text(json.dumps({**index, "beside": ["labels", "users"]}))
    first = data.draw(st.integers(0, len(lengths)))
    last = data.draw(st.integers(first, len(lengths)))
    with Corpus.open(folder) as corpus:
        together = [corpus, corpus.beside["labels"], corpus.beside["users"]]
        found = [[], [], []]
        for part in corpus.aligned(first, last, "labels", "users"):
            assert len({lines.starts.size for lines in part}) == 1
            for here, lines, each in zip(found, part, together, strict=True):
                for begin, end in itertools.pairwise(lines.starts):
                    here.append([each.vocabulary.words[i] for i in lines.ids[begin:end]])
        assert found == [text[first:last] for text in texts]
        assert [lines.starts.size for (lines,) in corpus.aligned(0, len(lengths))] == [
            shard.starts.size for shard in corpus.shards
        ]
        with pytest.raises(IndexError, match="the text has lines 0"):
            next(corpus.aligned(0, len(lengths) + 1))
        with pytest.raises(KeyError):
            next(corpus.aligned(first, last, "colours"))


def changed(folder, **fields):
    index = json.loads((folder / "corpus.json").read_text())
    (folder / "corpus.json").write_text(json.dumps({**index, **fields}))


def test_damaged_folders(tmp_path):
    folder = tmp_path / "c"
    encode(iter(TEXT), min_count=2, unknown=True, beside={"labels": iter(LABELS)}, directory=folder).close()
    whole = json.loads((folder / "corpus.json").read_text())
    assert (whole["empty_lines"], whole["unknown"], whole["beside"]) == (True, True, ["labels"])
    for fields in (
        {"empty_lines": False},
        {"unknown": False},
        {"beside": 7},
        {"beside": [7]},
        {"beside": ["nosuch"]},
        {"beside": ["../c"]},
        {"beside": ["."]},
        {"report": {**whole["report"], "words": 99}},
    ):
        changed(folder, **fields)
        with pytest.raises(FormatError):
            Corpus.open(folder)
        changed(folder, **whole)
    for place, wild in ((0, -2), (0, 3)):
        ids = np.fromfile(folder / "00000.ids", "<i4")
        bad = ids.copy()
        bad[place] = wild
        bad.tofile(folder / "00000.ids")
        with pytest.raises(FormatError, match=r"an id outside -1\.\.2"):
            Corpus.open(folder)
        ids.tofile(folder / "00000.ids")
    starts = np.fromfile(folder / "00000.starts", "<i8")
    for place, wild in ((0, 1), (2, 2), (2, 9), (1, -1), (-1, 7)):
        bad = starts.copy()
        bad[place] = wild
        bad.tofile(folder / "00000.starts")
        with pytest.raises(FormatError, match="do not rise from 0|the last sentence ends at"):
            Corpus.open(folder)
    starts.tofile(folder / "00000.starts")
    Corpus.open(folder).close()
    labels = folder / "beside" / "labels"
    changed(labels, shards=[[5, 4]], report={**json.loads((labels / "corpus.json").read_text())["report"]})
    with pytest.raises(FormatError):
        Corpus.open(folder)


def test_another_number_of_lines_beside_is_damage(tmp_path):
    encode(iter(TEXT), min_count=1, beside={"labels": iter(LABELS)}, directory=tmp_path / "c").close()
    encode(["x"], min_count=1, directory=tmp_path / "c" / "beside" / "labels").close()
    with pytest.raises(
        FormatError, match="the report does not match the shards, or a corpus beside the text"
    ):
        Corpus.open(tmp_path / "c")


def test_folders_of_before_keep_neither(tmp_path):
    encode(iter(TEXT), min_count=1, directory=tmp_path / "c").close()
    assert set(json.loads((tmp_path / "c" / "corpus.json").read_text())) == {
        "version",
        "words",
        "shards",
        "report",
    }
    with Corpus.open(tmp_path / "c") as corpus:
        assert not corpus.keeping.empty_lines
        assert not corpus.keeping.unknown
        assert corpus.beside == {}
        corpus.check_windows()


def test_places_of_unknown_words_have_no_windows():
    phrases = Phrases(min_count=1, threshold=0).fit(iter(TEXT))
    with encode(iter(TEXT), min_count=2, unknown=True) as corpus:
        for call in (
            corpus.check_windows,
            lambda: cooccurrences(corpus),
            lambda: Phrases().fit(corpus),
            lambda: phrases.encode(corpus),
            lambda: next(corpus_pairs(corpus)),
        ):
            with pytest.raises(ConfigError, match="encode the text without unknown=True"):
                call()


@examples(25)
@given(LINES.filter(any))
def test_empty_lines_change_no_cells(lines):
    counted = []
    for empty_lines in (False, True):
        with encode(iter(map(" ".join, lines)), min_count=1, empty_lines=empty_lines) as corpus:
            with cooccurrences(corpus, window=2, sides="left", threads=1) as cells:
                counted.append(as_dict(cells))
    assert counted[0] == counted[1]


def test_empty_lines_between_sections(monkeypatch):
    monkeypatch.setattr(cooccurrence, "PART", 64)
    monkeypatch.setattr(cooccurrence, "FEWEST", 16)
    sections, read_section = [], cooccurrence.read_section
    monkeypatch.setattr(
        cooccurrence, "read_section", lambda *args: sections.append(args) or read_section(*args)
    )
    rng = np.random.default_rng(1)
    lengths = rng.integers(0, 9, 300) * rng.integers(0, 2, 300)
    lines = [" ".join(rng.choice(list("abcdef"), length)) for length in lengths]
    counted = []
    for empty_lines, memory in ((False, "1GB"), (True, "1GB"), (True, 2700)):
        with encode(iter(lines), min_count=1, empty_lines=empty_lines) as corpus:
            with cooccurrences(corpus, window=3, threads=1, memory=memory) as cells:
                counted.append(as_dict(cells))
    assert counted[0] == counted[1] == counted[2]
    assert len(sections) > 10


@examples(25)
@given(LINES.filter(any))
def test_empty_lines_change_no_phrases(tmp_path_factory, lines):
    found, texts = [], []
    for empty_lines in (False, True):
        with encode(iter(map(" ".join, lines)), min_count=1, empty_lines=empty_lines) as corpus:
            phrases = Phrases(min_count=1, threshold=[0, 0], connectors=["b"]).fit(corpus)
            found.append(phrases.found)
            with phrases.encode(corpus, min_count=1) as joined:
                texts.append(read(joined))
            path = Path(tmp_path_factory.mktemp("joined")) / "t"
            with path.open("wb") as file:
                phrases.write(corpus, file)
            texts.append([line.split() for line in path.read_text().splitlines()])
    assert found[0] == found[1]
    assert texts[0] == texts[1] == texts[2] == texts[3]


def test_empty_lines_have_no_pairs():
    pairs = []
    for empty_lines in (False, True):
        with encode(iter(TEXT), min_count=1, empty_lines=empty_lines) as corpus:
            pairs.append(list(corpus_pairs(corpus, window=2)))
    assert pairs[0] == pairs[1]


def test_the_page_runs(tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    section = page.split("\n## What an encoded text keeps\n")[1].split("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(code, names)
    with Corpus.open("encoded") as corpus:
        assert corpus.sentences == 4
        assert corpus.beside["labels"].vocabulary.words == ["positive", "negative", "short"]
        ((words, marks),) = corpus.aligned(1, 4, "labels")
        line = [corpus.vocabulary.words[i] for i in words.ids[words.starts[1] : words.starts[2]]]
        assert line == ["bad", "acting", "in", "a", "film"]
        assert marks.ids[marks.starts[1] : marks.starts[2]].tolist() == [1]
