"""The disk space that a training needs for its model and its checkpoints, computed before it starts.

While a checkpoint is written, the one before is still there. A checkpoint is not written if the model would
then have no room beside it: a model is worth more than a checkpoint.
"""

from pathlib import Path
from typing import NamedTuple

from unhot.errors import DataError
from unhot.sizes import free_space, readable

ROUNDING = 1 << 15  # bytes for configs and manifests, and for files that fill whole blocks of a disk


class DiskPlan(NamedTuple):
    """Bytes that a training writes to a folder."""

    folder: Path
    model: int
    checkpoint: int  # 0: the training saves none

    def check(self) -> str:
        """Raise a `DataError` if there is no room for the model; otherwise describe the plan in one line."""
        free, both = free_space(self.folder), self.model + self.checkpoint
        if free < self.model:
            raise DataError(
                f"{self.folder}: the model will need {readable(self.model)} there, but {readable(free)} are "
                "free: make room, choose another place, or train a smaller model (a smaller dim, a higher "
                "min_count)"
            )
        with_checkpoint = f", {readable(both)} with a checkpoint" if self.checkpoint else ""
        tight = "; checkpoints will be left out until there is more room" if free < both else ""
        return f"disk: {readable(self.model)} for the model{with_checkpoint}; {readable(free)} free{tight}"

    def check_checkpoint(self) -> None:
        """Raise a `DataError` if there is no room for another checkpoint and, later, for the model."""
        free, both = free_space(self.folder), self.model + self.checkpoint
        if free < both:
            raise DataError(
                f"{self.folder}: the checkpoint and the model need {readable(both)} there, but "
                f"{readable(free)} are free"
            )
