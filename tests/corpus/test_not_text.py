"""Files that are not text are refused, unless forced; texts in old encodings are not."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from unhot.corpus.encoding import encode
from unhot.corpus.phrases import Phrases
from unhot.errors import DataError
from unhot.rows.not_text import FEW, SAMPLE

TEXTS = {
    "english": "All human beings are born free and equal in dignity and rights.\n",
    "french": "Tous les êtres humains naissent libres et égaux en dignité et en droits.\n",
    "russian": "Все люди рождаются свободными и равными в своём достоинстве и правах.\n",
    "greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια.\n",
    "hebrew": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.\n",
    "hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता प्राप्त है।\n",
    "thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ\n",
    "chinese": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。\n",
    "japanese": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。\n",
    "korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.\n",
}
OLD = {
    "french": ["latin-1", "cp1252", "cp850", "mac_roman"],
    "russian": ["koi8_r", "cp1251", "cp866", "iso8859_5"],
    "greek": ["iso8859_7", "cp1253"],
    "hebrew": ["iso8859_8"],
    "thai": ["tis_620"],
    "chinese": ["gb18030", "gbk", "big5", "hz"],
    "japanese": ["shift_jis", "euc_jp", "iso2022_jp", "iso2022_jp_2"],
    "korean": ["euc_kr", "iso2022_kr", "johab"],
}


@pytest.mark.parametrize(("language", "codec"), [(name, codec) for name in OLD for codec in OLD[name]])
def test_old_encodings_are_text(language, codec, tmp_path):
    raw = TEXTS[language].encode(codec, "ignore") * 50
    (tmp_path / "t").write_bytes(raw)
    with encode(tmp_path / "t", min_count=1) as corpus:
        assert corpus.words
        assert bool(corpus.report.invalid_utf8) == (not raw.isascii())


@pytest.mark.parametrize("encoding", ["UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE"])
@pytest.mark.parametrize("language", TEXTS)
def test_wide_encodings_are_named(language, encoding, tmp_path):
    (tmp_path / "t").write_bytes((TEXTS[language] * 20).encode(encoding))
    with pytest.raises(
        DataError, match=rf"t: \d+ % of its first [\d,]+ bytes are .* looks like {encoding} wit"
    ):
        encode(tmp_path / "t", min_count=1)


def test_what_the_message_says(tmp_path):
    (tmp_path / "t").write_bytes("the cat sat on the mat ".encode("utf-16-le") * 3000)
    with pytest.raises(
        DataError,
        match=r"t: 50 % of its first 65,536 bytes are NULs: it looks like UTF-16LE without a byte order mark"
        r": convert it to UTF-8, e.g. with iconv -f UTF-16LE -t UTF-8; force=True \(--force\) reads",
    ):
        encode(tmp_path / "t")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_random_bytes_and_programs(pack, tmp_path):
    (tmp_path / "a.txt").write_text("a good text\n")
    for name, raw in (("random", os.urandom(5000)), ("program", Path(sys.executable).read_bytes()[:99_999])):
        (tmp_path / "b.bin").write_bytes(pack(raw))
        with pytest.raises(DataError, match=r"b.bin: .*: it does not look like text: give a text file"):
            encode(tmp_path, min_count=1)
        with encode(tmp_path, min_count=1, force=True) as corpus:
            assert corpus.report.files == 2, name


def test_few_odd_bytes_are_no_reason(tmp_path):
    path = tmp_path / "t"
    path.write_bytes(b"a\0b\x01 c" + b"\0" * (FEW - 2))
    with encode(path, min_count=1) as corpus:
        assert corpus.report.nul_bytes == FEW - 1
    path.write_bytes(b"a\0b\x01 c" + b"\0" * (FEW - 1))
    with pytest.raises(DataError, match="it does not look like text"):
        encode(path, min_count=1)
    path.write_bytes(b"word " * 20_000 + b"\0" * 1000)  # behind the sample
    with encode(path, min_count=1) as corpus:
        assert corpus.report.nul_bytes == 1000
    most = b"w\0" * (SAMPLE // 100) + b"word " * SAMPLE
    path.write_bytes(most)
    with encode(path, min_count=1) as corpus:
        assert corpus.report.nul_bytes == SAMPLE // 100
    path.write_bytes(b"\0" + most)
    with pytest.raises(DataError, match="1 % of its first 65,536 bytes are NULs"):
        encode(path, min_count=1)


def test_control_bytes_of_texts(tmp_path):
    """Overstrike, bells, colours of terminals, form feeds."""
    (tmp_path / "t").write_bytes(b"N\bNA\bAM\bME\bE \x1b[1mbold\x1b[0m \a\f\v\r\n" * 500)
    with encode(tmp_path / "t", min_count=1) as corpus:
        assert corpus.sentences == 500


def test_only_files_are_checked(tmp_path):
    odd = "\0 \x01 \x02" * 100
    with encode(iter([odd]), min_count=1) as corpus:
        assert corpus.words == 200
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"text": [odd]}), tmp_path / "t.parquet")
    with encode(tmp_path / "t.parquet", min_count=1) as corpus:
        assert corpus.words == 200


def test_lines_for_a_function_and_labels_are_checked(tmp_path):
    (tmp_path / "t").write_bytes("one two\n".encode("utf-16-le") * 50)
    for how in ({"tokenizer": str.split}, {"beside": {"labels": tmp_path / "t"}}):
        source = tmp_path / "t" if "tokenizer" in how else iter(["a"] * 101)
        with pytest.raises(DataError, match="UTF-16LE without a byte order mark"):
            encode(source, min_count=1, **how)
    with encode(tmp_path / "t", min_count=1, tokenizer=str.split, force=True) as corpus:
        assert corpus.words
    with encode(iter(["a"] * 51), min_count=1, beside={"labels": tmp_path / "t"}, force=True) as corpus:
        assert corpus.beside["labels"].words


def test_phrases(tmp_path):
    (tmp_path / "t").write_bytes("one two\n".encode("utf-16-le") * 50)
    phrases = Phrases(min_count=1)
    with pytest.raises(DataError, match="UTF-16LE"):
        phrases.fit(tmp_path / "t")
    phrases.fit(tmp_path / "t", force=True)
    with pytest.raises(DataError, match="UTF-16LE"):
        phrases.encode(tmp_path / "t")
    phrases.encode(tmp_path / "t", force=True).close()


def test_standard_input():
    code = "from unhot.corpus.encoding import encode; encode('-', min_count=1)"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", code],
        input="привет мир\n".encode("utf-16-be") * 99,
        env=env,
        capture_output=True,
    )
    assert (
        b"standard input: 41 % of its first 2,178 bytes are control bytes: it looks like UTF-16BE"
        in done.stderr
    )
