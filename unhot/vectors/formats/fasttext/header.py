"""The header of a fastText file: signature, version and training settings, with fastText's names.

A `Cursor` reads it and the other parts of the file: numbers, one after another, with errors that name the
byte.
"""

import math
import mmap
import struct
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unhot.errors import ConfigError, FormatError, at_least, one_of, whole
from unhot.types import Bytes
from unhot.vectors.formats.table import file_size
from unhot.vocab.subwords import MOST_CHARACTERS, Subwords

MAGIC = 793712314
SIGNATURE = struct.pack("<i", MAGIC)
VERSIONS = (11, 12)
LOSSES = ("hs", "ns", "softmax", "ova")  # written as 1 to 4
MODELS = ("cbow", "sg", "sup")  # written as 1 to 3
MOST = 2**31 - 1
# the numbers of the header in order, and the range of each
FIELDS = {
    "dim": (1, MOST),
    "ws": (0, MOST),
    "epoch": (0, MOST),
    "min_count": (0, MOST),
    "neg": (0, MOST),
    "word_ngrams": (0, MOST),
    "loss": (1, len(LOSSES)),
    "model": (1, len(MODELS)),
    "bucket": (0, MOST),
    "minn": (0, MOST),
    "maxn": (0, MOST_CHARACTERS),
    "lr_update_rate": (0, MOST),
}
PLACES = {name: 8 + 4 * number for number, name in enumerate(FIELDS)}
T_PLACE = 8 + 4 * len(FIELDS)


class Cursor:
    """A position in a file, memory-mapped copy-on-write, that advances as numbers are read."""

    def __init__(self, path: Path) -> None:
        """Map a file."""
        self.path = path
        self.at = 0
        self.size = file_size(path)
        if not self.size:
            raise self.error(0, "the file is empty")
        with path.open("rb") as file:
            self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)

    def error(self, at: int, what: str) -> FormatError:
        """Return an error that says what is wrong at a byte."""
        return FormatError(f"{self.path}: byte {at}: {what}")

    def need(self, count: int, what: str) -> None:
        """Raise a `FormatError` unless `count` more bytes are left."""
        if count > self.size - self.at:
            raise self.error(
                self.at,
                f"{what}: {count} bytes are needed, but the file ends at byte {self.size}; it is cut short "
                "or damaged",
            )

    def numbers(self, form: str, what: str) -> tuple[Any, ...]:
        """Read numbers; `form` is their format in the notation of `struct`."""
        size = struct.calcsize("<" + form)
        self.need(size, what)
        found = struct.unpack_from("<" + form, self.map, self.at)
        self.at += size
        return found

    def flag(self, what: str) -> bool:
        """Read a byte that is 0 or 1."""
        (value,) = self.numbers("B", what)
        if value > 1:
            raise self.error(self.at - 1, f"{what} is {value}: must be 0 or 1")
        return bool(value)

    def array(self, dtype: str, count: int, what: str) -> NDArray[Any]:
        """Map an array; it may begin at any byte, so it may not be aligned."""
        size = count * np.dtype(dtype).itemsize
        self.need(size, what)
        found = np.frombuffer(self.map, dtype, count, self.at) if count else np.empty(0, dtype)
        self.at += size
        return found

    def all_bytes(self) -> Bytes:
        """Return the bytes of the whole file."""
        return np.frombuffer(self.map, np.uint8)


@dataclass(frozen=True, kw_only=True)
class Header:
    """The settings of a training; the defaults are fastText's."""

    dim: int
    ws: int = 5  # the window
    epoch: int = 5
    min_count: int = 5
    neg: int = 5  # negative samples
    word_ngrams: int = 1  # longest n-gram of words
    loss: str = "ns"  # hs | ns | softmax | ova
    model: str = "sg"  # cbow | sg | sup
    bucket: int = 2_000_000
    minn: int = 3
    maxn: int = 6
    lr_update_rate: int = 100
    t: float = 1e-4  # threshold of sub-sampling
    version: int = 12

    def __post_init__(self) -> None:
        """Check the settings."""
        one_of("loss", self.loss, LOSSES)
        one_of("model", self.model, MODELS)
        if self.version not in VERSIONS:
            raise ConfigError(f"version={self.version}: must be one of {', '.join(map(str, VERSIONS))}")
        for name, (low, high) in FIELDS.items():
            if name not in ("loss", "model"):
                object.__setattr__(self, name, whole(name, getattr(self, name), low, high))
        object.__setattr__(self, "t", at_least("t", self.t, 0))
        if self._cuts_words and self.bucket == 0:
            raise ConfigError(
                f"bucket=0: n-grams of {self.minn} to {self.maxn} characters need rows; set bucket, or maxn=0"
            )

    @property
    def supervised(self) -> bool:
        """Whether the model predicts labels."""
        return self.model == "sup"

    @property
    def _cuts_words(self) -> bool:
        """Whether words have n-grams; supervised models of version 11 have none, whatever maxn says."""
        return 0 < self.maxn >= self.minn and not (self.supervised and self.version == 11)

    @property
    def subwords(self) -> Subwords:
        """How words are cut; fastText takes minn=0 as 1, and with minn > maxn there are no n-grams."""
        if not self._cuts_words:
            return Subwords(minn=0, maxn=0, buckets=self.bucket)
        return Subwords(minn=max(1, self.minn), maxn=self.maxn, buckets=self.bucket)

    def pack(self) -> bytes:
        """Return the bytes of the header."""
        values = asdict(self) | {"loss": LOSSES.index(self.loss) + 1, "model": MODELS.index(self.model) + 1}
        return struct.pack("<2i12id", MAGIC, self.version, *(values[name] for name in FIELDS), self.t)


def read_header(cursor: Cursor) -> Header:
    """Read the header of a file."""
    (magic,) = cursor.numbers("i", "the signature")
    if magic != MAGIC:
        raise cursor.error(
            0, f"this is not a fastText model: it must begin with the number {MAGIC}, not {magic}"
        )
    (version,) = cursor.numbers("i", "the version")
    if version not in VERSIONS:
        raise cursor.error(
            4,
            f"the version is {version}: only the versions {' and '.join(map(str, VERSIONS))} of fastText's "
            "files can be read",
        )
    values: dict[str, Any] = dict(zip(FIELDS, cursor.numbers("12i", "the settings"), strict=True))
    for name, (low, high) in FIELDS.items():
        if not low <= values[name] <= high:
            raise cursor.error(
                PLACES[name],
                f"{name} is {values[name]}: it must be from {low} to {high}; the file is damaged",
            )
    (t,) = cursor.numbers("d", "t")
    if not 0 <= t < math.inf:
        raise cursor.error(T_PLACE, f"t is {t}: it must be a finite number >= 0; the file is damaged")
    if 0 < t < 1e-300:  # these bytes are integers: floret's files have two more settings here
        raise cursor.error(
            T_PLACE,
            f"t is {t}: this is a .bin of floret, or damaged; for floret, read the table that its "
            "save_floret_vectors writes",
        )
    values |= {"loss": LOSSES[values["loss"] - 1], "model": MODELS[values["model"] - 1]}
    try:
        return Header(**values, t=t, version=version)
    except ConfigError as error:
        raise FormatError(f"{cursor.path}: byte {PLACES['bucket']}: {error}") from error
