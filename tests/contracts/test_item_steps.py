"""One step of EGES, GES and session vectors against the formula in float64, by central differences."""

from types import SimpleNamespace

import numpy as np
import pytest
from grids import SOAK

from unhot.kernels.bags import Bags
from unhot.kernels.chunk import NO_COPIES, How, one_piece
from unhot.kernels.columns import PARTS
from unhot.kernels.loop import scratch
from unhot.kernels.rng import stream_key
from unhot.kernels.windows import Text, Window, keep_threshold, kept_buffer
from unhot.models import bag_feeders, session_vectors
from unhot.models.eges import EGES
from unhot.models.engine import make_kernel
from unhot.models.session_vectors import Sessions, SessionVectors
from unhot.noise.alias import alias_rows
from unhot.outputs import LAYERS
from unhot.train.params import HotSizes, Sizes, padded, start_params

DIM, ITEMS = 5, 7
COMPILED = [name for name, layer in LAYERS.items() if layer.compiled]
COUNTS = np.array([40, 30, 20, 10, 5, 3, 2])
SENTENCE = [2, 0, 1, 0, 3, 0, 4, 1, 6]  # the window of place 4 holds 0 three times and 1 twice
CENTRE = 4
# items have different numbers of side values, the centre has three; rows 7 .. 10 are those of values
ROWS = [[0, 7], [1], [2, 8], [3, 7, 9, 10], [4, 10], [5], [6, 8, 9]]
RATE = 0.5


def bags():
    starts = np.cumsum([0, *map(len, ROWS)])
    rows = np.array([row for bag in ROWS for row in bag], np.int32)
    mixing = np.random.default_rng(1).normal(0, 1, rows.size).astype(np.float32)
    return Bags(starts, rows, np.ones(ITEMS, np.float32), mixing)


def step(model, wiring, rows):
    """Train the centre with lr = 1; return params before and after, the loss, and the columns."""
    rng, kernel = np.random.default_rng(3), make_kernel(model, wiring, COUNTS)
    sizes = Sizes(rows, model.layer.rows(COUNTS), model.layer.biases(), HotSizes(0, 0), 0, 1)
    stride = padded(DIM)
    params = start_params(sizes, DIM, stride, 3, wiring.first_rows)
    for array in params[:2]:
        array[:, :DIM] = rng.normal(0, 0.5, array[:, :DIM].shape)
    before = [array[:, :DIM].astype(np.float64) for array in params[:2]]
    ids, starts, beside = np.array(SENTENCE, np.int32), np.array([0, 9]), np.zeros(1, np.int32)
    for array in (ids, starts, beside):
        array.setflags(write=False)  # as those of a shard: the kernels of real trainings
    text = Text(ids, starts, keep_threshold(np.ones(ITEMS)), beside)
    where = one_piece(CENTRE, CENTRE + 1, stream_key(3, 0, 0), stream_key(3, 0, 1))
    how = How(np.float32(1.0), NO_COPIES, np.zeros(0, np.uint8))
    buffers = scratch(kept_buffer(1, 4), kernel.room, stride)
    feeder = wiring.feeder(text, Window(4, False))
    loss, pairs = kernel.train(feeder, kernel.rows, kernel.tables, params, buffers, where, how)
    part, columns = 4 % PARTS, buffers.columns
    first = part * (columns.row.size // PARTS)
    listed = slice(first, first + columns.filled[part])
    found = [getattr(columns, name)[listed].copy() for name in ("row", "label", "weight")]
    after = [array[:, :DIM] for array in params[:2]]
    return SimpleNamespace(before=before, after=after, loss=loss, pairs=pairs, columns=found)


def check(done, hidden, *more):
    """Compare changes of input rows, output rows and `more` (before, after, rate) with the formula."""
    rows, labels, weights = done.columns

    def loss():
        scores = done.before[1][rows] @ hidden()
        return (weights * np.logaddexp(0, scores) - labels * scores).sum()

    assert done.loss == pytest.approx(loss(), rel=1e-5)
    for before, after, rate in (*((b, a, 1) for b, a in zip(done.before, done.after, strict=True)), *more):
        for at in np.ndindex(before.shape):
            kept = before[at]
            before[at] = kept + 1e-6
            up = loss()
            before[at] = kept - 1e-6
            gradient = (up - loss()) / 2e-6
            before[at] = kept
            assert after[at] - kept == pytest.approx(-rate * gradient, rel=1e-4, abs=3e-5)


@pytest.mark.parametrize("spec", ["negative:k=5", "negative:k=20,power=0,hits=keep"])
@pytest.mark.parametrize("combine", ["weighted", "mean"])
def test_rows_and_weights_move_by_their_gradients(combine, spec):
    model = EGES(dim=DIM, window=4, output=spec, combine=combine, weights_lr=RATE)
    given = bags()
    mixing = given.mixing.astype(np.float64)
    done = step(model, model.wiring(given), 11)
    bag, part = ROWS[SENTENCE[CENTRE]], slice(given.starts[3], given.starts[4])

    def hidden():
        powers = np.exp(mixing[part]) if combine == "weighted" else np.ones(len(bag))
        return powers / powers.sum() @ done.before[0][bag]

    more = [(mixing[part], given.mixing[part], RATE)] if combine == "weighted" else []
    check(done, hidden, *more)
    others = np.ones(mixing.size, bool)
    others[part] = combine == "mean"
    np.testing.assert_array_equal(given.mixing[others], mixing[others].astype(np.float32))
    assert done.pairs == 8


@pytest.mark.parametrize("spec", COMPILED if SOAK else ["negative"])
def test_eges_takes_every_compiled_layer(spec):
    model = EGES(dim=DIM, window=4, output=spec)
    done = step(model, model.wiring(bags()), 11)
    assert np.isfinite(done.loss)
    assert (done.after[0] != done.before[0].astype(np.float32)).any()


def test_references_are_gradients():
    rng = np.random.default_rng(0)
    rows, mixing, out = rng.normal(size=(3, 4)), rng.normal(size=3), rng.normal(size=(2, 4))
    labels = np.array([1.0, 0.0])
    for reference, arrays, first in (
        (lambda: bag_feeders.reference(rows, mixing, out, labels), (rows, mixing, out), 1),
        (lambda: session_vectors.reference(mixing, rows[:, :3], out[:, :3]), (mixing,), 1),
    ):
        _, *gradients = reference()
        for array, gradient in zip(arrays, gradients[first - 1 :], strict=False):
            for at in np.ndindex(array.shape):
                kept = array[at]
                array[at] = kept + 1e-6
                up = reference()[0]
                array[at] = kept - 1e-6
                slope = (up - reference()[0]) / 2e-6
                array[at] = kept
                assert gradient[at] == pytest.approx(slope, rel=1e-5, abs=1e-8)


def sessions(booked=-1, rejected=(), markets=False):
    market_of = np.array([0, 0, 1, 1, 1, 0, 0], np.int32) if markets else np.zeros(0, np.int32)
    members = np.argsort(market_of, kind="stable").astype(np.int32)
    edges = np.array([0, 4, 7]) if markets else np.zeros(1, np.int64)
    table = alias_rows(edges, np.ones(members.size))
    refused = np.array(rejected, np.int32)
    starts = np.array([0, refused.size])
    arrays = np.array([booked], np.int32), starts, refused, market_of, edges, members, table
    for array in arrays:
        array.setflags(write=False)
    return Sessions(*arrays, 6 if markets else 0)


@pytest.mark.parametrize("hits", ["drop", "keep"])
@pytest.mark.parametrize(
    ("given", "market", "rejected"),
    [
        (sessions(), None, None),
        (sessions(booked=5), None, None),
        (sessions(booked=1), None, None),  # it is among the contexts, too
        (sessions(booked=3), None, None),  # it is the centre
        (sessions(booked=5, rejected=[0, 3, 5, 6]), None, "r"),  # one is the centre, two are targets
        (sessions(booked=5, markets=True), "m", None),
        (sessions(booked=5, rejected=[2, 4], markets=True), "m", "r"),
    ],
)
def test_a_step_of_a_session(given, market, rejected, hits):
    spec = f"negative:k=3,hits={hits}"
    model = SessionVectors(dim=DIM, window=4, output=spec, market=market, rejected=rejected)
    done = step(model, model.wiring(given), ITEMS)
    check(done, lambda: done.before[0][SENTENCE[CENTRE]])
    labels = np.bincount(done.columns[0], done.columns[1], ITEMS)
    weights = np.bincount(done.columns[0], done.columns[2], ITEMS)
    wanted = np.bincount([2, 0, 1, 0, 0, 4, 1, 6], minlength=ITEMS).astype(float)
    booked = given.booked[0]
    total = 8 + (booked not in (-1, SENTENCE[CENTRE]))
    if total == 9:
        wanted[booked] += 1
    assert labels.tolist() == wanted.tolist()
    assert done.pairs == total
    refused = np.isin(np.arange(ITEMS), given.rejected) & (np.arange(ITEMS) != SENTENCE[CENTRE])
    negatives = weights - labels - refused
    draws = (3 + given.k) * total
    if hits == "keep":
        assert negatives.sum() == pytest.approx(draws)
    assert (negatives > -1e-6).all()
    assert (negatives <= draws + 1e-6).all()
    if hits == "keep" and given.k:  # what is added comes from the market of the centre, items 2, 3 and 4
        model = SessionVectors(dim=DIM, window=4, output=spec, market=None, rejected=rejected)
        without = given._replace(market_of=sessions().market_of, k=0)
        plain = np.bincount(*step(model, model.wiring(without), ITEMS).columns[::2], ITEMS)
        added = weights - plain
        assert added[[0, 1, 5, 6]].tolist() == pytest.approx([0] * 4)
        assert added.sum() == pytest.approx(6 * total)


@pytest.mark.parametrize("spec", COMPILED if SOAK else ["negative", "softmax"])
def test_the_booked_item_is_a_target_of_every_layer(spec):
    model = SessionVectors(dim=DIM, window=4, output=spec)
    assert step(model, model.wiring(sessions(booked=5)), ITEMS).pairs == 9
