import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unhot.kernels.jit import kernel
from unhot.kernels.rng import GAMMA, below, bits_at, bits_at_integer, key_from, mix, stream_key

WORD = st.integers(0, 2**64 - 1)


@kernel
def kernel_mix(z):
    return np.uint64(mix(z))


@kernel
def kernel_below(bits, n):
    return below(bits, n)


@kernel
def kernel_bits(key, position):
    return np.uint64(bits_at(key, position))


def test_published_values_of_splitmix64():
    # the first three outputs of the authors' program for the state 0
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [bits_at_integer(0, i) for i in (1, 2, 3)] == expected
    assert [int(kernel_bits(np.uint64(0), i)) for i in (1, 2, 3)] == expected


@given(WORD, st.integers(0, 2**40))
def test_integers_and_kernels_agree(key, position):
    assert int(kernel_bits(np.uint64(key), position)) == bits_at_integer(key, position)


@given(WORD, st.integers(0, 2**40), st.integers(0, 2**40))
def test_a_key_can_begin_later(key, position, more):
    assert bits_at_integer(int(key_from(np.uint64(key), position)), more) == bits_at_integer(
        key, position + more
    )


@given(WORD, st.integers(1, 2**32 - 1))
def test_below_is_the_upper_half_of_the_product(bits, n):
    assert kernel_below(np.uint64(bits), n) == bits * n >> 64


def test_streams_differ_by_seed_epoch_and_purpose():
    keys = {
        int(stream_key(seed, epoch, purpose))
        for seed in range(8)
        for epoch in range(8)
        for purpose in range(8)
    }
    assert len(keys) == 512
    assert int(GAMMA) % 2 == 1  # so that the counter visits all states
