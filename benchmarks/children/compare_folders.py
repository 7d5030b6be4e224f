"""Compare two folders of saved models and answers: every tensor, array and file, bit for bit.

job: before, after -> compared: what there is before; differences: a line each; notes: settings that only one
side has. It reads the files by itself, so that any two revisions can be compared. Left out: manifest.json,
which holds checksums of the other files, and the version of unhot in config.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

LEFT_OUT = {"manifest.json"}
VARYING = {"unhot"}  # settings
SETTING = "setting "
TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1"}
TYPES |= {"U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?"}


def parts_of(folder: Path) -> dict[str, Any]:
    """Everything in a folder by name: tensors and arrays, settings, lines of other files."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or path.name in LEFT_OUT:
            continue
        if path.suffix == ".safetensors":
            found |= {f"{name}: {tensor}": array for tensor, array in tensors(path.read_bytes())}
        elif path.suffix == ".npy":
            found[name] = np.load(path)
        elif path.name == "config.json":
            fields = json.loads(path.read_text(encoding="utf-8"))
            found |= {f"{SETTING}{field}": value for field, value in flat(fields) if field not in VARYING}
        else:
            found[name] = path.read_bytes().splitlines(keepends=True)
    return found


def flat(fields: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """All fields of a config; nested ones have names such as `log.checksum` and `models.0.order`."""
    for name, value in fields.items():
        if isinstance(value, list) and any(isinstance(each, dict) for each in value):
            value = {str(number): each for number, each in enumerate(value)}
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", each) for inner, each in flat(value))
        else:
            yield name, value


def tensors(data: bytes) -> Iterator[tuple[str, Any]]:
    """Names and arrays of a safetensors file."""
    start = 8 + int.from_bytes(data[:8], "little")
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            first, end = (start + offset for offset in entry["data_offsets"])
            yield name, np.frombuffer(data[first:end], TYPES[entry["dtype"]]).reshape(entry["shape"])


def difference(before: Any, after: Any) -> str:
    """How two parts differ; empty if they are equal."""
    if type(before) is not type(after):
        return f"{before!r:.80} before, {after!r:.80} after"
    if isinstance(before, np.ndarray):
        return array_difference(before, after)
    if isinstance(before, list) and len(before) == len(after):
        count = sum(a != b for a, b in zip(before, after, strict=True))
        return f"{count:,} of {len(before):,} differ" if count else ""
    if isinstance(before, list):
        return f"{len(before):,} before, {len(after):,} after"
    return "" if before == after else f"{before!r:.80} before, {after!r:.80} after"


def array_difference(before: Any, after: Any) -> str:
    """How many values of two arrays differ, and by how much."""
    if (before.dtype, before.shape) != (after.dtype, after.shape):
        shapes = [f"{array.dtype} {list(array.shape)}" for array in (before, after)]
        return f"{shapes[0]} before, {shapes[1]} after"
    size = before.itemsize
    rows = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (before, after)]
    differing = (rows[0] != rows[1]).reshape(-1, size).any(axis=1)
    if not differing.any():
        return ""
    apart = np.abs(after.astype(np.float64) - before.astype(np.float64)).max()
    return f"{differing.sum():,} of {before.size:,} values differ, by at most {apart:.3g}"


job = json.loads(sys.argv[1])
before, after = parts_of(Path(job["before"])), parts_of(Path(job["after"]))
differences: list[str] = []
alone: dict[str, list[str]] = {}  # side -> settings that only this side has
for name in sorted(before.keys() | after.keys()):
    if name in before and name in after:
        if found := difference(before[name], after[name]):
            differences.append(f"{name}: {found}")
        continue
    side = "before" if name in before else "after"
    if name.startswith(SETTING):
        alone.setdefault(side, []).append(name.removeprefix(SETTING))
    else:
        differences.append(f"{name}: only {side}")
arrays = sum(isinstance(part, np.ndarray) for part in before.values())
settings = sum(name.startswith(SETTING) for name in before)
answer = {
    "compared": f"{arrays} arrays, {settings} settings, {len(before) - arrays - settings} texts",
    "differences": differences,
    "notes": [f"settings only {side}: {', '.join(names)}" for side, names in alone.items()],
}
sys.stdout.write(json.dumps(answer) + "\n")
