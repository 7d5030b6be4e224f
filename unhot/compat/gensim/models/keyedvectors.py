"""`KeyedVectors` with gensim 4's constructor and file methods; all queries come from `Vectors`."""

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from unhot.compat.gensim.models.evaluation import METHODS, Correlation, word_analogies, word_pairs
from unhot.compat.gensim.models.files import (
    packed,
    path_of,
    read_counts,
    refuse_pickle,
    unpacked,
    write_counts,
)
from unhot.errors import ConfigError, DataError, FormatError, one_of
from unhot.evaluate.lookup import Lookup
from unhot.types import Counts, Floats
from unhot.vectors.formats import Table, read_table, stream_table
from unhot.vectors.formats.table import BAD_UTF8_ADVICE
from unhot.vectors.queries import KEYS, Key
from unhot.vectors.store import Vectors

logger = logging.getLogger("unhot")
UNICODE_ERRORS = {"strict": "error", "replace": "replace", "ignore": "ignore"}
PathLike = str | os.PathLike[str]
SEP_LIMIT = 10 * 1024**2  # gensim's default


class KeyedVectors(Vectors):
    """Words and their vectors, with gensim's interface.

    >>> vectors = KeyedVectors(2)
    >>> vectors.add_vectors(["king", "queen"], [[1, 2], [1, 1.5]])
    >>> vectors.most_similar("king")[0][0]
    'queen'
    """

    # for each word: 0 freezes its vector in training, 1 trains it; a single number applies to all words
    vectors_lockf: Floats = np.ones(1, np.float32)

    def __init__(
        self, vector_size: int, count: int = 0, dtype: Any = np.float32, mapfile_path: str | None = None
    ) -> None:
        """Start without words; `count` and `dtype` are ignored, numbers are always float32."""
        super().__init__([], np.zeros((0, vector_size), np.float32))

    def replace_all(self, words: Sequence[str], vectors: Floats, counts: Counts | None = None) -> None:
        """Replace all words and vectors; a word keeps its lock, a new word is not locked."""
        locks = self.vectors_lockf
        if np.shape(locks) == (len(self),) and list(words) != self.words:
            old = dict(zip(self.words, locks.tolist(), strict=True))
            locks = np.array([old.get(word, 1.0) for word in words], np.float32)
        self.__dict__.clear()  # also removes what was computed from the old vectors
        Vectors.__init__(self, words, vectors, counts)
        self.vectors_lockf = locks

    @classmethod
    def load(  # type: ignore[override]
        cls,
        fname: PathLike,
        mmap: str | None = None,
        *,
        format: str | None = None,
        limit: int | None = None,
        bad_utf8: str = "escape",
        which: str = "in",
    ) -> Self:
        """Open a folder that `save` or unhot wrote, or a file in any format of `Vectors`.

        A folder is always memory-mapped. Pickles are refused.
        """
        refuse_pickle(Path(fname))
        return cls.of_table(*read_table(Path(fname), format, limit=limit, bad_utf8=bad_utf8, which=which))

    def save(  # type: ignore[override]
        self,
        fname_or_handle: PathLike,
        separately: list[str] | None = None,
        sep_limit: int = SEP_LIMIT,
        ignore: Iterable[str] = frozenset(),
        pickle_protocol: int = 4,
        *,
        format: str | None = "unhot",
    ) -> dict[str, str]:
        """Write unhot's own folder, whatever the ending of the path, or the given format.

        Parameters that concern pickles are ignored.
        """
        return super().save(path_of(fname_or_handle, folder=format == "unhot"), format)

    @classmethod
    def load_word2vec_format(
        cls,
        fname: PathLike,
        fvocab: PathLike | None = None,
        binary: bool = False,
        encoding: str = "utf8",
        unicode_errors: str = "strict",
        limit: int | None = None,
        datatype: Any = np.float32,
        no_header: bool = False,
    ) -> Self:
        """Read word2vec's text or binary format, compressed or not; `no_header`: GloVe's format.

        `datatype` is ignored: numbers are always float32.
        """
        if encoding.lower().replace("-", "") != "utf8":
            raise ConfigError(
                f"encoding={encoding!r}: only UTF-8 can be read; "
                "convert the file, or use unicode_errors='ignore'"
            )
        one_of("unicode_errors", unicode_errors, tuple(UNICODE_ERRORS))
        if binary and no_header:
            raise ConfigError(
                "binary=True, no_header=True: a binary file without a header cannot be read; leave one out"
            )
        refuse_pickle(Path(fname))
        form = "word2vec-binary" if binary else "glove" if no_header else "word2vec-text"
        with unpacked(Path(fname)) as path:
            try:
                table = read_table(path, form, limit=limit, bad_utf8=UNICODE_ERRORS[unicode_errors])
            except FormatError as error:  # the advice names the parameter of `Vectors.load`
                own = str(error).replace(BAD_UTF8_ADVICE, "unicode_errors='replace' or 'ignore'")
                raise FormatError(own) from error
        counts = None if fvocab is None else read_counts(Path(fvocab), table.words)
        return cls.of_table(table.words, table.vectors, counts)

    def save_word2vec_format(
        self,
        fname: PathLike,
        fvocab: PathLike | None = None,
        binary: bool = False,
        total_vec: int | None = None,
        write_header: bool = True,
        prefix: str = "",
        append: bool = False,
        sort_attr: str = "count",
    ) -> None:
        """Write word2vec's text or binary format, the most frequent words first, compressed for .gz or .bz2.

        Without a header it is GloVe's format. `fvocab`: a file for the counts.
        """
        if append or total_vec not in (None, len(self)) or (binary and not write_header):
            raise ConfigError(
                "append=True, another total_vec, and binary without a header are not supported: "
                "leave them out; a file is always written as a whole"
            )
        counts = np.zeros(len(self), np.int64) if self.counts is None else self.counts
        table = Table([prefix + word for word in self.words], self.vectors, counts)
        order = np.argsort(-counts, kind="stable")
        if sort_attr == "count" and (np.diff(order) < 0).any():
            table = Table([table.words[row] for row in order], self.vectors[order], counts[order])
        if fvocab is not None:
            write_counts(Path(fvocab), table.words, counts if table.counts is None else table.counts)
        form = "word2vec-binary" if binary else "word2vec-text" if write_header else "glove"
        with packed(Path(fname)) as file:
            renamed = stream_table(file, table, form)
        if renamed:
            old, new = next(iter(renamed.items()))
            logger.warning(
                "%s: %d words have white space, which this format cannot hold; they were written with _ "
                "instead, e.g. %r as %r",
                fname,
                len(renamed),
                old,
                new,
            )

    def intersect_word2vec_format(
        self,
        fname: PathLike,
        lockf: float = 0.0,
        binary: bool = False,
        encoding: str = "utf8",
        unicode_errors: str = "strict",
    ) -> None:
        """Take the vectors of a file for those words that are already here.

        With `lockf` 0 training keeps them fixed, with 1 it trains them.
        """
        other = self.load_word2vec_format(fname, None, binary, encoding, unicode_errors)
        if other.vector_size != self.vector_size:
            raise DataError(
                f"{os.fspath(fname)}: its vectors have {other.vector_size} numbers, "
                f"but these have {self.vector_size}: give a file with vectors of the same size"
            )
        common = [word for word in other.words if word in self]
        locks = np.ones(len(self), np.float32) * self.vectors_lockf
        if common:
            self.add_vectors(common, other[common], replace=True)
            locks[[self.get_index(word) for word in common]] = lockf
        self.vectors_lockf = locks

    def locked_words(self) -> list[str]:
        """Return the words whose vectors training keeps fixed."""
        locks = np.asarray(self.vectors_lockf)
        if locks.shape not in ((1,), (len(self),)) or not np.isin(locks, (0.0, 1.0)).all():
            raise ConfigError(
                f"vectors_lockf has shape {locks.shape}, or numbers other than 0 and 1: "
                f"give each of the {len(self)} words 0 (fixed) or 1 (trained)"
            )
        return [self.words[row] for row in np.flatnonzero(np.broadcast_to(locks, len(self)) == 0)]

    def evaluate_word_analogies(
        self,
        analogies: PathLike,
        restrict_vocab: int = 300_000,
        case_insensitive: bool = True,
        dummy4unknown: bool = False,
        similarity_function: str = "most_similar",
    ) -> tuple[float, list[dict[str, Any]]]:
        """Return the accuracy on analogies, and a list of sections with their questions.

        The last section holds all questions.
        """
        one_of("similarity_function", similarity_function, tuple(METHODS))
        lookup = Lookup(self, restrict_vocab=restrict_vocab, case="ignore" if case_insensitive else "exact")
        return word_analogies(lookup, analogies, METHODS[similarity_function], dummy4unknown)

    def evaluate_word_pairs(
        self,
        pairs: PathLike,
        delimiter: str = "\t",
        encoding: str = "utf8",
        restrict_vocab: int = 300_000,
        case_insensitive: bool = True,
        dummy4unknown: bool = False,
    ) -> tuple[Correlation, Correlation, float]:
        """Return Pearson's and Spearman's correlation with people's scores, and per cent of unknown pairs.

        `delimiter` is ignored: the delimiter is recognised.
        """
        lookup = Lookup(self, restrict_vocab=restrict_vocab, case="ignore" if case_insensitive else "exact")
        return word_pairs(lookup, pairs, dummy4unknown)

    def add_vectors(  # type: ignore[override]
        self,
        keys: Key | Sequence[Key],
        weights: ArrayLike,
        extras: Mapping[str, ArrayLike] | None = None,
        replace: bool = False,
    ) -> None:
        """Add words with their vectors, as `Vectors.add_vectors` does; `extras` may give a "count"."""
        locks = np.asarray(self.vectors_lockf)
        each_has_one = locks.shape == (len(self),)
        super().add_vectors(keys, weights, replace=replace)
        if each_has_one:
            self.vectors_lockf = np.concatenate([locks, np.ones(len(self) - len(locks), locks.dtype)])
        for attr, values in (extras or {}).items():
            named = zip([keys] if isinstance(keys, KEYS) else keys, np.asarray(values).tolist(), strict=True)
            for key, value in named:
                self.set_vecattr(key, attr, value)

    def set_vecattr(self, key: Key, attr: str, val: int) -> None:
        """Set the "count" of a word."""
        one_of("attr", attr, ("count",))
        counts = np.zeros(len(self), np.int64) if self.counts is None else np.array(self.counts)
        counts[self.get_index(key)] = val
        self.counts = counts

    def sort_by_descending_frequency(self) -> None:
        """Put the most frequent words first."""
        if self.counts is not None and len(self):
            order = np.argsort(-self.counts, kind="stable")
            self.replace_all([self.words[row] for row in order], self.vectors[order], self.counts[order])

    def vectors_for_all(
        self, keys: Iterable[str], allow_inference: bool = True, copy_vecattrs: bool = False
    ) -> Self:
        """Return those of the given words that have vectors, in the given order, with their vectors."""
        known = [word for word in dict.fromkeys(keys) if word in self]
        rows = np.array([self.get_index(word) for word in known], np.intp)
        counts = self.counts[rows] if copy_vecattrs and self.counts is not None else None
        return self.of_table(known, self.vectors[rows], counts)

    def most_similar_to_given(self, key1: Key, keys_list: Sequence[Key]) -> Key:
        """Return the word of a list that is nearest to a given word."""
        return keys_list[int(np.argmax([self.similarity(key1, key) for key in keys_list]))]

    def relative_cosine_similarity(self, wa: Key, wb: Key, topn: int = 10) -> float:
        """Return the cosine of two words, divided by the sum of cosines of the first one's nearest words."""
        return self.similarity(wa, wb) / sum(cosine for _, cosine in self.most_similar(wa, topn=topn))

    def word_vec(self, key: Key, norm: bool = False) -> Floats:
        """Return the vector of a word; this is an older name of `get_vector`."""
        return self.get_vector(key, norm)

    def words_closer_than(self, word1: Key, word2: Key) -> list[str]:
        """Return the words closer to one word than another; this is an older name of `closer_than`."""
        return self.closer_than(word1, word2)

    def init_sims(self, replace: bool = False) -> None:
        """With `replace`, do what `unit_normalize_all` does; else do nothing.

        Lengths are computed when they are needed.
        """
        if replace:
            self.unit_normalize_all()
