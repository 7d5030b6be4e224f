"""The base class of output layers, the registry of layers, and the parser of specs.

A layer is a frozen dataclass of its settings, registered under a name and written as a spec string such as
`negative:k=5,power=0.75`. From the vocabulary's counts it builds constant tables. For the type of its tables
it registers two compiled functions: `candidates` lists the output columns that a step touches, `link` turns
their scores into a loss. `reference` computes the same loss in float64, and `log_weight` turns scores into
log-probabilities. A layer is one file, in this folder or your own; importing the file registers the layer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from unhot.errors import ConfigError, DataError, FormatError, finite
from unhot.largest import largest
from unhot.outputs.count_losses import CountLoss
from unhot.probability import log_sum_exp
from unhot.specs import checked, parse_spec, registering, spec_of, type_hints
from unhot.types import Counts, Doubles, Ids

FILE = "file:"  # prefix of a setting's value that names a file
HELD = "file."  # prefix of the tensors of a saved model that hold what such a file held
KEEP = "keep the vocabulary as it is (counts=model.vocabulary, --keep-vocabulary)"
LAYERS: dict[str, type[OutputLayer]] = {}
Layer = TypeVar("Layer", bound="type[OutputLayer]")


class Biases(NamedTuple):
    """The kinds of biases that a layer learns."""

    out: bool = False  # one for each output row
    each_input: bool = False  # one for each input row
    ln_z: bool = False  # one for all rows together


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutputLayer:
    """Base class of all output layers.

    In all methods, `counts` says how often each word of the output vocabulary occurs, by id.
    """

    name: ClassVar[str]
    # which words are cheaper as targets of skip-gram: the centre word, or its contexts
    predicts: ClassVar[str] = "centre"
    all_rows: ClassVar[bool] = False  # whether every step scores every output row
    rows_are_words: ClassVar[bool] = True  # whether output row i is the vector of word i
    # whether the method's paper has biases; then heads of unhot.nn have them by default
    biased: ClassVar[bool] = True
    compiled: ClassVar[bool] = True  # whether there is a compiled kernel; otherwise only torch trains it
    on_cells: ClassVar[bool] = False  # whether the loss of a text is a sum over cells, see `count_loss`
    own_columns: ClassVar[bool] = False  # whether each example of a batch has its own columns
    # whether each word has a probability of its own, exp(log_weight), which does not depend on the others'
    independent: ClassVar[bool] = False
    # the settings that may name a file, each with what reads the file into an array, and the array's type
    readers: ClassVar[Mapping[str, tuple[Callable[[str], Any], type]]] = {}
    kept: ClassVar[bool] = False  # whether a saved model holds what the files held, so that none is opened

    def __post_init__(self) -> None:
        """Check the settings by their types; each layer checks by itself what its types do not say."""
        kinds = type_hints(type(self))
        for field in dataclasses.fields(self):
            name, kind = f"{self.name}:{field.name}", kinds[field.name]
            value = getattr(self, field.name)
            if kind is str and not isinstance(value, str):
                raise ConfigError(f"{name}={value!r}: must be text")
            value = finite(name, value) if kind is float else checked(name, value, kind)
            object.__setattr__(self, field.name, value)

    def files(self) -> dict[str, str]:
        """Return the path of each file that a setting names."""
        values = {name: str(getattr(self, name)) for name in self.readers}
        return {name: value.removeprefix(FILE) for name, value in values.items() if value.startswith(FILE)}

    def read_file(self, setting: str) -> Any:
        """Return what the file named by a setting holds; a layer reads it once."""
        held = vars(self).setdefault("held", {})
        if setting not in held:
            held[setting] = self.readers[setting][0](self.files()[setting])
        if held[setting] is None:
            raise DataError(
                f"{self.name}:{setting}={getattr(self, setting)}: this model was saved without what the file "
                "held, and a saved model opens no file: train it again"
            )
        return held[setting]

    def read_files(self) -> None:
        """Read the files that the settings name, before a long text is read."""
        if not self.kept:
            vars(self)["held"] = {}
        for setting in self.files():
            self.read_file(setting)

    def saved_files(self) -> dict[str, Any]:
        """Return what the files held, as tensors of a saved model."""
        held = vars(self).get("held", {})
        return {HELD + name: array for name, array in held.items() if array is not None}

    def saved_spec(self) -> str:
        """Return the spec for a saved model, which names files without their folders."""
        names: dict[str, Any] = {name: FILE + Path(path).name for name, path in self.files().items()}
        return dataclasses.replace(self, **names).spec()

    def changed(self, **settings: Any) -> Self:
        """Return the layer with other settings, and with what its files held."""
        layer = dataclasses.replace(self, **settings)
        vars(layer).update(vars(self) | vars(layer))
        return layer

    def with_saved_files(self, tensors: Mapping[str, Any]) -> Self:
        """Return the layer of a saved model with its tensors: it opens no file."""
        layer, held = dataclasses.replace(self), {name: tensors.get(HELD + name) for name in self.files()}
        for name, found in held.items():
            kind = self.readers[name][1]
            if found is not None and (found.dtype != kind or found.ndim != 1):
                raise FormatError(
                    f"a model with {self.spec()}: tensor {HELD + name!r} is {found.dtype} of shape "
                    f"{found.shape}, but must be {np.dtype(kind)} of one axis; the file is damaged"
                )
        vars(layer).update(held=held, kept=True)
        return layer

    def fixed_columns(self) -> int | None:
        """Return the number of columns of a step with one target; None if it varies."""
        return None

    def columns(self, counts: Counts, targets: int) -> int:
        """Return the most columns that a step with that many targets writes down.

        Layers over all rows write down the targets only.
        """
        self.check_compiled()
        if not self.all_rows:
            raise NotImplementedError
        return targets

    def draws(self) -> int:
        """Return the number of noise words drawn for each target."""
        return 0

    def set_of_draws(self) -> int:
        """Return the columns that each further set of draws adds to a step (`Targets.rounds`)."""
        return 0

    def batch_columns(self, counts: Counts, size: int) -> int:
        """Estimate how many scores torch holds at once for an example of a batch of that size."""
        return self.rows(counts) if self.all_rows else self.columns(counts, 1)

    def batch_memory(self, counts: Counts, dim: int, size: int) -> int:
        """Estimate the bytes that a step of torch needs in addition to the params.

        They hold scores and their gradients, and either the rows of each example or a gradient of all rows.
        """
        columns = self.batch_columns(counts, size)
        if self.own_columns:
            return 4 * size * columns * (3 + 2 * dim)
        return 4 * (4 * size * columns + self.rows(counts) * dim + size * dim)

    def part_words(self) -> int | None:
        """Return the most different words of a part, for layers that learn part by part; None for others."""
        return None

    def rows(self, counts: Counts) -> int:
        """Return the number of output rows of a vocabulary."""
        return counts.size

    def grown_rows(self, moved: Ids) -> Ids:
        """Return the old row that each output row of a grown vocabulary starts from.

        `moved` holds the old id of each word. Both are -1 for new words.
        """
        if not self.rows_are_words:
            raise ConfigError(
                f"{self.name}: its output rows depend on the counts of all words, so training cannot "
                f"continue with other words or counts: {KEEP}, or start from the vectors alone"
            )
        return moved

    def biases(self) -> Biases:
        """Return which biases are learned."""
        return Biases(out=getattr(self, "bias", False))

    def start_bias(self, counts: Counts) -> Doubles:
        """Return the initial biases of the output rows: [rows].

        They are zero, or the values to which they would converge without inputs, from the counts alone.
        """
        return np.zeros(self.rows(counts))

    def check_compiled(self) -> None:
        """Raise a `ConfigError` if the layer has no compiled kernel."""
        if not self.compiled:
            raise ConfigError(
                f"{self.name}: has no compiled kernel: train with engine='torch' (pip install "
                "'unhot[torch]'), in the shell --engine torch"
            )

    def tables(self, counts: Counts) -> Any:
        """Return the constant arrays that the kernels need."""
        self.check_compiled()
        raise NotImplementedError

    def sketch(self) -> Any:
        """Return tables of the right types without content, to compile before the vocabulary is known."""
        return self.tables(np.ones(1, np.int64))

    def fresh(self, tables: Any) -> Any:
        """Return the tables for the next chunk of training; they change only if the noise is learned."""
        return tables

    def seen(self, tables: Any) -> Counts:
        """Return how often each word was a target, as counted in the tables; empty if nothing is counted."""
        return np.zeros(0, np.int64)

    def for_labels(self) -> OutputLayer:
        """Return the layer for examples whose several targets are labels of the same thing."""
        return self

    def takes_together(self) -> bool:
        """Return whether several targets are the labels of one example, not examples of their own."""
        return bool(getattr(self, "together", False))

    def by_cosine(self) -> bool:
        """Return whether scores are cosines of hidden and output vectors, not inner products."""
        return False

    def decisions(self, target: int, counts: Counts) -> list[tuple[str, int, float]]:
        """Return the scores that decide on a target: (what is decided, output row, sign of its score)."""
        return [("score", target, 1.0)]

    def check_cells(self) -> None:
        """Raise a `ConfigError` unless the loss of a whole text is a sum over cells."""
        if not self.on_cells:
            accepted = sorted((name for name, layer in LAYERS.items() if layer.on_cells), reverse=True)
            raise ConfigError(
                f"output={self.spec()}: cannot be trained on cells; "
                f"use one of {', '.join(accepted)}, or train on text"
            )

    def count_loss(self, counts: Counts) -> CountLoss:
        """Return the loss of a whole text as a function of pair counts and scores."""
        self.check_cells()
        raise NotImplementedError

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """Compute the loss of one input and one target in float64: the executable formula.

        `scores` [rows] include all learned biases; `draws` are the noise words of layers with noise.
        """
        raise NotImplementedError

    def log_weight(self, scores: Doubles, counts: Counts) -> Doubles:
        """Return the unnormalised log P of all words that scores stand for: [..., rows] -> [..., words]."""
        raise NotImplementedError

    def pairs_log_prob(
        self, scores: Doubles, which: Ids, targets: Ids, counts: Counts
    ) -> tuple[Doubles, Doubles]:
        """Return log P of targets[i] under scores[which[i]] [pairs], and log Z of each input [inputs]."""
        weight = self.log_weight(scores, counts)
        log_z = log_sum_exp(weight)
        return weight[which, targets] - log_z[which], log_z

    def topk(self, score: Callable[..., Doubles], k: int, counts: Counts) -> tuple[Ids, Doubles]:
        """Return the k most likely words of one input and their log-probabilities.

        `score(rows)` gives the scores of some rows, `score()` those of all rows.
        """
        weight = self.log_weight(score(), counts)
        best = largest(weight, k)
        return best.astype(np.int32), weight[best] - log_sum_exp(weight)

    def spec(self) -> str:
        """Return the layer as a spec string; `parse_output` reads it back."""
        return spec_of(self.name, self)


class LogProbabilityLayer(OutputLayer):
    """Base class of layers whose scores converge to log P(w | h), up to a constant for each h."""

    def start_bias(self, counts: Counts) -> Doubles:
        """Return log P of each word by its count."""
        return log_share(counts)

    def log_weight(self, scores: Doubles, counts: Counts) -> Doubles:
        """Return the scores, which are log P up to a constant."""
        return scores


def positive(field: str, value: float) -> None:
    """Raise a `ConfigError` unless a number is above zero and large enough to divide by."""
    if value < np.finfo(np.float64).tiny:
        raise ConfigError(f"{field}={value}: must be > 0")


def log_share(counts: Counts) -> Doubles:
    """Return the log of each word's share of the text; a word of count 0 counts as 0.5."""
    seen = np.maximum(counts, 0.5)
    return np.asarray(np.log(seen / seen.sum()))


def log_odds(log_p: Doubles) -> Doubles:
    """Return log(P / (1 - P)), finite even where P rounds to one."""
    return log_p - np.log(np.maximum(-np.expm1(log_p), np.finfo(np.float64).tiny))


def output(name: str) -> Callable[[Layer], Layer]:
    """Register a layer under a name."""
    return registering(LAYERS, name, "output layer")


def parse_output(spec: str | OutputLayer) -> OutputLayer:
    """Make a layer from its spec, e.g. "negative:k=5"; settings that it does not name get their defaults."""
    if isinstance(spec, OutputLayer):
        return spec
    if not isinstance(spec, str):
        raise ConfigError(f"output={spec!r}: must be an output layer or its spec, such as 'negative:k=5'")
    return parse_spec(spec, LAYERS, "output", "layer")
