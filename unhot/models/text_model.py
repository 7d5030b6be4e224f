"""Models that read text: `fit_text`, and the encoding of text as ids on disk."""

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import encode, warm_up_encoding
from unhot.corpus.phrases import Phrases
from unhot.corpus.reading.sources import check_input
from unhot.errors import ConfigError
from unhot.kernels.cache import cache_directory
from unhot.models.fitting import FORM, Begins, Counting, L, Note, Reading, Reads, Tells
from unhot.models.model import Model
from unhot.models.settings import TextFields
from unhot.threads import in_background
from unhot.train.checkpoint import Checkpoint
from unhot.train.progress import Callback
from unhot.vocab.vocabulary import Vocabulary

SLOW = 2  # seconds of compiling after which people are told
LABELS = "labels"  # the name of the labels beside the lines of an encoded text, see `encode`
M = TypeVar("M", bound=Model[Any, Any])


def fit_text(
    self: M,
    source: Any,
    labels: Any = None,
    *,
    counts: Mapping[str, int] | Vocabulary | None = None,
    column: str | None = None,
    phrases: Phrases | None = None,
    start: Any = None,
    frozen: str | Iterable[str] | None = None,
    checkpoint: Checkpoint | None = None,
    progress: bool = False,
    callbacks: Sequence[Callback] = (),
    reading: Reading | None = None,
    counting: Counting | None = None,
    note: Note | None = None,
    directory: str | os.PathLike[str] | None = None,
    force: bool = False,
    kind: str | None = None,
    header: str | Sequence[str] | None = None,
    separator: str | None = None,
    strict: bool = False,
) -> M:
    """Learn from text (see `unhot.corpus.encode`), from an encoded `Corpus`, or from `Cells`.

    labels      the labels of each line, for models that learn from labels
    counts      the vocabulary to use, word -> count, instead of the words of the text
    column      the column of a table that holds the sentences
    phrases     phrases to join in the text before anything else
    start       vectors to start from, for the words that have one; or a model to train further, whose
                vocabulary then grows by the new words
    frozen      words whose input vectors must not change; "known": all words of `start`
    checkpoint  where and how often to save the state, to `resume` from
    progress    show the progress: a bar on a terminal or in a notebook, elsewhere a line for each epoch
    callbacks   functions called with a `Progress` after every chunk and every epoch
    reading     function called with the bytes read and the total while the text is read
    counting    function called with the rows counted and the total while cells are counted
    note        function called with lines about what goes on: compiling, the memory plan, odd input;
                None: the lines are logged or, with `progress`, shown
    directory   where to keep the encoded text for later, and the cells in its folder `cells` if the
                model is trained on cells; None: a temporary directory
    force       read files even if they do not look like text
    kind        text, csv, tsv, jsonl, parquet, arrow, csv-unquoted, tsv-unquoted, instead of what files say
    header      the names of the columns of CSV or TSV that has no header line, such as "label,title,text"
    separator   what is between the fields of CSV or TSV, instead of a comma or a tab
    strict      raise a `DataError` at the first bad row of a table instead of counting it

    If the source is `Cells`, nothing is read, counted or kept, and `reading`, `counting`, `directory` and
    `force` have no effect.
    """
    if labels is not None and self.family != "classify":
        raise ConfigError(f"labels: {self.name} learns from text without labels; leave labels out")
    return Model.fit(
        self,
        source,
        labels,
        counts=counts,
        column=column,
        phrases=phrases,
        start=start,
        frozen=frozen,
        checkpoint=checkpoint,
        progress=progress,
        callbacks=callbacks,
        reading=reading,
        counting=counting,
        note=note,
        directory=directory,
        force=force,
        kind=kind,
        header=header,
        separator=separator,
        strict=strict,
    )


@dataclasses.dataclass(kw_only=True)
class TextModel(TextFields, Model[L, Any]):
    """A model that reads text; what it answers is its own business."""

    fit = fit_text

    def prepare(self, reads: Reads, begins: Begins, tells: Tells) -> contextlib.AbstractContextManager[Any]:
        """Encode the text."""
        check_scratch(self, begins)
        return encoded(self, reads, tells)

    def make_answers(self, learned: L) -> Any:
        """Return nothing: the model answers itself."""


def check_scratch(model: Model[Any, Any], begins: Begins) -> None:
    """Raise a `ConfigError` if a model that always starts from scratch is given a start."""
    for field in ("start", "frozen"):
        if getattr(begins, field) is not None:
            raise ConfigError(f"{field}: {model.name} always starts from scratch; leave {field} out")


@contextlib.contextmanager
def encoded(model: Any, reads: Reads, tells: Tells, **how: Any) -> Iterator[Corpus]:
    """Encode the text, or take it if it is encoded already; compile the kernels of the model meanwhile.

    how   arguments of `encode` that are not those of the model's settings
    """
    check_input(reads.source, model.tokenizer)
    # not at the same time: two threads that load kernels need several megabytes more
    compiled = compiling(model, tells, lambda: warm_up_encoding(model.tokenizer))
    if isinstance(reads.source, Corpus):
        compiled()
        yield reads.source
        return
    settings = {name: getattr(model, name) for name in ("tokenizer", "min_count", "max_vocab", "threads")}
    settings |= {
        name: getattr(reads, name)
        for name in ("counts", "known", "column", "directory", "force", *FORM, "strict")
    }
    work: Callable[..., Corpus] = encode if reads.phrases is None else reads.phrases.encode
    if reads.labels is not None:
        work = partial(encode, beside={LABELS: reads.labels})
    with work(reads.source, **settings | how, progress=tells.reading) as corpus:
        numbers, *odd = str(corpus.report).splitlines()
        tells.say(numbers)
        for line in odd:
            tells.warn(line)
        compiled()
        yield corpus


def compiling(
    model: Model[Any, Any], tells: Tells, first: Callable[[], None] = lambda: None
) -> Callable[[], None]:
    """Compile the kernels of a model in the background; return a function that waits until they are ready.

    first   called before, after people were told that kernels are compiled
    """
    began = ready = time.perf_counter()
    if not any(cache_directory().glob("*.nbi")):
        tells.say(
            "compiling kernels for this machine: this happens once and takes some seconds "
            f"(kept in {cache_directory()})"
        )
    first()

    def work() -> None:
        nonlocal ready
        model.warm_up()
        ready = time.perf_counter()

    wait = in_background(work)

    def finish() -> None:
        wait()
        if ready - began > SLOW:
            tells.say(f"kernels ready after {ready - began:.1f} s")

    return finish
