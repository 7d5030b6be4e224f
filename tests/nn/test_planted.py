"""What a correction does: users choose items with known probabilities, and heads learn from their choices.

The scores converge to log P, to log P - log c without the correction, and to log P + log c if it is applied
twice, where c is how often an item is expected among the other columns.
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
nn = pytest.importorskip("unhot.nn")

USERS, ITEMS, BATCH, STEPS, K = 4, 6, 256, 400, 20
RNG = np.random.default_rng(0)
TRUE = RNG.uniform(1, 3, (USERS, ITEMS)) / (1 + np.arange(ITEMS))  # [users, items], some items popular
TRUE /= TRUE.sum(axis=1, keepdims=True)
LOG_P, Q = np.log(TRUE), TRUE.mean(axis=0)
COUNTS = np.rint(1e6 * Q).astype(np.int64)
MIXED = np.log((BATCH - 1) * Q + K / ITEMS)
# spec, log c, the table of the head that holds log c
SPECS = [
    (f"sampled:k={K},power=1", np.log(Q), "offset"),
    (f"sampled:k={K},power=0.5,temperature=0.5", 0.5 * np.log(Q), "offset"),
    ("in_batch:q=counts,temperature=2", np.log(Q), "log_q"),
    ("in_batch", np.log(Q), None),
    (f"mixed:k={K}", MIXED, None),
]
TOLERANCE = 0.13  # nats; the wrong cases are more than 0.5 away


def learned(spec, twice=None):
    """Scores / temperature and log_prob of all users and items, means over the second half of the steps."""
    torch.manual_seed(0)
    users = torch.nn.Embedding(USERS, ITEMS)
    head = nn.OutputHead(spec, ITEMS, COUNTS, bias=False, share="example")
    if twice:
        getattr(head, twice).mul_(2)
    optimizer = torch.optim.Adam([*users.parameters(), *head.parameters()], lr=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    chances, found = torch.tensor(TRUE), []
    for step in range(STEPS):
        who = torch.randint(USERS, (BATCH,))
        item = torch.multinomial(chances[who], 1)[:, 0]
        optimizer.zero_grad()
        head(users(who), item).backward()
        optimizer.step()
        schedule.step()
        if step >= STEPS // 2:
            with torch.no_grad():
                found.append(torch.stack([head.scores(users.weight), head.log_prob(users.weight)]))
    scores, log_prob = torch.stack(found).mean(dim=0).numpy()
    return scores / head.layer.temperature, log_prob


def off(scores, expected):
    """How far scores are from what is expected, up to a constant for each user."""
    difference = scores - expected
    return np.abs(difference - (TRUE * difference).sum(axis=1, keepdims=True)).max()


def check(scores, *cases):
    """The scores must be those of the first case and of no other."""
    assert off(scores, cases[0]) < TOLERANCE
    assert all(off(scores, other) > 0.5 for other in cases[1:])


@pytest.mark.parametrize(("spec", "log_c", "table"), SPECS)
def test_scores_are_log_p_with_the_correction(spec, log_c, table):
    scores, log_prob = learned(spec)
    check(scores, LOG_P, LOG_P - log_c, LOG_P + log_c)
    assert np.abs(log_prob - LOG_P).max() < TOLERANCE


@pytest.mark.parametrize(("spec", "log_c", "table"), SPECS)
def test_scores_lack_log_c_without_it(spec, log_c, table):
    more = f",correct=false{f',batch={BATCH}' if 'mixed' in spec else ''}"
    scores, log_prob = learned(f"{spec}{more if ':' in spec else ':' + more[1:]}")
    check(scores, LOG_P - log_c, LOG_P, LOG_P + log_c)
    assert np.abs(log_prob - LOG_P).max() < TOLERANCE  # it puts log c back


@pytest.mark.parametrize(("spec", "log_c", "table"), [case for case in SPECS if case[2]])
def test_scores_have_log_c_too_much_if_it_is_applied_twice(spec, log_c, table):
    scores, _ = learned(spec, table)
    check(scores, LOG_P + log_c, LOG_P, LOG_P - log_c)
