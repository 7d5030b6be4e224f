"""What memory a process may have, and what a command says if that is not enough."""

import pytest
from commands import run

import unhot
from unhot.train import memory_plan


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text.txt").write_text("a b c d\n" * 20)
    return tmp_path / "text.txt"


@pytest.mark.parametrize(
    ("folder", "limit", "used", "cached"),
    [
        (".", "memory.max", "memory.current", ""),
        ("jobs/7", "memory.max", "memory.current", ""),
        ("memory/jobs", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
    ],
)
def test_the_limit_of_a_container_is_compared_with_the_plan(
    folder, limit, used, cached, text, tmp_path, monkeypatch
):
    """Of cgroup 2 and of cgroup 1, also of a group around that of the process."""
    (tmp_path / "cgroup").write_text("3:memory:/jobs/7/inner\n0::/jobs/7/inner\n")
    monkeypatch.setattr(memory_plan, "PROCESS", tmp_path)
    monkeypatch.setattr(memory_plan, "CGROUP", tmp_path / "groups")
    place = tmp_path / "groups" / folder
    place.mkdir(parents=True)
    (place / limit).write_text("1000000\n")
    (place / used).write_text("999950\n")
    (place / "memory.stat").write_text(f"{cached}inactive_file 30\n{cached}active_file 20\n")
    done = run("train", text, "-o", tmp_path / "model", "--dim", 8, "--min-count", 1)
    assert done.returncode == 1
    assert "words with dim=8 needs" in done.stderr
    assert "but 100 bytes of memory is free: raise min_count, set max_vocab" in done.stderr


def test_ulimit_is_compared_with_the_plan():
    resource = pytest.importorskip("resource")
    if not (memory_plan.PROCESS / "statm").exists():
        pytest.skip("the platform does not say how much a process has")
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int((memory_plan.PROCESS / "statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 200_000_000, before[1]))
    try:
        assert memory_plan.available_memory() <= 200_000_000
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("can't start new thread"), OSError(12, "Cannot allocate memory")]
)
def test_no_memory_is_no_bug(error, text, tmp_path, monkeypatch):
    def fit(*_, **__):
        raise error

    monkeypatch.setattr(unhot.SkipGram, "fit", fit)
    done = run("train", text, "-o", tmp_path / "model")
    assert done.returncode == 1
    assert done.stderr.startswith("unhot: not enough memory")
    assert "this is a bug" not in done.stderr
