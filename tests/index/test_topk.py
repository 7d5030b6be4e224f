"""The kernel of exact search: its heaps, and the same without the compiler.

Its results are tested in tests/index.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from programs import with_jit, without_jit

from unhot.index import topk
from unhot.kernels.jit import kernel


@kernel
def push(cosines, ids, query, k, cosine, row):
    topk.push(cosines, ids, query, k, cosine, row)


@given(
    entries=st.lists(
        st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 50)), max_size=6), min_size=1, max_size=4
    ),
    k=st.integers(1, 5),
)
def test_heaps_merge_and_sort(entries, k):
    cosines, ids = (
        np.full((len(entries), 1, k), -np.inf, np.float32),
        np.full((len(entries), 1, k), -1, np.int64),
    )
    kept = []
    for part, pairs in enumerate(entries):
        for cosine, row in pairs:
            row = row * len(entries) + part  # no row twice
            if cosine > cosines[part, 0, 0]:
                push(cosines[part], ids[part], 0, k, np.float32(cosine), row)
        assert cosines[part, 0, 0] == cosines[part].min()  # the worst on top
        kept += [
            pair
            for pair in zip(cosines[part, 0].tolist(), ids[part, 0].tolist(), strict=True)
            if pair[1] >= 0
        ]
    topk.merge_and_sort(cosines, ids)
    expected = sorted(kept, key=lambda pair: (-pair[0], pair[1]))[:k]
    found = [pair for pair in zip(cosines[0, 0].tolist(), ids[0, 0].tolist(), strict=True) if pair[1] >= 0]
    assert found == expected


PLAIN = """
import numpy as np
from unhot.index.lengths import norms, units
from unhot.index.screened import Screened
from unhot.kernels.jit import ENABLED
vectors = np.random.default_rng(0).standard_normal((70, 3), np.float32)
found = Screened(vectors, norms(vectors))
for n in (1, 30):
    ids, cosines = found.search(units(vectors[:n]), 4, np.arange(n)[:, None], 1, 69, 2)
    print(ENABLED, ids.tolist())
"""


def test_the_same_without_the_compiler():
    outputs = [with_jit(PLAIN), without_jit(PLAIN)]
    assert outputs[0].replace("True", "False") == outputs[1]
    assert "True" in outputs[0]
