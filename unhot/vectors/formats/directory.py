"""Save and load a model folder: it holds one complete version of the model, and a file that names it.

    MODEL/CURRENT                  "v1": the live version
    MODEL/v1/config.json           the kind and the settings of the model
    MODEL/v1/vocab.txt             the input words, one per line, in the order of the ids
    MODEL/v1/out_vocab.txt         the predicted words, if they differ from these: the labels of a classifier
    MODEL/v1/model.safetensors     counts int64 [words], out_counts int64 [labels], and all learned tensors:
                                   in_vectors, out_vectors float32 [rows, dim] (see model_folder.py), ...
    MODEL/v1/manifest.json         size and sha256 of all these files
    MODEL/checkpoint/              during training: another model folder, with the state of the training in
                                   its config

A save writes a new version under a temporary name, renames it, replaces CURRENT and removes the old version.
Each step is on the disk before the next begins. So a kill at any moment leaves the last complete model, and
the next save removes leftovers. An existing model is not touched before the new one is complete. A training
holds its folder (model_claim.py): nobody else can train or save there. A folder with only a checkpoint is
opened as that checkpoint. The files of a finished model do not depend on the time or the machine: the same
model gives the same bytes.
"""

import contextlib
import hashlib
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unhot.atomic import TEMPORARY, locked, replacing, sync_file, sync_folder, temporary_name
from unhot.claims import CLAIM, check_unclaimed
from unhot.errors import ConfigError, DataError, FormatError
from unhot.json_file import json_text, read_json
from unhot.leftovers import held
from unhot.regular import inner_size
from unhot.rows.remote import is_address
from unhot.sizes import FULL, free_space, readable
from unhot.vectors.formats.safetensors import Array, read_safetensors, write_safetensors
from unhot.vocab.vocabulary import Vocabulary, words_text

FORMAT = "unhot model"
FORMAT_VERSION = 1  # the version of this layout; a newer one is refused
CURRENT = "CURRENT"
CONFIG = "config.json"
WORDS = "vocab.txt"
OUT_WORDS = "out_vocab.txt"
TENSORS = "model.safetensors"
MANIFEST = "manifest.json"
CHECKPOINT = "checkpoint"
CELLS = "cells.json"  # the index of a folder of cells, which is often taken for a model
FILES = (CONFIG, WORDS, TENSORS)  # files that every version has
COUNTS = {WORDS: "counts", OUT_WORDS: "out_counts"}  # the tensors that hold the counts of these words
VERSION_NAME = re.compile("v[1-9][0-9]{0,17}")
SMALL = 1 << 24  # bytes of the largest file whose bytes are checked whenever a model is opened
CHECKED = 1 << 20  # numbers checked at a time


class SavedModel(NamedTuple):
    """The content of a model folder; the tensors are memory-mapped copy-on-write."""

    config: dict[str, Any]
    vocabulary: Vocabulary  # the input words
    tensors: dict[str, Array]
    out_vocabulary: Vocabulary | None = None  # the predicted words; None: the same as the input words


def save_model(
    path: str | Path,
    config: dict[str, Any],
    vocabulary: Vocabulary,
    tensors: dict[str, Array],
    out_vocabulary: Vocabulary | None = None,
) -> None:
    """Write a model folder, or a new version of one.

    The tensors `counts` and `out_counts` are taken from the vocabularies. A model need not have vectors.
    """
    path = Path(path)
    tensors = dict(tensors)
    texts = {CONFIG: _config_text(config)}
    for name, words in ((WORDS, vocabulary), (OUT_WORDS, out_vocabulary)):
        if words is not None:
            texts[name] = words_text(words.words)
            tensors[COUNTS[name]] = words.counts
    _check_tensors(tensors, vocabulary, DataError, str(path))
    check_target(path)
    try:
        _make_folder(path)
        with locked(path):
            check_unclaimed(path / CLAIM, path)
            _save_version(path, texts, tensors)
    except OSError as error:
        kept = "the old model is untouched" if _live_version(path) else "nothing was saved there"
        size = sum(tensor.nbytes for tensor in tensors.values()) + sum(map(len, texts.values()))
        room = f": it needs {readable(size)}, {readable(free_space(path))} are free"
        why = f"{error.strerror or error}{room if error.errno in FULL else ''}"
        raise DataError(f"{path}: the model cannot be saved ({why}); {kept}") from error


def _save_version(path: Path, texts: dict[str, bytes], tensors: dict[str, Array]) -> None:
    """Write the next version; the caller holds the lock of the folder."""
    live = check_target(path)
    new = f"v{int(live[1:]) + 1 if live else 1}"
    temporary = path / temporary_name(new)
    try:
        remove_versions(path, live)
        temporary.mkdir()
        with held(temporary):
            _write_version(temporary, texts, tensors)
        temporary.rename(path / new)
        sync_folder(path)
        with replacing(path / CURRENT) as file:
            file.write(f"{new}\n".encode("ascii"))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if _live_version(path) == live:  # the save failed: remove the version that CURRENT does not name
            with contextlib.suppress(OSError):
                remove_versions(path, live)
    with contextlib.suppress(OSError):  # the new model is complete; the next save will try again
        remove_versions(path, new)


def _make_folder(path: Path) -> None:
    """Make a folder and its parents, and wait until all their names are on the disk."""
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in made or [path]:
        sync_folder(folder.parent)


def load_model(path: str | Path, verify: bool = False) -> SavedModel:
    """Open a model folder, and compare the checksums of its small files; `verify`: of all files."""
    path = Path(path)
    while folder := _live_folder(path):
        try:
            return _load_version(folder, verify)
        except (FormatError, OSError) as error:
            # another process may have saved a new version meanwhile and removed the one being read
            if _live_folder(path) != folder:
                continue
            if isinstance(error, OSError):
                raise FormatError(
                    f"{folder}: byte 0: cannot be read ({error.strerror or error}); the model is damaged"
                ) from error
            raise
    if (path / CELLS).is_file():
        raise DataError(
            f"{path}: this is a folder of co-occurrence cells, or of PMI values, not a model: unhot info "
            "describes it, unhot train learns from it (--model glove or svd), and in Python "
            "unhot.vectors.sparse_vectors.SparseVectors.load(PATH) finds neighbours"
        )
    why = f"it has no {CURRENT} (byte 0)"
    if (path / CURRENT).exists():
        why = f"byte 0 of {path / CURRENT} does not name a version"
    raise FormatError(f"{path}: this is not an unhot model: {why}; give the folder of a saved model")


def check_exists(path: str | Path) -> None:
    """Raise a `DataError` if there is nothing at a path that should hold a model."""
    if not Path(path).exists():
        here = " on this machine, where checkpoints stay" if is_address(path) else ""
        raise DataError(f"{path}: there is no such file or folder{here}; give the folder of a saved model")


def is_model(path: str | Path) -> bool:
    """Return whether a path is a folder that `load_model` would try to open."""
    return _live_folder(Path(path)) is not None


def checkpoint_of(path: str | Path) -> Path:
    """Return the folder of checkpoints for a model that will be saved at path."""
    return Path(path) / CHECKPOINT


def remove_checkpoint(path: str | Path) -> None:
    """Remove the checkpoint of the model at path, if there is one, because the model is complete."""
    folder = checkpoint_of(path)
    # rename it first: half a checkpoint must not look like a checkpoint; the next save removes leftovers
    trash = folder.with_name(f"{TEMPORARY}old-{CHECKPOINT}")
    with contextlib.suppress(OSError):  # a checkpoint without CURRENT does no harm
        if _is_checkpoint(folder):
            try:
                folder.rename(trash)
            except OSError:  # e.g. Windows, while it is memory-mapped
                (folder / CURRENT).unlink(missing_ok=True)
            shutil.rmtree(trash, ignore_errors=True)


def _live_folder(path: Path) -> Path | None:
    """Return the folder of the live version, or of the checkpoint's if there is nothing else."""
    for home in (path, path / CHECKPOINT):
        if live := _live_version(home):
            return home / live
    return None


def _live_version(path: Path) -> str | None:
    """Return the version that CURRENT names; None if there is no such file or it names no version."""
    try:
        inner_size(path / CURRENT)
        with (path / CURRENT).open("rb") as file:
            name = file.read(100).removesuffix(b"\n").decode("ascii")
    except (OSError, FormatError, UnicodeDecodeError):
        return None
    return name if VERSION_NAME.fullmatch(name) else None


def check_target(path: Path) -> str | None:
    """Return the live version of the model at path; raise a `DataError` if something else is there."""
    live = _live_version(path)
    if (
        live is None
        and path.exists()
        and not (path.is_dir() and all(_is_leftover(entry) for entry in path.iterdir()))
        and (live := _live_version(path)) is None  # nobody has saved the first version meanwhile
    ):
        raise DataError(f"{path}: this exists and is not an unhot model; choose another name")
    return live


def _is_leftover(entry: Path) -> bool:
    """Return whether an entry of a folder without CURRENT is left over from an interrupted first save."""
    if entry.name.startswith(TEMPORARY) or (entry.name == CHECKPOINT and _is_checkpoint(entry)):
        return True
    try:
        return VERSION_NAME.fullmatch(entry.name) is not None and bool(read_manifest(entry))
    except (FormatError, OSError):
        return False


def _is_checkpoint(folder: Path) -> bool:
    return folder.is_dir() and (
        _live_version(folder) is not None or all(_is_leftover(entry) for entry in folder.iterdir())
    )


def remove_versions(path: Path, live: str | None) -> None:
    """Remove temporary entries and all versions but the live one.

    Entries that cannot be removed now are left for the next save.
    """
    for entry in path.iterdir():
        if entry.is_symlink() or entry.name == CLAIM:
            continue
        if VERSION_NAME.fullmatch(entry.name) and entry.name != live and entry.is_dir():
            trash = entry.with_name(f"{TEMPORARY}old-{entry.name}")  # half a version must not look complete
            try:
                entry = entry.rename(trash)
            except OSError:  # e.g. Windows, while it is memory-mapped
                continue
        if entry.name.startswith(TEMPORARY):
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def _config_text(config: dict[str, Any]) -> bytes:
    try:
        return _json_bytes(config)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"the config cannot be written as JSON ({error}); use text, finite numbers, lists and dicts"
        ) from error


def _json_bytes(value: dict[str, Any]) -> bytes:
    return json_text(value, indent=2, sort_keys=True).encode("ascii") + b"\n"


def _write_version(folder: Path, texts: dict[str, bytes], tensors: dict[str, Array]) -> None:
    for name, text in texts.items():
        (folder / name).write_bytes(text)
    with (folder / TENSORS).open("wb") as file:
        write_safetensors(file, tensors)
    files = {
        name: {"sha256": _sha256(folder / name), "size": (folder / name).stat().st_size}
        for name in (*texts, TENSORS)
    }
    manifest = {"format": FORMAT, "format_version": FORMAT_VERSION, "files": files}
    (folder / MANIFEST).write_bytes(_json_bytes(manifest))
    for name in (*files, MANIFEST):
        sync_file(folder / name)
    sync_folder(folder)


def _load_version(folder: Path, verify: bool) -> SavedModel:
    if folder.is_symlink():
        raise FormatError(f"{folder}: is a link, not a folder of unhot's, so it is not read")
    files = check_files(folder, verify)
    tensors = read_safetensors(folder / TENSORS)
    vocabulary = _read_vocabulary(folder, WORDS, tensors)
    _check_tensors(tensors, vocabulary, FormatError, str(folder / TENSORS))
    out_vocabulary = _read_vocabulary(folder, OUT_WORDS, tensors) if OUT_WORDS in files else None
    return SavedModel(_read_object(folder / CONFIG), vocabulary, tensors, out_vocabulary)


def check_files(folder: Path, verify: bool = False) -> dict[str, dict[str, Any]]:
    """Return the files of a version; raise a `FormatError` if one is not as the manifest says.

    The checksums of small files are compared; `verify`: of all files.
    """
    files = read_manifest(folder)
    for name, entry in files.items():
        size = inner_size(folder / name)
        if size != entry["size"]:
            raise FormatError(
                f"{folder / name}: the file ends at byte {size}, but {MANIFEST} says {entry['size']}; it is "
                "truncated or damaged"
            )
        if (verify or size <= SMALL) and _sha256(folder / name) != entry["sha256"]:
            raise FormatError(
                f"{folder / name}: bytes 0..{size}: the sha256 differs from the one in {MANIFEST}; the file "
                "is damaged, or somebody has edited it"
            )
    return files


def _read_vocabulary(folder: Path, name: str, tensors: dict[str, Array]) -> Vocabulary:
    counts = tensors.get(COUNTS[name])
    if counts is None or counts.dtype != np.int64:
        raise FormatError(f"{folder / TENSORS}: the header at byte 8 has no int64 tensor {COUNTS[name]!r}")
    return Vocabulary.load(folder / name, counts)


def _check_tensors(
    tensors: dict[str, Array], vocabulary: Vocabulary, error: type[DataError] | type[FormatError], where: str
) -> None:
    """Raise an error if vectors have a wrong type, or in_vectors a wrong number of rows.

    With n-grams, in_vectors has one row for each entry of row_keys. The output layer decides how many rows
    out_vectors has.
    """
    keys = tensors.get("row_keys")
    for name in ("in_vectors", "out_vectors"):
        tensor = tensors.get(name)
        accepted = ("float32", "float16") if name == "in_vectors" and keys is not None else ("float32",)
        if tensor is not None and (tensor.dtype.name not in accepted or tensor.ndim != 2):
            raise error(
                f"{where}: byte 8: tensor {name!r} is {tensor.dtype} of shape {tensor.shape}: "
                f"it must be {' or '.join(accepted)} of shape [rows, dim]"
            )
    expected, what = (
        (len(vocabulary), "the vocabulary has {} words")
        if keys is None
        else (keys.size, "'row_keys' has {} entries")
    )
    rows = len(tensors["in_vectors"]) if "in_vectors" in tensors else expected
    if rows != expected:
        raise error(f"{where}: byte 8: tensor 'in_vectors' has {rows} rows, but {what.format(expected)}")


def typed_arrays(
    tensors: Mapping[str, Any], kinds: Mapping[str, tuple[Any, int | tuple[int, ...]]], damaged: str
) -> list[Any]:
    """Return some tensors; raise the `FormatError` unless all are there, with their types and shapes.

    kinds   name -> the type of the numbers, and the number of axes or the shape
    """
    found = [tensors.get(name) for name in kinds]
    for array, (kind, shape) in zip(found, kinds.values(), strict=True):
        if array is None or array.dtype != kind or shape not in (array.ndim, array.shape):
            raise FormatError(damaged)
    return found


def check_finite(saved: SavedModel, where: str | Path) -> None:
    """Raise a `FormatError` if a number of a tensor is infinite or NaN."""
    for name, tensor in saved.tensors.items():
        numbers = tensor.reshape(-1)
        for first in range(0, numbers.size if tensor.dtype.kind == "f" else 0, CHECKED):
            wrong = np.flatnonzero(~np.isfinite(numbers[first : first + CHECKED]))
            if wrong.size:
                raise FormatError(
                    f"{where}: number {first + int(wrong[0])} of tensor {name!r} is infinite or NaN; the "
                    "file is damaged, train again"
                )


def read_manifest(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the files of a version, with their sizes and checksums."""
    path = folder / MANIFEST
    manifest = _read_object(path)
    if manifest.get("format") != FORMAT or type(manifest.get("format_version")) is not int:
        raise FormatError(f"{path}: byte 0: this is not the manifest of an unhot model")
    version = manifest["format_version"]
    if version > FORMAT_VERSION:
        raise FormatError(
            f"{path}: byte 0: format_version {version}: this unhot reads up to {FORMAT_VERSION}; install a "
            "newer unhot"
        )
    files = manifest.get("files")
    if (
        not isinstance(files, dict)
        or files.keys() - {OUT_WORDS} != set(FILES)
        or not all(
            isinstance(entry, dict)
            and type(entry.get("size")) is int
            and isinstance(entry.get("sha256"), str)
            for entry in files.values()
        )
    ):
        raise FormatError(
            f"{path}: byte 0: the manifest must list {', '.join(FILES)}, and may list {OUT_WORDS}, each with "
            "its size and sha256"
        )
    return files


def _read_object(path: Path) -> dict[str, Any]:
    inner_size(path)  # raises an error for what is not a file
    value = read_json(path)
    if not isinstance(value, dict):
        raise FormatError(f"{path}: byte 0: this is not a JSON object")
    return value


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
