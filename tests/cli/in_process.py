"""Commands in this process, which is quicker than a shell."""

import contextlib
import io
import sys

import pytest

from unhot.cli.main import main


def run(*arguments, text=b""):
    """Exit code, output and errors of a command."""
    out, err, given = io.StringIO(), io.StringIO(), io.TextIOWrapper(io.BytesIO(text))
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setattr(sys, "stdin", given)
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
    return end.value.code, out.getvalue(), err.getvalue()
