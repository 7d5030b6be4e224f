import gc
import os

from hypothesis import settings

# a first example may compile a kernel; `make soak` draws more examples, and others each time
SOAK = "UNHOT_SOAK" in os.environ
settings.register_profile("unhot", deadline=None, max_examples=300 if SOAK else 20, derandomize=not SOAK)
settings.load_profile("unhot")

# some virtual machines say that they can do AMX and stop torch's bfloat16 products with an illegal
# instruction; torch reads this once
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

# tests kill processes, but cut no power: nothing has to reach the disk before a test goes on
if not SOAK:
    os.fsync = lambda descriptor: None

# one thread of BLAS and of torch for each worker of the tests: more would wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


collect_ignore = ["helpers/plugins"]  # importing them would register their models


def pytest_collection_finish():
    """Leave what stays until the end, modules and thousands of tests, out of every garbage collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # compiling a kernel makes many objects, and nearly all of them stay
