"""Compiled kernels on disk: found again, and never a reason to fail."""

import os
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

import numba
import numpy as np
import pytest
from grids import crossed

from unhot.kernels import cache
from unhot.outputs.drawn import DrawnTables

CODE = """
import numpy as np
from unhot.noise import alias
table = alias.alias_table(np.array([0.5, 0.25, 0.25]))
print(sum(alias._fill.stats.cache_hits.values()))
"""


def cache_hits(folder):
    """Hits of a process that uses one kernel."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder with one kernel."""
    folder = tmp_path_factory.mktemp("kernels")
    assert cache_hits(folder) == 0
    return folder


def test_a_second_process_finds_the_kernel(kept):
    assert cache_hits(kept) == 1
    (folder,) = kept.iterdir()
    assert folder.name == f"unhot-{cache.fingerprint()}"


@pytest.mark.parametrize(("damage", "ending"), crossed([b"nonsense", None], ["nbi", "nbc"]))
def test_a_damaged_file_is_compiled_again(kept, tmp_path, ending, damage):
    shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    (path,) = tmp_path.rglob(f"*.{ending}")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    assert cache_hits(tmp_path) == 0
    assert cache_hits(tmp_path) == 1


def test_a_change_of_a_kernel_source_is_a_new_folder(monkeypatch, tmp_path):
    files = {
        "kernels/loop.py": "def step(): ...",
        "layer.py": "from unhot.kernels.jit import inner\nfrom unhot.limits import (\n    MOST,\n)\n",
        "limits.py": "MOST = 1",
        "cli/help.py": "HELP = 'text'",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(cache, "PACKAGE", tmp_path)
    for name, text in files.items():
        before = cache.fingerprint()
        (tmp_path / name).write_text(f"{text}\n# changed")
        assert (cache.fingerprint() != before) == (name != "cli/help.py"), name


def test_sources_of_kernels():
    """Also a file that only has constants of compiled code; not a file that only has words."""
    sources = cache.kernel_sources()
    assert {"kernels/loop.py", "outputs/drawn.py", "models/skipgram.py", "index/lengths.py"} <= sources.keys()
    assert not {"cli/train.py", "errors.py", "corpus/corpus.py"} & sources.keys()


@pytest.mark.skipif(sys.platform != "linux", reason="the folder of another platform has another name")
def test_a_user_without_a_home_keeps_kernels_in_a_private_folder(monkeypatch, tmp_path):
    def homeless(*_):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pathlib.Path.home", homeless)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = cache.user_cache()
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o777 == 0o700
    assert cache.user_cache() == folder
    folder.chmod(0o777)  # anybody may have put programs there
    assert not cache.user_cache().exists()
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    nowhere = cache.user_cache()
    with pytest.raises(OSError):  # noqa: PT011 (any reason will do: nothing is kept)
        nowhere.mkdir(parents=True)


class Foreign(NamedTuple):
    """As a layer outside the package would have it."""

    k: int


def test_kernels_of_layers_from_outside_are_not_kept():
    inside = numba.typeof(
        DrawnTables(np.zeros(2, np.uint64), np.zeros(0, np.float32), np.zeros(0, np.int64), 1, False, True)
    )
    outside = numba.typeof(Foreign(1))
    assert cache.ours((inside, numba.int64))
    assert not cache.ours((inside, outside))
    assert not cache.ours((numba.types.Tuple((inside, outside)),))
