"""Programs with and without the JIT. All programs without it run in one process, which imports once."""

import atexit
import contextlib
import functools
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SERVER = """
import contextlib, io, json, sys, traceback
replies = sys.stdout
for line in sys.stdin:
    job, out, error = json.loads(line), io.StringIO(), ""
    sys.argv = ["-c", *job["arguments"]]
    try:
        with contextlib.redirect_stdout(out):
            exec(job["code"], {"__name__": "__main__"})
    except BaseException:
        error = traceback.format_exc()
    print(json.dumps([out.getvalue(), error]), file=replies, flush=True)
"""


def with_jit(code, *arguments):
    """Run a program in this process, and return what it prints."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out):
        patch.setattr(sys, "argv", ["-c", *map(str, arguments)])
        exec(code, {"__name__": "__main__"})
    return out.getvalue()


def without_jit(code, *arguments):
    """Run a program in the process that has no JIT, where warnings are errors; return what it prints."""
    server = _server()
    server.stdin.write(json.dumps({"code": code, "arguments": [*map(str, arguments)]}) + "\n")
    server.stdin.flush()
    out, error = json.loads(server.stdout.readline())
    assert not error, error
    return out


@functools.cache
def _server():
    path = os.pathsep.join(map(str, (ROOT, ROOT / "tests" / "helpers", ROOT / "tools")))
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    server = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    )
    atexit.register(server.communicate)  # the end of its input ends it
    return server
