"""Phrases: join neighbouring words that belong together into one word, before any model is trained.

    >>> text = ["she lives in new york", "new york is big", "a big new house"]
    >>> phrases = Phrases(min_count=1, threshold=1.0).fit(iter(text))
    >>> phrases.transform(["in", "new", "york"])
    ['in', 'new_york']

`fit` encodes the text, counts pairs of neighbours and keeps the pairs whose score is above a threshold (see
`pair_scores`). `transform` joins from left to right, so a word becomes part of at most one phrase. A second
pass joins phrases with words, or with each other: new_york + times. `encode` returns the corpus with joined
phrases, to train a model on. `fit` and `encode` also take an encoded corpus, so that the text is read once.

Connectors are words that may stand inside a phrase but not at its ends. If "of" is a connector, "bank of
america" is the pair bank + america with "of" in between. That pair is counted separately from "bank america".
"""

import dataclasses
import io
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import Progress, WordChoice
from unhot.corpus.phrases.joining import (
    GrowingText,
    JoiningPlace,
    check_delimiter,
    connector_flags,
    encoded_text,
    join_text,
    joined,
    joined_words,
    opened_text,
    whole_text,
    write_text,
)
from unhot.corpus.phrases.pair_counts import count_pairs, first_words, left_sides, pair_scores, words_of
from unhot.corpus.phrases.phrase_file import ScoredPhrase, load_phrases, save_phrases
from unhot.corpus.reading.lexicon import check_given
from unhot.corpus.reading.sources import Source
from unhot.corpus.reading.tokenizers import Tokenizer
from unhot.corpus.workplace import Workplace
from unhot.errors import ConfigError, DataError, FormatError, finite, one_of, whole
from unhot.sizes import bytes_of
from unhot.vocab.vocabulary import Vocabulary, canonical, check_limits

THRESHOLDS = {"word2vec": 100.0, "gensim": 10.0, "npmi": 0.5}  # defaults
SCORES = tuple(THRESHOLDS)

# articles, prepositions and conjunctions that may stand inside English names
ENGLISH = frozenset("a an and at by for from in of on or the to with without".split())
OURS = ("threads", "memory")  # settings that depend on the machine and are not saved
NAMED = {"english": ENGLISH, "none": frozenset[str]()}


@dataclasses.dataclass(kw_only=True)
class Phrases:
    """The settings of phrase finding and, after `fit` or `load`, the phrases found.

    score       word2vec | gensim | npmi, see `pair_scores`
    threshold   pairs that score more become phrases. With several passes: one number for all, or a list of
                one for each. None: word2vec 100, gensim 10, npmi 0.5; with a target 0
    target      keep at most this many phrases, the best ones, in each pass
    min_count   how often a pair must occur. The scores word2vec and gensim subtract it from the count, so
                there a pair must occur more often than that
    passes      number of passes; must equal the number of thresholds if these are a list. A phrase of the
                second pass may have four words (not counting connectors), and so on
    connectors  words that may stand inside a phrase: a list, "english" for the usual ones, or "none"
    delimiter   the string that joins the words of a phrase
    threads     number of threads for counting and joining
    memory      bytes for counting, as a number or as text such as 200MB, 1GB. If a text has too many pairs
                for that, it is read several times
    """

    score: str = "word2vec"
    threshold: float | Sequence[float] | NDArray[Any] | None = None
    target: int | None = None
    min_count: int = 5
    passes: int | None = None
    connectors: str | Iterable[str] = ()
    delimiter: str = "_"
    threads: int = 2
    memory: int | str = "1GB"

    def __post_init__(self) -> None:
        """Check the settings."""
        one_of("score", self.score, SCORES)
        self.min_count = whole("min_count", self.min_count, 1, 2**62)
        self.threads = whole("threads", self.threads, 1, 1024)
        self.target = None if self.target is None else whole("target", self.target, 1)
        self.threshold = self.threshold.tolist() if isinstance(self.threshold, np.ndarray) else self.threshold
        self.thresholds = self._thresholds(self.threshold)  # one for each pass
        self.inside = _connectors(self.connectors)  # the connectors as a set of words
        self.connectors = self.connectors if isinstance(self.connectors, str) else tuple(sorted(self.inside))
        if not isinstance(self.delimiter, str) or not self.delimiter:
            raise ConfigError(f"delimiter={self.delimiter!r}: must be a string of at least one character")
        bytes_of("memory", self.memory)
        self._found: list[list[ScoredPhrase]] | None = None
        self._joined: list[dict[tuple[str, ...], str]] = []  # parts -> phrase, for each pass

    def _thresholds(self, given: object) -> tuple[float, ...]:
        """Return one threshold for each pass."""
        if given is None:
            given = THRESHOLDS[self.score] if self.target is None else 0.0
        passes = None if self.passes is None else whole("passes", self.passes, 1, 100)
        if isinstance(given, (list, tuple)):
            numbers = tuple(finite("threshold", number) for number in given)
        else:
            numbers = (finite("threshold", given),) * (passes or 1)
        if not numbers or (passes is not None and passes != len(numbers)):
            raise ConfigError(
                f"threshold={given!r:.80}, passes={passes}: threshold must be one number, or a list with one "
                "number for each pass"
            )
        low, high = (-1.0, 1.0) if self.score == "npmi" else (0.0, np.inf)
        if not all(low <= number <= high for number in numbers):
            accepted = "between -1 and 1" if self.score == "npmi" else ">= 0"
            raise ConfigError(f"threshold={given!r:.80}: must be {accepted} with score={self.score}")
        return numbers

    @property
    def found(self) -> list[list[ScoredPhrase]]:
        """The phrases of each pass, best first: parts, score, count."""
        if self._found is None:
            raise DataError("there are no phrases yet: call fit(text), or load them with Phrases.load(path)")
        return self._found

    @property
    def phrases(self) -> list[tuple[str, float, int]]:
        """All phrases, best first: the phrase as one word, its score, and the count of its pair."""
        each = [
            (joined(parts, self.delimiter), score, count)
            for entries in self.found
            for parts, score, count in entries
        ]
        return sorted(each, key=lambda entry: -entry[1]) if len(self.found) > 1 else each

    def fit(
        self,
        source: Source | Corpus,
        *,
        tokenizer: Tokenizer | None = None,
        column: str | None = None,
        progress: Progress | None = None,
        note: Callable[[str], None] | None = None,
        **how: Any,
    ) -> Self:
        """Find the phrases of a text, or of a corpus encoded with min_count=1.

        source      a text (see `unhot.corpus.encode`) or a corpus
        tokenizer   how to split a text into words; default: whitespace
        progress    called now and then with the bytes of text read so far and the bytes in total (None if
                    unknown)
        note        called with one line of text about each pass
        how         kind, header, separator, force, strict: see `unhot.corpus.encode`
        """
        with (
            opened_text(source, tokenizer, column, self.threads, progress, **how) as corpus,
            JoiningPlace(None) as place,
        ):
            text, found = whole_text(corpus), list[list[ScoredPhrase]]()
            for number, threshold in enumerate(self.thresholds):
                if number:
                    text = self._join_pass(text, found[-1], place.work, number, self.threads)
                found.append(self._find(text, threshold, place.work))
                if note is not None:
                    note(f"pass {number + 1}: {text.tokens:,} words, {len(found[-1]):,} phrases")
            del text
        return self._keep(found)

    def _find(self, text: GrowingText, threshold: float, folder: Path) -> list[ScoredPhrase]:
        """Find the phrases of one pass, best first; `folder`: where to write temporary files."""
        memory = bytes_of("memory", self.memory)
        connectors = connector_flags(text.index, self.inside)
        lefts = left_sides(text, connectors, memory, folder)
        pairs, different = count_pairs(
            text,
            lefts,
            # a pair that is seen less often cannot score more than a threshold >= 0
            least=self.min_count if self.score == "npmi" else self.min_count + 1,
            rare=self.score == "gensim",
            threads=self.threads,
            memory=memory,
        )
        a, b = text.counts[first_words(lefts, text.counts.size, pairs.lefts)], text.counts[pairs.words]
        kinds = int(np.count_nonzero(text.counts[connectors == 0])) + different
        scores = pair_scores(self.score, self.min_count, a, b, pairs.counts, text.tokens, kinds)
        above = np.flatnonzero(scores > threshold)
        # lexsort: the last key is the most important one
        keys = (pairs.words[above], pairs.lefts[above], -pairs.counts[above], -scores[above])
        words, entries = list(text.index), list[ScoredPhrase]()
        for place in above[np.lexsort(keys)][: self.target].tolist():
            ids = [*words_of(lefts, len(words), int(pairs.lefts[place])), int(pairs.words[place])]
            entries.append((tuple(words[i] for i in ids), float(scores[place]), int(pairs.counts[place])))
        return entries

    def _keep(self, found: list[list[ScoredPhrase]]) -> Self:
        self._found = found
        self._joined = [
            {parts: joined(parts, self.delimiter) for parts in _parts(entries)} for entries in found
        ]
        return self

    def transform(self, sentence: Iterable[str]) -> list[str]:
        """Return a sentence (a list of words) with phrases joined."""
        if isinstance(sentence, (str, bytes)) or not isinstance(sentence, Iterable):
            raise DataError(
                f"the sentence {sentence!r:.40} is a {type(sentence).__name__}: give a list of words, such "
                "as text.split()"
            )
        words = list(sentence)
        if not all(isinstance(word, str) for word in words):
            raise DataError(
                f"the sentence {words!r:.80} has an item that is not a str: give a list of words; convert "
                "its items with str()"
            )
        words = [canonical(word) for word in words if word]
        for _, phrases in zip(self.found, self._joined, strict=True):
            words = list(joined_words(words, phrases, self.inside))
        return words

    def stream(self, sentences: Iterable[Iterable[str]]) -> Iterator[list[str]]:
        """Yield each sentence with phrases joined, one at a time."""
        return (self.transform(sentence) for sentence in sentences)

    def encode(
        self,
        source: Source | Corpus,
        *,
        directory: str | os.PathLike[str] | None = None,
        tokenizer: Tokenizer | None = None,
        min_count: int = 5,
        max_vocab: int | None = None,
        counts: Mapping[str, int] | Vocabulary | None = None,
        known: Vocabulary | None = None,
        column: str | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        **how: Any,
    ) -> Corpus:
        """Encode a text with phrases joined, as a corpus to train on.

        The source is a text, or a corpus encoded with min_count=1. The parameters are those of
        `unhot.corpus.encode`; min_count applies here to words and phrases, not to pairs.
        """
        check_limits(min_count, max_vocab)
        threads = self.threads if threads is None else whole("threads", threads, 1, 1024)
        given = check_given(counts, min_count, max_vocab) if counts is not None else None
        choice = WordChoice(min_count, max_vocab, given, known)
        found = self.found  # raises an error before the text is read, not after
        with (
            opened_text(source, tokenizer, column, threads, progress, **how) as corpus,
            Workplace(directory) as place,
            JoiningPlace(place.directory) as joining,
        ):
            # keep no reference to the text: Windows cannot remove a mapped file
            return encoded_text(
                self._join_all(corpus, found, joining.work, threads), corpus.report, choice, place, threads
            )

    def write(
        self,
        source: Source | Corpus,
        file: IO[bytes],
        *,
        tokenizer: Tokenizer | None = None,
        column: str | None = None,
        progress: Progress | None = None,
        **how: Any,
    ) -> int:
        """Write a text with phrases joined to an open file: one line per sentence, spaces between words.

        Return the number of words written.
        """
        if not hasattr(file, "write") or isinstance(file, io.TextIOBase):
            raise ConfigError(
                f"file={file!r:.80}: must be a file opened for writing bytes, such as open(path, 'wb')"
            )
        check_delimiter(self.delimiter)
        found = self.found
        with (
            opened_text(source, tokenizer, column, self.threads, progress, **how) as corpus,
            JoiningPlace(None) as place,
        ):
            text = self._join_all(corpus, found, place.work, self.threads)
            write_text(text, file)
            tokens = text.tokens
            del text  # Windows cannot remove a mapped file
        return tokens

    def _join_all(
        self, corpus: Corpus, found: list[list[ScoredPhrase]], folder: Path, threads: int
    ) -> GrowingText:
        """Return the text with the phrases of all passes joined."""
        text = whole_text(corpus)
        for number, entries in enumerate(found, 1):
            text = self._join_pass(text, entries, folder, number, threads)
        return text

    def _join_pass(
        self, text: GrowingText, entries: list[ScoredPhrase], folder: Path, number: int, threads: int
    ) -> GrowingText:
        """Return the text with the phrases of pass `number` joined; remove the files of the pass before."""
        work = folder / f"pass-{number}"
        work.mkdir()
        text = join_text(text, _parts(entries), self.inside, self.delimiter, work, threads)
        shutil.rmtree(folder / f"pass-{number - 1}", ignore_errors=True)
        return text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save settings and phrases to a file, see phrase_file.py."""
        settings: dict[str, Any] = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in OURS
        }
        settings |= {
            "threshold": list(self.thresholds),
            "passes": len(self.thresholds),
            "connectors": sorted(self.inside),
        }
        save_phrases(Path(path), settings, self.found)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a file that `save` wrote."""
        settings, found = load_phrases(Path(path))
        try:
            phrases = cls(**settings)
        except (TypeError, ConfigError) as error:
            raise FormatError(f"{path}: settings: {error}; the file is damaged, write it again") from error
        if len(found) != len(phrases.thresholds):
            raise FormatError(
                f"{path}: there are phrases of {len(found)} passes, but settings of "
                f"{len(phrases.thresholds)}; the file is damaged, write it again"
            )
        connectors = phrases.inside
        for parts in (parts for entries in found for parts in _parts(entries)):
            if parts[0] in connectors or parts[-1] in connectors or not connectors.issuperset(parts[1:-1]):
                raise FormatError(
                    f"{path}: {parts!r:.80}: must be two words with only connectors between them; the file "
                    "is damaged, write it again"
                )
        return phrases._keep(found)


def warm_up_phrases() -> None:
    """Compile all phrase kernels, or load them from the disk cache."""
    text = [["a", "of", "b"]] * 3
    phrases = Phrases(min_count=1, threshold=0, connectors=["of"]).fit(text)
    phrases.encode(text, min_count=1).close()
    phrases.write(text, io.BytesIO())


def _connectors(given: object) -> frozenset[str]:
    """Return the set of connectors for a name ("english", "none") or a list of words."""
    if isinstance(given, str):
        one_of("connectors", given, tuple(NAMED))
        return NAMED[given]
    if not isinstance(given, Iterable):
        raise ConfigError(f"connectors={given!r:.80}: must be a list of words, or one of {', '.join(NAMED)}")
    words = list(given)
    if not all(isinstance(word, str) and word for word in words):
        raise ConfigError(f"connectors={words!r:.80}: each must be a str that is not empty")
    return frozenset(map(canonical, words))


def _parts(entries: list[ScoredPhrase]) -> Iterator[tuple[str, ...]]:
    return (parts for parts, _, _ in entries)
