"""Unigrams: each word has its probability, whatever comes before it."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np

from unhot.lm.language_model import LanguageModel
from unhot.lm.scorer import Scored, Scorer, sums_of
from unhot.lm.symbols import STREAM_END, STREAM_SYMBOLS, model_words
from unhot.models.model import model
from unhot.models.settings import Range
from unhot.models.state import AtOnce
from unhot.models.text_model import TextModel, encoded
from unhot.vocab.vocabulary import Vocabulary


class LearnedUnigrams(NamedTuple):
    in_vocabulary: Vocabulary
    out_vocabulary: Vocabulary

    def tensors(self, *, complete):
        return {}

    def facts(self):
        return {}


@model("unigrams", family="language")
@dataclass(kw_only=True)
class Unigrams(LanguageModel, TextModel[LearnedUnigrams]):
    min_count: Annotated[int, Range(1)] = 1  # words that occur less often than this become <unk>
    added: Annotated[float, Range(0)] = 1.0  # added to every count

    def prepare(self, reads, begins, tells):
        return encoded(self, reads, tells, unknown=True, empty_lines=True)

    def training(self, data, begins, tells):
        return AtOnce(partial(count, data), begins.history, data.words)

    def make_answers(self, learned):
        return UnigramScorer(learned.in_vocabulary, self.added, self.tokenizer, self.threads)

    def restore(self, saved):
        return LearnedUnigrams(saved.vocabulary, saved.vocabulary)


def count(corpus):
    words, ids = model_words(corpus, STREAM_SYMBOLS)
    counts = np.zeros(len(words), np.int64)
    for shard in corpus.shards:
        counts += np.bincount(ids[shard.ids + 1], minlength=len(words))
    counts[STREAM_END] = corpus.sentences
    words = Vocabulary(words, counts)
    return LearnedUnigrams(words, words)


class UnigramScorer(Scorer):
    end = STREAM_END

    def __init__(self, words, added, tokenizer, threads):
        super().__init__(words.words, tokenizer=tokenizer, threads=threads)
        raised = words.counts + added
        self.log10 = np.log10(raised / raised.sum())

    def score_ids(self, lines, tokens=True, carried=None):
        targets = lines.tokens(self.end)
        log10 = self.log10[targets]
        return Scored(log10, np.ones(log10.size, np.uint8), sums_of(targets, log10, lines.sizes))

    def begin(self, bos=True):
        return None

    def advance(self, state, word):
        return float(self.log10[word]), 1, None

    def log10_all(self, state):
        return self.log10
