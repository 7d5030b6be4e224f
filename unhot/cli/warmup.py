"""The command `unhot warmup`."""

import dataclasses
import time
from typing import Any

import click

from unhot.cli.show import note

EXAMPLES = """
\b
Example:
  unhot warmup --dim 100 --dim 300
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--dim",
    "dims",
    type=int,
    multiple=True,
    default=(100,),
    show_default=True,
    help="Length of each vector; may be given several times.",
)
@click.option("--output", default="negative:k=5", show_default=True, help="Output layer.")
def warmup(dims: tuple[int, ...], output: str) -> None:
    """Compile the kernels now, so that later runs start at once (for container images and servers)."""
    from unhot.corpus.encoding import warm_up_encoding
    from unhot.corpus.phrases.phrases import warm_up_phrases
    from unhot.index.screened import warm_up_search
    from unhot.kernels.cache import cache_directory
    from unhot.models.load import all_models
    from unhot.vectors.formats.text_rows import warm_up_reading

    began = time.perf_counter()
    warm_up_encoding()
    warm_up_search()
    warm_up_reading()
    warm_up_phrases()
    for kind in all_models().values():
        fields = {field.name for field in dataclasses.fields(kind)}
        for dim in dims:
            settings: dict[str, Any] = {"dim": dim, "output": output}
            kind(**{name: value for name, value in settings.items() if name in fields}).warm_up()
    note(f"kernels ready after {time.perf_counter() - began:.1f} s, kept in {cache_directory()}")
