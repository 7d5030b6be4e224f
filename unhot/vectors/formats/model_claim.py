"""Hold a model folder during a training, so that two trainings cannot overwrite each other's model."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from unhot.claims import CLAIM, claimed
from unhot.errors import DataError
from unhot.vectors.formats.directory import check_target, checkpoint_of


@contextlib.contextmanager
def claimed_model(path: Path) -> Iterator[None]:
    """Hold a model folder during a training, so that no other process trains or saves there.

    Raise a `DataError` if somebody else holds it, or if a model cannot be saved there. The folder is made
    now, and removed at the end if nothing was saved.
    """
    for target in (path, checkpoint_of(path)):
        check_target(target)
    if checkpoint_of(path).is_symlink():  # the checkpoints would be saved where it leads
        raise DataError(f"{checkpoint_of(path)}: is a link, not a folder of unhot's; remove it")
    made = [folder for folder in (path, *path.absolute().parents) if not folder.exists()]
    with contextlib.ExitStack() as stack:
        try:
            path.mkdir(parents=True, exist_ok=True)
            stack.enter_context(claimed(path / CLAIM, path))
        except OSError as error:
            _remove_empty(made)
            raise DataError(
                f"{path}: a model cannot be saved here ({error.strerror or error}); choose another place"
            ) from error
        try:
            yield
        finally:
            stack.close()
            _remove_empty(made)


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders, the innermost first, as far as they are empty."""
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()
