"""The (centre, context) pairs that skip-gram trains on, in plain Python; tests check the kernels against it.

    >>> sentence = "the cat sit on the mat".split()
    >>> list(pairs(sentence, window=1, shrink=False, edges=False))[:3]
    [('cat', 'the'), ('cat', 'sit'), ('sit', 'cat')]

Words outside the vocabulary and words dropped by sub-sampling are removed before windows are formed. A
centre sees `window` words to each side, or with `shrink` a number drawn from 1 .. window. Sub-sampling and
the window both draw from the random bits of the token's position in the corpus. So these are exactly the
pairs of a training with the same seed, whatever its output layer.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from unhot.corpus.corpus import Corpus
from unhot.errors import at_least
from unhot.kernels.rng import bits_at_integer, stream_key
from unhot.kernels.windows import keep_threshold
from unhot.types import Doubles

Token = TypeVar("Token")


def pairs(
    sentence: Sequence[Token],
    *,
    window: int = 5,
    shrink: bool = True,
    edges: bool = True,
    skip: Token | None = None,
    keep: Sequence[float] | Doubles | None = None,
    seed: int = 1,
    epoch: int = 0,
    position: int = 0,
) -> Iterator[tuple[Token, Token]]:
    """Yield the (centre, context) pairs of one sentence of words or ids, from left to right.

    edges      include centres whose window does not fit into the sentence (the default, as in training)
    skip       a token that is neither centre nor context but keeps its place in the window (Keras: 0)
    keep       for a sentence of ids: the probability that each id is kept, see `keep_probability`
    position   where the sentence begins in the corpus; token i uses the random bits of position + i
    """
    at_least("window", window, 1)
    key = int(stream_key(seed, epoch, 0))
    bits = [bits_at_integer(key, position + i) for i in range(len(sentence))]
    places = list(range(len(sentence)))
    if keep is not None:
        ids: Any = sentence
        thresholds = keep_threshold(keep)
        places = [i for i in places if bits[i] >> 32 <= thresholds[ids[i]]]
    for c, place in enumerate(places):
        reach = 1 + ((bits[place] & 0xFFFFFFFF) * window >> 32) if shrink else window
        if sentence[place] == skip or not (edges or reach <= c < len(places) - reach):
            continue
        for j in range(max(0, c - reach), min(len(places), c + reach + 1)):
            if j != c and sentence[places[j]] != skip:
                yield sentence[place], sentence[places[j]]


def corpus_pairs(
    corpus: Corpus,
    *,
    window: int = 5,
    shrink: bool = True,
    keep: Doubles | None = None,
    seed: int = 1,
    epoch: int = 0,
) -> Iterator[tuple[int, int]]:
    """Yield the `pairs` of ids of all sentences of an encoded corpus."""
    corpus.check_windows()
    before = 0  # positions in all earlier shards
    for shard in corpus.shards:
        for start, stop in zip(shard.starts[:-1].tolist(), shard.starts[1:].tolist(), strict=True):
            sentence = shard.ids[start:stop].tolist()
            yield from pairs(
                sentence,
                window=window,
                shrink=shrink,
                keep=keep,
                seed=seed,
                epoch=epoch,
                position=before + start,
            )
        before += shard.ids.size
