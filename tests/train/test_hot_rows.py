import numpy as np
import pytest

import unhot
from unhot.kernels.loop import Params
from unhot.kernels.simd.lanes import LANES
from unhot.outputs.layer import Biases
from unhot.train.hot_rows import HotRows, hot_rows
from unhot.train.params import FirstRows, HotSizes, Sizes, padded, start_params


def test_only_frequent_rows_of_big_matrices_and_several_threads():
    assert hot_rows(100_000, 1) == 0
    assert hot_rows(100_000, 2) == 256
    assert hot_rows(640, 2) == 10
    assert hot_rows(30, 2) == 0


def test_exchange_averages_what_threads_learn():
    none = np.zeros(0, np.float32)
    ln_z = np.zeros(3 * LANES, np.float32)
    params = Params(
        np.zeros((10, 4), np.float32), np.ones((6, 4), np.float32), np.zeros(6, np.float32), none, ln_z
    )
    # 6 and 4 rows, 2 threads with 2 copies and 1 copy each
    hot = HotRows(params, Sizes(6, 4, Biases(), HotSizes(2, 1), 0, 2))
    assert [tuple(place) for place in hot.places] == [(2, 6, 1, 4, LANES, 6), (2, 8, 1, 5, 2 * LANES, 6)]
    hot.refresh()
    np.testing.assert_array_equal(params.out_vectors[4:], 1.0)
    params.in_vectors[6] += 1.0  # the first thread learns about row 0
    params.in_vectors[8] += 3.0  # the second one, too
    params.in_vectors[9] -= 1.0  # and about row 1
    params.out_bias[5] += 4.0  # and about a bias
    params.ln_z[2 * LANES] += 6.0
    hot.exchange(0)
    assert (params.in_vectors[0] == 0.5).all()
    assert (params.in_vectors[6] == 0.5).all()
    hot.exchange(1)
    assert (params.in_vectors[0] == 2.0).all()
    assert (params.in_vectors[1] == -0.5).all()
    assert params.out_bias.tolist() == [2, 0, 0, 0, 0, 2]
    assert params.ln_z[0] == 3.0
    hot.exchange(0)  # nothing new from the first thread, but it takes what the second one learned
    assert (params.in_vectors[6] == 2.0).all()
    np.testing.assert_array_equal(params.in_vectors[2:6], 0.0)
    np.testing.assert_array_equal(params.out_vectors, 1.0)


def test_room_for_copies_changes_no_start():
    with_room, without = (
        start_params(Sizes(5, 4, Biases(), HotSizes(copies, 0), 0, 2), 3, padded(3), 1, FirstRows())
        for copies in (3, 0)
    )
    assert len(with_room.in_vectors) == 11
    assert len(with_room.out_vectors) == 4
    np.testing.assert_array_equal(with_room.in_vectors[:5], without.in_vectors)
    assert not with_room.in_vectors[5:].any()


def test_threads_with_hot_rows_learn_as_one_thread_does():
    rng = np.random.default_rng(0)
    text = [[f"w{i}" for i in rng.zipf(1.3, 40) if i < 400] for _ in range(2000)]
    one, two = (unhot.SkipGram(dim=8, min_count=1, epochs=3, threads=threads).fit(text) for threads in (1, 2))
    assert hot_rows(len(two.vectors), 2) > 0
    assert two.history.losses == pytest.approx(one.history.losses, rel=0.02)
    assert len(two.vectors) == len(one.vectors)
    frequent = one.vectors.words[:3]
    for word in frequent:  # the common rows hold what was learned, not the copies only
        assert np.linalg.norm(two.vectors[word]) == pytest.approx(np.linalg.norm(one.vectors[word]), rel=0.3)


@pytest.mark.parametrize("threads", [2, 8])
def test_rows_of_16_bits_lose_no_share_of_a_small_step(threads):
    """A step of three times the distance to the next float, shared among 8, is less than half of it."""
    none, apart = np.zeros(0, np.float32), np.spacing(np.float16(1.5))
    rows = np.full((1 + threads, LANES), 1.5, np.float16)
    hot = HotRows(
        Params(rows.view(np.uint16), np.zeros((1, LANES), np.float32), none, none, none),
        Sizes(1, 1, Biases(), HotSizes(1, 0), 0, threads),
    )
    hot.refresh()
    for _ in range(100):
        for thread in range(threads):
            rows[1 + thread] += 3 * apart
            hot.exchange(thread)
    np.testing.assert_allclose((rows[0].astype(np.float64) - 1.5) / apart, 300, atol=1)
