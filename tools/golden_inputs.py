"""Write the small texts, the log and the graph that the golden models learn from and are queried with.

tests/golden/inputs/text.txt           sentences of a small grammar, to learn from
tests/golden/inputs/held_out.txt       more of them, with words that text.txt does not have
tests/golden/inputs/labelled.txt       the same kind of sentences, each with its topic
tests/golden/inputs/labelled_test.txt  more of them
tests/golden/inputs/tags.txt           sentences with a topic and a place: two labels per line
tests/golden/inputs/numbers.csv        labelled.txt as a table, with numbers for topics
tests/golden/inputs/numbers_test.csv   labelled_test.txt likewise
tests/golden/inputs/log.csv            the log of a small generated shop, with sessions and bookings
tests/golden/inputs/items.csv          its items, with their side values
tests/golden/inputs/new_items.csv      side values of two items that the log does not have
tests/golden/inputs/prefixes.txt       sessions whose last item is to be predicted
tests/golden/inputs/edges.txt          a graph of two groups of nodes
tests/golden/inputs/node_labels.txt    the group of each node
"""

from __future__ import annotations

import random
from pathlib import Path

from unhot.data.shop import make_shop, write_shop

PLACES = ["garden", "market", "river", "village", "café"]
TOPICS: dict[str, tuple[str, ...]] = {
    "animals": ("cat dog horse hen fox", "sleeps runs hides waits", "old young quiet hungry"),
    "food": ("bread fish rice soup cake", "smells tastes cools cooks", "fresh warm sweet salty"),
    "travel": ("train boat bus tram car", "leaves stops arrives turns", "slow late empty crowded"),
    "weather": ("rain wind snow fog sun", "comes stays fades returns", "cold bright heavy sudden"),
}
UNSEEN = ["trains", "breads", "foxes", "riverside", "xylophone"]  # words that only held_out.txt has
NODES, GROUP = 24, 12  # nodes of the graph, and of each of its groups


def sentence(draw: random.Random, topic: str, place: str) -> str:
    """Return a sentence about a topic; one word in ten is about any topic.

    Words near the front of a list are drawn more often.
    """
    about = [topic if draw.random() < 0.9 else draw.choice([*TOPICS]) for _ in range(3)]
    noun, verb, adjective = (_drawn(draw, TOPICS[each][part].split()) for part, each in enumerate(about))
    before = draw.choice(["the", "the", "a", f"the {adjective}", f"a {adjective}"])
    after = draw.choice([f"in the {place}", f"near the {place}", f"by the {place}", "today", "and we watch"])
    return f"{before} {noun} {verb} {after}"


def _drawn(draw: random.Random, words: list[str]) -> str:
    return words[min(int(draw.expovariate(0.7)), len(words) - 1)]


def _lines(seed: int, number: int) -> list[tuple[str, str, str]]:
    """Return topics, places and sentences."""
    draw, found = random.Random(seed), []
    for _ in range(number):
        topic, place = _drawn(draw, [*TOPICS]), _drawn(draw, PLACES)
        found.append((topic, place, sentence(draw, topic, place)))
    return found


def _held_out() -> list[str]:
    """Return sentences, some of which have an unseen word in place of their second word."""
    found = []
    for number, (_, _, text) in enumerate(_lines(2, 20)):
        words = text.split()
        if number % 4 == 0:
            words[1] = UNSEEN[number // 4]
        found.append(" ".join(words))
    return found


def _graph() -> list[tuple[str, str]]:
    """Return the edges between nodes of two groups: many within a group, few between the groups."""
    draw = random.Random(3)
    pairs = [(a, b) for a in range(NODES) for b in range(a + 1, NODES)]
    kept = [
        (a, b) for a, b in pairs if b == a + 1 or draw.random() < (0.3 if a // GROUP == b // GROUP else 0.03)
    ]
    return [(f"n{a}", f"n{b}") for a, b in kept]


def write_inputs(folder: Path) -> None:
    """Write all files."""
    folder.mkdir(parents=True, exist_ok=True)
    shop = make_shop(users=40, items=18, tastes=2, markets=2, sessions=3, clicks=4, seed=7)
    write_shop(shop, folder / "log.csv")
    sessions: dict[int, list[str]] = {}
    for number, item in zip(shop.session.tolist(), shop.item.tolist(), strict=True):
        sessions.setdefault(number, []).append(shop.items[item])
    numbers = {topic: number for number, topic in enumerate(TOPICS, 1)}
    labelled, test = _lines(5, 120), _lines(6, 30)
    files = {
        "text.txt": [text for _, _, text in _lines(1, 240)],
        "held_out.txt": _held_out(),
        "labelled.txt": [f"__label__{topic} {text}" for topic, _, text in labelled],
        "labelled_test.txt": [f"__label__{topic} {text}" for topic, _, text in test],
        "numbers.csv": ["text,label", *(f"{text},{numbers[topic]}" for topic, _, text in labelled)],
        "numbers_test.csv": ["text,label", *(f"{text},{numbers[topic]}" for topic, _, text in test)],
        "tags.txt": [f"__label__{topic} __label__{place} {text}" for topic, place, text in _lines(7, 120)],
        "new_items.csv": ["item,market,price", "new1,0,1", "new2,1,3"],
        "prefixes.txt": [" ".join(items) for items in sessions.values() if len(items) > 2][:12],
        "edges.txt": [" ".join(edge) for edge in _graph()],
        "node_labels.txt": [f"n{node} group{node // GROUP}" for node in range(NODES)],
    }
    for name, lines in files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
