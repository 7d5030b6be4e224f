"""The model as people use it: fit, ask, save, load, other layouts and formats."""

import math
from pathlib import Path

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st

import unhot
from tests.ngrams.texts import LINES, fitted, random_lines
from unhot import NGramModel
from unhot.errors import ConfigError, DataError, FormatError
from unhot.ngrams.estimating import Level
from unhot.ngrams.packing import choose_layout, pack
from unhot.ngrams.symbols import keys_of
from unhot.ngrams.trie_scorer import TrieScorer

SENTENCES = ["the cat sat on the mat", "a dog", "", "zebra the cat zebra", "the the the the the the"]


@pytest.fixture(scope="module")
def model() -> NGramModel:
    return NGramModel(order=3).fit(iter(LINES))


def test_layouts_give_the_same_scores(model: NGramModel, tmp_path: Path) -> None:
    compact = model.laid_out(compact=True)
    assert compact.compact
    assert not compact.laid_out(compact=False).compact
    for some in (
        compact,
        compact.laid_out(compact=False),
        NGramModel(order=3, compact=True).fit(iter(LINES)),
    ):
        assert [some.full_scores(text) for text in SENTENCES] == [
            model.full_scores(text) for text in SENTENCES
        ]
    compact.save(tmp_path / "c")
    model.save(tmp_path / "q")
    again = unhot.load(tmp_path / "c")
    assert again.scores(SENTENCES).tolist() == model.scores(SENTENCES).tolist()
    assert (tmp_path / "c/v1/model.safetensors").stat().st_size < (
        tmp_path / "q/v1/model.safetensors"
    ).stat().st_size


@examples(60)
@given(
    lines=st.lists(st.text("abcdef ", max_size=30), min_size=1, max_size=30),
    order=st.integers(1, 5),
    compact=st.booleans(),
    text=st.text("abcdefgh ", max_size=30),
)
def test_a_laid_out_model_has_the_levels_it_was_made_of(
    lines: list[str], order: int, compact: bool, text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if not any(line.split() for line in lines):
        return
    some = fitted(lines, order=order, smoothing="witten_bell", double=False)
    packed = some.learned.packed
    levels = list(packed.levels())
    layout = choose_layout(sum(packed.ngrams), packed.layout.bits, compact=compact)
    again = pack(levels, layout, tmp_path_factory.mktemp("packed"), threads=2)
    for before, after in zip(levels, again.levels(), strict=True):
        for one, other in zip(before, after, strict=True):
            assert np.array_equal(one, other)
    assert some.laid_out(compact=compact).score(text) == some.score(text)


def test_many_sentences_are_scored_as_one_by_one(model: NGramModel) -> None:
    texts = [
        *SENTENCES,
        *[line.replace("a", "the").replace("b", "cat") for line in random_lines(1, 3000, "ab", 12)],
        "a\nline feed",
        " spaces  ",
    ]
    for bos in (True, False):
        for eos in (True, False):
            found = model.scores(texts, bos=bos, eos=eos)
            assert found.tolist() == pytest.approx([model.score(text, bos, eos) for text in texts], abs=1e-12)


def test_states_go_on(model: NGramModel) -> None:
    for bos in (True, False):
        state, total = model.state(bos=bos), 0.0
        expected = model.full_scores("the cat zebra sat", bos)
        for word, token in zip("the cat zebra sat </s>".split(), expected, strict=True):
            found, state = model.advance(state, word)
            assert found == token
            total += found.log10
        assert total == pytest.approx(model.score("the cat zebra sat", bos))
    before = model.state("the cat")
    kept = [part.copy() for part in before]
    model.advance(before, "sat")
    assert all(np.array_equal(*pair) for pair in zip(kept, before, strict=True))


def test_perplexity(model: NGramModel, tmp_path: Path) -> None:
    text = "the cat sat\n\nthe zebra\n"
    (tmp_path / "text.txt").write_text(text)
    found = model.perplexity(tmp_path / "text.txt")
    assert (found.lines, found.tokens, found.unknown, found.zero) == (3, 8, 1, 0)
    log10 = sum(model.score(line) for line in text.splitlines())
    assert found.log10 == pytest.approx(log10)
    assert found.perplexity == pytest.approx(10 ** (-log10 / 8))
    assert found.bits == pytest.approx(-log10 / 8 * math.log2(10))
    unknown = [token for token in model.full_scores("the zebra") if token.unknown]
    assert found.log10_without_unknown == pytest.approx(log10 - unknown[0].log10)
    assert found.perplexity_without_unknown < found.perplexity
    assert model.perplexity(iter(text.splitlines())) == found
    assert model.perplexity(iter(line.split() for line in text.splitlines())) == found
    assert math.isnan(model.perplexity(iter([])).perplexity)


def test_next_words_and_generation(model: NGramModel) -> None:
    everything = model.next_words("the cat", k=10**6)
    assert sum(p for _, p in everything) == pytest.approx(1.0, abs=1e-6)
    assert [p for _, p in everything] == sorted((p for _, p in everything), reverse=True)
    assert "<s>" not in [word for word, p in everything if p > 0]
    assert model.next_words("the cat", 3) == everything[:3]
    assert model.generate(seed=3) == model.generate(seed=3)
    assert len({model.generate(seed=seed) for seed in range(10)}) > 3
    greedy = model.generate(temperature=0)
    assert (
        greedy
        == model.generate(temperature=0, seed=9)
        == model.generate(top_k=1)
        == model.generate(top_p=1e-9)
    )
    assert model.generate("the cat", words=2, seed=1).startswith("the cat ")
    assert len(model.generate(words=2, seed=4, temperature=100.0).split()) <= 2
    for wrong in ({"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.5}, {"temperature": -1}, {"words": 0}):
        with pytest.raises(ConfigError):
            model.generate(**wrong)


def test_generation_draws_by_probability(model: NGramModel) -> None:
    first = [model.generate(words=1, seed=seed) or "</s>" for seed in range(2000)]
    expected = {word: p for word, p in model.next_words("", 100) if word != "<unk>"}
    total = sum(expected.values())
    for word, p in list(expected.items())[:5]:
        share = p / total
        assert first.count(word) / 2000 == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 2000))


def test_arpa_round_trip(model: NGramModel, tmp_path: Path) -> None:
    for name in ("x.arpa", "x.arpa.gz"):
        model.save_arpa(tmp_path / name)
        again = unhot.load_language_model(tmp_path / name)
        assert again.scores(SENTENCES).tolist() == model.scores(SENTENCES).tolist()
    with pytest.raises(ConfigError, match="ARPA files weigh only"):
        fitted(LINES, smoothing="stupid_backoff").save_arpa(tmp_path / "y.arpa")
    with pytest.raises(ConfigError, match="smoothing=given"):
        NGramModel(smoothing="given").fit(iter(LINES))


def test_a_given_vocabulary_and_limits() -> None:
    model = NGramModel(order=2).fit(iter(LINES), counts={"the": 2, "cat": 1, "unheard": 1})
    assert set(model.vocabulary.words) == {"<unk>", "<s>", "</s>", "the", "cat", "unheard"}
    assert sum(p for _, p in model.next_words("the", 10)) == pytest.approx(1.0, abs=1e-6)
    assert 0 < dict(model.next_words("the", 10))["unheard"] < dict(model.next_words("the", 10))["cat"]
    assert len(NGramModel(order=2, max_vocab=4).fit(iter(LINES)).vocabulary) == 7
    assert NGramModel(order=2, min_count=1000, max_vocab=1)  # settings alone are fine


def test_any_number_of_threads_and_any_budget_give_the_same_bytes(tmp_path: Path) -> None:
    found = set()
    for threads in (1, 3):
        model = NGramModel(order=4, threads=threads).fit(iter(random_lines(5, 500)))
        model.save(tmp_path / "m")
        found.add((tmp_path / f"m/v{threads if threads == 1 else 2}/model.safetensors").read_bytes())
    assert len(found) == 1


def test_tokenizers(tmp_path: Path) -> None:
    model = NGramModel(order=2, tokenizer="words").fit(iter(["The cat, the CAT!", "the cat."]))
    assert "cat" in model.vocabulary
    assert model.score("THE cat") == model.score("the cat") == model.scores(["The, CAT"])[0]
    assert model.perplexity(iter(["THE CAT"])).unknown == 0
    split = NGramModel(order=2, tokenizer=lambda line: line.split("-")).fit(iter(["a-b", "a-c"]))
    assert split.score("a-b") == split.scores(["a-b"])[0] == split.perplexity(iter(["a-b"])).log10
    (tmp_path / "t").write_text("a-b\na-c\n")
    assert split.perplexity(tmp_path / "t").unknown == 0


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"order": 0}, "order"),
        ({"order": 17}, "order"),
        ({"prune": "1,1"}, "begin with 0"),
        ({"prune": "0,2,1"}, "do not fall"),
        ({"prune": "0,x"}, "such as 0,0,1"),
        ({"prune": [0, 0, 0, 0, 0, 1]}, "at most 5"),
        ({"compact": True, "double": True}, "leave one of them out"),
        ({"smoothing": "none"}, "there is no smoothing"),
        ({"memory": 5}, "at least 1 MB"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        NGramModel(**wrong)


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such"):
        unhot.load_language_model(tmp_path / "nothing")
    (tmp_path / "x.arpa").write_text("nothing of the kind\n")
    with pytest.raises(FormatError):
        unhot.load_language_model(tmp_path / "x.arpa")
    unhot.SkipGram(dim=2, min_count=1).fit(iter(LINES)).save(tmp_path / "words")
    with pytest.raises(FormatError, match="not a language model"):
        unhot.load_language_model(tmp_path / "words")
    with pytest.raises(DataError, match="learned nothing yet"):
        NGramModel().score("a")


def test_pruning_keeps_what_is_frequent() -> None:
    lines = random_lines(7, 300)
    whole = NGramModel(order=3).fit(iter(lines)).learned.packed.ngrams
    pruned = NGramModel(order=3, prune=[0, 0, 1]).fit(iter(lines))
    assert pruned.learned.packed.ngrams[:2] == whole[:2]
    assert pruned.learned.packed.ngrams[2] < whole[2]
    assert NGramModel(order=3, prune="0,0").fit(iter(lines)).learned.packed.ngrams == whole


def test_entropy_of_the_next_word(model: NGramModel) -> None:
    p = np.array([p for _, p in model.next_words("the cat", 1000)])
    p = p[p > 0]
    assert model.entropy("the cat") == pytest.approx(-(p * np.log2(p)).sum(), abs=1e-5)
    # the mean of -log2 p of what the model draws itself
    drawn = [model.generate(words=1, seed=seed) or "</s>" for seed in range(3000)]
    chances = dict(model.next_words("", 1000))
    mean = np.mean([-math.log2(chances[word]) for word in drawn])
    assert mean == pytest.approx(model.entropy(), abs=0.1)


def test_odd_spaces_and_long_words_are_the_same_alone_and_together(model: NGramModel) -> None:
    texts = [
        "the\xa0cat",
        "the\u2003cat sat",
        "the\x1ccat",
        "the\0cat",
        "the\tcat\x0bsat",
        "a\x85b",
        "the " + "x" * 5000,
    ]
    assert model.scores(texts).tolist() == [model.score(text) for text in texts]
    assert model.score("the\tcat") == model.score("the cat") != model.score("the\xa0cat")


def test_words_that_are_spread_unevenly_on_purpose_are_refused(tmp_path: Path) -> None:
    words = 1 << 14
    bits = keys_of(words).bits
    keys = np.tile(np.arange((1 << bits) - 8, 1 << bits, dtype=np.int32), words)
    weights = np.zeros(words, np.float32)
    first = Level(np.zeros(0, np.int32), np.arange(words + 1) * 8, weights, weights)
    second = Level(keys, np.zeros(0, np.int64), np.zeros(keys.size, np.float32), np.zeros(0, np.float32))
    with pytest.raises(DataError, match="use the compact layout"):
        pack([first, second], choose_layout(keys.size, bits, compact=False), tmp_path, threads=1)
    assert pack([first, second], choose_layout(keys.size, bits, compact=True), tmp_path, threads=1)


def test_a_word_that_is_there_twice_is_refused(model: NGramModel) -> None:
    words = [*model.vocabulary.words[:-1], "the"]
    with pytest.raises(FormatError, match="words are different"):
        TrieScorer(words, model.scorer.model).sentence("the cat")
    with pytest.raises(FormatError, match="words are different"):
        TrieScorer(words, model.scorer.model).sentences(["the cat"])


def dashes(line: str) -> list[str]:
    return line.split("-")


def test_a_saved_model_asks_for_its_function(tmp_path: Path) -> None:
    model = NGramModel(order=2, tokenizer=dashes).fit(iter(["a-b", "a-c"]))
    model.save(tmp_path / "m")
    again = unhot.load(tmp_path / "m")
    with pytest.raises(ConfigError, match=r"function .*dashes .*set model.tokenizer"):
        again.score("a-b")
    again.tokenizer = dashes
    assert again.score("a-b") == model.score("a-b")
