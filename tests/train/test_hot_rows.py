import numpy as np
import pytest

import unhot
from unhot.kernels.loop import Params
from unhot.kernels.simd.lanes import LANES
from unhot.outputs.layer import Biases
from unhot.train.hot_rows import ON_THEIR_WAY, HotRows, exchange_interval, hot_rows
from unhot.train.params import FirstRows, HotSizes, Sizes, padded, start_params


def test_only_frequent_rows_of_big_matrices_and_several_threads():
    assert hot_rows(100_000, 1) == 0
    assert hot_rows(100_000, 2) == 256
    assert hot_rows(640, 2) == 10
    assert hot_rows(30, 2) == 0


def test_exchange_adds_what_threads_learn():
    none = np.zeros(0, np.float32)
    ln_z = np.zeros(5 * LANES, np.float32)
    params = Params(
        np.zeros((14, 4), np.float32), np.ones((8, 4), np.float32), np.zeros(8, np.float32), none, ln_z
    )
    # 6 and 4 rows, 2 threads with 2 hot rows and 1: each has its own, then the last ones
    hot = HotRows(params, Sizes(6, 4, Biases(), HotSizes(2, 1), 0, 2))
    assert [tuple(place) for place in hot.places] == [
        (2, 6, 1, 4, LANES, 6, 128),
        (2, 10, 1, 6, 3 * LANES, 6, 128),
    ]
    hot.refresh()
    np.testing.assert_array_equal(params.out_vectors[4:], 1.0)
    params.in_vectors[6] += 1.0  # the first thread learns about row 0
    params.in_vectors[10] += 3.0  # the second one, too
    params.in_vectors[11] -= 1.0  # and about row 1
    params.out_bias[6] += 4.0  # and about a bias
    params.ln_z[3 * LANES] += 6.0
    hot.exchange(0)
    assert (params.in_vectors[0] == 1.0).all()
    assert (params.in_vectors[6] == 1.0).all()
    hot.exchange(1)
    assert (params.in_vectors[0] == 4.0).all()
    assert (params.in_vectors[1] == -1.0).all()
    assert params.out_bias.tolist() == [4, 0, 0, 0, 0, 0, 4, 4]
    assert params.ln_z[0] == 6.0
    hot.exchange(0)  # nothing new from the first thread, but it takes what the second one learned
    assert (params.in_vectors[6] == 4.0).all()
    np.testing.assert_array_equal(params.in_vectors[2:6], 0.0)
    np.testing.assert_array_equal(params.out_vectors, 1.0)


def test_few_updates_are_on_their_way():
    assert exchange_interval(1) == 0
    assert [exchange_interval(threads) for threads in (2, 3, 8, 32, 1000)] == [128, 64, 16, 4, 1]
    for threads in range(2, 130):
        assert (threads - 1) * exchange_interval(threads) <= ON_THEIR_WAY


def test_room_for_copies_changes_no_start():
    with_room, without = (
        start_params(Sizes(5, 4, Biases(), HotSizes(copies, 0), 0, 2), 3, padded(3), 1, FirstRows())
        for copies in (3, 0)
    )
    assert len(with_room.in_vectors) == 17
    assert len(with_room.out_vectors) == 4
    np.testing.assert_array_equal(with_room.in_vectors[:5], without.in_vectors)
    assert not with_room.in_vectors[5:].any()


def text_of_frequent_words():
    rng = np.random.default_rng(0)
    return [[f"w{i}" for i in rng.zipf(1.3, 40) if i < 400] for _ in range(2000)]


@pytest.mark.parametrize("output", ["negative", "hierarchical"])
def test_many_threads_learn_frequent_words_as_one_thread_does(output):
    """The rows of frequent words, of which each thread has copies, move as far as with one thread."""
    text = text_of_frequent_words()
    one, many = (
        unhot.SkipGram(dim=8, min_count=1, epochs=3, output=output, threads=threads).fit(text)
        for threads in (1, 16)
    )
    assert hot_rows(len(many.vectors), 16) > 2
    assert many.history.losses == pytest.approx(one.history.losses, rel=0.012)
    words = one.vectors.words[: hot_rows(len(many.vectors), 16)]
    lengths = [
        np.linalg.norm([model.vectors[word] for word in words], axis=1).mean() for model in (one, many)
    ]
    assert lengths[1] == pytest.approx(lengths[0], rel=0.15)


def test_copies_of_16_bits_lose_no_step():
    none, apart = np.zeros(0, np.float32), np.spacing(np.float16(1.5))
    rows = np.full((17, LANES), 1.5, np.float16)
    hot = HotRows(
        Params(rows.view(np.uint16), np.zeros((1, LANES), np.float32), none, none, none),
        Sizes(1, 1, Biases(), HotSizes(1, 0), 0, 8),
    )
    hot.refresh()
    for _ in range(10):
        for thread in range(8):
            rows[1 + 2 * thread] += 3 * apart
            hot.exchange(thread)
    np.testing.assert_allclose((rows[0].astype(np.float64) - 1.5) / apart, 240)
