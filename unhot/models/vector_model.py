"""Models that have vectors: the setting `dim`, and the stores through which vectors are queried."""

import dataclasses
import functools
from abc import abstractmethod
from typing import Annotated, Self

from unhot.errors import FormatError
from unhot.models.model import L, Model
from unhot.models.settings import Range
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors


@dataclasses.dataclass(kw_only=True)
class VectorModel(Model[L]):
    """Settings of a model that has vectors."""

    dim: Annotated[int, Range(1, 1 << 20)] = 100  # length of each vector

    use = "query it with: unhot neighbors {} WORD"

    @property
    def vectors(self) -> Vectors:
        """The word vectors."""
        return self.store("in_vectors")

    def store(self, name: str) -> Vectors:
        """Return the vectors of a tensor by its name, such as in_vectors; they are made once and kept."""
        if name not in self._stores:
            self._stores[name] = self.make_store(name)
        return self._stores[name]

    @functools.cached_property
    def _stores(self) -> dict[str, Vectors]:
        """The stores made so far."""
        return {}

    @abstractmethod
    def make_store(self, name: str) -> Vectors:
        """Make the vectors of a tensor by its name, from the current params."""

    def forget(self) -> None:
        """Drop the stores, whose params have changed since."""
        self.__dict__.pop("_stores", None)

    @classmethod
    def from_saved(cls, saved: SavedModel) -> Self:
        """Make the model from a saved folder that was read."""
        vectors = saved.tensors.get("in_vectors")
        if vectors is None or vectors.shape[1] != saved.config.get("dim"):
            raise FormatError(f"a {cls.name} model has no vectors of its dim: read it with Vectors.load")
        return super().from_saved(saved)
