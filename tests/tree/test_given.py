import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import DataError, FormatError
from unhot.tree.given import from_codes, read_classes, read_codes


def is_complete(codes):
    """Kraft's sum is one and no code begins with another."""
    clash = any(
        i != j and b.startswith(a) for (i, a), (j, b) in itertools.product(enumerate(codes), repeat=2)
    )
    return not clash and sum(2.0 ** -len(code) for code in codes) == 1


@st.composite
def nearly_complete(draw):
    """A complete prefix code, with some codes changed, doubled or left out."""
    codes = [""]
    for _ in range(draw(st.integers(0, 12))):
        code = codes.pop(draw(st.integers(0, len(codes) - 1)))
        codes += [code + "0", code + "1"]
    codes = draw(st.permutations(codes))
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(codes) - 1))
        codes[place : place + 1] = draw(
            st.sampled_from([[codes[place]] * 2, [codes[place] + "0"], [codes[place][:-1]], []])
        )
        codes = codes or [""]
    return codes


@given(nearly_complete())
def test_complete_or_refused(codes):
    if is_complete(codes):
        paths = from_codes(codes, [1] * len(codes))
        assert ["".join(map(str, paths.code[a:b])) for a, b in itertools.pairwise(paths.start)] == codes
        return
    with pytest.raises(DataError) as caught:
        from_codes(codes, [1] * len(codes))
    message = str(caught.value)
    prefixes = [
        i for i, a in enumerate(codes) if any(i != j and b.startswith(a) for j, b in enumerate(codes))
    ]
    if prefixes:
        assert message.startswith(
            f"the code {codes[prefixes[0]]!r} of id {prefixes[0]} is a prefix of the code "
        )
    else:
        gap = message.split("'")[1]
        assert message.startswith("no code begins with ")
        assert not any(code.startswith(gap) or gap.startswith(code) for code in codes)  # really missing,
        assert any(code.startswith(gap[:-1]) for code in codes)  # and its sister is there


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (["0", "10", "1"], "code '1' of id 2 is a prefix of the code '10' of id 1"),
        (["0", "0", "1"], "code '0' of id 0 is a prefix of the code '0' of id 1"),
        (["", "0", "1"], "code '' of id 0"),
        (["00", "01", "10"], "begins with '11'"),
        (["01", "10", "11"], "begins with '00'"),
        (["0", "100", "11"], "begins with '101'"),
        (["00", "010", "1"], "begins with '011'"),
        (["0", "1x", "11"], "code '1x' of id 1"),
        (["0", "1", "\u0660"], "of id 2: must be made of 0s"),
        (["0", "/", "1"], "code '/' of id 1"),
        (["0", 10, "11"], "code 10 of id 1 is of type int"),
        (["0", "1"], "2 codes for 3 words"),
    ],
)
def test_bad_codes(codes, message):
    with pytest.raises(DataError, match=message):
        from_codes(codes, [1, 1, 1])


def test_one_word():
    assert from_codes([""], [3]).start.tolist() == [0, 0]
    with pytest.raises(DataError, match="begins with '00'"):
        from_codes(["01"], [3])
    with pytest.raises(DataError, match="shape"):
        from_codes([], [])


def test_read_codes(tmp_path):
    path = tmp_path / "codes.csv"
    path.write_bytes(b'\xef\xbb\xbfthe,0\r\n"a, b",\xe2\x80\xa8,"10"\r\nc, 11\r\n')
    assert read_codes(path).tobytes() == b"0\n10\n11"
    path.write_bytes(b"0\n10\n11")
    assert read_codes(str(path)).tobytes() == b"0\n10\n11"
    path.write_bytes(b"only,\n")
    assert read_codes(path).tobytes() == b""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"the,0\ncat,1a\n", "line 2: not a code"),
        (b"the,0\ncat,1\xff\n", "line 2: not a code"),
        (b"the,0\n\ncat,1\n", "line 2: no value"),
        (b"the,0\ncat,\n", "line 2: no value"),
        (b"\n", "line 1: no value"),
        (b"", "empty"),
    ],
)
def test_damaged_codes(tmp_path, data, message):
    path = tmp_path / "codes.csv"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=message) as caught:
        read_codes(path)
    assert "codes.csv" in str(caught.value)


def test_read_classes(tmp_path):
    path = tmp_path / "classes.csv"
    path.write_bytes(b"the,7\ncat,-3\nmat,+7\nx,999999999999999999")
    labels = read_classes(path)
    assert labels.tolist() == [7, -3, 7, 999999999999999999]
    assert labels.dtype == "int64"
    for bad in (b"1.5", b"1_0", b"noun", b"9999999999999999999", b""):
        path.write_bytes(b"1\n2\nw," + bad + b"\n4\n")
        with pytest.raises(FormatError, match="line 3: "):
            read_classes(path)
    path.write_bytes(b"w,\n")
    with pytest.raises(FormatError, match="line 1: not a class"):
        read_classes(path)
