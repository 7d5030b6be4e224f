"""Read and write folders that model2vec and sentence-transformers (StaticEmbedding) load.

A folder holds a matrix, and a tokenizer whose tokens are the rows of the matrix.

    config.json, modules.json   description for model2vec, and for sentence-transformers
    model.safetensors           `embeddings` float32 [tokens, dim]
    tokenizer.json              the words as a WordLevel vocabulary

A tokenizer needs a token for unknown words. If no word is `[UNK]`, a row of zeros with this name is added
after the last word (config.json records this, and reading leaves it out). The tokenizer lower-cases text if
all words are lower case. It splits text at white space and between letters and punctuation if that keeps most
words whole, otherwise at white space only.

Folders of other programs can be read as well, with any vocabulary in tokenizer.json; `mapping` (token -> row)
and `weights` (of tokens) are applied.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from unhot.atomic import replacing_folder
from unhot.errors import FormatError
from unhot.json_file import json_text, read_json
from unhot.types import Floats
from unhot.vectors.formats.safetensors import Array, TensorPlace, map_tensor, read_entries, write_safetensors
from unhot.vectors.formats.table import ALL, Options, Table, check_growth, treat_bad_utf8
from unhot.vectors.formats.tensor_file import FLOATS, find_matrix, map_matrix

UNKNOWN = "[UNK]"
ADDED = "unhot_added_row"  # in config.json: the last row is not a word
WHOLE = re.compile(r"\w+|[^\w\s]+")  # words that the tokenizer named Whitespace does not split
MOST = 0.9  # the share of words that counts as most words
WHOLE_NUMBERS = ("I64", "I32", "U32", "U64", "I16", "U16")
MODULE = {"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}


WRITTEN = {"config.json", "modules.json", "model.safetensors", "tokenizer.json"}
# possible places of config, tensors and tokenizer
LAYOUTS = (
    ("config.json", "model.safetensors", "tokenizer.json"),
    ("config_sentence_transformers.json", "model.safetensors", "tokenizer.json"),
    ("modules.json", "model.safetensors", "tokenizer.json"),
    ("modules.json", "0_StaticEmbedding/model.safetensors", "0_StaticEmbedding/tokenizer.json"),
)


def find_layout(path: Path) -> tuple[Path, Path, Path] | None:
    """Return the paths of config, tensors and tokenizer in a folder; None if it is not a model2vec folder."""
    found = ((path / config, path / tensors, path / tokenizer) for config, tensors, tokenizer in LAYOUTS)
    return next((layout for layout in found if all(part.is_file() for part in layout)), None)


def write(path: Path, table: Table) -> None:
    """Write a model2vec folder, or replace one."""
    added = UNKNOWN not in table.words
    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": False, ADDED: added}
    with replacing_folder(path, _is_ours) as folder:
        with (folder / "model.safetensors").open("wb") as file:
            unknown = np.zeros((int(added), table.vectors.shape[1]), np.float32)
            write_safetensors(file, {"embeddings": (table.vectors, unknown)})
        for name, value in {
            "config.json": config,
            "modules.json": [MODULE],
            "tokenizer.json": _tokenizer(table.words),
        }.items():
            (folder / name).write_text(
                json_text(value, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n"
            )


def _is_ours(path: Path) -> bool:
    """Return whether `write` made this folder, and it contains nothing else."""
    try:
        config = read_json(path / "config.json")
    except (FormatError, OSError):
        return False
    return (
        {entry.name for entry in path.iterdir()} <= WRITTEN and isinstance(config, dict) and ADDED in config
    )


def _tokenizer(names: list[str]) -> dict[str, Any]:
    """Return the content of tokenizer.json, as the library `tokenizers` reads it."""
    vocabulary = {name: row for row, name in enumerate(names)}
    unknown = vocabulary.setdefault(UNKNOWN, len(names))
    lower = all(name == name.lower() for name in names if name != UNKNOWN)
    whole = sum(WHOLE.fullmatch(name) is not None for name in names) >= MOST * len(names)
    special = {"id": unknown, "content": UNKNOWN, "special": True}
    special |= dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [special],
        "normalizer": {"type": "Lowercase"} if lower else None,
        "pre_tokenizer": {"type": "Whitespace" if whole else "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": UNKNOWN},
    }


def read(path: Path, options: Options = ALL) -> Table:
    """Read a model2vec folder; the tokens keep the order of their ids."""
    layout = find_layout(path)
    if layout is None:
        raise FormatError(
            f"{path}: byte 0: this is not a model2vec folder: it needs config.json, model.safetensors and "
            "tokenizer.json"
        )
    config_path, tensors_path, tokenizer_path = layout
    words = _vocabulary(tokenizer_path)
    tokens = len(words)
    config = read_json(config_path)
    if isinstance(config, dict) and config.get(ADDED) is True and words[-1:] == [UNKNOWN]:
        words.pop()
    rows = options.rows(len(words))
    vectors = _vectors(tensors_path, tokens, rows)
    return Table(treat_bad_utf8(words[:rows], tokenizer_path, options.bad_utf8), vectors, None)


def _vocabulary(path: Path) -> list[str]:
    """Return the tokens in the order of their ids, which must be 0, 1, 2, ..."""
    value = read_json(path)
    model = value.get("model") if isinstance(value, dict) else None
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    pairs: list[tuple[Any, Any]]
    if isinstance(vocabulary, list):  # of a Unigram model: pairs of token and score
        pairs = [
            (pair[0], row) if isinstance(pair, list) and pair else (None, row)
            for row, pair in enumerate(vocabulary)
        ]
    elif isinstance(vocabulary, dict):
        pairs = list(vocabulary.items())
    else:
        raise FormatError(f"{path}: byte 0: there is no vocabulary in model.vocab")
    added = value.get("added_tokens") or []
    pairs += [
        (token.get("content"), token.get("id"))
        for token in (added if isinstance(added, list) else [])
        if isinstance(token, dict)
    ]
    words: list[str | None] = [None] * len({word for word, _ in pairs if isinstance(word, str)})
    for word, row in pairs:
        if (
            not isinstance(word, str)
            or type(row) is not int
            or not 0 <= row < len(words)
            or words[row] not in (None, word)
        ):
            raise FormatError(
                f"{path}: byte 0: token {str(word)[:40]!r} has the id {str(row)[:40]}: ids must be 0, 1, 2, "
                "... once each"
            )
        words[row] = word
    return [word for word in words if word is not None]


def _vectors(path: Path, tokens: int, rows: int) -> Floats:
    """Return the rows of the first tokens, selected by `mapping` and multiplied by `weights`, if given."""
    entries = read_entries(path)
    matrix = find_matrix(path, entries)
    mapping, weights = entries.get("mapping"), entries.get("weights")
    if mapping is None and matrix.shape[0] != tokens:
        raise FormatError(
            f"{path}: byte {matrix.begin}: there are {matrix.shape[0]} rows for {tokens} tokens, and the "
            "tensor 'mapping' is missing"
        )
    for name, entry, accepted in (("mapping", mapping, WHOLE_NUMBERS), ("weights", weights, FLOATS)):
        if entry is not None and (entry.shape != (tokens,) or entry.dtype not in accepted):
            raise FormatError(
                f"{path}: byte {entry.begin}: {name} is {entry.dtype} {list(entry.shape)}: it must have one "
                "number per token"
            )
    if mapping is None:
        vectors = map_matrix(path, matrix, rows)
    else:
        check_growth(path, (rows, matrix.shape[1]), path.stat().st_size)
        vectors = map_matrix(path, matrix, matrix.shape[0])[_ids(path, mapping, matrix.shape[0])[:rows]]
    if weights is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            vectors = vectors * map_matrix(path, weights._replace(shape=(tokens, 1)), rows)
    return vectors


def _ids(path: Path, mapping: TensorPlace, rows: int) -> Array:
    ids = map_tensor(path, mapping)
    wrong = np.flatnonzero((ids < 0) | (ids >= rows))
    if len(wrong):
        raise FormatError(
            f"{path}: byte {mapping.begin}: mapping sends token {wrong[0]} to row {ids[wrong[0]]}, but there "
            f"are {rows} rows"
        )
    return ids
