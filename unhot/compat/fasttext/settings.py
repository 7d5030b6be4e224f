"""Translate fastText's parameters into settings of unhot.

    model, dim, ws, epoch, minCount, t       architecture, dim, window, epochs, min_count, sample; minCount =
                                             0: min_count = 1
    minn, maxn, bucket                       minn, maxn, buckets; minn > maxn: maxn = 0, no n-grams
    loss = ns, neg = k                       output = negative:k=k,power=0.5
    loss = hs | softmax | ova                output = hierarchical:tree=word2vec | softmax | one_vs_all
    lr, seed, thread                         lr, seed, threads

A parameter without a counterpart is an error if it would change the result; otherwise a note says that it is
not used.
"""

from typing import Any, NamedTuple

from unhot.errors import ConfigError, at_least, one_of, whole

ARCHITECTURES = ("skipgram", "cbow")
LOSSES = {
    "hs": "hierarchical:tree=word2vec",
    "softmax": "softmax",
    "ova": "one_vs_all",
    "one-vs-all": "one_vs_all",
}
NOISE_POWER = 0.5  # power of the noise distribution in fastText's negative sampling; word2vec has 0.75
RENAMED = {  # names from fastText's first Python module, which the second still accepts
    "min_count": "minCount",
    "word_ngrams": "wordNgrams",
    "lr_update_rate": "lrUpdateRate",
    "label_prefix": "label",
    "pretrained_vectors": "pretrainedVectors",
}
NAMES = {"window": "ws", "epochs": "epoch", "min_count": "minCount", "threads": "thread"}
REWORDED = (  # passages in unhot's errors, and what replaces them here
    ("min_count, set max_vocab", "minCount"),
    ("min_count", "minCount"),
    (", and a tokenizer that fits it", ", words with spaces between them"),
    ("(--force)", "(-force)"),
    ("sample=0", "t=0"),
)
# parameters that are not used, and why
WITHOUT_MEANING = (
    ("minCountLabel", "there are no labels in skipgram and cbow"),
    ("wordNgrams", "skipgram and cbow have no word n-grams, and neither do fastText's"),
    ("lrUpdateRate", "unhot lowers the rate after every chunk of the text"),
    ("label", "in skipgram and cbow, words with this prefix are ordinary words"),
)


class Unsupervised(NamedTuple):
    """The parameters of skipgram and cbow, with fastText's names."""

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
        """Return the settings for `unhot.models.fasttext.FastText`."""
        # imported here, so that queries to a model do not load the training code
        from unhot.models.settings import SMALLEST_LR, WHOLE, limits_of
        from unhot.models.word_model import WordModel
        from unhot.vocab.subwords import MOST_BUCKETS

        one_of("model", self.model, ARCHITECTURES)
        one_of("loss", self.loss, ("ns", *LOSSES))
        for field in WHOLE:
            low, high = limits_of(WordModel, field)
            name = NAMES.get(field, field)  # errors use fastText's names
            whole(name, getattr(self, name), 0 if name == "minCount" else low, high)
        for name, low in (("minn", 0), ("maxn", 0), ("neg", 1 if self.loss == "ns" else 0)):
            whole(name, getattr(self, name), low)
        cuts = self.maxn >= max(1, self.minn)
        whole("bucket", self.bucket, int(cuts), MOST_BUCKETS)
        at_least("lr", self.lr, SMALLEST_LR)
        at_least("t", self.t, 0)
        return {
            "architecture": self.model,
            "dim": self.dim,
            "window": self.ws,
            "epochs": self.epoch,
            "min_count": max(1, self.minCount),
            "sample": self.t,
            "minn": max(1, self.minn) if cuts else 0,  # fastText takes 0 as 1
            "maxn": self.maxn if cuts else 0,
            "buckets": self.bucket if cuts else 0,
            "output": LOSSES.get(self.loss, f"negative:k={self.neg},power={NOISE_POWER}"),
            "lr": self.lr,
            "seed": self.seed,
            "threads": self.thread,
        }

    def notes(self) -> list[str]:
        """Return a note for each parameter that was given but is not used."""
        given = ((name, getattr(self, name), why) for name, why in WITHOUT_MEANING)
        return [
            f"{name}={value}: not used; {why}"
            for name, value, why in given
            if value != self._field_defaults[name]
        ]


def reworded(message: str) -> str:
    """Return the message of an error with fastText's names for settings."""
    for ours, theirs in REWORDED:
        message = message.replace(ours, theirs)
    return message


def check_autotune(**given: Any) -> None:
    """Raise a `ConfigError` if autotune was asked for."""
    if given.get("autotuneValidationFile"):
        raise ConfigError(
            "autotuneValidationFile: autotune is only for classifiers, which unhot does not train yet; "
            "leave it out"
        )
