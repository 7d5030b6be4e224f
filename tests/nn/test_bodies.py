"""Bodies of language models: states carry on, nothing looks ahead, formulas hold."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from unhot.errors import ConfigError  # noqa: E402
from unhot.nn import OutputHead  # noqa: E402
from unhot.nn.bodies import BODIES, parse_body  # noqa: E402
from unhot.nn.language_net import LanguageNet  # noqa: E402

WORDS, DIM = 11, 6
# a body for each name, with settings that are not the defaults
SPECS = {
    "bengio": "bengio:context=3,units=5",
    "cnn": "cnn:layers=3,size=3,units=8",
    "gru": "gru:layers=2",
    "lstm": "lstm:layers=2,units=7,recurrent=0.5",
    "rnn": "rnn:units=4",
    "transformer": "transformer:layers=2,heads=3,context=4",
}


@pytest.fixture
def ids():
    return torch.randint(WORDS, (3, 12), generator=torch.Generator().manual_seed(1))


def built(spec, dropout=0.0):
    torch.manual_seed(2)
    return parse_body(spec).build(WORDS, DIM, dropout)


def test_every_body_is_tested():
    assert sorted(SPECS) == sorted(BODIES)


@pytest.mark.parametrize("spec", SPECS.values())
def test_pieces_give_the_hidden_vectors_of_the_whole(spec, ids):
    body = built(spec, 0.5).eval()
    whole, last = body(ids, body.begin(3))
    assert whole.shape == (3, 12, body.width)
    state, pieces = body.begin(3), []
    for piece in ids.split([1, 5, 2, 4], dim=1):
        hidden, state = body(piece, state)
        pieces.append(hidden)
    torch.testing.assert_close(torch.cat(pieces, dim=1), whole, rtol=1e-5, atol=1e-6)
    for one, other in zip(state, last, strict=True):
        assert one.shape[0] == 3
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("spec", SPECS.values())
def test_no_body_looks_ahead_and_all_look_back(spec, ids):
    body = built(spec).eval()
    other = ids.clone()
    other[:, 6] = (ids[:, 6] + 1) % WORDS
    one, two = (body(given, body.begin(3))[0] for given in (ids, other))
    assert torch.equal(one[:, :6], two[:, :6])
    assert not torch.isclose(one[:, 6:8], two[:, 6:8]).all(dim=2).any()
    assert torch.isclose(one[1:], two[1:]).shape == one[1:].shape  # streams do not mix
    other = ids.clone()
    other[0] = 0
    assert torch.equal(body(other, body.begin(3))[0][1:], one[1:])


@pytest.mark.parametrize("spec", SPECS.values())
def test_a_body_says_what_it_is(spec):
    body = parse_body(spec)
    again = parse_body(body.spec())
    assert again.spec() == body.spec()
    assert body.spec().startswith(spec.partition(":")[0])


@pytest.mark.parametrize("spec", ["lstm", "gru:layers=2"])
def test_recurrent_dropout_is_the_same_in_all_steps(spec):
    body = built(spec, 0.5).train()
    same = torch.ones(4, 9, dtype=torch.int64)
    dropped = body.drop_held(torch.ones(4, 9, DIM))
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    hidden, _ = body(same, body.begin(4))
    gone = hidden == 0
    assert gone.any()
    assert torch.equal(gone, gone[:, :1].expand_as(gone))


def test_dropped_recurrent_weights_have_gradients():
    body = built("lstm:recurrent=0.5").train()
    hidden, _ = body(torch.ones(2, 5, dtype=torch.int64), body.begin(2))
    hidden.sum().backward()
    share = (body.cells[0].weight_hh_l0.grad == 0).float().mean()
    assert 0.3 < share < 0.7


@pytest.mark.parametrize("direct", [True, False])
def test_bengio_is_the_formula_of_2003(direct):
    """y = b + W x + U tanh(d + H x), and the gradient of its loss, in float64."""
    torch.manual_seed(3)
    net = LanguageNet(
        f"bengio:context=3,units=4,direct={str(direct).lower()}", "softmax:bias=true", COUNTS, 2
    )
    net.double()
    ids, targets = [3, 0, 2, 2, 1], [0, 2, 2, 1, 4]
    given = torch.tensor([ids])
    net.head.bias.data.normal_()

    def loss():
        rows = np.concatenate(
            [net.head.weight.detach().numpy(), net.head.bias.detach().numpy()[:, None]], axis=1
        )
        scores = net.body.reference(ids, rows)
        return float(np.mean([np.log(np.exp(y).sum()) - y[t] for y, t in zip(scores, targets, strict=True)]))

    found = net(given, torch.tensor([targets]), net.begin(1))[0]
    assert found.item() == pytest.approx(loss(), abs=1e-12)
    found.backward()
    for name, parameter in net.named_parameters():
        flat, gradient = parameter.data.view(-1), parameter.grad.view(-1)
        for i in range(flat.numel()):
            before, step = flat[i].item(), 1e-6
            flat[i] = before + step
            up = loss()
            flat[i] = before - step
            slope = (up - loss()) / (2 * step)
            flat[i] = before
            assert gradient[i].item() == pytest.approx(slope, abs=1e-8), (name, i)


COUNTS = np.array([5, 4, 3, 2, 1])


def test_lstm_is_the_same_net_in_plain_torch():
    torch.manual_seed(4)
    net = LanguageNet("lstm:layers=2", "softmax:bias=true,chunk=0", COUNTS, 8, dropout=0.3)
    assert net.head.weight is net.body.embedding.weight
    plain = torch.nn.LSTM(8, 8, num_layers=2, batch_first=True)
    with torch.no_grad():
        for layer, cell in enumerate(net.body.cells):
            for name, value in cell.named_parameters():
                getattr(plain, name.replace("l0", f"l{layer}")).copy_(value)
    ids, target = torch.randint(5, (4, 2, 6))[:2].unbind(0)
    net.eval()
    loss = net(ids, target, net.begin(2))[0]
    hidden, _ = plain(torch.nn.functional.embedding(ids, net.body.embedding.weight))
    scores = torch.nn.functional.linear(hidden, net.head.weight, net.head.bias)
    usual = torch.nn.functional.cross_entropy(scores.flatten(0, 1), target.flatten())
    assert loss.item() == pytest.approx(usual.item(), abs=1e-6)
    loss.backward()
    ours = net.body.embedding.weight.grad.clone()
    net.zero_grad()
    usual.backward()
    torch.testing.assert_close(ours, net.body.embedding.weight.grad, rtol=1e-4, atol=1e-6)


def test_ties_where_it_can():
    def tied(body, output="softmax", **how):
        return LanguageNet(body, output, COUNTS, 6, **how).head.tied

    assert tied("lstm")
    assert tied("gru", "sampled:k=2")
    assert not tied("lstm:units=5")
    assert not tied("bengio")
    assert not tied("lstm", "hierarchical")
    assert not tied("lstm", tie=False)
    with pytest.raises(ConfigError, match="tie=True: the hidden vectors of lstm.* have 5 numbers"):
        tied("lstm:units=5", tie=True)
    with pytest.raises(ConfigError, match="hierarchical cannot share"):
        tied("lstm", "hierarchical", tie=True)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("brain", "there is no body 'brain'; choose one of bengio, cnn, gru, lstm, rnn, transformer"),
        ("lstm:width=4", "'width=4' is not a setting of lstm"),
        ("lstm:layers=0", "lstm:layers=0"),
        ("lstm:recurrent=1", "must be less than 1"),
        ("bengio:layers=2", "bengio:layers=2"),
        ("bengio:context=0", "bengio:context=0"),
        (7, "must be a name with settings"),
    ],
)
def test_wrong_bodies(spec, why):
    with pytest.raises(ConfigError, match=why):
        parse_body(spec)


def test_heads_must_divide_the_width():
    with pytest.raises(ConfigError, match="heads=4: must divide the width of 6"):
        built("transformer:heads=4")


def test_a_bias_for_each_input_is_refused():
    with pytest.raises(ConfigError, match="never the same"):
        LanguageNet("lstm", "nce:k=2,ln_z=per_input", COUNTS, 6)


def test_every_layer_of_nn_has_a_loss():
    from unhot.outputs import LAYERS

    for name in LAYERS:
        net = LanguageNet("rnn", "adaptive:cutoffs=3" if name == "adaptive" else name, COUNTS, 6)
        loss = net(torch.tensor([[0, 1, 2]]), torch.tensor([[1, 2, -100]]), net.begin(1))[0]
        loss.backward()
        assert torch.isfinite(loss), name
        assert isinstance(net.head, OutputHead)


@pytest.mark.parametrize("spec", ["hierarchical", "class_based", "adaptive:cutoffs=3", "softmax", "nce:k=2"])
def test_scores_of_targets_are_those_of_all_words(spec):
    from unhot.lm.scorer import IdLines
    from unhot.nn.net_scorer import NetScorer

    torch.manual_seed(5)
    words = ["<unk>", "</s>", "a", "b", "c"]
    scorer = NetScorer(words, LanguageNet("rnn", spec, COUNTS, 6))
    ids, state = np.array([2, 4, 0, 3], np.int32), scorer.begin()
    found = scorer.score_ids(IdLines(ids, np.array([0, 4])))
    each = []
    for word in [*ids.tolist(), 1]:
        each.append(scorer.log10_all(state)[word])
        state = scorer.advance(state, word)[2]
    assert found.log10 == pytest.approx(each, abs=1e-6)
