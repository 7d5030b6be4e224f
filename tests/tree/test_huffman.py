import heapq
import json
import lzma
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from unhot.data import sotu_path
from unhot.probability import bits, entropy
from unhot.tree.given import from_codes
from unhot.tree.huffman import huffman, mean_code_length
from unhot.tree.paths import children, longest, total_length

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "gensim_huffman.json").read_text())
FIBONACCI = [1, 1]
while len(FIBONACCI) < 80:
    FIBONACCI.append(FIBONACCI[-1] + FIBONACCI[-2])


def codes_of(paths):
    start = paths.start.tolist()
    text = "".join(map(str, paths.code.tolist()))
    return [text[a:b] for a, b in zip(start, start[1:], strict=False)]


def shortest_total(counts):
    """Huffman with a heap: every join adds one step to all below it."""
    heap, total = list(counts), 0
    heapq.heapify(heap)
    while len(heap) > 1:
        joined = heapq.heappop(heap) + heapq.heappop(heap)
        total += joined
        heapq.heappush(heap, joined)
    return total


def is_complete_prefix_code(codes):
    neighbours = sorted(codes)
    prefix_free = not any(b.startswith(a) for a, b in zip(neighbours, neighbours[1:], strict=False))
    return prefix_free and sum(Fraction(1, 2 ** len(code)) for code in codes) == 1


@given(st.lists(st.one_of(st.integers(0, 5), st.integers(0, 10**12)), min_size=1, max_size=100))
@example([0])
@example([0, 0])
@example([3, 3, 3])
@example([0] * 64)
@example(FIBONACCI)
def test_shortest_and_complete(counts):
    paths = huffman(counts)
    assert total_length(paths, counts) == shortest_total(counts)
    assert is_complete_prefix_code(codes_of(paths))
    tree = children(paths).tolist()
    everybody = sorted(child for pair in tree for child in pair)
    # all but the root are a child once
    assert len(counts) == 1 or everybody == [*range(-len(counts), 0), *range(1, len(counts) - 1)]
    weight = [0] * len(tree)
    for node in range(len(tree) - 1, -1, -1):
        weight[node] = sum(counts[-1 - child] if child < 0 else weight[child] for child in tree[node])
        assert all(child < 0 or child > node for child in tree[node])
    assert weight == sorted(weight, reverse=True)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60))
def test_codes_give_the_tree_back(counts):
    paths = huffman(counts)
    for one, other in zip(paths, from_codes(codes_of(paths), counts), strict=True):
        np.testing.assert_array_equal(one, other)


def test_small():
    assert codes_of(huffman([7])) == [""]
    assert codes_of(huffman([7, 3])) == ["1", "0"]  # the lighter child is left
    # of equals the leaf first, and of words the higher id
    assert codes_of(huffman([2, 1, 1])) == ["0", "11", "10"]
    assert huffman([1, 9, 1]).node.tolist() == [0, 1, 0, 0, 1]


def test_deep():
    paths = huffman(FIBONACCI)
    assert longest(paths) == len(FIBONACCI) - 1
    assert paths.node[paths.start[0] : paths.start[1]].tolist() == list(range(len(FIBONACCI) - 1))


@pytest.mark.parametrize("tail", [64, 100, 1000])
def test_words_without_counts_are_balanced(tail):
    lengths = np.diff(huffman([5, 3, *[0] * tail]).start)
    assert lengths[2:].max() <= int(np.ceil(np.log2(tail))) + 2


def test_many_words():
    counts = np.maximum(1, 10**7 // np.arange(1, 200_001))
    paths = huffman(np.random.default_rng(1).permutation(counts))
    assert total_length(huffman(counts), counts) == shortest_total(counts.tolist())
    assert paths.start[-1] == huffman(counts).start[-1]


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_as_short_as_gensim(case):
    counts = [word["count"] for word in case["words"]]
    theirs = [word["code"] for word in case["words"]]
    assert total_length(huffman(counts), counts) == case["total_weighted_length"]
    assert total_length(from_codes(theirs, counts), counts) == case["total_weighted_length"]
    assert is_complete_prefix_code(codes_of(huffman(counts)))


@pytest.mark.parametrize("model", GOLDEN["hs_models"], ids=lambda model: model["name"])
def test_signs_are_those_of_gensim(model):
    """Their trees as ours: a left step (code 0) has the probability sigmoid(+score)."""
    ids = {word["word"]: i for i, word in enumerate(model["words"])}
    paths = from_codes([word["code"] for word in model["words"]], [1] * len(ids))
    theirs = np.concatenate([word["path"] for word in model["words"]])
    rows = np.empty((len(ids) - 1, len(model["node_vectors"][0])))
    rows[paths.node] = np.array(model["node_vectors"])[theirs]
    vectors = np.array(model["word_vectors"])
    checked = 0
    for sentence in model["sentences"]:
        for pair in sentence["pairs"]:
            context = vectors[[ids[word] for word in pair["context"]]].reshape(-1, vectors.shape[1])
            h = context.sum(axis=0) / (max(1, len(context)) if model["cbow_mean"] else 1)
            steps = slice(*paths.start[ids[pair["word"]] :][:2])
            label = 1 - paths.code[steps].astype(np.int64)
            score = rows[paths.node[steps]] @ h
            assert np.logaddexp(0, np.where(label == 1, -score, score)).sum() == pytest.approx(
                pair["nll"], rel=1e-9, abs=1e-12
            )
            checked += 1
    assert checked > 10


@pytest.mark.parametrize("split", [list, str.split], ids=["letters", "words"])
def test_entropy_is_the_least_code_length(split: Callable[[str], list[str]]) -> None:
    text = lzma.open(sotu_path(), "rt", encoding="utf-8").read(500_000)
    counts = np.array([*Counter(split(text)).values()])
    least = float(bits(entropy(counts / counts.sum())))
    assert least <= mean_code_length(counts) < least + 1
    assert mean_code_length([1, 1, 2, 4]) == 1.75  # equal if all shares are powers of two
