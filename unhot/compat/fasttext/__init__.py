r"""The names of fastText's Python module, implemented by unhot.

Write `import unhot.compat.fasttext as fasttext` where a script imports `fasttext`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from unhot.compat import fasttext
    >>> text = Path(tempfile.mkdtemp()) / "text.txt"
    >>> _ = text.write_text("one hot word\none cold word\n")
    >>> model = fasttext.train_unsupervised(str(text), dim=8, minCount=1, t=0, bucket=1000, thread=1)
    >>> model.words[0], model["unseen"].shape
    ('one', (8,))

docs/moving-from-fasttext.md lists what is the same and what differs.
"""

from typing import TYPE_CHECKING

from unhot.lazy import lazy_names

if TYPE_CHECKING:
    from unhot.compat.fasttext.model import FastText, load_model
    from unhot.compat.fasttext.training import train_supervised, train_unsupervised
    from unhot.lines.line_rows import tokenize

__all__ = [
    "BOW",
    "EOS",
    "EOW",
    "FastText",
    "load_model",
    "tokenize",
    "train_supervised",
    "train_unsupervised",
]

EOS = "</s>"
BOW = "<"
EOW = ">"

__getattr__ = lazy_names(
    __name__,
    {
        "FastText": ".model",
        "load_model": ".model",
        "tokenize": "unhot.lines.line_rows",
        "train_supervised": ".training",
        "train_unsupervised": ".training",
    },
)


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
