"""Phrases against their definition in plain Python and against gensim: pairs, scores, joined sentences."""

import dataclasses
import io
import itertools
import json
import lzma
import math
import re
from collections import Counter
from unittest import mock

import numpy as np
import pytest
from grids import crossed, examples
from hypothesis import example, given
from hypothesis import strategies as st
from programs import with_jit, without_jit

import unhot
from unhot.corpus.corpus import Corpus
from unhot.corpus.encoding import EncodingSizes, WordChoice, encode, encode_input
from unhot.corpus.phrases import joining as phrase_text
from unhot.corpus.phrases import pair_counts as phrase_counts
from unhot.corpus.phrases.pair_kernels import join
from unhot.corpus.phrases.phrases import ENGLISH, Phrases, warm_up_phrases
from unhot.corpus.reading.sources import TextReader
from unhot.corpus.workplace import Workplace
from unhot.data import sotu_path
from unhot.errors import ConfigError, DataError
from unhot.vocab.vocabulary import Vocabulary

TINY = EncodingSizes(block=8, part=64, shard=5, table=1)


# the definition


def pairs_of(sentence, connectors):
    """(first word, connectors..., second word) for all neighbours."""
    places = [i for i, word in enumerate(sentence) if word not in connectors]
    return [tuple(sentence[i : j + 1]) for i, j in itertools.pairwise(places)]


def scored(sentences, score, min_count, connectors):
    words = Counter(word for sentence in sentences for word in sentence if word not in connectors)
    pairs = Counter(pair for sentence in sentences for pair in pairs_of(sentence, connectors))
    n = sum(map(len, sentences))
    for pair, ab in pairs.items():
        a, b = words[pair[0]], words[pair[-1]]
        if score == "npmi":
            if ab >= min_count:
                yield pair, math.log((ab / n) / ((a / n) * (b / n))) / -math.log(ab / n), ab
        else:
            yield (
                pair,
                (ab - min_count) / (a * b) * (n if score == "word2vec" else len(words) + len(pairs)),
                ab,
            )


def joined(sentence, phrases, connectors):
    out, rest = [], list(sentence)
    while rest:
        pair = next(iter(pairs_of(rest, connectors)), None)
        if rest[0] not in connectors and pair in phrases:
            out.append("_".join(pair))
            rest = rest[len(pair) :]
        else:
            out.append(rest.pop(0))
    return out


def sentences_of(corpus):
    words = corpus.vocabulary.words
    return [[words[i] for i in s.ids[a:b]] for s in corpus.shards for a, b in itertools.pairwise(s.starts)]


def small_corpus(sentences, threads=2):
    """A corpus of many shards."""
    with Workplace(None) as place:
        return encode_input(
            TextReader(iter(sentences)),
            WordChoice(1, None, None),
            place,
            threads,
            TINY,
        )


WORDS = ["a", "b", "c", "d_e", "of", "the", "_"]
SENTENCES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=14), min_size=1, max_size=12)


@examples(60)
@given(
    SENTENCES,
    st.sampled_from(["word2vec", "gensim", "npmi"]),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.sampled_from([(), ("of", "the"), ("a",)]),
    st.integers(1, 3),
    st.sampled_from([1, 3, 1 << 20]),
    st.integers(1, 300),
)
@example([["a"] * 4], "word2vec", 1, 0.0, (), 2, 1, 1)
@example([["a", "of", "the", "b"] * 6, ["of"] * 9], "npmi", 1, 0.0, ("of", "the"), 2, 1, 1)
def test_against_the_definition(sentences, score, min_count, threshold, connectors, threads, piece, tokens):
    """Any number of threads, passes, shards; pieces of any size.

    Ranges of few tokens, and rows that are longer than these.
    """
    phrases = Phrases(
        score=score, threshold=[threshold] * 2, min_count=min_count, connectors=connectors, threads=threads
    )
    with (
        mock.patch.object(phrase_text, "CHUNK", piece),
        mock.patch.object(phrase_counts, "_room", return_value=tokens),
    ):
        with small_corpus(sentences) as corpus:
            phrases.fit(corpus)
            text = sentences
            for entries in phrases.found:
                every = {pair: (value, ab) for pair, value, ab in scored(text, score, min_count, connectors)}
                clear = {pair for pair, (value, _) in every.items() if value > threshold + 1e-12}
                close = {pair for pair, (value, _) in every.items() if abs(value - threshold) <= 1e-12}
                found = {pair for pair, _, _ in entries}
                assert clear <= found <= clear | close
                assert len(found) == len(entries)
                for pair, value, ab in entries:
                    assert value == pytest.approx(every[pair][0], rel=1e-12, abs=1e-12)
                    assert ab == every[pair][1]
                assert [value for _, value, _ in entries] == sorted(
                    (value for _, value, _ in entries), reverse=True
                )
                text = [joined(sentence, found, connectors) for sentence in text]
            assert list(phrases.stream(sentences)) == text
            with phrases.encode(corpus, min_count=1) as encoded:
                assert sentences_of(encoded) == text
                assert Counter(
                    dict(zip(encoded.vocabulary.words, encoded.vocabulary.counts.tolist(), strict=True))
                ) == Counter(word for sentence in text for word in sentence)
                assert encoded.vocabulary.is_ordered()
                assert encoded.words == encoded.ids == sum(map(len, text))
            written = io.BytesIO()
            assert phrases.write(corpus, written) == sum(map(len, text))
            assert written.getvalue().decode() == "".join(" ".join(sentence) + "\n" for sentence in text)


# gensim


@pytest.fixture(scope="module")
def speeches():
    """Some 150,000 words of the bundled text, a speech's sentence a list."""
    text = lzma.open(sotu_path(), "rt", encoding="utf-8").read(900_000).lower()
    return [
        re.findall(r"[a-z]+", sentence)
        for sentence in re.split(r"[.!?]", text)
        if re.search("[a-z]", sentence)
    ]


@pytest.mark.parametrize(
    ("scored", "connectors"), crossed([("gensim", (10.0, 4.0)), ("npmi", (0.5, 0.3))], [(), ENGLISH])
)
def test_same_as_gensim(speeches, scored, connectors):
    score, thresholds = scored
    gensim = pytest.importorskip("gensim.models.phrases")
    scoring = {"gensim": "default", "npmi": "npmi"}[score]
    how = {"min_count": 3, "scoring": scoring, "connector_words": frozenset(connectors)}
    first = gensim.Phrases(speeches, threshold=thresholds[0], **how)
    ours = Phrases(score=score, threshold=thresholds, min_count=3, connectors=connectors).fit(speeches)
    expected = first.export_phrases()
    assert len(expected) > 300
    assert {"_".join(parts): value for parts, value, _ in ours.found[0]} == pytest.approx(expected, rel=1e-13)
    assert all(first.vocab["_".join(parts)] == count for parts, _, count in ours.found[0])
    once = [first[sentence] for sentence in speeches]
    second = gensim.Phrases(once, threshold=thresholds[1], **how)
    in_text = second.find_phrases(once)  # its export takes words that hold the delimiter apart
    found = {"_".join(parts): value for parts, value, _ in ours.found[1]}
    assert {phrase: found[phrase] for phrase in in_text} == pytest.approx(in_text, rel=1e-13)
    assert any(phrase.count("_") > 1 for phrase in in_text)
    twice = [second[sentence] for sentence in once]
    assert list(ours.stream(speeches)) == twice
    with ours.encode(speeches, min_count=1) as corpus:
        assert sentences_of(corpus) == twice


def test_word2vec_score_is_gensims_with_another_factor(speeches):
    gensim = pytest.importorskip("gensim.models.phrases")
    kinds = len(gensim.Phrases(speeches, min_count=3).vocab)
    words = sum(map(len, speeches))
    ours = Phrases(score="word2vec", threshold=10.0 * words / kinds, min_count=3).fit(speeches)
    other = Phrases(score="gensim", threshold=10.0, min_count=3).fit(speeches)
    assert [(phrase, count) for phrase, _, count in ours.phrases] == [
        (phrase, count) for phrase, _, count in other.phrases
    ]


# what is asked for


NEW_YORK = [
    ["new", "york", "times"],
    ["the", "new", "york", "times"],
    ["new", "york"],
    ["new", "house"],
    ["old", "times"],
] * 3


def test_passes_and_falling_thresholds():
    phrases = Phrases(min_count=1, threshold=[2.5, 2.4]).fit(NEW_YORK)
    assert [{"+".join(parts): count for parts, _, count in entries} for entries in phrases.found] == [
        {"new+york": 9, "old+times": 3},
        {"new+house": 3, "new_york+times": 6},
    ]
    assert len(phrases.thresholds) == 2
    assert phrases.transform(["new", "york", "times", "new"]) == ["new_york_times", "new"]
    assert phrases.transform([]) == []


def test_target_takes_the_best():
    every = Phrases(min_count=1, threshold=0).fit(NEW_YORK)
    best = Phrases(min_count=1, target=2).fit(NEW_YORK)
    assert len(every.phrases) > 2
    assert best.phrases == every.phrases[:2]
    assert Phrases(min_count=1, target=2, threshold=1e6).fit(NEW_YORK).phrases == []


def test_neighbours_are_counted_as_they_overlap():
    phrases = Phrases(min_count=1, threshold=0).fit([["a", "a", "a", "a", "a"]])
    assert phrases.phrases == [("a_a", (4 - 1) / 25 * 5, 4)]
    assert phrases.transform(["a"] * 5) == ["a_a", "a_a", "a"]


def test_text_without_phrases():
    assert Phrases(min_count=1).fit(["one"]).phrases == []
    with pytest.raises(DataError, match="the text has no words"):
        Phrases().fit(iter([]))
    phrases = Phrases().fit(iter(["a b", "c"]))
    with phrases.encode(iter(["a b", "c"]), min_count=1) as corpus:
        assert sentences_of(corpus) == [["a", "b"], ["c"]]


def test_words_that_hold_the_delimiter():
    """A pair is two words, however they are spelt; joined, they are the word that is spelt alike."""
    text = [["new", "york"], ["new_york", "city"], ["new", "york", "city"], ["new", "york_city"]]
    phrases = Phrases(min_count=1, threshold=0, score="npmi", target=1).fit(text)
    assert [(parts, count) for parts, _, count in phrases.found[0]] == [(("new", "york"), 2)]
    with phrases.encode(text, min_count=1) as corpus:
        assert sentences_of(corpus) == [
            ["new_york"],
            ["new_york", "city"],
            ["new_york", "city"],
            ["new", "york_city"],
        ]
        assert corpus.vocabulary.counts[corpus.vocabulary.id("new_york")] == 3


def test_bytes_that_are_not_utf8(tmp_path):
    path, listed = tmp_path / "text", tmp_path / "list"
    path.write_bytes(b"x\xff caf\xc3\xa9\n" * 3 + b"b c\n")
    phrases = Phrases(min_count=1, threshold=0).fit(path)
    assert [phrase for phrase, _, _ in phrases.phrases] == ["x\udcff_caf\xe9"]
    phrases.save(listed)
    out = io.BytesIO()
    Phrases.load(listed).write(path, out)
    assert out.getvalue() == b"x\xff_caf\xc3\xa9\n" * 3 + b"b c\n"


def test_one_long_sentence_is_cut_where_nothing_is_joined(speeches):
    words = list(itertools.chain.from_iterable(speeches))[:20_000]
    phrases = Phrases(min_count=2, threshold=20, passes=2, connectors="english").fit([words])
    with mock.patch.object(phrase_text, "CHUNK", 50), phrases.encode([words], min_count=1) as corpus:
        assert sentences_of(corpus) == [phrases.transform(words)]
        assert corpus.ids < 0.98 * len(words)


def test_encode_cuts_the_vocabulary_as_encode_does(speeches):
    phrases = Phrases(min_count=3, threshold=20).fit(speeches)
    text = list(phrases.stream(speeches))
    other = Vocabulary.from_counts({"congress": 9, "united_states": 7, "zzz": 5})
    for how in (
        {"min_count": 5},
        {"min_count": 2, "max_vocab": 500},
        {"counts": other},
        {"known": other, "min_count": 50},
    ):
        with phrases.encode(speeches, **how) as ours, encode(text, **how) as expected:
            assert ours.vocabulary == expected.vocabulary
            assert sentences_of(ours) == sentences_of(expected)
            assert (ours.words, ours.ids, ours.sentences) == (
                expected.words,
                expected.ids,
                expected.sentences,
            )
            assert ours.report.types == expected.report.types
    with pytest.raises(DataError, match="none of the 1 words in counts"):
        phrases.encode(speeches, counts={"zzz": 5})
    with pytest.raises(ConfigError, match="min_count=0"):
        phrases.encode(speeches, min_count=0)


def test_encode_leaves_a_corpus_to_open(tmp_path):
    phrases = Phrases(min_count=1, threshold=2.5).fit(NEW_YORK)
    with phrases.encode(NEW_YORK, min_count=1, directory=tmp_path / "corpus") as corpus:
        expected = sentences_of(corpus)
    assert sorted(path.name for path in (tmp_path / "corpus").iterdir()) == [
        "00000.ids",
        "00000.starts",
        "corpus.json",
        "counts.bin",
        "vocab.txt",
    ]
    with Corpus.open(tmp_path / "corpus") as corpus:
        assert sentences_of(corpus) == expected == list(phrases.stream(NEW_YORK))


def test_a_model_learns_phrases():
    phrases = Phrases(min_count=1, threshold=2.5).fit(NEW_YORK)
    with phrases.encode(NEW_YORK, min_count=1) as corpus:
        model = unhot.SkipGram(dim=8, epochs=1, threads=1, sample=0).fit(corpus)
    assert "new_york" in model.vocabulary
    assert model.vectors["new_york"].shape == (8,)


def test_text_is_read_by_any_tokenizer(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("New York, new YORK!\nIn New-York.\n")
    assert Phrases(min_count=1, threshold=0).fit(path, tokenizer="words").phrases[0][0] == "new_york"
    assert Phrases(min_count=1, threshold=0).fit(path, tokenizer=lambda line: line.lower().split("ew")).found
    told = []
    Phrases().fit(path, progress=lambda *numbers: told.append(numbers), note=told.append)
    assert (33, 33) in told
    assert told[-1] == "pass 1: 6 words, 0 phrases"


# budgets


@pytest.mark.parametrize(("connectors", "memory", "ranges"), [("none", "600kB", 20), ("english", "2MB", 5)])
def test_the_budget_changes_nothing(speeches, connectors, memory, ranges):
    how = {"score": "gensim", "threshold": 5.0, "min_count": 2, "connectors": connectors}
    expected = Phrases(**how, threads=1).fit(speeches)
    calls, count = [], phrase_counts._count_range
    with mock.patch.object(phrase_counts, "_count_range", lambda *args: calls.append(args) or count(*args)):
        other = Phrases(**how, threads=3, memory=memory).fit(speeches)
    assert len(calls) >= ranges
    assert other.found == expected.found


def test_too_small_a_budget_is_refused(speeches):
    with pytest.raises(
        ConfigError, match=r"memory=1,000: counting pairs of .* words with 2 threads needs at least"
    ):
        Phrases(memory="1kB").fit(speeches)
    with (
        mock.patch.object(phrase_counts, "_room", return_value=1000),
        pytest.raises(DataError, match="do not fit.*raise min_count"),
    ):
        Phrases(min_count=1, memory=2000).fit(speeches)
    with (
        mock.patch.object(phrase_counts, "PREFIXES", 8),
        pytest.raises(DataError, match="different words followed by connectors, which do not fit"),
    ):
        Phrases(min_count=1, connectors="english", memory=4000).fit(speeches)


def test_prefixes_find_room(speeches):
    expected = Phrases(min_count=2, threshold=1, connectors="english").fit(speeches)
    with mock.patch.object(phrase_counts, "PREFIXES", 1):
        assert Phrases(min_count=2, threshold=1, connectors="english").fit(speeches).found == expected.found


def test_a_corpus_that_lacks_words_is_refused():
    with (
        encode(NEW_YORK, min_count=4) as corpus,
        pytest.raises(DataError, match=r"lacks .* of the text's 39 words.*min_count=1"),
    ):
        Phrases().fit(corpus)


def test_counts_are_those_of_the_text():
    """A vocabulary with counts from elsewhere must not lead kernels astray."""
    given = {word: 1 for sentence in NEW_YORK for word in sentence}
    with encode(NEW_YORK, counts=given, min_count=1) as corpus:
        assert (
            Phrases(min_count=1, threshold=0).fit(corpus).phrases
            == Phrases(min_count=1, threshold=0).fit(NEW_YORK).phrases
        )


def test_warm():
    warm_up_phrases()
    assert join.signatures


def test_the_same_without_the_compiler(tmp_path):
    code = """
import io, json
from unhot.corpus.phrases import Phrases
lines = "bank of the west", "new york bank of the west", "of new york"
text = [line.split() for line in lines] * 3
phrases = Phrases(min_count=1, threshold=0.5, passes=2, connectors=["of", "the"], score="gensim").fit(text)
out = io.BytesIO()
phrases.write(text, out)
print(json.dumps([phrases.found, out.getvalue().decode()]))
"""
    answers = [json.loads(run(code)) for run in (with_jit, without_jit)]
    assert answers[0] == answers[1]
    assert "bank_of_the_west" in answers[0][1]


# settings


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"score": "pmi"}, "score='pmi': must be one of word2vec, gensim, npmi"),
        ({"threshold": -1}, "threshold=-1: must be >= 0"),
        ({"threshold": 2, "score": "npmi"}, "between -1 and 1"),
        ({"threshold": "high"}, "threshold=high"),
        ({"threshold": []}, "one number, or a list with one number for each pass"),
        ({"threshold": [2, 1], "passes": 3}, "passes=3"),
        ({"passes": 0}, "passes=0: must be >= 1"),
        ({"min_count": 0}, "min_count=0"),
        ({"target": 0}, "target=0"),
        ({"connectors": "german"}, "connectors='german': must be one of english, none"),
        ({"connectors": 3}, "connectors=3"),
        ({"connectors": ["of", ""]}, "not empty"),
        ({"delimiter": ""}, "delimiter=''"),
        ({"memory": "much"}, "memory='much'"),
        ({"threads": 0}, "threads=0"),
    ],
)
def test_wrong_settings(how, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        Phrases(**how)


def test_wrong_calls():
    with pytest.raises(DataError, match="no phrases yet"):
        Phrases().transform(["a"])
    phrases = Phrases().fit(NEW_YORK)
    with pytest.raises(DataError, match=r"is a str: give a list of words"):
        phrases.transform("new york")
    with pytest.raises(DataError, match="has an item that is not a str"):
        phrases.transform(["new", 3])

    with pytest.raises(DataError, match="None is a NoneType: give a list of words"):
        phrases.transform(None)
    for file in ("out.txt", None, io.StringIO()):
        with pytest.raises(ConfigError, match="must be a file opened for writing bytes"):
            phrases.write(NEW_YORK, file)
    with pytest.raises(ConfigError, match="delimiter=' ': contains white space"):
        Phrases.write(dataclasses.replace(phrases, delimiter=" "), "no text", io.BytesIO())


@pytest.mark.parametrize("given", [{"tokenizer": "words"}, {"column": "text"}])
def test_a_corpus_is_encoded_already(given):
    with encode(NEW_YORK, min_count=1) as corpus:
        phrases = Phrases().fit(corpus)
        calls = (
            phrases.fit,
            phrases.encode,
            lambda source, **how: phrases.write(source, io.BytesIO(), **how),
        )
        for call in calls:
            with pytest.raises(ConfigError, match="tokenizer or column given with an encoded Corpus"):
                call(corpus, **given)


def test_thresholds_may_be_an_array():
    assert Phrases(threshold=np.array([3, 2.5])) == Phrases(threshold=[3, 2.5])
    assert Phrases(threshold=np.array(3.0), passes=2).thresholds == (3.0, 3.0)
    with pytest.raises(ConfigError, match="threshold="):
        Phrases(threshold=np.ones((2, 2)))


def test_settings_can_be_replaced():
    phrases = Phrases(threshold=[3, 2], connectors=(word for word in ("of", "and")))
    other = dataclasses.replace(phrases, min_count=9)
    assert other.inside == {"of", "and"}
    assert other.thresholds == (3, 2)
    assert dataclasses.replace(phrases, threshold=[3, 2, 1]).thresholds == (3, 2, 1)
    assert dataclasses.replace(Phrases(), passes=2).thresholds == (100, 100)
    assert dataclasses.replace(Phrases(), score="npmi").thresholds == (0.5,)
    assert dataclasses.replace(Phrases(connectors="english")).inside == ENGLISH


@pytest.mark.parametrize(
    ("words", "delimiter"),
    [(("a\udcc3", "b"), "\udca9"), (("\udce2", "c"), "\udc82\udcac"), (("a", "b"), "\udcc3\udca9")],
)
def test_bytes_that_are_a_letter_when_joined(words, delimiter):
    """Halves of a letter in UTF-8, of words and of the delimiter.

    `transform` and `encode` spell the phrase alike.
    """
    text = [list(words), ["", *words, "", words[0]]] * 5
    phrases = Phrases(min_count=1, threshold=0, delimiter=delimiter).fit(text)
    phrase = (words[0] + delimiter + words[1]).encode("utf-8", "surrogateescape").decode()
    assert [name for name, _, _ in phrases.phrases][0] == phrase
    with phrases.encode(text, min_count=1) as corpus:
        assert sentences_of(corpus) == [phrases.transform(sentence) for sentence in text]
        assert corpus.vocabulary.words == [phrase, words[0]]


def test_words_of_phrases_only_are_not_counted_as_words():
    text = [["new", "york"]] * 4 + [["a", "b"]] * 2
    phrases = Phrases(min_count=1, threshold=1).fit(text)
    with pytest.raises(DataError, match=r"drops all 6 words \(2 different ones\): the highest count is 4"):
        phrases.encode(text, min_count=10**6)
