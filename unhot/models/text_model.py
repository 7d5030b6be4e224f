"""Models that read text: their settings for words and tokens, and the encoding of text as ids on disk."""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated, Any

from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import encode, warm_up_encoding
from unhot.corpus.reading.sources import check_input
from unhot.kernels.cache import cache_directory
from unhot.models.fitting import Reads, Tells
from unhot.models.model import L, Model
from unhot.models.settings import Range
from unhot.threads import in_background

SLOW = 2  # seconds of compiling after which people are told
LABELS = "labels"  # the name of the labels beside the lines of an encoded text, see `encode`


@dataclasses.dataclass(kw_only=True)
class TextModel(Model[L]):
    """Settings of a model that reads text."""

    min_count: Annotated[int, Range(1)] = 5  # drop words that occur less often than this
    max_vocab: Annotated[int | None, Range(1)] = None  # keep only this many words, the most frequent ones
    # how lines are split into tokens: whitespace, words (lower-cased, any script), text8; in Python also a
    # function
    tokenizer: Any = "whitespace"

    def open_input(self, reads: Reads, tells: Tells) -> contextlib.AbstractContextManager[Any]:
        """Open the encoded text."""
        return self.open_text(reads, tells)

    @contextlib.contextmanager
    def open_text(self, reads: Reads, tells: Tells) -> Iterator[Corpus]:
        """Encode the text, or take it if it is encoded already; compile the kernels meanwhile."""
        check_input(reads.source, self.tokenizer)
        compiled = self._compile(tells)
        if isinstance(reads.source, Corpus):
            compiled()
            yield reads.source
            return
        how: Callable[..., Corpus]
        if reads.phrases is None:
            how = partial(encode, beside=None if reads.labels is None else {LABELS: reads.labels})
        else:
            how = reads.phrases.encode
        with how(reads.source, **self.encoding(reads), progress=tells.reading) as corpus:
            numbers, *odd = str(corpus.report).splitlines()
            tells.say(numbers)
            for line in odd:
                tells.warn(line)
            compiled()
            yield corpus

    def encoding(self, reads: Reads) -> dict[str, Any]:
        """Return how the text is encoded: the arguments of `encode`."""
        return {
            "tokenizer": self.tokenizer,
            "min_count": self.min_count,
            "max_vocab": self.max_vocab,
            "threads": self.threads,
            "counts": reads.counts,
            "known": reads.known,
            "column": reads.column,
            "directory": reads.directory,
            "force": reads.force,
        }

    def _compile(self, tells: Tells) -> Callable[[], None]:
        """Compile the scanner now and the training kernel in the background.

        Return a function that waits until both are ready.
        """
        began = time.perf_counter()
        announce_compiling(tells)
        warm_up_encoding(self.tokenizer)
        ready = began

        def work() -> None:
            nonlocal ready
            self.warm_up()
            ready = time.perf_counter()

        wait = in_background(work)

        def finish() -> None:
            wait()
            if ready - began > SLOW:
                tells.say(f"kernels ready after {ready - began:.1f} s")

        return finish

    def config(self) -> dict[str, Any]:
        """Return the settings as plain data; a tokenizer that is a function is saved by its name."""
        settings = super().config()
        if callable(self.tokenizer):
            named = self.tokenizer if hasattr(self.tokenizer, "__qualname__") else type(self.tokenizer)
            settings["tokenizer"] = f"{named.__module__}.{named.__qualname__}"
        return settings


def announce_compiling(tells: Tells) -> None:
    """Say that kernels are compiled, if none was compiled on this machine before."""
    if not any(cache_directory().glob("*.nbi")):
        tells.say(
            "compiling kernels for this machine: this happens once and takes some seconds "
            f"(kept in {cache_directory()})"
        )


def compile_kernels(model: Model[Any], tells: Tells) -> None:
    """Compile the kernels of a model now, and say so if it takes long."""
    began = time.perf_counter()
    announce_compiling(tells)
    model.warm_up()
    if (seconds := time.perf_counter() - began) > SLOW:
        tells.say(f"kernels ready after {seconds:.1f} s")
