"""Sections of text, and rows of any number of words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.corpus.cells.row_counts import (
    GAP,
    CountedRows,
    count_rows,
    group_rows,
    merge_rows,
    new_rows,
    new_section,
    new_sums,
    read_section,
)
from unhot.kernels.rng import bits_at_integer, key_from, stream_key
from unhot.kernels.windows import Text, keep_threshold

KEY = stream_key(1, 0, 0)


def text_of(lines, keep):
    ids, starts = np.concatenate(lines).astype(np.int32), np.cumsum([0, *map(len, lines)])
    ids.flags.writeable = starts.flags.writeable = False
    return Text(ids, starts, keep_threshold(keep))


def test_a_section_has_what_its_windows_reach():
    text = text_of([[0, 1], [2, 3, 4, 5, 6, 7, 8], [9]], np.ones(10))
    section = new_section(20, 10)
    for start, stop, expected in [
        (0, 2, [GAP, 0, 1, GAP, GAP]),
        (0, 3, [GAP, 0, 1, GAP, 2, 3, 4, GAP]),
        (4, 5, [GAP, 2, 3, 4, 5, 6, GAP]),
        (6, 9, [GAP, 4, 5, 6, 7, 8, GAP, GAP]),
        (8, 10, [GAP, 6, 7, 8, GAP, 9, GAP, GAP]),
    ]:
        sentence = int(np.searchsorted(text.starts, start, side="right")) - 1
        size = read_section(text, KEY, start, stop, sentence, 2, section)
        assert section.words[:size].tolist() == expected
        listed = section.places[: section.starts[-1]]
        assert section.words[listed].tolist() == text.ids[start:stop].tolist()  # each once, by word


@pytest.mark.parametrize("before", [0, 2**31, 2**32 - 3, 2**33 + 12345, 2**40])
def test_positions_beyond_32_bits_draw_their_own_bits(before):
    ids = np.arange(200) % 5
    keep = np.array([1.0, 0.5, 0.3, 0.9, 0.1])
    text, section = text_of([ids], keep), new_section(300, 5)
    size = read_section(text, key_from(KEY, before), 0, 200, 0, 3, section)
    expected = [
        int(w) for i, w in enumerate(ids) if bits_at_integer(int(KEY), before + i) >> 32 <= text.keep[w]
    ]
    assert section.words[:size].tolist() == [GAP, *expected, GAP, GAP]
    assert 60 < len(expected) < 140


@pytest.mark.parametrize("words", [1, 63, 64, 65, 4096, 4097, 9000])
def test_marks_of_any_number_of_words(words):
    """All columns come out once, rising, and the row is zero again."""
    rng = np.random.default_rng(words)
    ids = rng.permutation(words).tolist()
    text, section = text_of([[0, *ids]], np.ones(words)), new_section(words + 6, words)
    read_section(text, KEY, 0, words + 1, 0, 1, section)
    weights, row, out = np.array([0, 1]), new_sums(words), new_rows(words, 4 * words)
    cells = count_rows(section, 0, words, weights, weights, row, out)
    assert out.lengths.sum() == cells
    assert out.sums[:cells].sum() == 2 * words
    ends = np.cumsum(out.lengths)
    for i in {0, words // 2, words - 1}:
        columns = out.columns[ends[i] - out.lengths[i] : ends[i]]
        assert (np.diff(columns) > 0).all()
    assert not row.sums.any()
    assert not row.marks.any()
    assert not row.groups.any()


@given(
    st.lists(
        st.tuples(st.integers(1, 6), st.integers(1, 6), st.sampled_from([0.5, 1.0, 0.1, 1e-300])), max_size=40
    ),
    st.integers(0, 5),
)
def test_records_in_any_order_become_rows(records, first):
    records = [record for record in records if record[0] > first]
    words, contexts, values = (
        np.array([r[k] for r in records], kind) for k, kind in enumerate(("<i4", "<i4", "<f8"))
    )
    lengths = np.bincount(words - 1, minlength=6)[first:]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    columns, grouped, places = np.empty(words.size, np.int32), np.empty(words.size), starts[:-1].copy()
    half = words.size // 2
    for part in (slice(0, half), slice(half, None)):
        group_rows(words[part], contexts[part], values[part], first + 1, places, columns, grouped)
    assert places.tolist() == starts[1:].tolist()
    out = CountedRows(np.empty(6 - first, np.int64), np.empty_like(columns), np.empty_like(grouped))
    cells = merge_rows(
        starts[None], columns, grouped, 0, 6 - first, new_sums(6)._replace(sums=np.zeros(6)), out
    )
    expected = {}
    for word, context, value in records:
        expected[word, context] = expected.get((word, context), 0.0) + value
    rows = np.repeat(np.arange(first + 1, 7), out.lengths).tolist()
    found = zip(rows, (out.columns[:cells] + 1).tolist(), out.sums[:cells].tolist(), strict=True)
    assert [((i, j), value) for i, j, value in found] == sorted(expected.items())
