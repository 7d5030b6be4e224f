"""The order in which a save touches the disk.

After a power cut only that is certain to be there which was synced before.

A kill cannot show this, since the system still writes what a dead process left in its cache. So the calls
themselves are looked at.
"""

import os
import shutil
import sys
from pathlib import Path

import pytest

import unhot
from unhot.vectors.formats.directory import CURRENT, FILES, MANIFEST, checkpoint_of

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="finds the names of open files in /proc"
)


@pytest.fixture
def calls(monkeypatch):
    """The calls of a save, in their order: what was done, with which path, and where it went."""
    found = []

    def noted(name, call):
        def noting(*arguments, **options):
            path = f"/proc/self/fd/{arguments[0]}" if name == "fsync" else arguments[0]
            done = call(*arguments, **options)
            inside = (
                Path(f"/proc/self/fd/{options['dir_fd']}").readlink()
                if options.get("dir_fd") is not None
                else Path()
            )
            where = Path(path).readlink() if name == "fsync" else inside / path
            found.append((name, where, Path(arguments[1]) if name in ("rename", "replace") else None))
            return done

        monkeypatch.setattr(os, name, noting)

    for name in ("fsync", "rename", "replace", "unlink", "rmdir", "mkdir"):
        noted(name, getattr(os, name))
    return found


@pytest.mark.parametrize("name", ["model", "deep/inside/model", "model/checkpoint"])
@pytest.mark.parametrize("first", [False, True])
def test_synced_before_it_counts(first, name, small, calls, tmp_path):
    folder, model = tmp_path.resolve() / name, unhot.load(small / "new")
    if not first:
        shutil.copytree(small / "old", folder)
    calls.clear()
    model.save(folder)
    new = folder / ("v1" if first else "v2")
    renamed = next(at for at, (_, _, to) in enumerate(calls) if to == new)
    replaced = next(at for at, (_, _, to) in enumerate(calls) if to == folder / CURRENT)
    temporary, current = calls[renamed][1], calls[replaced][1]

    def synced(path, start, stop):
        return ("fsync", path, None) in calls[start:stop]

    for file in (*FILES, MANIFEST):
        assert synced(temporary / file, 0, renamed), file
    assert synced(temporary, 0, renamed)
    assert synced(folder, renamed, replaced)  # the version is there before it is named
    assert synced(current, 0, replaced)
    removed = [
        at
        for at, (call, path, _) in enumerate(calls)
        if call in ("unlink", "rename") and path.is_relative_to(folder / "v1")
    ]
    assert bool(removed) is not first
    # the new one is named before the old one goes
    assert synced(folder, replaced, removed[0] if removed else None)
    made = [path for call, path, _ in calls if call == "mkdir" and path != temporary]
    assert len(made) == (len(Path(name).parts) if first else 0)
    for path in made:
        assert synced(path.parent, 0, replaced), path


def test_the_model_before_its_checkpoint_goes(small, calls, tmp_path):
    folder, model = tmp_path.resolve() / "model", unhot.load(small / "new")
    model.save(checkpoint_of(folder))
    calls.clear()
    model.save(folder)
    replaced = next(at for at, (_, _, to) in enumerate(calls) if to == folder / CURRENT)
    gone = [
        at
        for at, (call, path, _) in enumerate(calls)
        if call in ("unlink", "rename") and path.is_relative_to(checkpoint_of(folder))
    ]
    assert ("fsync", folder, None) in calls[replaced : gone[0]]
