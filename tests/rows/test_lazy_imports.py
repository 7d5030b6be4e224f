"""Arrow and msgspec are imported when the first table is read, not before."""

import subprocess
import sys

import pytest

LISTED = "; import sys; print(*{name.split('.')[0] for name in sys.modules} & {'pyarrow', 'msgspec'})"
RUN = "from unhot.cli.main import _run; _run({!r}, False)"
LM = "lm train text.txt -o lm --order 2 --smoothing witten_bell -q".split()


@pytest.mark.parametrize(
    "code",
    [
        "import unhot, unhot.rows.labelled, unhot.rows.copied",
        RUN.format(["--help"]),
        RUN.format(["classify", "train", "--help"]),
        RUN.format("train text.txt -o model --dim 2 --min-count 1 --threads 1 -q".split()),
        RUN.format(LM) + "; " + RUN.format(["lm", "perplexity", "lm", "text.txt"]),
    ],
)
def test_without_tables_nothing_of_arrow_is_imported(code, tmp_path):
    (tmp_path / "text.txt").write_text("a b c a b\nb c a\n" * 20)
    result = subprocess.run(
        [sys.executable, "-c", code + LISTED], cwd=tmp_path, capture_output=True, text=True
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1] == ""
