"""Towers against their formulas in plain loops, and what all of them promise."""

from typing import NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from unhot.errors import ConfigError  # noqa: E402
from unhot.items.feature_rows import side_rows  # noqa: E402
from unhot.items.kept_log import NO_SIDES, SideValues  # noqa: E402
from unhot.models.load import all_models  # noqa: E402
from unhot.nn.tower_net import TowerNet  # noqa: E402
from unhot.nn.towers import TOWERS, EventBatch, EventVectors  # noqa: E402
from unhot.nn.towers.event_vectors import attended, sets_of  # noqa: E402
from unhot.nn.towers.mind import squash  # noqa: E402

ITEMS, DIM, LENGTH, ROWS = 9, 4, 8, 5
NAMES = sorted(TOWERS)
CAUSAL = [name for name in NAMES if TOWERS[name].causal]
# items 0, 1 and 8 have no brand; item 0 has no value at all, others have one or two colors, and a size
SIDES = SideValues(
    ("brand=a", "brand=b", "color=x", "color=y", "size=1", "size=2.5"),
    np.array([0, 0, 1, 3, 6, 8, 10, 12, 15, 16]),
    np.array([3, 0, 2, 1, 2, 3, 0, 4, 1, 5, 0, 3, 1, 3, 4, 2], np.int32),
)
SMALL = {
    "gru4rec": {"units": 5, "layers": 2},
    "mind": {"units": 5, "interests": 3},
    "sasrec": {"blocks": 2, "heads": 2, "wider": 2},
    "sdm": {"heads": 2, "short": 4, "pause": 30.0},
    "youtube-dnn": {"units": 5, "layers": 2},
}
PLAIN = {"sides": NO_SIDES, "rows": 0}  # neither side values nor features


class Event(NamedTuple):
    """An event as a tower reads it."""

    item: int
    gap: float = 0.0
    rows: tuple = (-1, -1)
    weights: tuple = (1.0, 1.0)


def history(size, seed=0):
    """Events at random, of which some follow a pause."""
    rng = np.random.default_rng([size, seed])
    return [
        Event(
            int(rng.integers(ITEMS)),
            float(rng.choice([1.0, 5.0, 31.0], p=[0.45, 0.35, 0.2])),
            (int(rng.integers(-1, 3)), int(rng.integers(3, ROWS))),
            (1.0, float(rng.normal())),
        )
        for _ in range(size)
    ]


def batch_of(lines, steps=0, ages=None):
    """Lines of events, padded; what stands at the padding beside items and rows must not count."""
    width = max([steps, 1, *map(len, lines)])
    items = np.full((len(lines), width), -1)
    gaps, weights = np.full(items.shape, 99.0), np.full((*items.shape, 2), 99.0)
    rows = np.full(weights.shape, -1)
    for i, line in enumerate(lines):
        for j, event in enumerate(line):
            items[i, j], gaps[i, j], rows[i, j], weights[i, j] = event
    ages = None if ages is None else torch.tensor(ages)[:, None]
    return EventBatch(*map(torch.from_numpy, (items, gaps, rows, weights)), ages)


@pytest.fixture(autouse=True)
def double():
    """Nets in float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def built(name, sides=SIDES, rows=ROWS, **settings):
    """A tower and the vectors of its events, with random parameters."""
    how = {"dim": DIM, "length": LENGTH, "dropout": 0.0, **SMALL[name], **settings}
    torch.manual_seed(3)
    events = EventVectors(ITEMS, how["dim"], side_rows(sides, ITEMS, 0), rows)
    tower = TOWERS[name](all_models()[name](**how), events.columns)
    for parameter in (*events.parameters(), *tower.parameters()):
        torch.nn.init.normal_(parameter, std=0.7)
    return tower, events


def net_of(name, output="softmax", tie=None, **settings):
    """A whole net in which nothing is zero."""
    tower, events = built(name, **settings)
    return TowerNet(tower, events, output, np.arange(ITEMS, 0, -1), tie=tie)


# ---- the formulas, for one history, in float64


def arrays(module):
    return {name: tensor.numpy() for name, tensor in module.state_dict().items()}


def linear(known, name, x):
    return known[f"{name}.weight"] @ x + known.get(f"{name}.bias", 0.0)


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / e.sum()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def side_vectors(events, item):
    """For each column, the vectors w_v g[v] of the item's values."""
    known, columns = arrays(events), [[], [], []]
    words = [word.partition("=") for word in SIDES.words]
    names, categories = ["brand", "color", "size"], ["brand=a", "brand=b", "color=x", "color=y"]
    sizes = [float(words[i][2]) for i in SIDES.ids if words[i][0] == "size"]
    for value in SIDES.ids[SIDES.starts[item] : SIDES.starts[item + 1]]:
        name, _, text = words[value]
        if name == "size":  # a number, normalized: the last row times (x - mean) / standard deviation
            weight = (float(text) - np.mean(sizes)) / np.std(sizes)
            columns[2].append(np.float32(weight) * known["sides.weight"][4])
        else:
            columns[names.index(name)].append(known["sides.weight"][categories.index(SIDES.words[value])])
    return columns


def side_means(events, item):
    return [np.mean(found, axis=0) if found else np.zeros(DIM) for found in side_vectors(events, item)]


def context_of(events, event):
    """The sum of w t over the values of the features."""
    table = arrays(events)["features.weight"]
    return sum(
        (w * table[r] for r, w in zip(event.rows, event.weights, strict=True) if r >= 0), np.zeros(DIM)
    )


def item_sum(events, event):
    return arrays(events)["items.weight"][event.item] + sum(side_means(events, event.item))


def event_sum(events, event):
    return item_sum(events, event) + context_of(events, event)


def gru4rec(tower, events, line):
    known, x = arrays(tower), [event_sum(events, event) for event in line]
    for layer in range(2):
        h, out = np.zeros(5), []
        for e in x:
            a = known[f"cells.weight_ih_l{layer}"] @ e + known[f"cells.bias_ih_l{layer}"]
            b = known[f"cells.weight_hh_l{layer}"] @ h + known[f"cells.bias_hh_l{layer}"]
            r, z = sigmoid(a[:5] + b[:5]), sigmoid(a[5:10] + b[5:10])
            h = (1 - z) * np.tanh(a[10:] + r * b[10:]) + z * h
            out.append(h)
        x = out
    return [linear(known, "out", h) for h in x]


def normed(known, name, x):
    centred = x - x.mean()
    return centred / np.sqrt((centred**2).mean() + 1e-5) * known[f"{name}.weight"] + known[f"{name}.bias"]


def attention(queries, keys, values, heads):
    """What each query finds among the keys."""
    found, wide = [], DIM // heads
    for q in queries:
        parts = []
        for head in range(heads):
            own = slice(head * wide, (head + 1) * wide)
            weights = softmax([q[own] @ k[own] / np.sqrt(wide) for k in keys])
            parts.append(sum(w * v[own] for w, v in zip(weights, values, strict=True)))
        found.append(np.concatenate(parts))
    return found


def sasrec(tower, events, line):
    known = arrays(tower)
    x = [np.sqrt(DIM) * event_sum(events, event) + known["positions"][i] for i, event in enumerate(line)]
    for number in range(2):
        block = f"blocks.{number}"
        first = [normed(known, f"{block}.first", each) for each in x]
        q = [linear(known, f"{block}.query", each) for each in first]
        kv = [linear(known, f"{block}.key_value", each) for each in first]
        k, v = [each[:DIM] for each in kv], [each[DIM:] for each in kv]
        for i in range(len(x)):  # up to its own place
            (found,) = attention([q[i]], k[: i + 1], v[: i + 1], 2)
            x[i] = x[i] + linear(known, f"{block}.out", found)
            inner = linear(known, f"{block}.inner", normed(known, f"{block}.second", x[i]))
            x[i] = x[i] + linear(known, f"{block}.outer", np.maximum(inner, 0))
    return [normed(known, "norm", each) for each in x]


def relu_net(known, x, layers):
    for number in range(layers):
        x = linear(known, f"layers.{3 * number}", x)
        x = np.maximum(x, 0) if number < layers - 1 else x
    return x


def youtube(tower, events, line, age=0.0, decay=0.8):
    weights = np.array([decay**a for a in range(len(line))][::-1])
    x = [[arrays(events)["items.weight"][event.item], *side_means(events, event.item)] for event in line]
    means = np.einsum("e,ecd->cd", weights / weights.sum(), np.array(x)) if line else np.zeros((4, DIM))
    own = context_of(events, line[-1]) if line else np.zeros(DIM)
    return [relu_net(arrays(tower), np.concatenate([*means, own, [age]]), 3)]


def mind(tower, events, line, rounds=3):
    """All interests that the history has."""
    known, kept = arrays(tower), max(1, min(3, int(np.log2(max(1, len(line))))))
    mapped = [known["shared.weight"] @ item_sum(events, event) for event in line]
    logits = np.array([known["start"][len(line) - 1 - i][:kept] for i in range(len(line))])
    for turn in range(rounds):
        capsules = np.zeros((kept, DIM))
        for i, e in enumerate(mapped):
            for j, w in enumerate(softmax(logits[i])):
                capsules[j] += w * e
        for j, z in enumerate(capsules):
            length = np.linalg.norm(z)
            capsules[j] = length**2 / (1 + length**2) * z / max(length, 1e-30)
        for i, e in enumerate(mapped if turn < rounds - 1 else []):
            logits[i] += capsules @ e
    own = context_of(events, line[-1]) if line else np.zeros(DIM)
    return [relu_net(known, np.concatenate([c, own]), 2) for c in capsules]


def preferred(rows, query):
    """sum_k softmax_k(g_k . q) g_k; zeros without rows."""
    weights = softmax([g @ query for g in rows]) if rows else []
    return sum((w * g for w, g in zip(weights, rows, strict=True)), np.zeros(len(query)))


def session_of(line, short=4, pause=30.0):
    """Where the short session begins: at the last pause, but at most so many events back."""
    begin = max([0, *(i for i, event in enumerate(line) if pause and event.gap > pause)])
    return max(begin, len(line) - short)


def sdm(tower, events, line, *, long_term=True, pause=30.0):
    known, begin = arrays(tower), session_of(line, pause=pause)
    user = known["user"] + (context_of(events, line[-1]) if line else 0)
    h, c, x = np.zeros(DIM), np.zeros(DIM), []
    for event in line[begin:]:
        gates = known["cells.weight_ih_l0"] @ item_sum(events, event) + known["cells.bias_ih_l0"]
        gates = gates + known["cells.weight_hh_l0"] @ h + known["cells.bias_hh_l0"]
        i, f, g, o = np.split(gates, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        x.append(h)
    weights, biases = known["attention.in_proj_weight"], known["attention.in_proj_bias"]
    q, k, v = zip(*(np.split(weights @ each + biases, 3) for each in x), strict=True) if x else [()] * 3
    session = preferred([linear(known, "attention.out_proj", y) for y in attention(q, k, v, 2)], user)
    if not long_term:
        return [session]
    items = {event.item for event in line[:begin]}
    sets = [preferred([arrays(events)["items.weight"][item] for item in sorted(items)], user)]
    for column in range(3):
        values = {}
        for event in line[:begin]:
            for vector in side_vectors(events, event.item)[column]:
                values.setdefault("size" if column == 2 else tuple(vector), []).append(vector)
        sets.append(preferred([np.mean(vectors, axis=0) for vectors in values.values()], user))
    likes = np.tanh(linear(known, "likes", np.concatenate(sets)))
    gate = sigmoid(linear(known, "gate", np.concatenate([user, session, likes])))
    return [(1 - gate) * likes + gate * session]


REFERENCES = {"gru4rec": gru4rec, "mind": mind, "sasrec": sasrec, "sdm": sdm, "youtube-dnn": youtube}
LINES = [history(size, seed) for size in range(1, LENGTH + 1) for seed in range(3)]


def vectors_of(name, tower, events, batch):
    """What a tower gives, a list of vectors for each history, without the padding."""
    found = tower.eval()(batch, events).detach().numpy()
    sizes = batch.there.sum(dim=1).tolist()
    if name == "mind":
        return [
            each[0][: max(1, min(3, int(np.log2(max(1, n)))))] for each, n in zip(found, sizes, strict=True)
        ]
    return [each[:n] if tower.causal else each for each, n in zip(found, sizes, strict=True)]


def test_every_tower_has_a_formula():
    assert sorted(REFERENCES) == NAMES == sorted(SMALL)


@pytest.mark.parametrize("name", NAMES)
def test_a_tower_is_its_formula(name):
    tower, events = built(name)
    found = vectors_of(name, tower, events, batch_of(LINES))
    for line, each in zip(LINES, found, strict=True):
        expected = REFERENCES[name](tower, events, line)
        assert each == pytest.approx(np.array(expected), rel=1e-7, abs=1e-9), line
    assert np.std([each[-1] for each in found], axis=0).min() > 1e-3  # histories differ


@pytest.mark.parametrize("decay", [0.0, 0.5, 1.0])
def test_youtube_dnn_knows_the_age_of_an_example(decay):
    tower, events = built("youtube-dnn", decay=decay)
    lines, ages = LINES[-3:], [0.0, 0.25, 1.0]
    found = tower(batch_of(lines, ages=ages), events).detach().numpy()
    for line, age, each in zip(lines, ages, found, strict=True):
        assert each == pytest.approx(np.array(youtube(tower, events, line, age, decay)), rel=1e-9)
    assert not np.allclose(found[1], youtube(tower, events, lines[1], 0.0, decay))


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_mind_routes_so_many_rounds(rounds):
    tower, events = built("mind", rounds=rounds)
    line = LINES[-1]
    found = tower(batch_of([line]), events)[0, 0].detach().numpy()
    assert found == pytest.approx(np.array(mind(tower, events, line, rounds)), rel=1e-9)


@pytest.mark.parametrize(
    ("size", "expected"), [(1, 1), (2, 1), (3, 1), (4, 2), (7, 2), (8, 3), (15, 3), (16, 4), (32, 5), (63, 5)]
)
def test_a_short_history_has_few_interests(size, expected):
    tower, events = built("mind", interests=5, length=64)
    kept = (tower(batch_of([history(size)], 64), events)[0, 0] != 0).any(dim=1)
    assert kept.tolist() == [True] * expected + [False] * (5 - expected)


def test_squash():
    z = torch.tensor([[3.0, 4.0], [0.0, 0.0], [1e-8, 0.0]], requires_grad=True)
    found = squash(z)
    assert found[0].tolist() == pytest.approx([25 / 26 * 0.6, 25 / 26 * 0.8])
    assert found[1:].abs().max() < 1e-12
    found.sum().backward()
    assert torch.isfinite(z.grad).all()


INTERESTS = torch.tensor([[2.0, 0.0], [1.0, 3.0], [-4.0, 1.0], [0.0, 0.0]])  # the last one is lacking
TARGET = torch.tensor([1.0, 0.5])  # products 2, 2.5, -3.5


@pytest.mark.parametrize(
    ("power", "powers"),
    [
        (0, [1, 1, 1]),
        (1, [2, 2.5, -3.5]),
        (2, [4, 6.25, 0]),
        (3, [8, 15.625, -42.875]),
        (1.5, [2**1.5, 2.5**1.5, 0]),
    ],
)
def test_training_prefers_the_interest_nearest_to_the_target(power, powers):
    tower, _ = built("mind", power=power)
    weights = softmax(np.array(powers, float))
    expected = weights @ INTERESTS[:3].numpy()
    assert tower.chosen(INTERESTS[None], TARGET[None])[0].numpy() == pytest.approx(expected)


@pytest.mark.parametrize("power", [0, 0.5, 1, 2, 3, 99, 100, 1e4, 1e9])
def test_weights_of_interests_are_finite_for_every_power(power):
    """In float32, where 2.5 to the power of 100 is infinite; and a root has no slope at 0."""
    tower, _ = built("mind", power=power)
    interests, target = (each.clone().float().requires_grad_() for each in (INTERESTS, TARGET))
    found = tower.chosen(interests[None], target[None])[0]
    if power > 50:
        assert torch.equal(found, interests[1])
    found.sum().backward()
    assert torch.isfinite(interests.grad).all()
    assert torch.isfinite(target.grad).all()


@pytest.mark.parametrize(
    ("output", "own"),
    [
        ("softmax", True),
        ("nce:k=2", True),
        ("hierarchical", False),
        ("class_based", False),
        ("adaptive:cutoffs=3", False),
        ("differentiated:cutoffs=3", False),
    ],
)
def test_interests_are_compared_with_vectors_of_targets(output, own, monkeypatch):
    """With output vectors, or with item vectors if rows of the layer stand for nodes, classes or bands."""
    net, compared = net_of("mind", output, tie=False), []
    chosen = net.tower.chosen
    monkeypatch.setattr(net.tower, "chosen", lambda *given: compared.append(given[1]) or chosen(*given))
    targets = torch.arange(ITEMS)[:, None]
    net.train()(*batch_of(LINES[-ITEMS:]), targets, ())[0].backward()
    assert torch.equal(compared[0], (net.head if own else net.events.items).weight)


# ---- SDM's session and sets


@pytest.mark.parametrize(
    ("gaps", "short", "pause", "expected"),
    [
        ([0, 1, 1, 1, 1], 10, 30.0, 0),
        ([0, 1, 31, 1, 1], 10, 30.0, 2),
        ([0, 31, 1, 31, 1], 10, 30.0, 3),
        ([0, 1, 1, 1, 31], 10, 30.0, 4),
        ([0, 1, 31, 1, 1], 2, 30.0, 3),
        ([0, 1, 30, 1, 1], 10, 30.0, 0),  # as long as the pause, not longer
        ([0, 1, 31, 1, 1], 10, 0.0, 0),  # no pause ends a session
        ([99, 1, 1, 1, 1], 10, 30.0, 0),
    ],
)
def test_a_short_session_begins_after_the_last_pause(gaps, short, pause, expected):
    tower, _ = built("sdm", short=short, pause=pause)
    batch = batch_of([[Event(1, gap) for gap in gaps], [Event(1)]], 8)
    now = tower.sessions(batch)
    assert now[0].tolist() == [False] * expected + [True] * (5 - expected) + [False] * 3
    assert now[1].tolist() == [True] + [False] * 7
    timeless = tower.sessions(batch._replace(gaps=None))[0].tolist()
    assert timeless == [i >= 5 - short for i in range(5)] + [False] * 3


@pytest.mark.parametrize("how", [{"pause": 0.0}, {"long_term": False}])
def test_sdm_without_pauses_and_without_a_long_history(how):
    tower, events = built("sdm", **how)
    found = tower(batch_of(LINES), events).detach().numpy()
    for line, each in zip(LINES, found, strict=True):
        assert each == pytest.approx(np.array(sdm(tower, events, line, **how)), rel=1e-7, abs=1e-9)


def test_what_a_user_prefers_in_a_set():
    """The rows of some owners, one of whom has none; scores are too large for exp."""
    owner = torch.tensor([2, 0, 2, 2])
    rows = torch.randn(4, 3, requires_grad=True)
    queries = torch.randn(4, 3, requires_grad=True)
    found = attended(owner, 900 * rows, queries).detach().numpy()
    for i in range(4):
        own = list(900 * rows[owner == i].detach().numpy())
        expected = preferred(own, queries[i].detach().numpy()) if own else np.zeros(3)
        assert found[i] == pytest.approx(expected)
    assert torch.autograd.gradcheck(lambda r, q: attended(owner, r, q), (rows, queries))


def test_equal_values_of_an_owner_are_one():
    owner, rows = torch.tensor([1, 0, 1, 1]), torch.tensor([4, 4, 2, 4])
    vectors = torch.tensor([[1.0], [2.0], [3.0], [5.0]])
    owners, means = sets_of(owner, rows, vectors, 5)
    assert owners.tolist() == [0, 1, 1]
    assert means.tolist() == [[2.0], [3.0], [3.0]]


# ---- what every tower promises


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("more", [{}, PLAIN])
def test_neither_padding_nor_other_histories_change_a_vector(name, more):
    tower, events = built(name, **more)
    lines, given = [[], *LINES[::4]], without_features if more else lambda batch: batch
    together = tower.eval()(given(batch_of(lines, LENGTH)), events).detach()
    for i, line in enumerate(lines):
        found = tower(given(batch_of([line])), events).detach()[0]
        at = together[i, : max(1, len(line))] if tower.causal else together[i]
        assert torch.allclose(found, at, rtol=1e-9, atol=1e-12), line
        assert torch.isfinite(found).all()


@pytest.mark.parametrize("name", CAUSAL)
def test_later_events_do_not_change_a_vector(name):
    tower, events = built(name)
    line, other = history(LENGTH), history(LENGTH, seed=9)
    whole = tower.eval()(batch_of([line]), events)[0]
    for at in range(1, LENGTH):
        found = tower(batch_of([line[:at] + other[at:]]), events)[0]
        assert torch.equal(found[:at], whole[:at])
        assert not torch.isclose(found[at:], whole[at:]).all(dim=1).any()


def without_features(batch):
    return batch._replace(rows=None, weights=None)


def loss_of(net, seed=5, *, featureless=False):
    """The loss of a batch in which every table has a part."""
    batch = batch_of(LINES, ages=np.linspace(0, 1, len(LINES)))
    batch = without_features(batch) if featureless else batch
    rng = np.random.default_rng(seed)
    targets = torch.from_numpy(rng.integers(ITEMS, size=batch.items.shape))
    targets = targets.masked_fill(~batch.there, -100) if net.tower.causal else targets[:, :1]
    return net.train()(*batch, targets, net.begin(0))[0]


@pytest.mark.parametrize(
    ("name", "more"),
    [*((name, more) for name in NAMES for more in ({}, PLAIN)), ("sdm", {"long_term": False})],
)
def test_every_parameter_learns(name, more):
    """Processes that share a training wait for the gradient of each parameter that has one."""
    net = net_of(name, **more)
    loss_of(net, featureless="rows" in more).backward()
    for path, parameter in net.named_parameters():
        assert parameter.requires_grad is (parameter.numel() > 0), path
        assert parameter.grad is None or parameter.grad.abs().sum() > 0, path
        assert parameter.grad is not None or not parameter.numel(), path


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_is_the_slope_of_the_loss(name):
    """Along a random direction in all parameters; MIND's gradient ends at the last round."""
    net = net_of(name, tie=False, **({"rounds": 1} if name == "mind" else {}))
    loss_of(net).backward()
    generator = torch.Generator().manual_seed(4)
    steps = [(p, torch.randn(p.shape, generator=generator)) for p in net.parameters()]
    slope = sum((p.grad * step).sum().item() for p, step in steps)
    ends = []
    for sign in (1, -2):
        for parameter, step in steps:
            parameter.data += sign * 1e-6 * step
        ends.append(loss_of(net).item())
    assert slope == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5)
    assert abs(slope) > 1e-3


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tie", [True, False])
def test_output_vectors_may_be_those_of_items(name, tie):
    net = net_of(name, tie=tie)
    assert (net.head.weight is net.events.items.weight) is tie
    assert ("head.weight" in net.own_state()) is not tie
    loss_of(net).backward()
    at_input = net.events.items.weight.grad
    assert (at_input.abs().sum(dim=1) > 0).all()
    if tie:  # the sum of both gradients
        apart = net_of(name, tie=False)
        apart.load_state_dict(net.state_dict())
        loss_of(apart).backward()
        assert torch.allclose(apart.head.weight.grad + apart.events.items.weight.grad, at_input)


def test_a_layer_that_cannot_share_says_why():
    assert not net_of("sasrec", "hierarchical").head.tied
    with pytest.raises(ConfigError, match="cannot share"):
        net_of("sasrec", "hierarchical", tie=True)
    with pytest.raises(ConfigError, match="never the same"):
        net_of("sasrec", "nce:k=2,ln_z=per_input")


@pytest.mark.parametrize("name", ["sasrec", "sdm"])
def test_heads_must_divide_dim(name):
    with pytest.raises(ConfigError, match="heads=3: must divide dim=4"):
        built(name, heads=3)


def test_users_lack_no_interest():
    net = net_of("mind")
    batch = batch_of([LINES[0], LINES[-1], []])
    users = net.users_of([None if one is None else one.numpy() for one in batch])
    raw = net.tower(batch, net.events)[:, 0].detach().numpy()
    assert users.shape == (3, 3, DIM)
    assert users[1] == pytest.approx(raw[1].astype(np.float32))
    for i in (0, 2):
        assert users[i] == pytest.approx(np.tile(raw[i, :1], (3, 1)).astype(np.float32))


@pytest.mark.parametrize("name", CAUSAL)
def test_a_user_is_the_vector_after_the_last_event(name):
    net = net_of(name)
    batch = batch_of(LINES[:9])
    users = net.users_of([None if one is None else one.numpy() for one in batch])
    for line, user in zip(LINES, users[:, 0], strict=False):
        assert user == pytest.approx(REFERENCES[name](net.tower, net.events, line)[-1], rel=1e-5, abs=1e-6)


def test_dropout_is_for_training():
    for name in NAMES:
        tower, events = built(name, dropout=0.5)
        batch = batch_of(LINES[-3:])
        one, two = (tower.eval()(batch, events) for _ in range(2))
        assert torch.equal(one, two)
        three, four = (tower.train()(batch, events) for _ in range(2))
        assert not torch.isclose(three, four).all(), name
