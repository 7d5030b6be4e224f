"""`unhot warmup`."""

from __future__ import annotations

import click

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
    help="Numbers in a vector; may be given several times.",
)
@click.option("--output", default="negative:k=5", show_default=True, help="Output layer.")
def warmup(dims: tuple[int, ...], output: str) -> None:
    """Compile the kernels now, so that later runs start at once (for images and servers)."""
    import time

    from unhot.cli.show import note
    from unhot.corpus.encoding import warm_up_encoding
    from unhot.corpus.phrases.phrases import warm_up_phrases
    from unhot.index.screened import warm as warm_search
    from unhot.kernels.cache import cache_directory
    from unhot.models.load import MODELS, WORD_MODELS
    from unhot.models.model import TextModel
    from unhot.vectors.formats.text_rows import warm as warm_reading

    began = time.perf_counter()
    learners: list[TextModel] = [
        model(dim=dim, output=output) for model in WORD_MODELS.values() for dim in dims
    ]
    learners += [model(dim=dim) for name, model in MODELS.items() if name not in WORD_MODELS for dim in dims]
    warm_up_encoding()
    warm_search()
    warm_reading()
    warm_up_phrases()
    for learner in learners:
        learner.warm_up()
    note(f"kernels ready after {time.perf_counter() - began:.1f} s, kept in {cache_directory()}")
