"""Read files of analogies: word2vec's format (Google) and pairs (BATS).

    Google   `: section` begins a section; a question is a line of four words, a b c d: a is to b as c is to d
    BATS     a file is a relation; a line is a word and its right answers, `a<TAB>b1/b2/...`; every pair of
             lines gives two questions

A BATS question is "a is to b1 as c is to ?", where b1 is the first answer of a, as in the authors' own
program. Any right answer of c is correct, except a, b1 and c themselves. The group of a BATS relation is the
name of its folder. A Google section is syntactic if its name begins with "gram", else semantic, as in gensim.
"""

from pathlib import Path
from typing import NamedTuple

from unhot.errors import DataError
from unhot.evaluate.files import File, nothing_asked, numbered_lines, question_files, wrong_line

FOUR = "four words `a b c d`, or `: name` for a new section"
PAIR = "a word and its right answers, `a<TAB>b1/b2/...`"
# a list of words with counts has lines like a BATS file; every pair of lines would be two questions
MOST_PAIRS = 1_000
EITHER = f"{FOUR} (word2vec's format); or {PAIR} (BATS)"


class Question(NamedTuple):
    """A question: a is to b as c is to one of the right words."""

    a: str
    b: str
    c: str
    right: tuple[str, ...]


class Relation(NamedTuple):
    """A relation: questions of one kind."""

    name: str
    group: str  # "" if the relation has none
    questions: list[Question]


def read_analogies(source: File) -> list[Relation]:
    """Read all relations of a file, or of all files below a folder."""
    relations = [relation for path in question_files(source) for relation in _read(path, Path(source))]
    if not any(relation.questions for relation in relations):
        raise nothing_asked(source, EITHER)
    return relations


def _read(path: Path, source: Path) -> list[Relation]:
    """Read the relations of a file; its first line tells the format."""
    lines = [(number, line) for number, line in numbered_lines(path) if line]
    if not lines:
        return []
    number, first = lines[0]
    if first.startswith(":") or len(first.split()) == 4:
        return _read_sections(path, lines)
    if len(_pair(first)) == 2:
        group = path.parent.name if source not in (path, path.parent) else ""
        return [Relation(path.stem, group, _read_pairs(path, lines))]
    raise wrong_line(path, number, first, EITHER)


def _read_sections(path: Path, lines: list[tuple[int, str]]) -> list[Relation]:
    relations: list[Relation] = []
    if not lines[0][1].startswith(":"):
        relations.append(Relation(path.stem, "", []))
    for number, line in lines:
        if line.startswith(":"):
            name = line.lstrip(": ").strip()
            relations.append(Relation(name, "syntactic" if name.startswith("gram") else "semantic", []))
            continue
        words = line.split()
        if len(words) != 4:
            raise wrong_line(path, number, line, FOUR)
        relations[-1].questions.append(Question(words[0], words[1], words[2], (words[3],)))
    return relations


def _pair(line: str) -> list[str]:
    return [field.strip() for field in line.split("\t")] if "\t" in line else line.split()


def _read_pairs(path: Path, lines: list[tuple[int, str]]) -> list[Question]:
    """Read a BATS file: make a question of each line with each other line."""
    pairs = []
    for number, line in lines:
        word, *rest = _pair(line)
        answers = tuple(answer for answer in "".join(rest).split("/") if answer)
        if len(rest) != 1 or not answers:
            raise wrong_line(path, number, line, PAIR)
        pairs.append((word, answers))
        if len(pairs) > MOST_PAIRS:
            raise DataError(
                f"{path}: line {number}: a BATS file has at most {MOST_PAIRS:,} lines, because every pair of "
                "them is two questions: split it, or give a file of analogies"
            )
    return [
        Question(a, b[0], c, right)
        for i, (a, b) in enumerate(pairs)
        for j, (c, right) in enumerate(pairs)
        if i != j
    ]
