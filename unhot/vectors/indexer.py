"""A graph over word vectors that answers with words, and the file that keeps it between two processes.

    NAME            the graph, in usearch's format
    NAME.json       sha256 of the vectors and of the graph's bytes, the settings it was built with, the
                    version of usearch

The file is a cache. It is used only if every line of the JSON file is as expected and the bytes have their
checksum, since usearch reads a graph without checking it. That guards against damage and against other
vectors, not against somebody who writes both files. Otherwise the graph is built again and the file replaced;
one that cannot be written is done without.
"""

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np

from unhot.atomic import replacing
from unhot.errors import DataError, extra
from unhot.index.hnsw import Hnsw, HnswSettings
from unhot.types import Floats
from unhot.vectors.formats.table import blocks
from unhot.vectors.queries import Neighbours, named

MAX_JSON_BYTES = 10_000
log = logging.getLogger("unhot")


class WordIndex:
    """A graph whose rows are words: the `indexer` of `Vectors.most_similar`."""

    def __init__(self, words: list[str], index: Hnsw) -> None:
        """Take the words in the order of the rows."""
        self.words, self.index = list(words), index

    def most_similar(self, vector: Floats, num_neighbors: int) -> Neighbours:
        """The words nearest to a vector, with their cosines, best first."""
        ids, cosines = self.index.search(np.asarray(vector)[None], num_neighbors)
        return named(self.words, ids[0], cosines[0])


def open_hnsw(path: Path, vectors: Floats, settings: HnswSettings, threads: int) -> Hnsw:
    """The graph in a file if it is that of these vectors; otherwise a new one, and the file is replaced."""
    expected = {
        "format": "unhot hnsw",
        "vectors": _checksum(vectors),
        "shape": list(vectors.shape),
        # what the graph depends on
        "settings": {"connectivity": settings.connectivity, "expansion_add": settings.expansion_add},
        "usearch": extra("usearch", "ann", "approximate search").__version__,
    }
    data = _trusted_bytes(path, expected)
    if data is not None:
        return Hnsw.from_bytes(data, vectors, settings, threads)
    index = Hnsw.build(vectors, settings, threads)
    _keep(path, index.to_bytes(), expected)
    return index


def _checksum(vectors: Floats) -> str:
    digest = hashlib.sha256()
    for _, block in blocks(vectors):
        digest.update(block.astype("<f4", copy=False).data)
    return digest.hexdigest()


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _trusted_bytes(path: Path, expected: dict[str, Any]) -> bytes | None:
    """The bytes of the graph, if both files are there and all is as expected."""
    try:
        with _beside(path).open("rb") as file:
            stated = json.loads(file.read(MAX_JSON_BYTES))
        if not isinstance(stated, dict) or {**expected, "graph": stated.get("graph")} != stated:
            return None
        data = path.read_bytes()
    except (OSError, ValueError, RecursionError):
        return None
    return data if hashlib.sha256(data).hexdigest() == stated["graph"] else None


def _keep(path: Path, data: bytes, expected: dict[str, Any]) -> None:
    """Write the two files, the graph first: a JSON file never belongs to a graph that is not there yet."""
    text = json.dumps({**expected, "graph": hashlib.sha256(data).hexdigest()}, indent=2) + "\n"
    try:
        for target, content in ((path, data), (_beside(path), text.encode())):
            with replacing(target) as file:
                file.write(content)
    except (OSError, DataError) as error:
        log.warning("%s: the index is not kept (%s); it will be built again next time", path, error)
