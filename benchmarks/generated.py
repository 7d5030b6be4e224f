"""Generated data: sentences, labeled lines, a log of sessions, a graph. A seed determines every byte.

Sentences have topics, sessions have markets, nodes have neighbors, so that models have something to learn.
Only the standard library is used, see harness.py.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

TOPICS, LINE_WORDS = 8, 12
ITEMS, MARKETS, PRICES = 120, 4, 5
START, PAUSE = 1_600_000_000, 3600  # seconds: the first session, and the pause before the next one


def sentences(count: int, words: int, seed: int) -> Iterator[tuple[int, str]]:
    """Topics with sentences about them; half of the words belong to the topic. `words`: of each topic."""
    draw = random.Random(seed)
    for _ in range(count):
        topic = draw.randrange(TOPICS)
        ids = (int(words * draw.random() ** 3) for _ in range(LINE_WORDS))
        yield topic, " ".join(f"word{i}" if draw.random() < 0.5 else f"topic{topic}x{i}" for i in ids)


def write_sentences(
    path: Path, count: int, *, words: int = 100, seed: int = 1, labeled: bool = False
) -> None:
    """Write a sentence per line, after its label if the lines are labeled."""
    with path.open("w", encoding="ascii") as file:
        for topic, sentence in sentences(count, words, seed):
            file.write(f"__label__{topic} {sentence}\n" if labeled else f"{sentence}\n")


def sessions(count: int, items: int, seed: int) -> Iterator[tuple[int, list[int]]]:
    """Users with the items of their sessions; all items of a session are of one market."""
    draw = random.Random(seed)
    users = max(1, count // 5)
    for _ in range(count):
        market = draw.randrange(MARKETS)
        chosen = (int(items // MARKETS * draw.random() ** 2) for _ in range(draw.randint(2, 9)))
        yield draw.randrange(users), [MARKETS * item + market for item in chosen]


def write_log(path: Path, count: int, *, items: int = ITEMS, seed: int = 1) -> None:
    """Write a log of sessions with all columns that models read, and items.csv beside it.

    The last item of a session is booked; the first item of every fifth session was rejected.
    """
    with path.open("w", encoding="ascii") as file:
        file.write("user,item,time,session,booked,rejected,market,price,user_type\n")
        for number, (user, session) in enumerate(sessions(count, items, seed)):
            for place, item in enumerate(session):
                marks = f"{int(place == len(session) - 1)},{int(place == 0 and number % 5 == 0)}"
                about = f"{item % MARKETS},{item % PRICES},{'known' if number > count // 2 else 'new'}"
                time = START + PAUSE * number + 60 * place
                file.write(f"u{user},i{item},{time},{number},{marks},{about}\n")
    with path.with_name("items.csv").open("w", encoding="ascii") as file:
        file.write("item,name,market,price\n")
        file.writelines(f"i{i},item {i},{i % MARKETS},{i % PRICES}\n" for i in range(items))


def write_histories(path: Path, count: int, *, items: int = ITEMS, seed: int = 2) -> None:
    """Write the items of a session per line."""
    with path.open("w", encoding="ascii") as file:
        for _, session in sessions(count, items, seed):
            file.write(" ".join(f"i{item}" for item in session) + "\n")


def write_edges(path: Path, nodes: int, *, seed: int = 1) -> None:
    """Write the edges of a ring whose nodes also have edges to two of the next ten nodes."""
    draw = random.Random(seed)
    with path.open("w", encoding="ascii") as file:
        for node in range(nodes):
            for step in (1, *draw.sample(range(2, 11), 2)):
                file.write(f"n{node} n{(node + step) % nodes}\n")
