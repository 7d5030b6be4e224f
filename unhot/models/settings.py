"""The settings of models: groups of fields that several models have, and which values a field accepts.

Groups are fields with their types, and nothing else. The type of a field says which values it accepts:
`unhot.specs` says how. The model itself checks fields of any other type.
"""

import dataclasses
import typing
from typing import Annotated, Any, Literal

from unhot.outputs import OutputLayer
from unhot.specs import Range as Range
from unhot.specs import checked, type_hints

SMALLEST_LR = 1e-30


def check_settings(model: Any) -> None:
    """Raise a `ConfigError` for a setting of the wrong type or range; convert numbers to int or float."""
    kinds = type_hints(type(model))
    for field in dataclasses.fields(model):
        setattr(model, field.name, checked(field.name, getattr(model, field.name), kinds[field.name]))


def checked_setting(model: Any, name: str, value: Any) -> Any:
    """Return the value for a model's setting, converted; raise a `ConfigError` if it is not accepted."""
    return checked(name, value, type_hints(type(model))[name])


# settings of every word model that are whole numbers
WHOLE = ("dim", "window", "min_count", "threads", "seed", "epochs")


def limits_of(model: type, name: str) -> Range:
    """Return the range that a model's setting accepts."""
    kind = type_hints(model)[name]
    limits: Range = typing.get_args(kind)[1]
    return limits


@dataclasses.dataclass(kw_only=True)
class TextFields:
    """How text is read."""

    min_count: Annotated[int, Range(1)] = 5  # drop words that occur less often than this
    max_vocab: Annotated[int | None, Range(1)] = None  # keep only this many words, the most frequent ones
    # how lines are split into tokens: whitespace, words (lower-cased, any script), text8; in Python also a
    # function
    tokenizer: Any = "whitespace"


@dataclasses.dataclass(kw_only=True)
class EpochFields:
    """Training in epochs, from a seed."""

    epochs: Annotated[int, Range(1, 1 << 30)] = 5  # number of passes over the text or its cells
    lr: Annotated[float | None, Range(SMALLEST_LR)] = None  # initial learning rate
    seed: Annotated[int, Range(0, 2**64 - 1)] = 1  # seed of all random numbers


@dataclasses.dataclass(kw_only=True)
class DescentFields:
    """How PyTorch trains a net."""

    optimizer: Literal["adamw", "sgd", "adagrad"] = "adamw"  # how parameters move
    weight_decay: Annotated[float, Range(0)] = 0.0  # how fast matrices shrink, as a share of the rate
    warmup: Annotated[int, Range(0)] = 100  # steps in which the rate rises
    clip: Annotated[float, Range(0)] = 0.25  # maximum gradient norm of a step; 0: none
    # the most minutes of training; the rate falls as they pass
    minutes: Annotated[float | None, Range(0)] = None
    device: str = "cpu"  # where PyTorch trains: cpu, cuda, cuda:1, mps
    autocast: bool = False  # compute products in bfloat16


@dataclasses.dataclass(kw_only=True)
class VectorFields:
    """Vectors."""

    dim: Annotated[int, Range(1, 1 << 20)] = 100  # length of each vector


@dataclasses.dataclass(kw_only=True)
class WindowFields(EpochFields, VectorFields):
    """Predicting through an output layer what stands near."""

    window: Annotated[int, Range(1, 10_000)] = 5  # words on each side of the centre word
    # draw the size of each window from 1 to --window at random, or always use the full window
    shrink: bool = True
    output: str | OutputLayer = "negative:k=5"  # output layer
    sample: Annotated[float, Range(0)] = 1e-3  # threshold of sub-sampling frequent words; 0 turns it off
    # what trains the model: compiled kernels on the CPU, or PyTorch with any output layer on any device;
    # fasttext: compiled only
    engine: Literal["compiled", "torch"] = "compiled"
    device: str = "cpu"  # torch: the device to compute on, such as cuda:0
    batch: Annotated[int, Range(1, 1 << 30)] = 1024  # torch: pairs in a training step (cbow: centre words)


@dataclasses.dataclass(kw_only=True)
class WalkFields:
    """Random walks on a graph."""

    walks: Annotated[int, Range(1, 1 << 20)] = 10  # walks from each node in an epoch; each epoch has new ones
    length: Annotated[int, Range(2, 1 << 20)] = 40  # nodes of a walk
    p: Annotated[float, Range(0)] = 1.0  # node2vec: 1 / p is how often a walk goes back to where it came from
    # node2vec: 1 / q is how often a walk goes to a node that is no neighbour of where it came from; with
    # p = q = 1 a step depends on the last node alone, as in DeepWalk
    q: Annotated[float, Range(0)] = 1.0
    sample: Annotated[float, Range(0)] = 0.0  # threshold of sub-sampling frequent nodes; 0 turns it off


@dataclasses.dataclass(kw_only=True)
class LogFields:
    """How a log of users and items is read, what is learned from, and what the saved model keeps of it."""

    # number of threads; the models that only count give the same bytes with any number, those that learn in
    # epochs (item2vec, session, graph, eges) with 1 thread and the same seed
    threads: Annotated[int, Range(1, 1024)] = 2
    user: str | None = None  # the column of users, if it is not called user, user_id, customer or the like
    item: str | None = None  # the column of items, if it is not called item, product, movieId or the like
    # the column of times: seconds, or dates, if it is not called time, timestamp, date, ts or the like
    time: str | None = None
    # how times are written that are neither numbers nor dates such as 2026-11-30, as %d.%m.%Y %H:%M
    time_format: str | None = None
    weight: str | None = None  # the column of ratings or weights, if it is not called rating or weight
    session: str | None = None  # the column of sessions; a session is a sequence of its own
    side: str | None = None  # columns with values of the item, such as brand,colour
    items: str | None = None  # a file with the names of items, and with side columns: CSV, JSONL or JSON
    # the format of the log: by default what its name and its first bytes say; sessions: a line has the items
    # of a session; user-sessions: a line has a user, then items
    format: (
        Literal[
            "csv",
            "tsv",
            "csv-unquoted",
            "tsv-unquoted",
            "jsonl",
            "parquet",
            "arrow",
            "movielens",
            "sessions",
            "user-sessions",
        ]
        | None
    ) = None
    header: str | None = None  # the columns of CSV or TSV without a header line, such as user,item,time
    separator: str | None = None  # what is between the fields of CSV or TSV, such as ; or tab
    min_rating: float | None = None  # leave out events with a smaller rating
    repeats: Literal["keep", "merge"] = "keep"  # keep all events of a line with an item, or only the first
    core: Annotated[int, Range(0)] = 0  # drop users and items with fewer events than this, repeatedly
    gap: float | None = None  # minutes without an event after which a user's next session begins
    # rows without times are in order of time; a split of rows without times needs this
    in_order: bool = False
    strict: bool = False  # stop at the first bad row instead of counting bad rows
    # what is held out: of each user the last event for the test and the one before it for validation; or the
    # last events by time; or the last sessions; or nothing
    split: Literal["none", "leave-last-out", "time", "session"] = "none"
    # split time and session: the share of the log that is the test, and as much again for validation
    share: Annotated[float, Range(0)] = 0.05
    # choose on validation first, then learn from train and validation together
    refit: bool = False
    with_users: bool = False  # keep the log in the model's folder: users' names and histories


@dataclasses.dataclass(kw_only=True)
class MarkFields:
    """Columns of a log that only session vectors learn from."""

    # the column that says what was booked or bought; the booked item is near its whole session
    booked: str | None = None
    # the column that says for which items a user was rejected; such items are kept apart
    rejected: str | None = None
    user_type: str | None = None  # the column of types of users, such as new; types have vectors
    item_type: str | None = None  # columns of the item that are its type together, such as kind,price
    market: str | None = None  # the column of the item's market; noise also comes from the market


@dataclasses.dataclass(kw_only=True)
class FeatureFields:
    """Further columns of a log for models that learn from them."""

    # columns of events that hold numbers or categories, such as device,price,age
    features: str | None = None
    # those of these columns that hold categories even if all their values are numbers
    categories: str | None = None


@dataclasses.dataclass(kw_only=True)
class HistoryFields:
    """How a history asks."""

    last: Annotated[int, Range(0)] = 5  # ask with so many of the last items of a history; 0: with all
    decay: Annotated[float, Range(0)] = 0.8  # how much an item counts, relative to the next newer one


@dataclasses.dataclass(kw_only=True)
class ItemFields(HistoryFields, WindowFields):
    """Vectors of items."""

    dim: Annotated[int, Range(1, 1 << 20)] = 64  # length of each vector
    window: Annotated[int, Range(1, 10_000)] = 5  # items on each side of the centre item
    # how items answer: with output vectors, as what comes next; or with input vectors, as what is alike
    answer: Literal["next", "alike"] = "next"
    output: str | OutputLayer = "negative:k=20,power=0.25"  # output layer
    epochs: Annotated[int, Range(1, 1 << 30)] = 40  # number of passes over the log
    sample: Annotated[float, Range(0)] = 0.0  # threshold of sub-sampling frequent items; 0 turns it off
    # with a split: stop after so many epochs without a better one on validation, and keep the best
    patience: Annotated[int, Range(1)] = 20
    approximate: bool = False  # recommend by a graph (HNSW, extra `ann`), which may miss an item


@dataclasses.dataclass(kw_only=True)
class ItemWalkFields(ItemFields, WalkFields):
    """Vectors of items from walks."""

    walks: Annotated[int, Range(1, 1 << 20)] = 4  # walks from each item in an epoch; each epoch has new ones
    length: Annotated[int, Range(2, 1 << 20)] = 10  # items of a walk
