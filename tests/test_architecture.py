"""The rules of docs/architecture.md, checked on the source."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "unhot"
FILES = sorted(PACKAGE.rglob("*.py"))
# a folder may import what stands before it, never what stands behind it
ORDER = [
    "types",
    "errors",
    "atomic",
    "threads",
    "probability",
    "kernels",
    "noise",
    "tree",
    "vocab",
    "corpus",
    "outputs",
    "index",
    "vectors",
    "data",
    "nn",
]
ORDER += ["train", "models", "evaluate", "bench", "compat", "cli"]


def imports(path):
    """Every module a file imports, at the top or inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def room(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_point_one_way(path):
    here = room(path)
    if here.startswith("__"):
        return
    for module in imports(path):
        if module.startswith("unhot."):
            there = module.split(".")[1]
            assert ORDER.index(there) <= ORDER.index(here), f"{here} imports {module}"


def test_only_the_jit_knows_numba():
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in FILES
        if any(m.split(".")[0] == "numba" for m in imports(path))
    }
    assert users == {"kernels/jit.py", "kernels/cache.py"}


def test_only_nn_and_its_engine_know_torch():
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in FILES
        if any(m.split(".")[0] == "torch" for m in imports(path))
    }
    assert all(user.startswith("nn/") or user == "train/torch_run.py" for user in users), users


def test_nothing_is_unpickled():
    for path in FILES:
        assert not {"pickle", "marshal", "shelve", "dill", "cloudpickle"} & {
            m.split(".")[0] for m in imports(path)
        }, path
        assert "allow_pickle=True" not in path.read_text(encoding="utf-8")


def test_files_stay_small():
    for path in FILES:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path


def test_public_names_are_there():
    import unhot

    assert all(hasattr(unhot, name) for name in unhot.__all__)
    assert list(unhot.corpus.pairs("ab", window=1)) == [("a", "b"), ("b", "a")]
    assert callable(unhot.corpus.encode)
    assert callable(unhot.nn.OutputHead)
    assert callable(unhot.bench.compare_outputs)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        unhot.nonsense  # noqa: B018
