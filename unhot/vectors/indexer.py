"""A search graph over word vectors that answers with words, and a file that keeps it for other processes.

    NAME            the graph, in usearch's format
    NAME.json       sha256 of the vectors and of the graph's bytes, the settings the graph was built with, and
                    the version of usearch

The file is a cache. It is used only if every entry of the JSON file is as expected and the checksum of the
graph is right, because usearch does not check a graph that it reads. This guards against damage and against
other vectors, but not against somebody who writes both files. Otherwise the graph is built again and the file
is replaced. If the file cannot be written, a warning says so.
"""

import hashlib
import logging
from pathlib import Path
from typing import Any

import numpy as np

from unhot.atomic import replacing
from unhot.errors import DataError, FormatError, extra
from unhot.index.hnsw import Hnsw, HnswSettings
from unhot.json_file import json_text, read_json
from unhot.regular import named_size
from unhot.types import Floats
from unhot.vectors.formats.table import blocks
from unhot.vectors.queries import Neighbours, named

log = logging.getLogger("unhot")


class WordIndex:
    """A search graph whose rows are words: an `indexer` for `Vectors.most_similar`."""

    def __init__(self, words: list[str], index: Hnsw) -> None:
        """Take the words, in the order of the rows, and the graph."""
        self.words, self.index = list(words), index

    def most_similar(self, vector: Floats, num_neighbors: int) -> Neighbours:
        """Return the words nearest to a vector, with their cosines, best first."""
        ids, cosines = self.index.search(np.asarray(vector)[None], num_neighbors)
        return named(self.words, ids[0], cosines[0])


def open_hnsw(path: Path, vectors: Floats, settings: HnswSettings, threads: int) -> Hnsw:
    """Load the graph from a file if it belongs to these vectors; else build one and replace the file."""
    expected = {
        "format": "unhot hnsw",
        "vectors": _checksum(vectors),
        "shape": list(vectors.shape),
        # only the settings that change the graph
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
    """Return the bytes of the graph if both files exist and are as expected; else None."""
    try:
        stated = read_json(_beside(path))
        if not isinstance(stated, dict) or {**expected, "graph": stated.get("graph")} != stated:
            return None
        named_size(path)
        data = path.read_bytes()
    except (OSError, FormatError):
        return None
    return data if hashlib.sha256(data).hexdigest() == stated["graph"] else None


def _keep(path: Path, data: bytes, expected: dict[str, Any]) -> None:
    """Write the two files, the graph first, so that a JSON file never describes a missing graph."""
    text = json_text({**expected, "graph": hashlib.sha256(data).hexdigest()}, indent=2) + "\n"
    try:
        for target, content in ((path, data), (_beside(path), text.encode())):
            with replacing(target) as file:
                file.write(content)
    except (OSError, DataError) as error:
        log.warning("%s: the index cannot be saved (%s); it will be built again next time", path, error)
