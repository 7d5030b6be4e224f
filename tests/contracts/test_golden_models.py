"""Models that earlier commits saved still load, and still give the same answers (tests/golden/README.md).

tools/make_golden_models.py made them. tools/golden_questions.py queries them, and golden_answers.py compares.
"""

import copy
import functools
import hashlib
import json
import operator
import os
import re
import shutil
import subprocess
import sys
import typing
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from grids import soak_only, some
from programs import without_jit

import unhot
from unhot.errors import FormatError, UnhotError
from unhot.vectors.formats.safetensors import read_entries, read_safetensors, write_safetensors

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

from golden_answers import check, differences, names, recorded  # noqa: E402
from golden_questions import INPUTS, MODELS, command  # noqa: E402

SOURCES = "/tmp/unhot-golden/"  # the models were trained there
UNFINISHED = [name for name in names() if name.endswith(("-stopped", "-checkpoint"))]
# makes the CPU look as if it had no AVX-512, then runs the tool
WITHOUT_AVX512 = """
import runpy, sys
import llvmlite.binding as llvm
features = llvm.get_host_cpu_features()
features.update([(name, False) for name in features if name.startswith(("avx512", "avx10", "amx"))])
llvm.get_host_cpu_features = lambda: features
from unhot.kernels.simd.lanes import LANES
assert LANES == 8
sys.path.insert(0, sys.argv[1])
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
AVX2 = {  # the same for numba, NumPy, its BLAS, and torch
    "NUMBA_CPU_NAME": "haswell",
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512_SKX X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
}


def checked(*arguments, **environment):
    """What the tool prints about all models, in a process of its own."""
    env = {**os.environ, "PYTHONPATH": str(TOOLS.parent), **environment}
    tool = [sys.executable, *arguments, str(TOOLS / "golden_answers.py")]
    done = subprocess.run(tool, env=env, capture_output=True, text=True, timeout=900)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def models():
    """All folders that hold models, opened."""
    kinds = {name: recorded(name)["info"].get("model", "cells") for name in names()}
    return [unhot.load(MODELS / name) for name, kind in kinds.items() if kind not in ("vectors", "cells")]


@pytest.mark.parametrize("name", names())
def test_a_saved_model_gives_the_same_answers(name):
    assert check(name) == []


def test_every_folder_has_answers():
    assert set(names()) == {path.stem for path in MODELS.glob("*.json")}


def test_every_kind_of_model_is_there(models):
    """Every public class that learns."""
    public = {getattr(unhot, name) for name in unhot.__all__}
    assert {kind for kind in public if hasattr(kind, "fit")} == {type(model) for model in models}


@pytest.mark.parametrize("setting", ["engine", "on"])
def test_every_engine_is_there(setting, models):
    accepted = typing.get_args(typing.get_type_hints(unhot.SkipGram)[setting])
    assert set(accepted) == {getattr(model, setting) for model in models if isinstance(model, unhot.SkipGram)}


def test_every_output_layer_is_there(models):
    """Without those that other tests register."""
    layers = {name for name, layer in unhot.outputs.LAYERS.items() if layer.__module__.startswith("unhot.")}
    specs = [getattr(model, "output", None) for model in models]
    assert layers == {spec.partition(":")[0] for spec in specs if spec is not None}


def test_the_files_name_no_folder_of_the_machine_that_made_them():
    for path in MODELS.rglob("config.json"):
        assert all(found.startswith(SOURCES) for found in re.findall('"(/[^"]*)', path.read_text())), path


def test_a_changed_byte_is_found(tmp_path):
    shutil.copytree(MODELS / "skipgram", tmp_path / "model")
    path = tmp_path / "model" / "v1" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(FormatError, match="sha256"):
        unhot.load(tmp_path / "model", verify=True)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (["queries", "most_similar(cat)", 1, 0], "bread"),
        (["queries", "vectors[bread]", 2], 9.0),
        (["queries", "predict(k=2)", 0], ["food"]),
        (["queries", "labels"], None),
        (["info", "commonest_labels", "food"], 1),
        (["commands"], {}),
        (["commands", "unhot another command"], 1),
    ],
)
def test_a_changed_answer_is_found(place, value):
    expected = recorded("classifier")
    found = copy.deepcopy(expected)
    assert differences(expected, found) == []
    part = functools.reduce(operator.getitem, place[:-1], found)
    part[place[-1]] = value
    assert all(line.startswith("/".join(["", *map(str, place)])) for line in differences(expected, found))
    assert differences(expected, found)


@pytest.mark.parametrize(
    ("number", "other", "same"),
    [
        (2.0, 2.0 * (1 + 9e-6), True),
        (2.0, 2.0 * (1 + 2e-5), False),
        (0.0, 1e-10, True),
        (0.0, 1e-8, False),
        (1, 1.0, False),
        (1, True, False),
        ("1", 1, False),
    ],
)
def test_how_near_numbers_must_be(number, other, same):
    assert (differences({"a": [number]}, {"a": [other]}) == []) is same


def test_without_the_compiler_the_answers_are_the_same():
    code = "import sys; from golden_answers import check; print(sum(map(check, sys.argv[1:]), []))"
    assert without_jit(code, *some(names(), 23)) == "[]\n"


@soak_only
@pytest.mark.skipif(not llvm.get_host_cpu_features().get("avx512f"), reason="this CPU has no AVX-512")
def test_without_avx512_the_answers_are_the_same(tmp_path):
    told = checked("-c", WITHOUT_AVX512, str(TOOLS), **AVX2, NUMBA_CACHE_DIR=str(tmp_path))
    assert told == f"{len(names())} models, 0 differences\n"
    assert any(tmp_path.rglob("*.nbc"))


def why_not(model, source):
    """Resume a training, and return the error if it cannot be resumed."""
    try:
        model.resume(source)
    except UnhotError as error:
        return str(error)
    return ""


@soak_only
@pytest.mark.parametrize("name", UNFINISHED)
def test_an_unfinished_training_resumes_or_says_why_not(name, tmp_path):
    """A checkpoint need not resume in a later version; then the error says so. The model loads anyway."""
    model = unhot.load_unfinished(MODELS / name)
    if getattr(model, "validation", None) is not None:
        model.validation = str(INPUTS / "held_out.txt")
    if error := why_not(model, INPUTS / recorded(name)["info"]["training"]["source"][0]):
        assert "resume" in error
        return
    model.save(tmp_path / "model")
    assert "training" not in command(tmp_path / "model", "info MODEL --json")


TENSORS = [
    (path.relative_to(MODELS), tensor)
    for path in sorted(MODELS.glob("**/model.safetensors"))
    for tensor in read_entries(path)
    if not tensor.startswith(("optimizer.", "carried.", "best."))  # these are checked when it is resumed
]
HALF = {np.float16, np.float32}  # rows of n-grams may be either
TYPES = [np.uint64, np.float64, np.int32, np.float16, np.uint8, np.int64, np.float32]


def saved_with(folder, path, name, tensor):
    """Copy a golden model with another tensor, and correct its checksums."""
    target = folder / path.parts[0]
    shutil.copytree(MODELS / path.parts[0], target)
    file, tensors = folder / path, read_safetensors(MODELS / path)
    with file.open("wb") as out:
        write_safetensors(out, {**tensors, name: tensor})
    manifest = json.loads(file.with_name("manifest.json").read_bytes())
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    manifest["files"][file.name] = {"sha256": digest, "size": file.stat().st_size}
    file.with_name("manifest.json").write_text(json.dumps(manifest))
    return target


def loaded(folder):
    """Open a saved model, or vectors, which are of no kind."""
    return unhot.Vectors.load(folder) if folder.name.startswith("vectors") else unhot.load(folder)


def retyped(tensor, number):
    """A tensor as another type, which none of its readers takes."""
    kinds = [kind for kind in TYPES if kind != tensor.dtype and {kind, tensor.dtype.type} != HALF]
    with np.errstate(all="ignore"):
        return tensor.astype(kinds[number % len(kinds)])


@pytest.mark.parametrize("number", some(range(len(TENSORS)), 120))
def test_a_tensor_of_another_type_is_refused_although_its_checksum_is_right(number, tmp_path):
    path, name = TENSORS[number]
    changed = retyped(read_safetensors(MODELS / path)[name], number)
    with pytest.raises(FormatError):
        loaded(saved_with(tmp_path, path, name, changed))


FLOATS = [
    (path, name)
    for path, name in TENSORS
    if read_entries(MODELS / path)[name].dtype[0] == "F" and not path.parts[0].startswith("vectors")
]


@pytest.mark.parametrize("number", some(range(len(FLOATS)), 40))
def test_a_number_that_is_not_finite_is_refused(number, tmp_path):
    path, name = FLOATS[number]
    changed = read_safetensors(MODELS / path)[name].copy()
    changed.reshape(-1)[-1] = [np.inf, np.nan, -np.inf][number % 3]
    with pytest.raises(FormatError, match="infinite or NaN|not those of its items"):
        loaded(saved_with(tmp_path, path, name, changed))
