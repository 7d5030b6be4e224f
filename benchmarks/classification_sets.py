"""The labelled sets of classification.py, as lines that fastText reads: `__label__a word word`.

    python benchmarks/classification_sets.py DATA WORK [--sets TREC,SST-2,...]

DATA holds the sources, in the folders and files that the functions below name. WORK gets for each set
NAME.train.txt, NAME.test.txt, NAME.input.txt (the test lines without labels) and NAME.one.txt (the first of
these); of sets in `REPEATS` also NAME.many.txt, which repeats the input until predicting it takes seconds.

Words are lower-cased runs of letters and digits, or single other characters; of langid, the text as it is,
split at white space. TREC and SST have their own test parts. 20newsgroups is split by date; its training
lines are shuffled, and those of 20newsgroups.sorted stay in the order of the file, label by label. All others
are shuffled and split 90 to 10. The seed of every shuffle is 0.
"""

from __future__ import annotations

import json
import lzma
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from harness import say
from options import new_parser, words_of

PREFIX = "__label__"
TRAINING_SHARE = 0.9


class Example(NamedTuple):
    """A line: its labels and its words."""

    labels: Sequence[str]
    words: Sequence[str]

    def line(self) -> str:
        """The line as fastText reads it."""
        return " ".join((*(PREFIX + label for label in self.labels), *self.words)) + "\n"

    def text(self) -> str:
        """The line without its labels."""
        return " ".join(self.words) + "\n"


Parts: TypeAlias = tuple[list[Example], list[Example]]  # to train with, to test with


def main() -> None:
    """Parse, write the files."""
    parser = new_parser(__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--sets", type=words_of(*SETS), default=list(SETS), help="default: all")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    for name in options.sets:
        train, test = SETS[name](options.data)
        write(options.work, name, train, test)
        say(f"{name}: {len(train):,} lines to train with, {len(test):,} to test with")


def write(work: Path, name: str, train: Sequence[Example], test: Sequence[Example]) -> None:
    """All files of a set."""
    inputs = [example.text() for example in test]
    files = {
        "train": [example.line() for example in train],
        "test": [example.line() for example in test],
        "input": inputs,
        "one": inputs[:1],
        "many": inputs * REPEATS.get(name, 0),
    }
    for kind, lines in files.items():
        if lines:
            with (work / f"{name}.{kind}.txt").open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(lines)


def words_and_signs(text: str) -> list[str]:
    """Lower-cased words, and all other characters but white space one by one."""
    return re.findall(r"\w+|[^\w\s]", text.lower())


def unpacked(path: Path) -> Iterator[str]:
    """The lines of a packed text."""
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        yield from file


def shuffled(examples: Sequence[Example]) -> list[Example]:
    """The same examples in the order of seed 0."""
    result = list(examples)
    random.Random(0).shuffle(result)
    return result


def split(examples: Sequence[Example]) -> Parts:
    """Shuffled examples, nine of ten to train with."""
    mixed = shuffled(examples)
    end = int(TRAINING_SHARE * len(mixed))
    return mixed[:end], mixed[end:]


def sentences(data: Path, name: str) -> list[Example]:
    """The sentences of one file; each line begins with its label."""
    path = data / "sentence-classification" / f"{name}.txt.xz"
    parts = (line.rstrip().partition(" ") for line in unpacked(path))
    return [Example([label], words_and_signs(text)) for label, _, text in parts]


def sentence_set(train: str, test: str) -> Callable[[Path], Parts]:
    """How to read a set of sentences that comes in two files."""
    return lambda data: (sentences(data, train), sentences(data, test))


def languages(data: Path) -> Parts:
    """Sentences in many languages; the label is the language."""
    parts = (line.partition("\t") for line in unpacked(data / "langid" / "sentences.train.tsv.xz"))
    return split([Example([language], text.split()) for language, _, text in parts])


def newsgroups(data: Path, labels_of: Callable[[str], list[str]], *, shuffle: bool = True) -> Parts:
    """Letters to newsgroups with their headers; `labels_of` makes labels of the name of a group."""

    def read(part: str) -> list[Example]:
        path = data / "20newsgroups" / f"20news-bydate-{part}.jsonl.xz"
        letters = (json.loads(line) for line in unpacked(path))
        return [Example(labels_of(each["label"]), words_and_signs(each["text"])) for each in letters]

    train = read("train")
    return shuffled(train) if shuffle else train, read("test")


def ancestors(group: str) -> list[str]:
    """A newsgroup and all groups above it, like comp, comp.sys, comp.sys.mac."""
    names = group.split(".")
    return [".".join(names[:end]) for end in range(1, len(names) + 1)]


def blogs(data: Path) -> Parts:
    """Bloggers: the words are their friends, the labels the groups that they joined."""
    friends = (line.split() for line in unpacked(data / "graphs" / "blogcatalog_adjlist.txt.xz"))
    words = {node: [f"n{friend}" for friend in others] for node, *others in friends}
    lines = (data / "graphs" / "blogcatalog_labels.txt").read_text(encoding="utf-8").splitlines()
    groups = {node: joined for node, *joined in map(str.split, lines)}
    return split([Example(groups[node], some) for node, some in words.items() if groups.get(node)])


SETS: dict[str, Callable[[Path], Parts]] = {
    "TREC": sentence_set("TREC.train.all", "TREC.test.all"),
    "SST-2": sentence_set("stsa.binary.train", "stsa.binary.test"),
    "SST-5": sentence_set("stsa.fine.train", "stsa.fine.test"),
    "subj": lambda data: split(sentences(data, "subj.all")),
    "langid": languages,
    "20newsgroups": lambda data: newsgroups(data, lambda group: [group]),
    "20newsgroups.sorted": lambda data: newsgroups(data, lambda group: [group], shuffle=False),
    "20newsgroups.hierarchy": lambda data: newsgroups(data, ancestors),
    "BlogCatalog": blogs,
}
REPEATS = {"SST-2": 800, "20newsgroups": 16, "langid": 40}  # fastText takes about five seconds for them


if __name__ == "__main__":
    main()
