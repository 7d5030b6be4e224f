"""All formats through the registry: what goes in comes out, options, what files look like."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from programs import without_jit

from unhot.errors import ConfigError, DataError, FormatError
from unhot.types import Floats
from unhot.vectors.formats import FORMATS, Table, format_name, read_table, write_table
from unhot.vectors.formats.directory import save_model
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary

WORDS = [
    "the",
    "caf\u00e9",
    "\u4e2d\u6587",
    "1.5",
    "a\u00a0b",
    "nel\u0085",
    "\udcff\udcfe",
    "\x00",
    "_",
    "don't",
    "a b",
    "",
    "b\\n",
    "x\ny",
    "t\t",
]
COUNTED = {"unhot", "fasttext", "safetensors", "parquet", "projector"}
MAPPED = {"unhot", "npy", "safetensors", "model2vec"}


def random_vectors(rows: int, dim: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal((rows, dim), np.float32)


def place(folder: Path, name: str) -> Path:
    """A path that stands for a format."""
    folder.mkdir(exist_ok=True)
    return folder / f"x{next(iter(FORMATS[name].endings), '')}"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("counts", [None, np.arange(len(WORDS), 0, -1)], ids=["plain", "counted"])
def test_there_and_back(name: str, counts: np.ndarray | None, tmp_path: Path) -> None:
    padded = random_vectors(len(WORDS), 16)
    padded[0, :6] = [np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.4028235e38]
    path = place(tmp_path, name)
    renamed = write_table(path, Table(WORDS, padded[:, :7], counts), name)
    table = read_table(path)  # by its ending, or what it looks like
    assert table.words == [renamed.get(word, word) for word in WORDS]
    assert table.vectors.dtype == np.float32
    assert table.vectors.tobytes() == padded[:, :7].tobytes()
    assert isinstance(table.vectors, np.memmap) == (name in MAPPED)
    if counts is not None and name in COUNTED:
        np.testing.assert_array_equal(table.counts, counts)
    else:
        assert table.counts is None


def train_rows(rows: Floats) -> None:
    """One step of an optimizer of torch, which ignores that an array is read-only."""
    torch = pytest.importorskip("torch")
    embedding = torch.nn.Embedding.from_pretrained(torch.from_numpy(rows), freeze=False)
    embedding(torch.tensor([0])).sum().backward()
    torch.optim.SGD(embedding.parameters(), lr=1.0).step()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_torch_trains_what_was_loaded_and_the_file_stays_as_it_is(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unhot.vectors.formats.safetensors.RELEASED", 1)  # saving gives memory back
    vectors = random_vectors(3, 8)
    write_table(place(tmp_path, name), Table(["a", "b", "c"], vectors, None), name)
    loaded = Vectors.load(place(tmp_path, name))
    train_rows(loaded.vectors)
    loaded[:].save(tmp_path / "changed")
    np.testing.assert_array_equal(loaded.vectors[0], vectors[0] - 1)
    np.testing.assert_array_equal(Vectors.load(tmp_path / "changed").vectors[0], vectors[0] - 1)
    np.testing.assert_array_equal(Vectors.load(place(tmp_path, name)).vectors, vectors)


@pytest.mark.parametrize("name", FORMATS)
@examples(30)
@given(data=st.data())
def test_any_words_and_numbers(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    texts = st.text(st.characters(exclude_categories=()), max_size=6) | st.text(
        "ab_ \n\t\r\\\udc80.1-", max_size=5
    )
    words = data.draw(
        st.lists(
            texts.map(lambda word: word.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")),
            unique=True,
        )
    )
    numbers = st.floats(width=32, allow_subnormal=True)
    vectors = data.draw(hnp.arrays(np.float32, (len(words), data.draw(st.integers(1, 4))), elements=numbers))
    path = place(tmp_path_factory.mktemp(name), name)
    renamed = write_table(path, Table(words, vectors, None), name)
    if not words and name in ("glove", "projector"):  # nothing says how many numbers a row would have
        return
    table = read_table(path, name)
    assert table.words == [renamed.get(word, word) for word in words]
    np.testing.assert_array_equal(table.vectors, vectors)
    assert (
        np.signbit(table.vectors[~np.isnan(vectors)]).tolist()
        == np.signbit(vectors[~np.isnan(vectors)]).tolist()
    )


@pytest.mark.parametrize("name", FORMATS)
def test_more_rows_than_a_block_and_limits(name: str, tmp_path: Path) -> None:
    words, vectors = [f"w{i}" for i in range(20_001)], random_vectors(20_001, 5)
    path = place(tmp_path, name)
    assert write_table(path, Table(words, vectors, None), name) == {}
    for limit in (None, 0, 1, 15_000, 20_001, 10**15):
        table = read_table(path, limit=limit)
        assert table.words == words[:limit]
        np.testing.assert_array_equal(table.vectors, vectors[:limit])
    with pytest.raises(ConfigError, match="limit=-1"):
        read_table(path, limit=-1)


@pytest.mark.parametrize("name", FORMATS)
def test_bad_utf8(name: str, tmp_path: Path) -> None:
    path = place(tmp_path, name)
    words = ["fine", "b\udcc3d", "\u00e9"]
    renamed = write_table(path, Table(words, random_vectors(3, 2), None), name)
    assert read_table(path).words == [renamed.get(word, word) for word in words]
    if renamed:
        assert renamed == {"b\udcc3d": "b\ufffdd"}
        return
    assert read_table(path, bad_utf8="replace").words == ["fine", "b\ufffdd", "\u00e9"]
    assert read_table(path, bad_utf8="ignore").words == ["fine", "bd", "\u00e9"]
    with pytest.raises(
        FormatError, match=r"(byte|row) [0-9]+: the word's bytes .* are not UTF-8; read it with bad_utf8="
    ):
        read_table(path, bad_utf8="error")
    assert read_table(path, bad_utf8="error", limit=1).words == ["fine"]
    with pytest.raises(ConfigError, match="bad_utf8='strict': must be one of escape, error"):
        read_table(path, bad_utf8="strict")


def test_of_repeated_words_the_first_is_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "v.txt").write_bytes(b"5 1\na 1\nb 2\na 3\nc 4\na 5\n")
    with caplog.at_level(logging.WARNING, "unhot"):
        table = read_table(tmp_path / "v.txt")
    assert (table.words, table.vectors.tolist()) == (["a", "b", "c"], [[1], [2], [4]])
    (message,) = caplog.messages
    assert "2 rows were left out" in message
    assert "'a'" in message


@pytest.mark.parametrize("name", FORMATS)
def test_files_are_known_by_their_looks(name: str, tmp_path: Path) -> None:
    words = ["the", "of"]
    path = place(tmp_path, name)
    write_table(path, Table(words, random_vectors(2, 3), None), name)
    if path.is_file() and name not in ("npy", "projector"):
        path = path.rename(tmp_path / "odd.data")
        assert read_table(path).words == words
    if path.is_file():
        wrong = path.with_name("wrong.bin" if name not in ("word2vec-binary", "fasttext") else "wrong.npy")
        wrong.write_bytes(path.read_bytes())
        looks = "glove" if name == "projector" else name
        with pytest.raises(FormatError, match=f"byte .*it looks like {looks}"):
            read_table(wrong)
        with pytest.raises(FormatError, match="byte"):
            read_table(wrong, "parquet" if name != "parquet" else "npy")


@pytest.mark.parametrize("name", ["x.txt", "x.vec", "x.data"])
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"1000000000000 3\na 1 2 3\nb 4 5 6\n", "1000000000000 rows of 3 numbers.* only 16 .* for 2 rows"),
        (b"1000000000000 5\na 1 2 3\nb 4 5 6\n", "1000000000000 rows of 5 numbers.* for 1 rows"),
        (b"3 99999999999999999999\na 1\nb 4\nc 3\n", "3 rows of 99999999999999999999 numbers"),
        (b"99999999999999999999 1\na 1\nb 4\nc 3\n", "99999999999999999999 rows of 1 numbers"),
        (b"3 0\na\nb\nc\n", "3 rows of 0 numbers"),
        (b"4 2\n", "4 rows of 2 numbers.* only 0 bytes"),
    ],
)
def test_an_impossible_first_line_is_no_other_format(
    name: str, content: bytes, told: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=f"byte 0: the first line says that there are {told}") as caught:
        read_table(tmp_path / name)
    assert "looks like" not in str(caught.value)


def test_a_binary_file_without_rows_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"4 2\n")
    with pytest.raises(FormatError, match="4 rows of 2 numbers") as caught:
        read_table(tmp_path / "x.bin")
    assert "looks like" not in str(caught.value)


def test_a_binary_file_that_was_cut_short_still_looks_binary(tmp_path: Path) -> None:
    write_table(tmp_path / "x.bin", Table(["the", "of"], random_vectors(2, 3), None))
    (tmp_path / "x.data").write_bytes((tmp_path / "x.bin").read_bytes()[:-1])
    assert read_table(tmp_path / "x.data", limit=1).words == ["the"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\x80\x04\x95gensim", "a pickle, .*save_word2vec_format"),
        (b"\x1f\x8b\x08\0", "gzip"),
        (b"\0\1\2\3", "the format cannot be recognised"),
        (b"", "the format cannot be recognised; it is empty"),
    ],
)
def test_files_that_are_something_else(content: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "x.kv").write_bytes(content)
    with pytest.raises(FormatError, match=f"byte 0.*{told}"):
        read_table(tmp_path / "x.kv")
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(FormatError, match="byte 0: not a .npy file" if "recognised" in told else told):
        read_table(tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the file is empty"),
        (b"the cat sat on the mat\n", "if it is a text to learn from, first train a model: unhot train"),
    ],
)
def test_a_text_without_vectors(content: bytes, told: str, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes(content)
    with pytest.raises(FormatError, match=rf"byte 0: .* \({told}\)$"):
        read_table(tmp_path / "x.txt")


def test_names_and_endings(tmp_path: Path) -> None:
    assert format_name(Path("a/model")) == "unhot"
    assert format_name(Path("X.VEC")) == "word2vec-text"
    assert format_name(Path("x"), "glove") == "glove"
    with pytest.raises(
        ConfigError,
        match=r"'\.xyz' does not stand for a format: choose one of unhot \(a folder\); word2vec-text",
    ):
        write_table(tmp_path / "x.xyz", Table([], random_vectors(0, 1), None))
    with pytest.raises(ConfigError, match="format='kv': must be one of"):
        read_table(tmp_path, "kv")
    with pytest.raises(DataError, match="no such file or folder"):
        read_table(tmp_path / "none.txt")
    with pytest.raises(FormatError, match="is not an unhot model"):
        read_table(tmp_path)
    for name in FORMATS:
        with pytest.raises((FormatError, DataError), match="byte|no such file|is a folder|not an unhot"):
            read_table(tmp_path, name)


JIT_OFF = """
import sys
from pathlib import Path
from unhot.vectors.formats import FORMATS, read_table
for name in FORMATS:
    folder = Path(sys.argv[1], name)
    table = read_table(next(path for path in folder.iterdir() if path.name in sys.argv[2:]))
    assert table.words == ["the", "of", "and"] and table.vectors[1, 1] == 1.5, name
"""


def test_without_the_jit(tmp_path: Path) -> None:
    names = []
    for name in FORMATS:
        path = place(tmp_path / name, name)
        write_table(
            path,
            Table(
                ["the", "of", "and"], np.array([[0, np.nan], [-0.0, 1.5], [1e-45, 3e38]], np.float32), None
            ),
            name,
        )
        names.append(path.name)
    without_jit(JIT_OFF, tmp_path, *names)


def test_output_vectors(tmp_path: Path) -> None:
    vocabulary = Vocabulary(["a", "b"], [2, 1])
    tensors = {"in_vectors": random_vectors(2, 3), "out_vectors": random_vectors(2, 3, 1)}
    save_model(tmp_path / "m", {"output": "negative:k=5"}, vocabulary, tensors)
    np.testing.assert_array_equal(read_table(tmp_path / "m", which="out").vectors, tensors["out_vectors"])
    np.testing.assert_array_equal(read_table(tmp_path / "m").vectors, tensors["in_vectors"])
    with pytest.raises(ConfigError, match="which='up'"):
        read_table(tmp_path / "m", which="up")
    save_model(tmp_path / "m", {"output": "hierarchical:tree=huffman"}, vocabulary, tensors)
    with pytest.raises(
        ConfigError, match="2 output rows of layer 'hierarchical' are not vectors of its 2 words"
    ):
        read_table(tmp_path / "m", which="out")
    save_model(
        tmp_path / "m",
        {"output": "class_based"},
        vocabulary,
        {**tensors, "out_vectors": random_vectors(4, 3)},
    )
    with pytest.raises(ConfigError, match="4 output rows"):
        read_table(tmp_path / "m", which="out")
    write_table(tmp_path / "x.bin", Table(["a"], random_vectors(1, 1), None))
    with pytest.raises(ConfigError, match="word2vec-binary, which has one vector per word"):
        read_table(tmp_path / "x.bin", which="out")


@pytest.mark.parametrize("name", FORMATS)
def test_tables_that_cannot_be_written(name: str, tmp_path: Path) -> None:
    path = place(tmp_path / "in", name)
    for words, vectors in (
        (["a", "a"], random_vectors(2, 1)),
        (["a"], random_vectors(2, 1)),
        (["a"], np.empty((1, 0), np.float32)),
    ):
        with pytest.raises(DataError, match="occur more than once|one row of at least one number"):
            write_table(path, Table(words, vectors, None), name)
    with pytest.raises(DataError, match="there are 1 words, but counts has shape"):
        write_table(path, Table(["a"], random_vectors(1, 1), np.ones(2, np.int64)), name)
    with pytest.raises(DataError, match="vectors has type float64: it must be float32"):
        write_table(path, Table(["a"], np.ones((1, 1)), None), name)  # type: ignore[arg-type]
    assert list(path.parent.iterdir()) == []


def test_the_page_lists_every_format() -> None:
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
    rows = {row.split("|")[1].strip(): row for row in page.splitlines() if row.startswith("| `")}
    for name, form in FORMATS.items():
        cells = rows[f"`{name}`"].split("|")
        assert all(f"`{ending}`" in cells[2] for ending in form.endings if ending)
        assert ("yes" in cells[4]) == (name in COUNTED)
