"""fastText's parameters as settings of unhot.

    model, dim, ws, epoch, minCount, t       architecture, dim, window, epochs, min_count, sample
    minn, maxn, bucket                       minn, maxn, buckets
    loss = ns, neg = k                       output = negative:k=k,power=0.5
    loss = hs | softmax | ova                output = hierarchical:tree=word2vec | softmax | one_vs_all
    lr, seed, thread                         lr, seed, threads

What has no counterpart is an error if it would change the result, and a note otherwise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from unhot.errors import ConfigError, at_least, one_of, whole
from unhot.models.words import SMALLEST_LR
from unhot.vocab.subwords import MOST_BUCKETS

ARCHITECTURES = ("skipgram", "cbow")
LOSSES = {"hs": "hierarchical:tree=word2vec", "softmax": "softmax", "ova": "one_vs_all", "one-vs-all": "one_vs_all"}
NOISE_POWER = 0.5  # of fastText's negative sampling; word2vec has 0.75
RENAMED = {  # names of fastText's first Python module, which the second still takes
    "min_count": "minCount",
    "word_ngrams": "wordNgrams",
    "lr_update_rate": "lrUpdateRate",
    "label_prefix": "label",
    "pretrained_vectors": "pretrainedVectors",
}
# without a meaning here: name, fastText's default, what happens instead
WITHOUT_MEANING = (
    ("minCountLabel", 0, "there are no labels in skipgram and cbow"),
    ("wordNgrams", 1, "skipgram and cbow have no word n-grams, in fastText neither"),
    ("lrUpdateRate", 100, "the rate falls after every chunk of the text"),
    ("label", "__label__", "words that begin with it are words like all others"),
)


class Unsupervised(NamedTuple):
    """Parameters of skipgram and cbow, by fastText's names."""

    model: str = "skipgram"
    lr: float = 0.05
    dim: int = 100
    ws: int = 5
    epoch: int = 5
    minCount: int = 5
    minCountLabel: int = 0
    minn: int = 3
    maxn: int = 6
    neg: int = 5
    wordNgrams: int = 1
    loss: str = "ns"
    bucket: int = 2_000_000
    thread: int = 1
    lrUpdateRate: int = 100
    t: float = 1e-4
    label: str = "__label__"
    verbose: int = 2
    pretrainedVectors: str = ""
    seed: int = 0

    def settings(self) -> dict[str, Any]:
        """The settings of `unhot.models.fasttext.FastText`."""
        one_of("model", self.model, ARCHITECTURES)
        one_of("loss", self.loss, ("ns", *LOSSES))
        for name in ("dim", "ws", "epoch", "minCount", "thread", *(["neg"] if self.loss == "ns" else [])):
            whole(name, getattr(self, name), 1)  # errors with fastText's names, not unhot's
        whole("bucket", self.bucket, 1 if self.maxn else 0, MOST_BUCKETS)
        at_least("lr", self.lr, SMALLEST_LR)
        at_least("t", self.t, 0)
        return {
            "architecture": self.model,
            "dim": self.dim,
            "window": self.ws,
            "epochs": self.epoch,
            "min_count": self.minCount,
            "sample": self.t,
            "minn": max(1, self.minn) if self.maxn else 0,  # 0 means 1 to fastText
            "maxn": self.maxn,
            "buckets": self.bucket if self.maxn else 0,
            "output": LOSSES.get(self.loss, f"negative:k={self.neg},power={NOISE_POWER}"),
            "lr": self.lr,
            "seed": self.seed,
            "threads": self.thread,
        }

    def notes(self) -> list[str]:
        """What was asked for and has no meaning here."""
        given = ((name, getattr(self, name), usual, why) for name, usual, why in WITHOUT_MEANING)
        return [f"{name}={value}: not used; {why}" for name, value, usual, why in given if value != usual]


def check_autotune(**given: Any) -> None:
    """Raise a `ConfigError` if autotune was asked for."""
    if given.get("autotuneValidationFile"):
        raise ConfigError("autotuneValidationFile: autotune is for classifiers, which unhot does not train yet; leave it out")
