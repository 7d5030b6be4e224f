"""Buffers of kernels lie apart from all other arrays, so that the same seed gives the same bytes."""

from unhot.kernels.feeder import MARGIN, inputs_buffer


def test_nothing_is_near_a_buffer_that_loops_write_to():
    for most in (1, 100):
        buffers = inputs_buffer(most)
        for array in (buffers.row, buffers.times):
            whole = array.base
            while whole.base is not None and hasattr(whole.base, "ctypes"):
                whole = whole.base
            before = array.ctypes.data - whole.ctypes.data
            behind = whole.nbytes - before - array.nbytes
            assert min(before, behind) >= 4 * MARGIN - 64  # less what aligning takes
            assert array.ctypes.data % 64 == 0
