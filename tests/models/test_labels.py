"""A model with two vocabularies, words and labels, passes through the same `fit`, `resume` and files."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import unhot
from unhot.errors import ConfigError, DataError
from unhot.models.fields import EpochFields
from unhot.models.model import MODELS, model, shaped_tensor
from unhot.models.planning import plan_of
from unhot.models.state import InEpochs
from unhot.models.text_model import TextModel
from unhot.train.epoch_run import EpochRun
from unhot.train.schedule import Chunk, even_chunks
from unhot.vocab.vocabulary import Vocabulary

LINES = ["good film", "", "bad film bad", "good good unknown", "no label here", "bad"] * 20
LABELS = ["pos", "neg", "neg", "pos new", "", "neg"] * 20


class LearnedBayes(NamedTuple):
    in_vocabulary: Vocabulary
    out_vocabulary: Vocabulary
    together: Any  # [labels, words]

    def tensors(self, *, complete):
        return {"together": self.together}

    def facts(self):
        return {}


@dataclass(kw_only=True)
class Bayes(EpochFields, TextModel[LearnedBayes]):
    family = "classify"

    def training(self, data, begins, tells):
        words, labels = data.vocabulary, data.beside["labels"].vocabulary
        together = np.zeros((len(labels), len(words)), np.int64)
        if begins.learned is not None:
            together[:] = begins.learned.together
        plan = plan_of(self, begins, tells, {"counts": together.nbytes}, lr=1.0)
        return InEpochs(BayesRun(data, together, plan), lambda: LearnedBayes(words, labels, together))

    def restore(self, saved):
        shape = len(saved.out_vocabulary), len(saved.vocabulary)
        together = shaped_tensor(saved, "together", shape)
        return LearnedBayes(saved.vocabulary, saved.out_vocabulary, together)


class BayesRun(EpochRun[Chunk]):
    stops_at = -1

    def __init__(self, corpus, together, plan):
        super().__init__(even_chunks(10, corpus.sentences), corpus.sentences, plan, [together])
        self._corpus, self._together = corpus, together

    def learn(self, epoch, chunk, lr, thread):
        if chunk.number == self.stops_at:
            raise KeyboardInterrupt
        last = self._corpus.sentences * (chunk.number + 1) // 10
        for text, labels in self._corpus.aligned(chunk.done, last, "labels"):
            for i in range(text.starts.size - 1):
                words = text.ids[text.starts[i] : text.starts[i + 1]]
                found = labels.ids[labels.starts[i] : labels.starts[i + 1]]
                for label in found:
                    np.add.at(self._together[label], words, 1)
        return 0.0, last - chunk.done


@pytest.fixture(autouse=True)
def registered():
    model("bayes")(Bayes)
    yield
    del MODELS["bayes"]
    BayesRun.stops_at = -1


def expected(bayes):
    words, labels = bayes.vocabulary.words, bayes.out_vocabulary.words
    out = np.zeros((len(labels), len(words)), np.int64)
    for line, names in zip(LINES, LABELS, strict=True):
        for name in names.split():
            for word in line.split():
                out[labels.index(name), words.index(word)] += 1
    return out


def test_two_vocabularies_are_learned_saved_and_loaded(tmp_path):
    bayes = Bayes(min_count=1, epochs=1, threads=1).fit(LINES, LABELS)
    assert set(bayes.out_vocabulary.words) == {"pos", "neg", "new"}
    assert "film" in bayes.vocabulary.words
    assert bayes.learned.together.tolist() == expected(bayes).tolist()
    bayes.save(tmp_path / "bayes")
    loaded = unhot.load(tmp_path / "bayes", verify=True)
    assert (loaded.vocabulary, loaded.out_vocabulary) == (bayes.vocabulary, bayes.out_vocabulary)
    assert loaded.learned.together.tolist() == bayes.learned.together.tolist()


def test_it_is_resumed_from_the_files_it_began_with(tmp_path):
    for name, lines in (("text", LINES), ("labels", LABELS)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    BayesRun.stops_at = 4
    half = Bayes(min_count=1, epochs=1, threads=1).fit(tmp_path / "text", tmp_path / "labels")
    half.save(tmp_path / "bayes")
    BayesRun.stops_at = -1
    bayes = unhot.load_unfinished(tmp_path / "bayes")
    assert 0 < bayes.learned.together.sum() < expected(bayes).sum()
    assert bayes.resume().learned.together.tolist() == expected(bayes).tolist()


def test_other_labels_are_another_text(tmp_path):
    BayesRun.stops_at = 4
    half = Bayes(min_count=1, epochs=1, threads=1).fit(LINES, LABELS)
    with pytest.raises(DataError, match="not the text that the training started with"):
        half.resume(LINES, LABELS[::-1])


def test_words_have_no_labels():
    with pytest.raises(ConfigError, match="labels: skipgram learns from text without labels"):
        unhot.SkipGram(min_count=1).fit(LINES, LABELS)
