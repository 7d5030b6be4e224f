"""Figures that everything else relies on."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pytest
from harness import ChildFailed, rounds, run
from hypothesis import given
from hypothesis import strategies as st
from report import Table, markdown_table, others_line, ratios, read_rows, spread


@given(st.integers(0, 7), st.lists(st.sampled_from("abcd"), min_size=1, unique=True))
def test_each_round_has_every_tool_and_starts_with_another(count: int, names: list[str]) -> None:
    order = list(rounds(count, names))
    assert len(order) == count * len(names)
    for number in range(1, count + 1):
        mine = [name for n, name in order if n == number]
        assert sorted(mine) == sorted(names)
        assert mine[0] == names[(number - 1) % len(names)]


@given(
    st.dictionaries(
        st.tuples(st.integers(1, 5), st.sampled_from(["a", "b", "c"])), st.none() | st.integers(1, 100)
    )
)
def test_ratios_are_taken_within_a_round(values: dict[tuple[int, str], int | None]) -> None:
    rows = [
        {"round": str(n), "tool": tool, "x": "" if value is None else str(value)}
        for (n, tool), value in values.items()
    ]
    pairs = [(values.get((n, "a")), values.get((n, "b"))) for n in range(1, 6)]
    assert sorted(ratios(rows, "x", "a", "b")) == sorted(a / b for a, b in pairs if a and b)


def test_the_median_of_ratios_survives_a_slow_round() -> None:
    speeds = {"a": (200.0, 20.0, 180.0), "b": (100.0, 10.0, 100.0)}  # the machine was busy in round 2
    rows = [
        {"round": str(n), "tool": tool, "x": str(x)}
        for tool, numbers in speeds.items()
        for n, x in enumerate(numbers)
    ]
    found = spread(ratios(rows, "x", "a", "b"))
    assert found is not None
    assert (found.median, found.low, found.high) == (2.0, 1.8, 2.0)
    assert found.text(".2f") == "2.00 (1.80..2.00)"


@given(st.lists(st.floats(-1e6, 1e6)))
def test_spread(values: list[float]) -> None:
    assert spread(values) == ((median(values), min(values), max(values)) if values else None)


def test_a_child_is_measured_alone() -> None:
    big = run(
        [sys.executable, "-c", "import time; x = bytearray(200_000_000); time.sleep(0.3); print('done')"]
    )
    small = run([sys.executable, "-c", "pass"])
    # counted as the child's, see harness.py
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    assert big.output == "done\n"
    assert big.seconds >= 0.3
    assert 200 < big.peak_mb < 300 + own
    assert small.peak_mb < 50 + own  # not the biggest of all children so far


def test_a_child_that_fails_says_why() -> None:
    with pytest.raises(ChildFailed, match=r"(?s)exit code 3.*out of paper"):
        run([sys.executable, "-c", "import sys; sys.stderr.write('out of paper'); sys.exit(3)"])


def test_a_child_is_watched_while_it_runs() -> None:
    moments: list[float] = []
    run(
        [sys.executable, "-c", "import time; time.sleep(0.2)"],
        watch=lambda: moments.append(time.perf_counter()),
    )
    assert moments[-1] - moments[0] > 0.1


def test_rows_are_on_disk_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.csv"
    with Table(path, ["a", "b"]) as table:
        table.add({"a": 'comma, "quote"'})
        assert read_rows(path) == [{"a": 'comma, "quote"', "b": ""}]


def test_markdown_table() -> None:
    assert (
        markdown_table(["tool", "s"], [["x", "1"], ["y", "2"]])
        == "| tool | s |\n| :-- | --: |\n| x | 1 |\n| y | 2 |\n"
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/stat")
def test_other_jobs_are_noticed() -> None:
    command = [sys.executable, "-c", "import time; time.sleep(1)"]
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        disturbed = run(command).others_cores
        busy.kill()
    assert disturbed is not None
    assert disturbed > 0.5


def test_a_disturbed_page_says_so() -> None:
    assert others_line([{"others_cores": ""}]) == ""
    assert "disturbed" not in others_line([{"others_cores": "0.02"}, {"others_cores": "0.10"}])
    assert "disturbed: more than 0.15 in 1 of 3 rows" in others_line(
        [{"others_cores": x} for x in ("0.02", "0.90", "")]
    )
