"""The state that a word model has learned, and its tensors in a saved model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unhot.errors import FormatError
from unhot.kernels.bags import NO_MIXING
from unhot.kernels.loop import Params
from unhot.models.ngram_rows import NO_KEYS
from unhot.outputs import OutputLayer
from unhot.types import Bytes, Counts, Floats
from unhot.vectors.formats.directory import SavedModel
from unhot.vocab.vocabulary import Vocabulary

NEEDED = ("in_vectors", "out_vectors")
OWN = "head."  # prefix of the names of tensors that only a torch head has
NO_WEIGHTS: Floats = np.zeros(0, np.float32)
NO_FROZEN: Bytes = np.zeros(0, np.uint8)
# types of the tensors that the model folder does not check
KINDS: dict[str, Any] = {
    **dict.fromkeys(("out_bias", "in_bias", "ln_z", "row_weights", "mixing"), np.float32),
    "seen": np.int64,
    "row_keys": np.int64,
    "frozen": np.uint8,
}
NO_ARRAYS: Mapping[str, Any] = {}
SQUARES = "squares."  # prefix of the names of tensors that only an incomplete training on cells has
BEST = "best."  # prefix of the names of tensors that only an incomplete training with validation has


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedWords:
    """The words of a model, its output layer, and the params learned for them."""

    layer: OutputLayer
    in_vocabulary: Vocabulary  # the words that are inputs
    out_vocabulary: Vocabulary  # the words that are predicted; the same object if they are the inputs
    params: Params  # without padding
    seen: Counts  # how often learned noise has seen each target; empty: the noise is not learned
    frozen: Bytes  # [input rows] 1 where the row must not change; empty: all rows are trained
    # what a torch head has learned in addition to the params, such as the projections of adaptive
    own: Mapping[str, Any] = field(default_factory=dict)
    # [input rows] the key of each row, see `NgramRows`; empty: one row for each word
    keys: Counts = field(default_factory=lambda: NO_KEYS)
    # mean squares of gradients by names of params, during a training on cells
    squares: Mapping[str, Any] = field(default_factory=dict)
    # [input rows] the weight of each row in a line; empty: all are 1
    weights: Floats = field(default_factory=lambda: NO_WEIGHTS)
    # learned weights of the rows of words, see `Bags`
    mixing: Floats = field(default_factory=lambda: NO_MIXING)
    # the tensors of the best epoch, during a training with validation
    best: Mapping[str, Any] = field(default_factory=dict)
    file: Any = None  # the file of fastText that it was read from

    def tensors(self, *, complete: bool = True) -> dict[str, Any]:
        """Return the tensors to save; empty ones are left out."""
        tensors = {**self.params._asdict(), "seen": self.seen, "row_keys": self.keys}
        tensors |= {"row_weights": self.weights, "mixing": self.mixing}
        tensors |= {f"{OWN}{name}": array for name, array in self.own.items()}
        if not complete:
            tensors["frozen"] = self.frozen
            tensors |= {f"{SQUARES}{name}": array for name, array in self.squares.items()}
            tensors |= {f"{BEST}{name}": array for name, array in self.best.items()}
        return {name: array for name, array in tensors.items() if array.size > 0}

    def facts(self) -> dict[str, Any]:
        """Return whether output rows stand for words, so that readers can use them as word vectors."""
        return {"out_rows_are_words": self.layer.rows_are_words}


def learned_from(saved: SavedModel, layer: OutputLayer, dim: int) -> LearnedWords:
    """Read the tensors of a saved model.

    Raise a `FormatError` unless it has input and output vectors of its dim, and exactly its layer's biases.
    """
    name = saved.config.get("model")
    if missing := [each for each in NEEDED if each not in saved.tensors]:
        raise FormatError(f"a {name} model has no {' and no '.join(missing)}: read it with Vectors.load")
    if saved.tensors["in_vectors"].shape[1] != dim:
        raise FormatError(f"a {name} model has no vectors of its dim: read it with Vectors.load")
    _check_types(saved)
    params = Params(*(saved.tensors.get(name, np.zeros(0, np.float32)) for name in Params._fields))
    learns, inputs = layer.biases(), len(params.in_vectors)
    sizes = {
        "out_bias": len(params.out_vectors) * learns.out,
        "in_bias": inputs * learns.each_input,
        "ln_z": int(learns.ln_z),
    }
    for name, size in sizes.items():
        _check(layer, name, getattr(params, name).shape, size)
    if params.out_vectors.shape[1:] != params.in_vectors.shape[1:]:
        raise FormatError(
            f"a model with {layer.spec()}: its out_vectors have the shape {params.out_vectors.shape}, its "
            f"in_vectors {params.in_vectors.shape}: the second numbers must be equal; the file is damaged"
        )
    predicted = saved.out_vocabulary or saved.vocabulary
    counted = {"seen": len(predicted), "frozen": inputs, "row_weights": inputs}
    found = {name: saved.tensors.get(name, np.zeros(0, KINDS[name])) for name in counted}
    for name, array in found.items():
        if array.size:
            _check(layer, name, array.shape, counted[name])
    return LearnedWords(
        layer=layer,
        in_vocabulary=saved.vocabulary,
        out_vocabulary=predicted,
        params=params,
        seen=found["seen"],
        frozen=found["frozen"],
        own=under(saved.tensors, OWN),
        keys=saved.tensors.get("row_keys", NO_KEYS),
        squares=under(saved.tensors, SQUARES),
        weights=found["row_weights"],
        mixing=saved.tensors.get("mixing", NO_MIXING),
        best=under(saved.tensors, BEST),
    )


def _check_types(saved: SavedModel) -> None:
    """Raise a `FormatError` if a tensor has a type or a number of axes that no kernel takes."""
    own = {name: np.float32 for name in saved.tensors if name.startswith((OWN, SQUARES))}
    for name, kind in {**KINDS, **own}.items():
        found = saved.tensors.get(name)
        if found is not None and (found.dtype != kind or (name in KINDS and found.ndim != 1)):
            raise FormatError(
                f"a {saved.config.get('model')} model: tensor {name!r} is {found.dtype} of shape "
                f"{found.shape}, but must be {np.dtype(kind)} of one axis; the file is damaged"
            )


def under(tensors: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the tensors whose names begin with a prefix, by the rest of their names."""
    return {name.removeprefix(prefix): one for name, one in tensors.items() if name.startswith(prefix)}


def _check(layer: OutputLayer, name: str, found: tuple[int, ...], size: int) -> None:
    if found != (size,):
        raise FormatError(
            f"a model with {layer.spec()}: tensor {name!r} has the shape {found}, but must have ({size},); "
            "the file is damaged"
        )
