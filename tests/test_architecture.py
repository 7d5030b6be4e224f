"""The rules of docs/architecture.md, checked on the source."""

import ast
import functools
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "unhot"
FILES = sorted(PACKAGE.rglob("*.py"))
# a folder may import what stands before it, never what stands behind it
ORDER = [
    "types",
    "version",
    "errors",
    "specs",
    "sizes",
    "regular",
    "json_file",
    "largest",
    "lazy",
    "leftovers",
    "atomic",
    "claims",
    "threads",
    "user_cache",
    "screen",
    "probability",
    "kernels",
    "noise",
    "tree",
    "vocab",
    "rows",
    "corpus",
    "tables",
    "outputs",
    "index",
    "logs",
    "graphs",
    "vectors",
    "items",
    "lines",
    "lm",
    "ngrams",
    "data",
    "nn",
]
ORDER += ["train", "models", "evaluate", "plots", "bench", "compat", "cli"]


@functools.cache
def nodes(path):
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imports(path):
    """Every module a file imports, at the top or inside functions."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def room(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def test_imports_point_one_way():
    rooms = {path: room(path) for path in FILES if not room(path).startswith("__")}
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {module}"
        for path, here in rooms.items()
        for module in imports(path)
        if module.startswith("unhot.") and ORDER.index(module.split(".")[1]) > ORDER.index(here)
    ]
    assert not wrong


def test_only_the_jit_knows_numba():
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in FILES
        if any(m.split(".")[0] == "numba" for m in imports(path))
    }
    assert users == {"kernels/jit.py", "kernels/inlining.py", "kernels/cache.py"}


def test_only_nn_and_its_engine_know_torch():
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in FILES
        if any(m.split(".")[0] == "torch" for m in imports(path))
    }
    assert all(user.startswith("nn/") or user.startswith("train/torch_") for user in users), users


def test_nothing_is_unpickled():
    for path in FILES:
        assert not {"pickle", "marshal", "shelve", "dill", "cloudpickle"} & {
            m.split(".")[0] for m in imports(path)
        }, path
        assert "allow_pickle=True" not in path.read_text(encoding="utf-8")


def test_json_is_written_in_one_place():
    """Strictly: without NaN and Infinity, which are no JSON."""
    writers = {path.name for path in FILES if re.search(r"json\.dump|JSONEncoder", path.read_text("utf-8"))}
    assert writers == {"json_file.py"}


def test_one_function_finds_the_largest():
    """So ties have one order."""
    ways = re.compile(r"argpartition|nlargest|argsort\(-.*\)\[[.,: ]*: ?[a-z]")
    assert not [path.name for path in FILES if ways.search(path.read_text(encoding="utf-8"))]


def test_public_names_are_there():
    import unhot

    assert all(hasattr(unhot, name) for name in unhot.__all__)
    assert list(unhot.corpus.pairs("ab", window=1)) == [("a", "b"), ("b", "a")]
    assert callable(unhot.corpus.encode)
    assert callable(unhot.nn.OutputHead)
    assert callable(unhot.bench.compare_outputs)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        unhot.nonsense  # noqa: B018


def module_of(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


def imported_modules(path):
    """The modules of the package that a file imports: at the top, inside functions, for type checkers."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module in MODULES:
            names = [f"{node.module}.{name.name}" for name in node.names]
            yield from (name if name in MODULES else node.module for name in names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in MODULES)


def test_no_import_cycles():
    """Also none that imports inside functions, or for type checkers, would hide."""
    graph = {module: set(imported_modules(path)) - {module} for module, path in MODULES.items()}
    while leaves := [module for module, needed in graph.items() if not needed]:
        for leaf in leaves:
            del graph[leaf]
        for needed in graph.values():
            needed.difference_update(leaves)
    in_cycles = {module: sorted(needed & graph.keys()) for module, needed in graph.items()}
    assert not in_cycles


def test_a_class_name_is_in_one_module_only():
    homes = {}
    for module, path in MODULES.items():
        if not module.startswith("unhot.compat."):  # which has its peers' names
            for node in nodes(path):
                if isinstance(node, ast.ClassDef):
                    homes.setdefault(node.name, []).append(module)
    assert not {name: found for name, found in homes.items() if len(found) > 1}


def test_no_three_assignments_in_one_line():
    found = []
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
                targets = [target for target in node.targets if isinstance(target, ast.Tuple)]
                if any(len(target.elts) > 2 for target in targets):
                    found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert not found


def test_fit_and_resume_are_written_once():
    homes = []
    for path in (PACKAGE / "models").rglob("*.py"):
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef) and node.name in ("fit", "resume"):
                if not ast.unparse(node.body[-1]).startswith("return super().fit("):  # a kind's own arguments
                    homes.append((path.name, node.name))
    assert sorted(homes) == [("model.py", "fit"), ("model.py", "resume")]


def test_public_models_are_the_registered_ones():
    """Names for type checkers are written down; all others follow from the registry."""
    from unhot.models.load import all_models

    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    typed = {
        name.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names
    }
    assert {kind.__name__ for kind in all_models().values()} <= typed
    import unhot

    assert typed - {None, "__version__"} == set(unhot.__all__)
