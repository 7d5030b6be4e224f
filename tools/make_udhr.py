"""Make unhot/data/udhr.txt.xz from the translations of the Universal Declaration of Human Rights.

    python tools/make_udhr.py udhr.jsonl.xz unhot/data/udhr.txt.xz

The input has one JSON object a line, with the code of a language in its field `code` and its translation in
`text`, one paragraph a line. The output has lines of `__label__English All human beings are born free ...`:
the first paragraph of every language, then the second of every language, and so on. So every long part of
the file has all languages, and the last lines are articles that the first lines do not have.

Titles, headings and remarks of editors are left out (`paragraphs`). The same input gives the same bytes (with
the same version of liblzma).
"""

from __future__ import annotations

import json
import lzma
import sys
import unicodedata
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

LEAST_BYTES = 48  # anything shorter is a heading; bytes, because Chinese needs fewer characters
LANGUAGES = {
    "afr": "Afrikaans",
    "amh": "Amharic",
    "arb": "Arabic",
    "hye": "Armenian",
    "eus": "Basque",
    "ben": "Bengali",
    "bul": "Bulgarian",
    "mya": "Burmese",
    "cat": "Catalan",
    "cmn_hans": "Chinese",
    "ces": "Czech",
    "dan": "Danish",
    "nld": "Dutch",
    "eng": "English",
    "est": "Estonian",
    "fin": "Finnish",
    "fra": "French",
    "kat": "Georgian",
    "deu": "German",
    "ell_monotonic": "Greek",
    "guj": "Gujarati",
    "heb": "Hebrew",
    "hin": "Hindi",
    "hun": "Hungarian",
    "isl": "Icelandic",
    "ind": "Indonesian",
    "gle": "Irish",
    "ita": "Italian",
    "jpn": "Japanese",
    "kan": "Kannada",
    "kaz": "Kazakh",
    "khm": "Khmer",
    "kor": "Korean",
    "lat": "Latin",
    "lav": "Latvian",
    "lit": "Lithuanian",
    "mal": "Malayalam",
    "mar": "Marathi",
    "khk": "Mongolian",
    "nob": "Norwegian",
    "pes_1": "Persian",
    "pol": "Polish",
    "por_PT": "Portuguese",
    "pan": "Punjabi",
    "ron": "Romanian",
    "rus": "Russian",
    "srp_cyrl": "Serbian",
    "slk": "Slovak",
    "slv": "Slovenian",
    "spa": "Spanish",
    "swh": "Swahili",
    "swe": "Swedish",
    "tgl": "Tagalog",
    "tam": "Tamil",
    "tha": "Thai",
    "tur": "Turkish",
    "ukr": "Ukrainian",
    "urd": "Urdu",
    "vie": "Vietnamese",
    "zul": "Zulu",
}


def paragraphs(text: str) -> Iterator[str]:
    """Yield the different paragraphs of a translation without its title, headings and remarks in brackets.

    Letters with accents are composed (NFC), and white space is squeezed.
    """
    seen = set()
    for paragraph in unicodedata.normalize("NFC", text).split("\n")[1:]:
        squeezed = " ".join(paragraph.split())
        if len(squeezed.encode()) >= LEAST_BYTES and "[" not in squeezed and squeezed not in seen:
            seen.add(squeezed)
            yield squeezed


def labelled(source: Path) -> Iterator[str]:
    """Yield the lines of the output."""
    with lzma.open(source, "rt", encoding="utf-8") as lines:
        texts = {each["code"]: each["text"] for each in map(json.loads, lines)}
    for row in zip_longest(*(paragraphs(texts[code]) for code in LANGUAGES)):
        for language, paragraph in zip(LANGUAGES.values(), row, strict=True):
            if paragraph is not None:
                yield f"__label__{language} {paragraph}"


def main(source: str, target: str) -> None:
    """Convert one file."""
    text = "".join(f"{line}\n" for line in labelled(Path(source)))
    Path(target).write_bytes(lzma.compress(text.encode("utf-8"), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(*sys.argv[1:])
