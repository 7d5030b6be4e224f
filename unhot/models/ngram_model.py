"""n-gram language models: how likely a word is after the words before it, from counts.

The text is encoded with unknown words and empty lines in their places. Its n-grams are counted, a smoothing
turns the counts into probabilities, and these are laid out to be asked; see `unhot/ngrams/`.
"""

import contextlib
import dataclasses
import functools
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import encode
from unhot.errors import ConfigError, DataError, FormatError
from unhot.leftovers import scratch_folder
from unhot.lm.language_model import LanguageModel, check_tokenizer
from unhot.lm.symbols import SKIPPED
from unhot.models.fitting import AtOnce, Begins, FitState, Reads, Tells, nobody
from unhot.models.model import Model, model
from unhot.models.settings import Range, TextFields
from unhot.models.text_model import check_scratch, encoded, fit_text
from unhot.ngrams.arpa import read_arpa, write_arpa
from unhot.ngrams.asking import Trie
from unhot.ngrams.counting import (
    HIGHEST_ORDER,
    LineChoice,
    checked_budget,
    count_ngrams,
    held_tokens,
    memory_plan,
)
from unhot.ngrams.estimating import Estimation, Level, check_prune, estimate
from unhot.ngrams.levels import NgramCounts
from unhot.ngrams.packing import Layout, PackedNgrams, choose_layout, pack
from unhot.ngrams.smoothing import parse_smoothing
from unhot.ngrams.smoothing.jelinek_mercer import learned_weights
from unhot.ngrams.smoothing.smoothing import FIXED, FLAT
from unhot.ngrams.symbols import SYMBOLS, keys_of
from unhot.ngrams.trie_scorer import TrieScorer
from unhot.rows.copied import opened_result
from unhot.sizes import FULL, readable
from unhot.train.history import History
from unhot.train.memory_plan import available_memory, describe, out_of_memory
from unhot.types import Doubles, Ids
from unhot.vectors.formats.directory import SavedModel
from unhot.vocab.vocabulary import Vocabulary


class LearnedNgrams(NamedTuple):
    """What an n-gram model has learned."""

    in_vocabulary: Vocabulary  # `<unk>`, `<s>` and `</s>` come first
    out_vocabulary: Vocabulary
    packed: PackedNgrams

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return the two arrays of the layout, as bytes."""
        return {"nodes": self.packed.nodes.view(np.uint8), "top": self.packed.top.view(np.uint8)}

    def facts(self) -> dict[str, Any]:
        """Return how many n-grams there are, and how wide the fields of the layout are."""
        return {"ngrams": self.packed.ngrams, "places": self.packed.layout.places}


@model("ngram", family="language")
@dataclasses.dataclass(kw_only=True)
class NGramModel(LanguageModel, TextFields, Model[LearnedNgrams, Any]):
    """An n-gram language model: its settings and, after `fit` or `load`, its probabilities."""

    use = "try: unhot lm generate {0}, or unhot lm perplexity {0} TEXT"

    order: Annotated[int, Range(1, HIGHEST_ORDER)] = 5  # words of the longest n-grams
    # how counts become probabilities: absolute_discounting, add_k, jelinek_mercer, katz, kneser_ney,
    # maximum_likelihood, modified_kneser_ney, stupid_backoff or witten_bell; give settings after a colon, as
    # NAME:setting=value
    smoothing: Any = "modified_kneser_ney"
    # drop n-grams that occur at most so often: a number for each order; 0,0,1 drops those of three and more
    # words that occur once
    prune: Any = None
    min_count: Annotated[int, Range(1)] = 1  # words that occur less often than this become <unk>
    # read <s>, </s> and <unk> as white space, as lmplz --skip_symbols does; otherwise <unk> is an unknown
    # word, and the others are errors
    skip_symbols: bool = False
    memory: Any = "1GB"  # memory for counting; what needs more goes to temporary files
    # number of threads; any number gives the same model
    threads: Annotated[int, Range(1, 1024)] = 2
    compact: bool = False  # keep the model in fewer bytes; it is then asked two to three times as slowly
    double: bool = False  # keep probabilities as 64-bit numbers

    fit = fit_text

    def check(self) -> None:
        """Raise a `ConfigError` if settings are wrong or contradict each other."""
        self.smoothing = parse_smoothing(self.smoothing).spec()
        checked_budget(self.memory)
        self.prune = ",".join(map(str, _parsed(self.prune, self.order))) or None
        if self.compact and self.double:
            raise ConfigError(
                "compact with double: compact models have 32-bit numbers; leave one of them out"
            )

    def prepare(self, reads: Reads, begins: Begins, tells: Tells) -> contextlib.AbstractContextManager[Any]:
        """Encode the text, with the places of unknown words and empty lines."""
        check_scratch(self, begins)
        skipped = SKIPPED if self.skip_symbols else ()
        return encoded(self, reads, tells, unknown=True, empty_lines=True, nulls=False, skipped=skipped)

    def training(self, data: Corpus, begins: Begins, tells: Tells) -> AtOnce[LearnedNgrams]:
        """Return a training that counts the text when it runs."""
        return AtOnce(functools.partial(learn, self, data, tells), begins.history, data.words)

    def warm_up(self) -> None:
        """Compile the kernels by learning from two words."""
        tiny = dataclasses.replace(self, memory="1MB", threads=1, tokenizer="whitespace")
        with encode(iter(["a b", "a b"]), min_count=1, empty_lines=True, unknown=True) as corpus:
            learn(tiny, corpus, Tells(note=nobody))

    def lay_out(self, words: Vocabulary, levels: Iterable[Level], most: int) -> LearnedNgrams:
        """Return levels in the layout of the model; `most`: they have at most so many n-grams."""
        layout = choose_layout(most, keys_of(len(words)).bits, compact=self.compact, double=self.double)
        with scratch_folder() as directory:  # the files are mapped, so they stay while they are used
            try:
                return LearnedNgrams(words, words, pack(levels, layout, directory, self.threads))
            except OSError as error:
                if error.errno not in FULL:
                    raise
                raise DataError(
                    f"{directory.parent}: disk full: there is no room for a model of {most:,} n-grams; make "
                    "room, or set TMPDIR to another place"
                ) from error

    def laid_out(self, *, compact: bool) -> "NGramModel":
        """Return the same model in the quick or in the compact layout."""
        if compact == self.compact:
            return self
        other, (words, _, packed) = dataclasses.replace(self, compact=compact), self.learned
        other.fit_state = FitState(other.lay_out(words, packed.levels(), sum(packed.ngrams)), History())
        return other

    def restore(self, saved: SavedModel) -> LearnedNgrams:
        """Map the arrays of a saved model."""
        words, places = saved.vocabulary, saved.config.get("places")
        ngrams = saved.config.get("ngrams")
        wrong = not isinstance(places, int) or not 1 <= places <= 63 or tuple(words.words[:3]) != SYMBOLS
        wrong = wrong or not isinstance(self.tokenizer, str)  # a function is saved by its name
        if wrong or not isinstance(ngrams, list) or len(ngrams) != self.order:
            raise FormatError(
                f"an n-gram model: places={places!r}, ngrams={ngrams!r:.80}, "
                f"tokenizer={self.tokenizer!r:.80}, first words {words.words[:3]}: the file is damaged"
            )
        layout = Layout(self.compact, keys_of(len(words)).bits, int(places or 0), self.double)
        return LearnedNgrams(words, words, PackedNgrams.of_bytes(layout, ngrams, len(words), saved.tensors))

    def make_answers(self, learned: LearnedNgrams) -> TrieScorer:
        """Return what asks the layout."""
        check_tokenizer(self.tokenizer)
        packed, words = learned.packed, learned.in_vocabulary.words
        how, layout = parse_smoothing(self.smoothing), packed.layout
        most = [layout.most(packed.nodes, top=False), layout.most(packed.top, top=True) + 1]
        trie = Trie(
            layout.nodes(packed.nodes),
            layout.top(packed.top),
            np.array(most),
            packed.order,
            keys_of(len(words)),
            how.how == FLAT,
            -math.log10(len(words) - 1),
            math.log10(how.unseen),
        )
        return TrieScorer(words, trie, tokenizer=self.tokenizer, threads=self.threads)

    @classmethod
    def load_arpa(cls, path: str | os.PathLike[str], **settings: Any) -> Self:
        """Make a model of an ARPA file, compressed or not."""
        found = read_arpa(Path(path))
        made = cls(order=len(found.levels), smoothing="given", **settings)
        words = Vocabulary(found.words, np.zeros(len(found.words), np.int64))
        made.fit_state = FitState(made.lay_out(words, found.levels, sum(found.counts)), History())
        return made

    def save_arpa(self, path: str | os.PathLike[str]) -> None:
        """Write an ARPA file; its name may end with .gz, .bz2, .xz or .zst."""
        how, packed = parse_smoothing(self.smoothing), self.learned.packed
        if how.how in (FLAT, FIXED):
            raise ConfigError(
                f"smoothing={self.smoothing}: ARPA files weigh only histories that were seen, and "
                "this smoothing also weighs others: keep the folder"
            )
        with opened_result(path) as file:
            write_arpa(file, self.learned.in_vocabulary.words, packed.levels(), packed.ngrams)


def _parsed(prune: Any, order: int) -> list[int]:
    """Return the setting `prune` as numbers; nothing if nothing is dropped."""
    if not prune:
        return []
    try:
        given = [int(x) for x in (prune.split(",") if isinstance(prune, str) else prune)]
    except (TypeError, ValueError):
        raise ConfigError(
            f"prune={prune!r:.80}: must be whole numbers with commas between them, such as 0,0,1"
        ) from None
    return check_prune(given, order) if any(given) else []


@contextlib.contextmanager
def told_needs(model: NGramModel, corpus: Corpus) -> Iterator[None]:
    """If there is not enough memory to learn the n-grams of a text, say how much they need."""
    try:
        yield
    except (MemoryError, OSError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        plan, free = memory_plan(corpus, model.order, model.memory), available_memory() or 0
        raise DataError(
            f"learning n-grams of {corpus.words:,} words needs up to {describe(plan)}, but {readable(free)} "
            "of memory is free: raise the limit, or set a lower order or less memory"
        ) from error


def learn(model: NGramModel, corpus: Corpus, tells: Tells) -> LearnedNgrams:
    """Count the n-grams of a text, smooth the counts, and lay out the probabilities."""
    told = {"memory": model.memory, "threads": model.threads, "on_section": tells.counting}
    count = functools.partial(count_ngrams, corpus, model.order, **told)
    how = parse_smoothing(model.smoothing)
    with contextlib.ExitStack() as stack:
        stack.enter_context(told_needs(model, corpus))
        weights = _weights(count, held_tokens(corpus, how.step), how.step, tells) if how.step else []
        began = time.perf_counter()
        counts = stack.enter_context(count())
        sizes = [counts.level(order).counts.size for order in range(1, counts.order + 1)]
        seconds = time.perf_counter() - began
        tells.say(f"counted {sum(sizes):,} n-grams, {sum(sizes) / seconds:,.0f} n-grams/s")
        prune = _parsed(model.prune, model.order)
        estimation = Estimation(how, prune, weights, model.double, model.threads)
        words = Vocabulary(counts.words, counts.level(1).counts)
        return model.lay_out(words, estimate(counts, estimation, _on_order(tells), tells.say), sum(sizes))


def _weights(count: Callable[..., NgramCounts], held: Ids, step: int, tells: Tells) -> list[Doubles]:
    """Learn the weights of Jelinek-Mercer on each `step`-th line, from the counts of the others."""
    if not held.size:
        tells.say(f"the text has fewer than {step} lines, so no weights are learned: all are 0.5")
    with count(lines=LineChoice(step)) as counts:
        return learned_weights(counts, held, len(counts.words) - 1)


def _on_order(tells: Tells) -> Any:
    """Return a function that shows the progress of each order."""
    began = time.perf_counter()

    def on_order(order: int, done: int, total: int) -> None:
        nonlocal began
        if tells.counting is not None:
            tells.counting(done, total)
        if done == total:
            seconds, began = time.perf_counter() - began, time.perf_counter()
            tells.say(f"order {order}: {total:,} n-grams, {total / max(seconds, 1e-9):,.0f} n-grams/s")

    return on_order
