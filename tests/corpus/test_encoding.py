"""Encoding as a whole against plain Python.

Every source, every tokeniser, any block size, any number of threads.
"""

import errno
import gc
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st
from programs import with_jit, without_jit

from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import EncodingSizes, WordChoice, encode, encode_input, warm_up_encoding
from unhot.corpus.reading.lexicon import check_given
from unhot.corpus.reading.sources import TextReader
from unhot.corpus.workplace import Workplace
from unhot.errors import ConfigError, DataError
from unhot.vocab.vocabulary import Vocabulary, decode_word

TINY = EncodingSizes(block=8, part=64, shard=5, table=1)


def run(
    source,
    *,
    tokenizer="whitespace",
    min_count=1,
    max_vocab=None,
    counts=None,
    threads=2,
    sizes=TINY,
    directory=None,
) -> Corpus:
    given = check_given(counts, min_count, max_vocab) if counts is not None else None
    with Workplace(directory) as place:
        return encode_input(
            TextReader(source, tokenizer),
            WordChoice(min_count, max_vocab, given),
            place,
            threads,
            sizes,
        )


def sentences_of(corpus: Corpus) -> list[list[str]]:
    words = corpus.vocabulary.words
    return [[words[i] for i in s.ids[a:b]] for s in corpus.shards for a, b in itertools.pairwise(s.starts)]


def oracle(
    sentences: list[list[str]], min_count: int = 1, max_vocab: int | None = None
) -> tuple[list[tuple[str, int]], list[list[str]]]:
    counts = Counter(t for s in sentences for t in s)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0].encode("utf-8", "surrogateescape")))
    kept = [item for item in ranked if item[1] >= min_count][:max_vocab]
    words = {w for w, _ in kept}
    return kept, [s for s in ([t for t in s if t in words] for s in sentences) if s]


def check(
    corpus: Corpus, sentences: list[list[str]], min_count: int = 1, max_vocab: int | None = None
) -> None:
    kept, expected = oracle(sentences, min_count, max_vocab)
    assert list(zip(corpus.vocabulary.words, corpus.vocabulary.counts.tolist(), strict=True)) == kept
    assert sentences_of(corpus) == expected
    assert corpus.words == sum(map(len, sentences))
    assert corpus.ids == sum(map(len, expected)) == sum(len(s.ids) for s in corpus.shards)
    assert corpus.sentences == len(expected)
    assert corpus.report.types == len({t for s in sentences for t in s})
    for shard in corpus.shards:
        assert shard.ids.dtype == np.int32
        assert shard.starts.dtype == np.int64
        assert shard.starts[0] == 0
        assert shard.starts[-1] == len(shard.ids)


def lines_of(*texts: bytes) -> list[list[str]]:
    return [
        [decode_word(t) for t in line.replace(b"\0", b" ").split()]
        for text in texts
        for line in text.split(b"\n")
    ]


PIECES = [
    b" ",
    b"\n",
    b"\r\n",
    b"\0",
    b"a",
    b"bb",
    b"ccc",
    b"abcdefghijk" * 7,
    b"\xff",
    b"\xc3\xa9",
    b"\t",
    b"7",
    b"X",
]
TEXT = st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)


@examples(60)
@given(
    st.lists(TEXT, min_size=1, max_size=3),
    st.integers(1, 3),
    st.integers(1, 2),
    st.none() | st.integers(1, 4),
    st.sampled_from([(1, 1, 1), (7, 64, 3), (100, 1000, 10**6)]),
)
def test_files(tmp_path_factory, texts, threads, min_count, max_vocab, sizes):
    folder = tmp_path_factory.mktemp("f")
    for i, text in enumerate(texts):
        (folder / f"{i}.txt").write_bytes(text)
    kept, expected = oracle(lines_of(*texts), min_count, max_vocab)
    sizes = EncodingSizes(block=sizes[0], part=sizes[1], shard=sizes[2], table=1)
    if not kept:
        with pytest.raises(DataError, match="the text has no words|drops all"):
            run(folder, threads=threads, min_count=min_count, max_vocab=max_vocab, sizes=sizes)
        return
    with run(folder, threads=threads, min_count=min_count, max_vocab=max_vocab, sizes=sizes) as corpus:
        check(corpus, lines_of(*texts), min_count, max_vocab)
        report = corpus.report
        assert report.files == len(texts)
        assert report.bytes == sum(map(len, texts))
        assert report.nul_bytes == sum(t.count(b"\0") for t in texts)
        assert report.invalid_utf8 == sum("\udcff" in t for line in lines_of(*texts) for t in line)
        if sizes.shard > 1:
            assert all(len(s.ids) < sizes.shard + max(map(len, expected)) for s in corpus.shards)


@examples(40)
@given(
    st.lists(
        st.lists(st.text(st.characters(exclude_categories=()), min_size=1, max_size=4), max_size=5),
        min_size=1,
        max_size=6,
    )
)
def test_token_lists_are_taken_as_they_are(sentences):
    """Any token: blanks, line feeds, NUL, lone surrogates, bytes 0xFD to 0xFF from broken files."""
    from unhot.vocab.vocabulary import canonical

    expected = [[canonical(t) for t in s] for s in sentences]
    if not any(expected):
        return
    with run(iter(sentences)) as corpus:
        check(corpus, expected)


def test_tokens_of_bytes_that_join_token_lists():
    tokens = [
        "\udcff",
        "\udcfe",
        "\udcfd",
        "\udcfd\x00",
        "\udcfd\x02",
        "a\udcff",
        "\xff",
        "a b",
        "a\nb",
        "\0",
        "x" * 100,
    ]
    with run([tokens, tokens[::-1], []]) as corpus:
        check(corpus, [tokens, tokens[::-1]])
        assert corpus.report.invalid_utf8 == 2 * 6
    with run([tokens], counts={t: 2 for t in tokens[:6]}) as corpus:
        assert sentences_of(corpus) == [tokens[:6]]


@examples(30)
@given(st.lists(TEXT.map(decode_word), min_size=1, max_size=5))
def test_strings_are_sentences_whatever_newlines_they_hold(strings):
    sentences = [
        t for s in strings for t in lines_of(s.encode("utf-8", "surrogateescape").replace(b"\n", b" "))
    ]
    if not any(sentences):
        return
    with run(s for s in strings) as corpus:
        check(corpus, sentences)


@pytest.mark.parametrize("threads", [1, 3])
def test_tokenizers(tmp_path, threads):
    text = "Der \xc4RGER, 7 Uhr!\n\u4e2d\u6587 x2\r\nNa\xefve caf\xe9s\n"
    (tmp_path / "t").write_text(text, encoding="utf-8", newline="")
    words = [["der", "\xe4rger", "7", "uhr"], ["\u4e2d\u6587", "x2"], ["na\xefve", "caf\xe9s"]]
    text8 = [["der", "rger", "seven", "uhr"], ["x", "two"], ["na", "ve", "caf", "s"]]
    for tokenizer, expected in (("words", words), ("text8", text8)):
        for source in (tmp_path / "t", iter(text.splitlines())):
            with run(source, tokenizer=tokenizer, threads=threads) as corpus:
                check(corpus, expected)
    for source in (tmp_path / "t", iter(text.splitlines())):
        with run(source, tokenizer=lambda line: [line[:3], line[3:]], threads=threads) as corpus:
            check(corpus, [[line[:3], line[3:]] for line in text.splitlines()])


def test_a_tokenizer_function_sees_broken_bytes(tmp_path):
    (tmp_path / "t").write_bytes(b"a\xff b\nc\0\n")
    seen = []
    with run(tmp_path / "t", tokenizer=lambda line: seen.append(line) or line.split(" ")) as corpus:
        check(corpus, [["a\udcff", "b"], ["c\0"]])
        assert corpus.report.invalid_utf8 == 1
    assert seen == ["a\udcff b", "c\0"]


def test_one_long_line_in_little_memory(tmp_path):
    (tmp_path / "t").write_bytes(b"ab cd " * 20000)
    with run(tmp_path / "t", sizes=EncodingSizes(block=1000, part=5000, shard=100)) as corpus:
        assert corpus.sentences == 1
        assert len(corpus.shards) == 1
        assert corpus.ids == 40000


def test_given_counts_are_the_vocabulary():
    sentences = [["b", "x", "a"], ["x"], ["c", "a"]]
    with run(sentences, counts={"a": 3, "b": 9, "c": 1, "never": 5, "": 7}, min_count=2) as corpus:
        assert corpus.vocabulary.words == ["b", "never", "a"]
        assert corpus.vocabulary.counts.tolist() == [9, 5, 3]
        assert sentences_of(corpus) == [["b", "a"], ["a"]]
        assert corpus.words == 6
    with pytest.raises(DataError, match="none of the 1 words in counts occurs"):
        run(sentences, counts={"q": 1})
    with pytest.raises(DataError, match="none of the 1 words has a count >= min_count=5"):
        encode(sentences, counts={"q": 1})


@examples(30)
@given(
    st.lists(
        st.lists(st.sampled_from(["a", "b", "c", "d", "\x00", "a b"]), min_size=1, max_size=6),
        min_size=1,
        max_size=6,
    ),
    st.dictionaries(st.sampled_from(["a", "b", "x", "y", "\x00"]), st.integers(0, 5), min_size=1),
    st.integers(1, 3),
)
def test_known_words_stay_and_are_joined_by_frequent_ones(sentences, known, min_count):
    vocabulary = Vocabulary.from_counts(known, min_count=1) if max(known.values()) else Vocabulary(["x"], [3])
    here = Counter(itertools.chain(*sentences))
    before = dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))
    stay = {word for word in {*here, *before} if word in before or here[word] >= min_count}
    if not stay & here.keys():
        return
    with encode(sentences, known=vocabulary, min_count=min_count) as corpus:
        assert corpus.vocabulary == Vocabulary.from_counts(
            {word: before.get(word, 0) + here[word] for word in stay}
        )
        ids = np.concatenate([shard.ids for shard in corpus.shards])
        assert [corpus.vocabulary.words[i] for i in ids] == [
            word for word in itertools.chain(*sentences) if word in stay
        ]


def test_equal_counts_and_equal_heads_are_ordered_by_bytes():
    tokens = [f"prefix_long_{i}" for i in range(40)] + ["prefix_l", "prefix_", "prefix_l\0", "\xe9", "z"]
    with run([tokens[::-1]]) as corpus:
        assert corpus.vocabulary.words == sorted(tokens, key=str.encode)
    with run([tokens], max_vocab=7) as corpus:
        assert corpus.vocabulary.words == sorted(tokens, key=str.encode)[:7]


def test_result_does_not_depend_on_threads_or_blocks(tmp_path):
    rng = np.random.default_rng(0)
    lines = [" ".join(f"w{int(x)}" for x in rng.zipf(1.3, rng.integers(0, 30)) % 3000) for _ in range(500)]
    (tmp_path / "t").write_text("\n".join(lines))
    with encode(tmp_path / "t", min_count=2, threads=1) as expected:
        for threads, block in ((1, 50), (2, 777), (3, 4096), (4, 10**6)):
            with run(
                tmp_path / "t",
                min_count=2,
                threads=threads,
                sizes=EncodingSizes(block=block, part=1000, table=1),
            ) as corpus:
                assert corpus.vocabulary == expected.vocabulary
                assert np.array_equal(corpus.shards[0].ids, expected.shards[0].ids)
                assert np.array_equal(corpus.shards[0].starts, expected.shards[0].starts)
                assert corpus.report == expected.report


def test_nothing_is_left():
    message = r"min_count=5 drops all 4 words \(3 different ones\): the highest count is 2; lower"
    with pytest.raises(DataError, match=f"{message} min_count"):
        encode([["a", "b", "a", "c"]])
    for empty in ([], iter([]), [[]], [""], ["\n \0"]):
        with pytest.raises(DataError, match="the text has no words"):
            encode(empty)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([["a"], ["b", 7]], "sentence 2 holds 7 of type int: tokens must be str"),
        ([["a"], "b"], "sentence 2 is of type str: give a list of str"),
        (["a", ["b"]], "sentence 2 is of type list, but the first one was a str"),
        ([["a", b"b"]], "sentence 1 holds b'b' of type bytes"),
        ([1, 2], "sentence 1 is of type int"),
        ([None], "sentence 1 is of type NoneType"),
        ([b"abc"], "sentence 1 is of type bytes"),
        (b"abc", "the source has type bytes"),
        (7, "the source has type int"),
        (None, "the source has type NoneType"),
    ],
)
def test_wrong_sources(source, message):
    with pytest.raises(DataError, match=message):
        encode(source, min_count=1)


def test_wrong_tokenizers():
    with pytest.raises(ConfigError, match="tokenizer='x'"):
        encode(["a"], tokenizer="x")
    with pytest.raises(DataError, match="sentence 1: the tokenizer returned str"):
        encode(["a"], tokenizer=lambda line: line)
    with pytest.raises(DataError, match="sentence 1: the tokenizer returned NoneType"):
        encode(["a"], tokenizer=lambda line: None)
    with pytest.raises(DataError, match="a tokenizer function takes str"):
        encode([["a"]], tokenizer=lambda line: [line])
    with pytest.raises(DataError, match="sentence 1 holds 3 of type int"):
        encode(["a"], tokenizer=lambda line: [3])
    for bad in ({"threads": 0}, {"min_count": 0}, {"max_vocab": 0}):
        with pytest.raises(ConfigError, match="must be >= 1"):
            encode(["a"], **bad)


@pytest.fixture
def own_tmp(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_temporary_directory_goes(own_tmp):
    corpus = encode([["a"]], min_count=1)
    assert corpus.directory.parent == own_tmp
    assert list(corpus.directory.glob(".*")) == []
    corpus.close()
    corpus.close()
    assert list(own_tmp.iterdir()) == []
    corpus = encode([["a"]], min_count=1)
    del corpus
    gc.collect()
    assert list(own_tmp.iterdir()) == []


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, RuntimeError, DataError])
def test_whatever_stops_it_nothing_is_left_behind(own_tmp, trouble):
    def sentences():
        yield from [["a"]] * 100
        raise trouble("stop")

    for directory in (None, own_tmp / "new" / "deep"):
        with pytest.raises(trouble, match="stop"):
            run(sentences(), directory=directory)
    assert [p.name for p in own_tmp.rglob("*")] == ["new"]
    (own_tmp / "old").mkdir()
    (own_tmp / "old" / "mine.txt").write_text("x")
    with pytest.raises(trouble, match="stop"):
        run(sentences(), directory=own_tmp / "old")
    assert [p.name for p in (own_tmp / "old").iterdir()] == ["mine.txt"]


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_ctrl_c(tmp_path):
    # ignored in a job in the background
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += "from itertools import repeat; from unhot.corpus.encoding import encode; "
    code += "encode(repeat('a b c ' * 1000))"
    env = {
        **os.environ,
        "NUMBA_DISABLE_JIT": "0",
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    process = subprocess.Popen([sys.executable, "-c", code], env=env, stderr=subprocess.PIPE)
    try:
        while not list(tmp_path.glob("unhot-*/.encoding-*/spool-*")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()
        process.wait()
    assert b"KeyboardInterrupt" in errors
    assert list(tmp_path.iterdir()) == []


def test_trouble_in_a_progress_callback_stops_it(own_tmp):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode([["a"]], min_count=1, progress=stop)
    assert list(own_tmp.iterdir()) == []


def test_progress(tmp_path, monkeypatch):
    monkeypatch.setattr("unhot.corpus.encoding.PROGRESS_SECONDS", 0.0)
    (tmp_path / "t").write_text("a b c d\n" * 1000)
    seen = []
    with Workplace(None) as place:
        text = TextReader(tmp_path / "t")
        encode_input(
            text, WordChoice(1, None, None), place, 2, EncodingSizes(block=100), lambda *now: seen.append(now)
        ).close()
    assert len(seen) > 50
    assert seen == sorted(seen)
    assert seen[-1] == (8000, 8000)
    seen.clear()
    encode(iter([["ab"]] * 10), min_count=1, progress=lambda *now: seen.append(now)).close()
    assert seen[-1] == (30, None)


@pytest.mark.parametrize(
    "name", ["corpus.reading.spool.append_numbers", "corpus.shards.append_numbers", "atomic.os.fsync"]
)
def test_disk_full(own_tmp, monkeypatch, name):
    """While ids are written, and when the index is, at last."""

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"unhot.{name}", full)
    with pytest.raises(
        DataError, match=r"disk full: the ids need (more than the|about) \S+ \S+ there.*TMPDIR"
    ):
        encode([["a"]], min_count=1)
    assert list(own_tmp.iterdir()) == []


def test_a_disk_too_small_for_the_whole_text_is_noticed_early(own_tmp, tmp_path, monkeypatch):
    (tmp_path / "text").write_text("ab cd\n" * 100_000)
    monkeypatch.setattr("unhot.corpus.workplace.CHECKED", 1000)
    monkeypatch.setattr("unhot.corpus.workplace.free_space", lambda path: 500_000)
    text = TextReader(tmp_path / "text")
    with pytest.raises(DataError, match="disk full: the ids need about"), Workplace(None) as place:
        encode_input(text, WordChoice(1, None), place, 1, EncodingSizes(block=1000, part=1000))
    assert text.bytes < 600_000 / 2
    assert [path.name for path in own_tmp.iterdir()] == ["text"]


def test_two_cannot_encode_into_one_directory(tmp_path):
    with ThreadPoolExecutor(1) as other, Workplace(tmp_path / "kept"):
        with pytest.raises(DataError, match="kept: another process is writing here"):
            other.submit(encode, [["a"]], directory=tmp_path / "kept", min_count=1).result()
        assert len(list((tmp_path / "kept").iterdir())) == 2  # the claim and one work folder
    encode([["a"]], directory=tmp_path / "kept", min_count=1).close()


def test_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="cannot be written"):
        encode([["a"]], directory=tmp_path / "file" / "x")


def test_without_the_compiler(tmp_path):
    code = """
from unhot.corpus.encoding import encode
text = ["The cat the 7", "internationalization's the end"]
for tokenizer in ("whitespace", "words", "text8"):
    with encode(iter(text), tokenizer=tokenizer, min_count=1) as c:
        print(c.vocabulary.words, [s.ids.tolist() for s in c.shards], c.shards[0].starts.tolist())
with encode([["a b", "a"], ["internationalization"] * 2], min_count=2) as c:
    print(c.vocabulary.words, c.report)
"""
    outputs = [with_jit(code), without_jit(code)]
    assert outputs[0] == outputs[1]
    assert "['internationalization']" in outputs[0]


def test_warm():
    warm_up_encoding()
