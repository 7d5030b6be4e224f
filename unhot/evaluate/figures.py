"""The base of all evaluation results, which can be turned into plain data for JSON."""

from typing import Any

from unhot.json_file import plain
from unhot.probability.calibration import share as share


class Figures:
    """A result: a dataclass of figures, and of the settings with which they were measured."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; a number that is not finite is None, because JSON does not have it."""
        return dict(plain(self))
