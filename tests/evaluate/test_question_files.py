"""Whatever a file holds: questions, or a DataError that names it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from unhot.errors import DataError
from unhot.evaluate.analogies import MOST_PAIRS, read_analogies
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


WRONG = [
    (read_analogies, "questions", ": s\na b c d\na b c\n", "questions: line 3: 'a b c': must be four words"),
    (
        read_analogies,
        "questions",
        "a b c d e\n",
        "line 1: 'a b c d e': must be four words .* or a word and its right answers",
    ),
    (read_analogies, "questions", "a\tb\nc\n", "line 2: 'c': must be a word and its right answers"),
    (read_analogies, "questions", "a\tb\nc\t//\n", "line 2"),
    (read_analogies, "questions", ": s\n: t\n", "there are no questions"),
    (read_analogies, "questions", "", "there are no questions"),
    (read_analogies, "questions", "a\tb\n", "there are no questions"),
    (read_categories, "words", "cat\tanimal\ndog\n", "words: line 2: 'dog': must be `word<TAB>category`"),
    (read_categories, "words", "cat animal big\n", "line 1"),
    (
        read_categories,
        "words",
        "word,category\ncat,animal\ndog,animal,big\n",
        "line 3: .* 2 columns, as in the first line",
    ),
    (read_categories, "words", "word,category\ncat,\n", "line 2"),
    (read_categories, "words", "word,category\n,animal\n", "there are no questions"),
    (read_categories, "words", "\n# comment\n", "there are no questions"),
    (read_pairs, "pairs", "cat dog 1\ncat dog\n", r"pairs: line 2: 'cat dog': must be word, word and score"),
    (read_pairs, "pairs", "cat dog\n", "line 1"),
    (read_pairs, "pairs", "a\tb\tscore\nc\td\tscore\n", "line 2"),
    (read_pairs, "pairs", "cat\tdog\t1\ncat\t\t1\n", "line 2"),
    (read_pairs, "pairs", "cat dog 1\ncat dog nan\n", "line 2: 'cat dog nan'"),
    (read_pairs, "pairs", "# nothing\n\n", "there are no questions"),
    (read_pairs, "pairs", "", "there are no questions"),
]


@pytest.mark.parametrize(("reader", "name", "text", "told"), WRONG)
def test_wrong_lines_are_named(reader, name, text, told, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=told):
        reader(tmp_path / name)


def test_a_long_list_is_not_taken_for_analogies(tmp_path):
    """A list of words and counts looks like BATS; its pairs would fill the memory."""
    (tmp_path / "x").write_text("".join(f"w{i} {i}\n" for i in range(MOST_PAIRS + 1)))
    with pytest.raises(DataError, match=r"line 1001: a BATS file has at most 1,000 lines"):
        read_analogies(tmp_path / "x")
    (tmp_path / "x").write_text("".join(f"w{i} {i}\n" for i in range(50)))
    assert len(read_analogies(tmp_path / "x")[0].questions) == 50 * 49
