"""Models, vectors and output heads can be pickled and copied, for joblib and multiprocessing.

A copy gives the same answers. unhot itself never unpickles a file.
"""

import copy
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
from every_model import SHORT, TEXT, TRAINED

import unhot
from unhot.compat import fasttext
from unhot.compat.gensim.models import Word2Vec
from unhot.index.screened import warm_up_search
from unhot.nn import OutputHead
from unhot.outputs import LAYERS

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from golden_answers import names, plain, recorded  # noqa: E402
from golden_questions import INPUTS, MODELS, opened, queries  # noqa: E402

COPIES = {"pickled": lambda thing: pickle.loads(pickle.dumps(thing)), "deep": copy.deepcopy}
SENTENCES = [line.split() for line in (INPUTS / "text.txt").read_text("utf-8").splitlines()]


def answers(model):
    return plain(dict(queries(model)))


@pytest.fixture(params=COPIES)
def copied(request):
    return COPIES[request.param]


@pytest.mark.parametrize("name", names())
def test_a_copy_of_a_loaded_model_gives_the_same_answers(name):
    model = opened(MODELS / name, recorded(name)["info"].get("model"))
    expected = answers(model)  # also fills what is cached
    for copied in COPIES.values():
        assert answers(copied(model)) == expected


def test_every_model_is_trained_here():
    learning = {name for name in unhot.__all__ if hasattr(getattr(unhot, name), "fit")}
    assert learning - {"Mixture"} == TRAINED.keys()


@pytest.mark.parametrize("name", TRAINED)
def test_a_copy_of_a_trained_model_gives_the_same_answers(name):
    source, settings = TRAINED[name]
    model = getattr(unhot, name)(threads=1, **settings)
    assert COPIES["pickled"](model) == model
    model.fit(source, callbacks=[lambda progress: None])
    for copied in COPIES.values():
        assert answers(copied(model)) == answers(model)


@pytest.mark.parametrize("name", ["SkipGram", "NeuralLM", "Item2Vec"])
def test_a_copy_of_a_stopped_training_resumes(name):
    def stop(progress):
        if progress.event == "epoch" and progress.epoch == 1:
            raise KeyboardInterrupt

    source, settings = TRAINED[name]
    model = getattr(unhot, name)(threads=1, **settings).fit(source, callbacks=[stop])
    resumed = [each.resume(source) for each in (COPIES["pickled"](model), COPIES["deep"](model), model)]
    assert answers(resumed[0]) == answers(resumed[1]) == answers(resumed[2])


def test_a_copy_shares_nothing_with_its_model(copied):
    model = unhot.SkipGram(threads=1, **SHORT).fit(TEXT)
    vectors = model.vectors
    twin = copied(model)
    twin.vectors.vectors[0] = 1
    assert model.vectors is vectors
    assert not (vectors.vectors[0] == 1).any()


def test_copies_of_gensims_model_train_on(copied):
    model = Word2Vec(vector_size=8, min_count=1, workers=1, epochs=2)
    model.build_vocab(sentence for sentence in SENTENCES)
    model = copied(model)
    model.train(SENTENCES, total_examples=model.corpus_count, epochs=1)
    twin = copied(model)
    for each in (model, twin):
        each.train(SENTENCES, total_examples=model.corpus_count, epochs=1)
    assert twin.wv.vectors.tobytes() == model.wv.vectors.tobytes()
    assert twin.wv.most_similar("cat") == model.wv.most_similar("cat")


@pytest.mark.parametrize("file", ["fasttext_unsup_skipgram_ns.bin", "fasttext_sup_softmax_pq.ftz"])
def test_copies_of_fasttexts_model_write_the_same_file(file, copied, tmp_path):
    model = fasttext.load_model(MODELS.parent / file)
    twin = copied(model)
    assert twin.words == model.words
    assert twin.get_word_vector("cat").tolist() == model.get_word_vector("cat").tolist()
    twin.save_model(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (MODELS.parent / file).read_bytes()


def test_copies_of_a_trained_fasttext_model(copied):
    model = fasttext.train_unsupervised(str(TEXT), dim=8, minCount=1, bucket=100, epoch=1, thread=1)
    twin = copied(model)
    assert (twin.ws, twin.loss) == (model.ws, model.loss)
    assert twin.get_nearest_neighbors("cat") == model.get_nearest_neighbors("cat")


@pytest.mark.parametrize("spec", sorted(LAYERS))
def test_copies_of_output_heads_give_the_same_loss(spec, copied):
    settings = {"adaptive": "adaptive:div_value=2", "partition": "partition:size=20"}
    head = OutputHead(settings.get(spec, spec), dim=8, counts=torch.arange(20, 0, -1))
    if spec == "partition":
        head.set_partition(torch.arange(20))
    losses = []
    for each in (head, copied(head)):
        torch.manual_seed(1)
        losses.append(each(torch.ones(4, 8), torch.arange(4)).item())
    assert losses[0] == losses[1]


def test_a_copy_of_vectors_searches_as_they_do(copied):
    """The search in compiled code needs aligned arrays, which a copy does not have."""
    rows = np.random.default_rng(1).standard_normal((300, 8), np.float32)
    vectors = unhot.Vectors([f"w{row}" for row in range(300)], rows)
    warm_up_search()
    found = vectors.most_similar_each(vectors.words[:5])
    twin = copied(vectors)
    assert twin.most_similar_each(vectors.words[:5]) == found
