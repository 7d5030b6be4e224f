"""Analogies: "a is to b as c is to ?", answered with one word of the vocabulary.

    accuracy = right answers / questions whose words are all known

    add   3CosAdd: the word r with the largest  cos(r, b) - cos(r, a) + cos(r, c)
    mul   3CosMul: the word r with the largest  cos'(r, b) cos'(r, c) / (cos'(r, a) + 1e-6)
                                                cos' = (1 + cos) / 2

3CosAdd finds the same word as `most_similar(positive=[b, c], negative=[a])`, which divides all scores by the
same length. Thousands of questions consist of a few hundred words. So the cosines of these words with a block
of candidates are computed once (for dense vectors, in one matrix product), and a question only combines three
rows of them (`analogy_scores.py`).

Two kinds of files have questions:

    Google   `: section` begins a section; a question is a line of four words, a b c d: a is to b as c is to d
    BATS     a file is a relation; a line is a word and its right answers, `a<TAB>b1/b2/...`; every pair of
             lines gives two questions

A BATS question is "a is to b1 as c is to ?", where b1 is the first answer of a, as in the authors' own
program. Any right answer of c is correct, except a, b1 and c themselves. The group of a BATS relation is the
name of its folder. A Google section is syntactic if its name begins with "gram", else semantic, as in gensim.

With `restrict_vocab=n` only the first n words are known:
a question with another word is left out and counted as unknown, and no other word can be an answer. Spellings
that differ only in case are one word, unless `case="exact"`. The figures equal those of gensim's
`evaluate_word_analogies` with the same `restrict_vocab`.

The interval is a bootstrap over questions. Questions of a section share words, so the interval is too narrow
for other words.

References: Mikolov et al. 2013; Levy and Goldberg 2014; Gladkova et al. 2016 (BATS).
"""

import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unhot.errors import DataError, one_of, whole
from unhot.evaluate.figures import Interval, Progress, WordFigures, mean_interval, share
from unhot.evaluate.files import File, nothing_asked, numbered_lines, question_files, wrong_line
from unhot.evaluate.lookup import WordLookup, look_up
from unhot.types import Ids
from unhot.vectors.word_rows import KeyedWords

METHODS = ("add", "mul")
BLOCK = 1024  # candidates at a time
TABLE = 1 << 22  # the most cosines at a time, if the questions have very many words
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


def answers(lookup: WordLookup, asked: Ids, method: str, tell: Callable[[int, int], None]) -> Ids:
    """Return the row that answers each question [questions, 3] of rows a, b, c; -1 if there is none.

    Of equal scores, the first row wins. a, b and c, and other spellings of them (see `WordLookup.names`), are
    never answers. `tell` is called with the number of candidates done and their total.
    """
    from unhot.evaluate.analogy_scores import GROUP, Answers, Questions, Quotient, Sum, answer

    words, places = np.unique(asked, return_inverse=True)
    cosines = lookup.cosines_with(words)
    questions = Questions(places.reshape(asked.shape).astype(np.int32), lookup.names[asked])
    best = Answers(np.full(len(asked), -1, np.int32), np.full(len(asked), -np.inf, np.float32))
    width = min(BLOCK, max(1, TABLE // (words.size * GROUP)) * GROUP)
    table = np.empty((words.size, width), np.float32)
    ends = np.linspace(0, len(asked), lookup.vectors.threads + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(lookup.vectors.threads) as pool:
        for first in range(0, lookup.size, width):
            last = min(first + width, lookup.size)
            table[:, : last - first] = cosines(first, last)
            table[:, last - first :] = np.nan
            if method == "mul":
                table += 1
                table *= 0.5
            flat = table.reshape(-1)
            scores = Sum(flat) if method == "add" else Quotient(flat)
            jobs = [
                pool.submit(answer, scores, width, first, lookup.names, questions, best, *chunk)
                for chunk in pairwise(ends)
            ]
            for job in jobs:
                job.result()
            tell(last, lookup.size)
    return best.rows


@dataclass(frozen=True, kw_only=True)
class Section:
    """How many questions of one relation, or of several, were answered right."""

    name: str
    group: str  # "" if the section has none
    questions: int
    unknown: int  # questions left out because a word is unknown
    correct: int
    interval: Interval

    @property
    def answered(self) -> int:
        """The number of questions whose words are all known."""
        return self.questions - self.unknown

    @property
    def accuracy(self) -> float:
        """The share of right answers; NaN if no question was asked."""
        return share(self.correct, self.answered)


@dataclass(frozen=True, kw_only=True)
class Analogies(WordFigures):
    """Accuracy by section, by group and in total, and how it was measured."""

    method: str
    sections: tuple[Section, ...]
    groups: tuple[Section, ...]  # Google: semantic, syntactic; BATS: its folders
    total: Section


def analogies(
    vectors: KeyedWords,  # Vectors or SparseVectors
    source: File,
    *,
    method: str = "add",
    restrict_vocab: int | None = None,
    case: str = "ignore",
    seed: int = 1,
    progress: Progress | None = None,
) -> Analogies:
    """Measure the accuracy of vectors on a file of analogies, or on all files below a folder.

    method           add (3CosAdd) or mul (3CosMul)
    restrict_vocab   only the first this many words are known; None: all
    case             exact, prefer or ignore: see `unhot.evaluate.lookup`
    seed             seed of the intervals
    progress         called now and then with "analogies", the candidates done and their total
    """
    one_of("method", method, METHODS)
    seed = whole("seed", seed, 0, 2**64 - 1)
    lookup = look_up(vectors, restrict_vocab=restrict_vocab, case=case)
    relations = read_analogies(source)
    marks = marked(lookup, relations, method, progress)
    sections = []
    by_group: dict[str, Marks] = {}
    for relation, mark in zip(relations, marks, strict=True):
        sections.append(_section(relation.name, relation.group, mark, seed))
        if relation.group:
            by_group.setdefault(relation.group, []).extend(mark)
    return Analogies(
        file=os.fspath(source),
        method=method,
        restrict_vocab=restrict_vocab,
        case=case,
        seed=seed,
        sections=tuple(sections),
        groups=tuple(_section(group, group, some, seed) for group, some in by_group.items()),
        total=_section("total", "", [mark for some in marks for mark in some], seed),
    )


Marks = list[bool | None]  # for each question: right, wrong, or None if it has an unknown word


def _section(name: str, group: str, marks: Marks, seed: int) -> Section:
    asked = [mark for mark in marks if mark is not None]
    return Section(
        name=name,
        group=group,
        questions=len(marks),
        unknown=len(marks) - len(asked),
        correct=sum(asked),
        interval=mean_interval(asked, seed),
    )


def marked(
    lookup: WordLookup, relations: Sequence[Relation], method: str, progress: Progress | None = None
) -> list[Marks]:
    """Answer the questions of all relations at once, because they share words; return the marks of each."""
    row = functools.cache(lookup.row)  # words occur in many questions
    names = lookup.names.tolist()
    asked: list[tuple[int, int, int]] = []  # rows a, b, c
    right: list[tuple[Marks, int, set[int]]] = []  # where the mark goes, and the names of right answers
    marks: list[Marks] = []
    for relation in relations:
        mine: Marks = [None] * len(relation.questions)
        for i, question in enumerate(relation.questions):
            rows = row(question.a), row(question.b), row(question.c)
            known = {names[row(word)] for word in question.right if row(word) >= 0}
            if known and min(rows) >= 0:
                asked.append(rows)
                right.append((mine, i, known))
        marks.append(mine)
    if asked:
        tell = progress or (lambda stage, done, total: None)
        found = answers(lookup, np.array(asked, np.int32), method, functools.partial(tell, "analogies"))
        for (mine, i, known), answer in zip(right, found.tolist(), strict=True):
            mine[i] = answer >= 0 and names[answer] in known
    return marks
