"""The cache that keeps compiled kernels on disk between runs.

Numba looks only at the file that holds a kernel, not at the files that the kernel calls, so a change
elsewhere would leave a stale kernel behind. Here the *name of the directory* contains a hash of the sources
of all kernels, the numba version and the CPU. A change to any of these means a new directory; a change to a
help text does not. The cache is disposable: a file that cannot be read is deleted and the kernel is compiled
again. If the folder cannot be written, nothing is kept.

The directory is `$NUMBA_CACHE_DIR/unhot-...` if that variable is set, otherwise `unhot/kernels-...` in the
user's cache folder. A user without a home folder (a container with any user id) has a private folder in the
temporary directory instead.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import caching

from unhot.user_cache import user_cache

PACKAGE = Path(__file__).resolve().parent.parent
KERNEL = b"from unhot.kernels"
IMPORT = re.compile(rb"^from unhot\.([\w.]+) import (\([^)]*\)|.*)$", re.MULTILINE)
CONSTANT = re.compile(rb"\b[A-Z][A-Z0-9_]+\b")


def kernel_sources() -> dict[str, bytes]:
    """Return the sources of all kernels, by their path in the package.

    These are the files of `unhot.kernels`, the files that import from it, and the files from which those
    import a constant.
    """
    texts = {path.relative_to(PACKAGE).as_posix(): path.read_bytes() for path in PACKAGE.rglob("*.py")}
    compiled = {name for name, text in texts.items() if name.startswith("kernels/") or KERNEL in text}
    constants = {
        f"{module.decode().replace('.', '/')}.py"
        for name in compiled
        for module, names in IMPORT.findall(texts[name])
        if CONSTANT.search(names)
    }
    return {name: texts[name] for name in sorted(compiled | (constants & texts.keys()))}


def fingerprint() -> str:
    """Hash everything that a compiled kernel depends on."""
    digest = hashlib.sha256(numba.__version__.encode())
    digest.update(f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}".encode())
    for name, text in kernel_sources().items():
        digest.update(name.encode())
        digest.update(text)
    return digest.hexdigest()[:16]


@functools.cache
def cache_directory() -> Path:
    """Return the directory for these sources, this numba version and this CPU."""
    name = fingerprint()
    if numba.config.CACHE_DIR:
        return Path(numba.config.CACHE_DIR) / f"unhot-{name}"
    return user_cache() / "unhot" / f"kernels-{name}"


def _classes(numba_type: Any) -> Iterator[type]:
    """Yield the NamedTuple classes inside a numba type."""
    if hasattr(numba_type, "instance_class"):
        yield numba_type.instance_class
    for part in getattr(numba_type, "types", ()):
        yield from _classes(part)


def ours(signature: Any) -> bool:
    """Return whether this package defines all NamedTuples of a signature: `fingerprint` covers only these."""
    classes = (c for t in signature for c in _classes(t))
    return all(c.__module__.split(".")[0] == "unhot" for c in classes)


class Locator(caching._CacheLocator):  # type: ignore[misc]
    """Tells numba to keep every kernel in `cache_directory()`."""

    def __init__(self, lineno: int) -> None:
        self._lineno = lineno

    def get_cache_path(self) -> str:
        """Return the directory of the cache."""
        return str(cache_directory())

    def get_source_stamp(self) -> str:
        """Return the directory's name, which contains the hash of the sources."""
        return cache_directory().name

    def get_disambiguator(self) -> str:
        """Return what distinguishes two functions of the same name: the line number."""
        return str(self._lineno)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Locator:
        """Return the locator of a function."""
        return cls(py_func.__code__.co_firstlineno)


class Implementation(caching.CompileResultCacheImpl):  # type: ignore[misc]
    """Numba's cache implementation with our locator."""

    _locator_classes = [Locator]


class KernelCache(caching.FunctionCache):  # type: ignore[misc]
    """A cache that never fails: it recompiles what it cannot read, and does not keep what it cannot write."""

    _impl_class = Implementation

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load a compiled kernel from disk; return None if there is none."""
        if not ours(sig):
            return None
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a damaged cache can fail in any way while it is decoded
            self.wipe()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled kernel to disk."""
        if not ours(sig):
            return
        try:
            super().save_overload(sig, data)
        except OSError:  # the disk is read-only or full: the kernel still works
            self.disable()
        except Exception:  # the index is damaged
            self.wipe()

    def wipe(self) -> None:
        """Delete the files of this kernel."""
        try:
            for path in cache_directory().glob(f"{self._impl.filename_base}.*"):
                path.unlink(missing_ok=True)
        except OSError:  # damaged and read-only: work without the cache
            self.disable()
