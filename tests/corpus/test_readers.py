"""Files, folders, patterns, compressed files, and everything that can be wrong with them."""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import random
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from unhot.corpus.encoding import encode
from unhot.corpus.reading.sources import TextReader
from unhot.errors import DataError
from unhot.rows.paths import are_paths, find_files
from unhot.rows.streams import TextStream, _zstd, compression

zstd = _zstd()
PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd.compress}
TEXT = b"".join(b"line %d of some text\n" % i for i in range(3000))


def read(*paths, size=1000, tokenizer="whitespace") -> bytes:
    return b"".join(TextReader(paths, tokenizer).blocks(size))


@pytest.mark.parametrize("kind", PACKERS)
def test_compressed_by_their_first_bytes(tmp_path, kind):
    pack = PACKERS[kind]
    (tmp_path / "one.txt").write_bytes(pack(TEXT))
    # streams one behind the other
    (tmp_path / "two.gz").write_bytes(pack(TEXT[:500]) + pack(b"") + pack(TEXT[500:]))
    (tmp_path / "none.txt").write_bytes(pack(b""))
    assert read(tmp_path / "one.txt") == TEXT
    assert read(tmp_path / "two.gz") == TEXT
    assert read(tmp_path / "none.txt") == b""
    with encode(tmp_path, min_count=1) as corpus:
        assert corpus.words == 2 * 5 * 3000
        assert corpus.report.bytes == 2 * len(TEXT)


@pytest.mark.parametrize("kind", PACKERS)
def test_damaged_compressed_files(tmp_path, kind):
    noise = random.Random(1).randbytes(5000)
    whole = PACKERS[kind](noise + TEXT)
    path = tmp_path / "t"
    for damaged in (
        whole[:-20],
        whole[: len(whole) // 2],
        whole[:15],
        whole[:2500] + bytes(300) + whole[2800:],
    ):
        path.write_bytes(damaged)
        if not compression(damaged[:10]):
            continue
        with pytest.raises(DataError, match=f"{path.name}: the compressed data is damaged or cut short"):
            read(path)


@pytest.mark.parametrize("kind", PACKERS)
def test_unpacking_takes_little_memory_however_much_it_gives(tmp_path, kind):
    """A bomb: many MB of text in a file of some kB."""
    size = 20_000_000 if kind == "xz" else 10_000_000
    whole = b"a b\n" * (size // 4)
    # the densest level of bzip2 and xz takes a second for what it packs no better
    packed = {"bz2": lambda: bz2.compress(whole, 1), "xz": lambda: lzma.compress(whole, preset=1)}
    (tmp_path / "t").write_bytes(packed.get(kind, lambda: PACKERS[kind](whole))())
    found = 0
    tracemalloc.start()
    try:
        for block in TextReader([tmp_path / "t"]).blocks(4000):
            found += len(block)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == size
    assert peak < (12_000_000 if kind == "xz" else 6_000_000)  # xz holds a dictionary of 8 MB


def test_too_little_memory_to_unpack_is_an_error_of_the_file(tmp_path, monkeypatch):
    def fail(*_):
        raise MemoryError

    (tmp_path / "t.xz").write_bytes(lzma.compress(TEXT))
    monkeypatch.setattr(lzma.LZMAFile, "read", fail)
    with pytest.raises(DataError, match=r"t.xz: there is not enough memory to unpack it"):
        read(tmp_path / "t.xz")


def test_progress_counts_compressed_bytes(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(os.urandom(10**6).hex().encode() + b"\n"))
    (tmp_path / "b").write_bytes(b"x\n" * 50000)
    total = sum(p.stat().st_size for p in tmp_path.iterdir())
    reader, seen = TextReader([tmp_path]), []
    assert reader.progress() == (0, total)
    for _ in reader.blocks(10000):
        seen.append(reader.progress())
    assert seen == sorted(seen)
    assert {t for _, t in seen} == {total}
    assert seen[-1] == (total, total)


def test_progress_of_a_file_that_another_thread_closes(tmp_path):
    """Between the question whether it is open and that for its place."""

    class Closing:
        closed = False

        def tell(self):
            raise OSError(9, "Bad file descriptor")

    (tmp_path / "t").write_bytes(TEXT)
    with contextlib.closing(TextStream(tmp_path / "t")) as stream:
        assert b"".join(stream) == TEXT
        assert stream.position() == len(TEXT)
        raw, stream._raw = stream._raw, Closing()
        assert stream.position() == len(TEXT)
        stream._raw = raw


def test_folders_and_patterns_are_sorted(tmp_path):
    for name in ("b/2.txt", "b/1.txt", "a.txt", "c.log", "z/y/x.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(name)
    relative = [str(p.relative_to(tmp_path)) for p in find_files(tmp_path)]
    assert relative == ["a.txt", "b/1.txt", "b/2.txt", "c.log", "z/y/x.txt"]
    assert [p.name for p in find_files(f"{tmp_path}/*.txt")] == ["a.txt"]
    assert [p.name for p in find_files(f"{tmp_path}/**/*.txt")] == ["a.txt", "1.txt", "2.txt", "x.txt"]
    assert [p.name for p in find_files(f"{tmp_path}/[bz]")] == ["1.txt", "2.txt", "x.txt"]
    assert read(f"{tmp_path}/*.???") == b"a.txt\nc.log\n"
    (tmp_path / "odd[1].txt").write_text("odd")  # an existing name is no pattern
    assert read(f"{tmp_path}/odd[1].txt") == b"odd\n"


@pytest.mark.parametrize("window", [27, 28, 31])
def test_frames_of_zstd_with_large_windows(tmp_path, window):
    """As zstd --long=31 writes them; also a frame that does not say its size, and one to be skipped."""
    options = {zstd.CompressionParameter.window_log: window, zstd.CompressionParameter.content_size_flag: 0}
    packer = zstd.ZstdCompressor(options=options)
    frame = packer.compress(b"a b\n" * 1000) + packer.flush()
    skipped = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    (tmp_path / "x").write_bytes(frame + skipped + zstd.compress(b"") + zstd.compress(b"c\n"))
    assert read(tmp_path / "x") == b"a b\n" * 1000 + b"c\n"


def test_the_end_of_a_file_ends_token_and_sentence(tmp_path):
    (tmp_path / "1").write_bytes(b"a b")
    (tmp_path / "2").write_bytes(b"c\n")
    (tmp_path / "3").write_bytes(b"")
    (tmp_path / "4").write_bytes(b"d")
    with encode(tmp_path, min_count=1) as corpus:
        assert corpus.vocabulary.words == ["a", "b", "c", "d"]
        assert corpus.shards[0].starts.tolist() == [0, 2, 3, 4]


def test_missing(tmp_path):
    for name in ("none.txt", "*.txt", "no/such/folder"):
        with pytest.raises(DataError, match="no such file or folder, and no match"):
            encode(str(tmp_path / name))
    for text in ("The user gave text. " * 1000, "two\nlines", "", "nul\0"):
        with pytest.raises(DataError, match=r"(?s)no such file.*to give sentences, put them into a list"):
            encode(text)
    with pytest.raises(DataError, match="the folder has no files"):
        encode(tmp_path)
    with pytest.raises(DataError, match="no such file"):
        encode([tmp_path / "none"])


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_unreadable(tmp_path):
    (tmp_path / "t").write_text("a")
    (tmp_path / "t").chmod(0)
    with pytest.raises(DataError, match="cannot be read: Permission denied"):
        encode(tmp_path / "t")


def test_read_error_names_the_file(tmp_path, monkeypatch):
    (tmp_path / "t").write_text("a")

    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(DataError, match=r"t: cannot be read: Permission denied"):
        read(tmp_path / "t")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-32-be"])
def test_other_encodings(tmp_path, encoding):
    (tmp_path / "t").write_bytes(
        "\ufeffhallo".encode(encoding) if encoding.endswith("be") else "hallo".encode(encoding)
    )
    with pytest.raises(DataError, match=f"this is {encoding[:6].upper()} text: convert it to UTF-8"):
        encode(tmp_path / "t")


def test_byte_order_marks_are_removed_and_counted(tmp_path):
    (tmp_path / "1").write_bytes(b"\xef\xbb\xbfa \xef\xbb\xbfa\n")
    (tmp_path / "2").write_bytes(gzip.compress(b"\xef\xbb\xbfa"))
    (tmp_path / "3").write_bytes(b"\xef\xbb\xbf")
    with encode(tmp_path, min_count=1) as corpus:
        assert dict(zip(corpus.vocabulary.words, corpus.vocabulary.counts.tolist(), strict=True)) == {
            "a": 2,
            "\ufeffa": 1,
        }
        assert corpus.report.byte_order_marks == 3
        assert corpus.report.bytes == 10 + 4 + 3
        assert corpus.report.lines() == ["3 byte order mark(s) at the start of files were removed"]


def test_zip_is_refused(tmp_path):
    (tmp_path / "t").write_bytes(b"PK\x03\x04 and so on")
    with pytest.raises(DataError, match="this is a zip archive: unpack it"):
        encode(tmp_path / "t")


def test_text_that_only_looks_compressed(tmp_path):
    (tmp_path / "t").write_bytes(b"BZh9 is a word")
    assert read(tmp_path / "t") == b"BZh9 is a word\n"


def test_blocks_are_cut_behind_separators(tmp_path):
    (tmp_path / "t").write_bytes(b"aa bb cccccccccccccccccccccccccccccccccccccccccccccc dd\n" + b"e" * 500)
    blocks = list(TextReader([tmp_path / "t"]).blocks(4))
    assert b"".join(blocks) == (tmp_path / "t").read_bytes() + b"\n"
    assert all(b[-1:] in (b" ", b"\n") for b in blocks)
    assert len(blocks) > 3


def test_a_line_that_is_too_long_for_a_function_is_refused_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr("unhot.corpus.reading.sources.LONGEST", 1000)
    (tmp_path / "t").write_bytes(b"x " * 2500)
    assert len(read(tmp_path / "t")) == 5001
    with pytest.raises(DataError, match=r"t: \d+ bytes without a line end"):
        read(tmp_path / "t", tokenizer=None)


def test_paths_or_sentences(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        Path(name).write_text(f"inside {name}")
    assert are_paths(["a.txt", "b.txt"])
    assert are_paths(("*.txt", "-", "."))
    assert are_paths([Path("none")])
    assert not are_paths([])
    assert not are_paths(["the cat sat", "on", "", "x" * 10000, "a\nb", "what?", "nul\0"])
    assert not are_paths([["a.txt"]])
    assert not are_paths(["a.txt", ["b"]])
    with pytest.raises(DataError, match=r"some name files and some do not, such as 'c.txt'"):
        encode(["a.txt", "c.txt"])
    with encode(["a.txt", Path("b.txt")], min_count=1) as corpus:
        assert corpus.report.files == 2
    with encode(["a.txt", "b.txt"], min_count=1) as corpus:
        assert corpus.vocabulary.words == ["inside", "a.txt", "b.txt"]
    with encode(iter(["a.txt", "b.txt"]), min_count=1) as corpus:
        assert corpus.vocabulary.words == ["a.txt", "b.txt"]


@pytest.mark.parametrize("kind", PACKERS)
def test_standard_input(kind, monkeypatch):
    raw = b"\xef\xbb\xbf" + TEXT
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PACKERS[kind](raw))))
    with encode("-", min_count=1) as corpus:
        found = corpus.report
    assert (found.words, found.bytes, found.byte_order_marks) == (15000, len(raw), 1)


def test_standard_input_of_a_process():
    code = "from unhot.corpus.encoding import encode; r = encode('-', min_count=1).report; "
    code += "print(r.words, r.bytes, r.byte_order_marks)"
    raw = b"\xef\xbb\xbf" + TEXT
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], input=raw, env=env, capture_output=True, check=True
    )
    assert done.stdout.split() == [b"15000", b"%d" % len(raw), b"1"]


def test_standard_input_that_is_no_stream(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("text"))
    with pytest.raises(DataError, match="-: standard input is closed"):
        encode("-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a named pipe")
def test_named_pipe(tmp_path):
    import threading

    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(gzip.compress(TEXT)))
    writer.start()
    with encode(tmp_path / "pipe", min_count=1) as corpus:
        assert corpus.words == 15000
    writer.join()


def test_encoded_folders_are_no_text(tmp_path):
    from unhot.corpus.cooccurrence import cooccurrences
    from unhot.corpus.encoding import encode

    with (
        encode([["a", "b"]], min_count=1, directory=tmp_path / "x1") as corpus,
        cooccurrences(corpus, directory=tmp_path / "x2"),
    ):
        pass
    (tmp_path / "t.txt").write_text("a b")
    for source, what in (("x1", "an encoded corpus"), ("x2", "cells"), ("x*", "an encoded corpus")):
        with pytest.raises(DataError, match=f"holds {what}"):
            find_files(tmp_path / source)
