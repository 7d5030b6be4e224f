"""A pipe in the place of a file: it is read if it is read once; otherwise an error says what it is."""

import os
import re
import threading
from pathlib import Path

import pytest
from commands import run

GOLDEN = Path(__file__).parents[1] / "golden"
MODELS, TEXT = GOLDEN / "models", GOLDEN / "inputs" / "text.txt"
pytestmark = pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs names for open pipes")


@pytest.fixture
def piped():
    """A function that returns the name of a pipe with a text, as a shell's <(...) does."""
    ends, writers = [], []

    def name_of(text):
        read, write = os.pipe()
        ends.append(read)
        writers.append(threading.Thread(target=lambda: os.close(write) if os.write(write, text) else None))
        writers[-1].start()
        return f"/dev/fd/{read}"

    yield name_of
    for end, writer in zip(ends, writers, strict=True):
        os.close(end)
        writer.join()


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--analogies", ": some\n{} {} {} {}\n"),
        ("--similarity", "{} {} 5\n{} {} 3\n{} {} 1\n"),
        ("--categories", "{}\ta\n{}\ta\n{}\tb\n{}\tb\n"),
        ("--outliers", "{}\n{}\n{}\n\n{}\n"),
    ],
)
def test_questions_may_come_from_a_pipe(option, text, tmp_path, piped):
    words = TEXT.read_text().split()
    words = [*dict.fromkeys(words)]
    (tmp_path / "questions").write_text(text.format(*words))
    known = run("evaluate", MODELS / "skipgram", option, tmp_path / "questions", "--json")
    assert known.returncode == 0, known.stderr
    pipe = piped(text.format(*words).encode())
    found = run("evaluate", MODELS / "skipgram", option, pipe, "--json")
    assert found.returncode == 0, found.stderr
    number = Path(pipe).name  # of an open file; the digits of a result may hold it, too
    named = re.sub(rf"(?<![\d.]){number}(?![\d.])", "questions", found.stdout.replace(pipe, "FILE"))
    assert named == known.stdout.replace(str(tmp_path / "questions"), "FILE")


@pytest.mark.parametrize(
    "command",
    [
        ("train", TEXT, "-o", "m", "--dim", 8, "--output", "negative:noise=file:{}"),
        ("train", TEXT, "-o", "m", "--dim", 8, "--output", "hierarchical:tree=file:{}"),
        ("train", TEXT, "-o", "m", "--dim", 8, "--phrases", "{}"),
        ("lm", "train", TEXT, "-o", "m", "--model", "neural", "--dim", 8, "--validation", "{}"),
        ("lm", "compare", TEXT, TEXT, "{}", "-o", "m"),
    ],
)
def test_files_that_are_read_more_than_once_may_not_be_pipes(command, tmp_path, piped):
    pipe = piped(b"the 5\n")
    done = run(*(str(part).format(pipe) for part in command), cwd=tmp_path)
    assert done.returncode == 1
    assert "is a pipe, not a regular file" in done.stderr
    assert not (tmp_path / "m").exists()
