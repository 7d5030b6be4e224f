import numpy as np
import pytest

from unhot.kernels.loop import Params
from unhot.models.learned_words import LearnedWords
from unhot.models.state import FitState
from unhot.outputs import parse_output
from unhot.train.history import History
from unhot.vocab.vocabulary import Vocabulary

WORDS = ("the", "a", "cat", "dog", "sat", "ran", "on", "mat", ".")


def random_model(kind, output, words=WORDS, counts=(90, 80, 40, 30, 20, 20, 9, 5, 5), dim=6, **settings):
    """A model with random params: nothing is trained."""
    engine = "compiled" if parse_output(output).compiled else "torch"
    model = kind(dim=dim, output=output, engine=engine, **settings)
    rng, counts = np.random.default_rng(5), np.array(counts)
    rows, biases = model.layer.rows(counts), model.layer.biases()

    def draw(*shape):
        return rng.normal(0, 0.7, shape).astype(np.float32)

    sizes = rows if biases.out else 0, len(words) if biases.each_input else 0, 1 if biases.ln_z else 0
    params = Params(draw(len(words), dim), draw(rows, dim), *map(draw, sizes))
    vocabulary = Vocabulary(words, counts)
    none = {"seen": np.zeros(0, np.int64), "frozen": np.zeros(0, np.uint8)}
    words = {"in_vocabulary": vocabulary, "out_vocabulary": vocabulary, **none}
    model.fit_state = FitState(LearnedWords(layer=model.layer, params=params, **words), History())
    return model


@pytest.fixture
def make():
    return random_model
