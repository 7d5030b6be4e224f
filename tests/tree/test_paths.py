import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import DataError
from unhot.tree.huffman import huffman
from unhot.tree.paths import Paths, children, from_children, longest, total_length


@st.composite
def trees(draw):
    """Any full binary tree, by joining random nodes, its inner nodes shuffled; and counts."""
    words = draw(st.integers(2, 40))
    loose, pairs = [-1 - w for w in range(words)], []
    for made in range(words - 1):
        pairs.append([loose.pop(draw(st.integers(0, len(loose) - 1))) for _ in range(2)])
        loose.append(made)
    places = draw(st.permutations(range(words - 1)))
    tree = np.empty((words - 1, 2), np.int64)
    for made, pair in enumerate(pairs):
        tree[places[made]] = [node if node < 0 else places[node] for node in pair]
    return tree, draw(st.lists(st.integers(0, 9), min_size=words, max_size=words))


def walk(tree, counts):
    """Codes of all words and the weight of every inner node, by recursion."""
    codes, weights = {}, {}

    def visit(node, code):
        if node < 0:
            codes[-1 - node] = code
            return counts[-1 - node]
        weights[code] = visit(tree[node][0], code + "0") + visit(tree[node][1], code + "1")
        return weights[code]

    visit((set(range(len(tree))) - set(np.ravel(tree).tolist())).pop(), "")
    return codes, weights


def code_of(paths, word):
    return "".join(map(str, paths.code[paths.start[word] : paths.start[word + 1]]))


@given(trees())
def test_paths_of_any_tree(given_tree):
    tree, counts = given_tree
    paths = from_children(tree, counts)
    codes, weights = walk(tree.tolist(), counts)
    weight_of = {}
    for word, code in codes.items():
        assert code_of(paths, word) == code
        for i, node in enumerate(paths.node[paths.start[word] : paths.start[word + 1]].tolist()):
            # one number, one node
            assert weight_of.setdefault(node, (weights[code[:i]], code[:i])) == (weights[code[:i]], code[:i])
    assert sorted(weight_of) == list(range(len(counts) - 1))
    falling = [weight_of[node][0] for node in range(len(counts) - 1)]
    assert falling == sorted(falling, reverse=True)
    assert weight_of[0][1] == ""
    number = {code: node for node, (_, code) in weight_of.items()}
    assert all(number[code[:-1]] < node for code, node in number.items() if code)


@given(trees())
def test_children_and_back(given_tree):
    tree, counts = given_tree
    paths = from_children(tree, counts)
    assert walk(children(paths).tolist(), counts) == walk(tree.tolist(), counts)
    again = from_children(children(paths), counts)
    for old, new in zip(paths, again, strict=True):
        np.testing.assert_array_equal(old, new)
        assert old.dtype == new.dtype


@given(trees(), st.integers(0, 2**32))
def test_probabilities_sum_to_one(given_tree, seed):
    paths = from_children(*given_tree)
    scores = np.random.default_rng(seed).normal(0, 5, paths.start.size - 2)
    log_sigmoid = -np.logaddexp(0, np.where(paths.code == 0, -1, 1) * scores[paths.node])
    assert np.exp(np.add.reduceat(log_sigmoid, paths.start[:-1])).sum() == pytest.approx(1, abs=1e-12)


def test_types_and_order():
    paths = from_children([[-1, -2], [0, -3]], [1, 1, 5])
    assert [part.dtype for part in paths] == [np.int64, np.int32, np.uint8]
    assert paths.start.tolist() == [0, 2, 4, 5]
    assert paths.node.tolist() == [0, 1, 0, 1, 0]
    assert paths.code.tolist() == [0, 0, 0, 1, 1]
    assert children(paths).tolist() == [[1, -3], [-1, -2]]


def test_one_word():
    paths = from_children([], [7])
    assert paths.start.tolist() == [0, 0]
    assert paths.node.size == paths.code.size == 0
    assert children(paths).shape == (0, 2)
    assert longest(paths) == total_length(paths, [7]) == 0


def test_a_tree_as_deep_as_its_words():
    words = 3000
    tree = [[-1 - w, w + 1] for w in range(words - 2)] + [[1 - words, -words]]
    paths = from_children(tree, np.ones(words, np.int64))
    assert np.diff(paths.start).tolist() == [*range(1, words), words - 1]
    assert longest(paths) == words - 1
    np.testing.assert_array_equal(children(paths), tree)


def test_total_length_beyond_64_bits():
    paths = Paths(np.array([0, 2, 4]), np.zeros(4, np.int32), np.zeros(4, np.uint8))
    assert (
        total_length(paths._replace(start=np.array([0, 7, 16])), [2**61, 2**60])
        == 7 * 2**61 + 9 * 2**60
        > 2**63
    )
    with pytest.raises(DataError, match="3 counts for paths of 2 words"):
        total_length(paths, [1, 2, 3])


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([], "shape"),
        ([[1, 2]], "shape"),
        ([1.5, 2.0], "type float64: must be whole numbers"),
        ([3, -1], "counts from -1 to 3"),
        ([2**61, 2**61], "less than 2\\*\\*62"),
    ],
)
def test_bad_counts(counts, message):
    with pytest.raises(DataError, match=message):
        huffman(counts)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ([[-1, -2]], "of shape \\(1, 2\\)"),
        ([[-1, 1], [-2, 2]], "children from -2 to 2"),
        ([[-1, 1], [-2, -4]], "children from -4 to 1"),
        ([[-1, 1], [-2, 2**40]], "children from -2 to 1099511627776"),
        ([[-1, 1], [-2, -2]], "the word 1 is 2 times"),
        ([[-1, 1], [1, -3]], "the word 1 is 0 times"),
        ([[-1, -2], [1, -3]], "cycle"),
    ],
)
def test_bad_trees(tree, message):
    with pytest.raises(DataError, match=message):
        from_children(tree, [1, 1, 1])


def test_two_parents():
    with pytest.raises(DataError, match="inner node 1 has 2 parents"):
        from_children([[1, 1], [-1, -2], [-3, -4]], [1, 1, 1, 1])
