"""Whatever a file holds: questions, or a DataError that names it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from unhot.errors import DataError
from unhot.evaluate.analogy_files import read_analogies
from unhot.evaluate.categories import read_categories
from unhot.evaluate.outliers import read_group
from unhot.evaluate.similarity import read_pairs

READERS = [read_pairs, read_analogies, read_categories, read_group]
LINES = st.lists(
    st.text('ab1.\t ,;:/#"\r\0\u00df\u2028\ufeff', max_size=12)
    | st.sampled_from(["a b 1", "a\tb", ": s", "a b c d", ""]),
    max_size=6,
)


@pytest.mark.parametrize("reader", READERS)
@given(raw=LINES.map("\n".join).map(str.encode) | st.binary(max_size=60))
@example(raw=b"word,category\n" + b"x" * 200_000 + b",y\n")
@example(raw=b'word,category\n"cat,animal\n')
def test_questions_or_an_error_that_names_the_file(reader, raw, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"{reader.__name__}.txt"
    path.write_bytes(raw)
    found, told = None, ""
    try:
        found = reader(path)
    except DataError as error:
        told = str(error)
    assert found or str(path) in told
