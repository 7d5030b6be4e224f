"""What a recommender with vectors of items has learned."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from unhot.errors import FormatError
from unhot.items.log_record import LogRecord
from unhot.models.learned_words import LearnedWords, learned_from
from unhot.models.type_vectors import LearnedTypes, types_from
from unhot.outputs import OutputLayer
from unhot.vectors.formats.directory import SavedModel


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedItems(LearnedWords):
    """The vectors of items, and what is known of the log."""

    record: LogRecord
    epochs_found: int | None = None  # on validation, before the model learned from all but the test
    types: LearnedTypes | None = None  # the vectors of types of users and items; None: there are none

    def tensors(self, *, complete: bool = True) -> dict[str, Any]:
        """Return the tensors to save."""
        types = {} if self.types is None else self.types.tensors()
        return {**super().tensors(complete=complete), **types, **self.record.tensors()}

    def facts(self) -> dict[str, Any]:
        """Return what the saved config holds in addition to the settings."""
        return {**super().facts(), **self.record.saved_facts(), "epochs_found": self.epochs_found}


def parts_of(learned: LearnedWords) -> dict[str, Any]:
    """Return the fields of learned words, to make a larger value of them."""
    return {field.name: getattr(learned, field.name) for field in fields(LearnedWords)}


def items_from(saved: SavedModel, layer: OutputLayer, dim: int, rows: int | None = None) -> LearnedItems:
    """Read a saved model; raise a `FormatError` if it is damaged.

    rows   how many input rows it must have; None: one for each input
    """
    words = learned_from(saved, layer)
    catalogue, found = words.out_vocabulary, saved.config.get("epochs_found")
    record = LogRecord.of_saved(saved.config, saved.tensors, len(catalogue))
    if not isinstance(found, (int, type(None))) or (found is not None and found < 1):
        raise FormatError(f"epochs_found={found!r:.80}: must be a whole number; config.json is damaged")
    inputs, shapes = words.in_vocabulary, (words.params.in_vectors.shape, words.params.out_vectors.shape)
    wanted = (len(inputs) if rows is None else rows, dim), (layer.rows(catalogue.counts), dim)
    if inputs.words[: len(catalogue)] != catalogue.words or shapes != wanted:
        name = saved.config.get("model")
        raise FormatError(f"a model whose vectors are not those of its items: {name} is damaged")
    return LearnedItems(**parts_of(words), record=record, epochs_found=found, types=types_from(saved.tensors))
