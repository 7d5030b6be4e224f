"""Compare recommenders on one log: settings chosen on validation, then fitted again and tested.

Every model is fitted to train with some settings. The ones with the best NDCG@10 on validation are taken. The
model is then tested as it is ("fit"), and fitted again to train and validation together and tested ("refit").
`recommender_report` makes the report.
"""

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from unhot.bench.report import ComparisonReport, FigureColumn, Picture
from unhot.bench.trials import Trial, run_trials
from unhot.errors import ConfigError, DataError
from unhot.evaluate.recommending import Recommending, measure_cases
from unhot.items.ranking import mean_ndcg
from unhot.logs.log import Log
from unhot.logs.splitting import Cases, check_order, last_cases, split_log
from unhot.models.ease import ease_cost
from unhot.models.load import models_of
from unhot.models.log_data import Watched
from unhot.models.popularity import DAYS, SHARES
from unhot.models.recommender_model import RecommenderModel
from unhot.plots.comparisons import ranking
from unhot.sizes import readable
from unhot.train.memory_plan import available_memory

CASES = 5_000  # questions of validation, at most
EASE_SHARE = 0.3  # of the time of a comparison that one fit of ease may take
SHOWN = ("recall@10", "recall@20", "ndcg@10", "mrr@20")
Settings = dict[str, Any]


def _asks(*pairs: tuple[int, float]) -> list[Settings]:
    return [{"last": last, "decay": decay} for last, decay in pairs]


SHORT = _asks((5, 0.8), (5, 0.5), (10, 0.8), (3, 0.6))
# name -> settings that need a fit, and settings that only change how a fitted model is asked; the model of a
# plugin has such a pair as its class attribute `grid`, or else is taken with its defaults
GRIDS: dict[str, tuple[list[Settings], list[Settings]]] = {
    "recent-popularity": ([], [{}]),  # depends on whether the log has times
    "itemknn": ([{"shrinkage": s} for s in (0.0, 5.0, 20.0)], _asks((0, 1.0), (20, 0.8))),
    "last-cosine": ([{"shrinkage": s} for s in (0.0, 5.0, 20.0)], SHORT),
    "session-knn": (
        [{}],
        [{**ask, "neighbours": k} for k in (100, 500) for ask in _asks((20, 0.6), (20, 0.8), (5, 0.8))],
    ),
    "skip-markov": ([{"backward": b} for b in (0.0, 0.5)], SHORT),
    "ease": ([{"regularisation": r} for r in (100.0, 300.0, 1000.0)], [*_asks((0, 1.0)), *SHORT]),
    "session": ([{}, {"lr": 0.05}], SHORT),  # only if the log says what was booked
    "graph": ([{}, {"lr": 0.025}, {"directed": False}], SHORT),
    "eges": ([{"answer": "next"}, {"combine": "mean", "answer": "next"}, {}], SHORT),  # with side values
    "item2vec": (
        [
            {},
            {"sides": "before", "lr": 0.1},
            {"sides": "before", "output": "negative:k=20,power=0", "lr": 0.025},
            {"output": "negative:k=20,power=0.5"},
            {"output": "negative:k=20,power=0.5", "lr": 0.1},
        ],
        SHORT,
    ),
}
USUAL: tuple[list[Settings], list[Settings]] = ([{}], [{}])
COLUMNS = (
    FigureColumn("model", "model"),
    *(FigureColumn(name, name, ".2f", 100) for name in SHOWN),
    FigureColumn("ndcg@10 interval", "interval"),
    FigureColumn("fit: ndcg@10", "fit", ".2f", 100),
    FigureColumn("validation", "validation", ".2f", 100),
    FigureColumn("coverage", "coverage@10", ".1f", 100),
    FigureColumn("pop. rank", "popularity_rank@10", ",.0f"),
    FigureColumn("seconds", "seconds", ".1f"),
    FigureColumn("ms", "milliseconds", ".2f"),
    FigureColumn("settings", "settings"),
)
EXPLAINED = {
    "figures": "in percent; the first ones are of the test, after learning from train and validation with "
    "the settings that were best on validation",
    "fit": "after learning from train alone",
    "coverage": "share of all items among somebody's first ten",
    "pop. rank": "mean rank by popularity of what is recommended",
    "seconds": "of the last fit",
    "ms": "per question",
}


@dataclasses.dataclass
class ComparedModel:
    """What was found for one model."""

    name: str
    settings: Settings = dataclasses.field(default_factory=dict)
    validation: float = 0.0  # NDCG@10
    fit: Recommending | None = None  # tested after learning from train
    refit: Recommending | None = None  # tested after learning from train and validation
    seconds: float = 0.0  # of the last fit
    failed: str = ""


@dataclasses.dataclass(frozen=True)
class RecommenderComparison:
    """The models of a comparison, best first."""

    rows: list[ComparedModel]
    split: str
    events: int
    items: int
    lines: int
    seconds: float
    interrupted: bool = False


def compare_recommenders(
    log: Log,
    split: str = "leave-last-out",
    models: Sequence[str] = (),
    *,
    share: float = 0.05,
    prefixes: Log | None = None,
    exclude_seen: bool | None = None,
    minutes: float = 10.0,
    threads: int = 2,
    reading: Settings | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> RecommenderComparison:
    """Compare models on a log.

    models     names; empty: all that fit
    prefixes   a log of prefixes whose last item is asked for, instead of the test part of the split
    reading    settings of all models that say what the columns of the log are, such as market
    minutes    about how long it may take: when the time of a model is over, no further setting is tried
    """
    if split == "none":
        raise ConfigError("split=none: nothing would be left to choose settings on; choose another split")
    known = models_of("recommend")
    names = [*dict.fromkeys(models)] or [*reversed(known)]  # time that simple models leave is for the others
    if unknown := [name for name in names if name not in known]:
        raise ConfigError(f"models={unknown[0]}: there is no such recommender; known are {', '.join(known)}")
    began = time.perf_counter()
    check_order(log, split)
    cut = split_log(log, split, share, test=prefixes is None)
    tests = last_cases(prefixes) if prefixes is not None else cut.cases("test")
    validation = cut.cases("validation").sample(CASES)
    if not tests.ends.size or not validation.ends.size:
        raise DataError(f"split={split}: the log is too short to choose settings and to test; use another")
    histories = split != "session" and len(log.users) > 0 and not log.how.sessions
    leave_out = histories if exclude_seen is None else exclude_seen
    rows: list[ComparedModel] = []
    with log.part(cut.train) as train, log.part(cut.validation) as both:
        shared = {"threads": threads, **(reading or {})}
        work = _Work(train, both, validation, tests, split, leave_out, 60 * minutes, shared)

        def trials() -> Iterator[Trial[ComparedModel]]:
            for number, name in enumerate(names):
                left = 60 * minutes - (time.perf_counter() - began)
                row = ComparedModel(name)
                yield Trial(
                    partial(work.rows, row, left / (len(names) - number)), partial(dataclasses.replace, row)
                )

        interrupted = run_trials(trials(), rows, lambda row: tell(f"{row.name}: {summary(row)}"))
    rows.sort(key=lambda row: -_figure(row))
    seconds = time.perf_counter() - began
    return RecommenderComparison(rows, split, log.words, len(log.items), log.sentences, seconds, interrupted)


def summary(row: ComparedModel) -> str:
    """Return the figures of a row in a line."""
    if row.failed or row.refit is None:
        return row.failed or "not tested"
    figures = row.refit.figures
    shown = ", ".join(f"{name} {100 * figures[name]:.2f}" for name in SHOWN)
    return f"{shown} after {row.seconds:.1f} s ({settings_text(row.settings)})"


def settings_text(settings: Settings) -> str:
    """Return settings in words."""
    return ", ".join(f"{name}={value}" for name, value in settings.items()) or "defaults"


def _whole(model: RecommenderModel) -> RecommenderModel:
    """Return a fitted model; Ctrl-C during a training ends the comparison, too."""
    if model.history.interrupted:
        raise KeyboardInterrupt
    return model


def _figure(row: ComparedModel) -> float:
    found = row.refit or row.fit
    return -1.0 if found is None else found.figures["ndcg@10"]


@dataclasses.dataclass(frozen=True)
class _Work:
    """What the models of a comparison share."""

    train: Log
    both: Log  # train and validation
    validation: Cases
    tests: Cases
    split: str
    leave_out: bool
    seconds: float
    shared: Settings  # of all models

    def rows(self, row: ComparedModel, seconds: float) -> Iterator[ComparedModel]:
        """Choose settings for a model, test it with them, in about so many seconds, and yield its row."""
        began = before = time.perf_counter()
        longest = 0.0
        chosen: RecommenderModel | None = None
        kind = models_of("recommend")[row.name]
        fits, asks = getattr(kind, "grid", None) or GRIDS.get(row.name, USUAL)
        for fitted, settings in self._fitted(kind, fits, seconds):
            for ask in asks:
                asked = dataclasses.replace(fitted, **ask)
                asked.fit_state = dataclasses.replace(fitted.fit_state, made={})
                found = mean_ndcg(asked.answers, self.validation, exclude_seen=self.leave_out)
                if chosen is None or found > row.validation:
                    chosen, row.validation = asked, found
                    row.settings = {**settings, **ask}
            now = time.perf_counter()
            longest, before = max(longest, now - before), now
            if now - began + 2 * longest > seconds:  # one more, and the last fit
                break
        if chosen is None:
            raise DataError(f"{row.name} has no settings to try")
        row.fit = self._tested(chosen, "train")
        again = dataclasses.replace(chosen)
        if (losses := chosen.history.validation) and hasattr(again, "epochs"):
            again.epochs = losses.index(min(losses)) + 1
        began = time.perf_counter()
        _whole(again.fit(self.both))
        row.seconds = time.perf_counter() - began
        row.refit = self._tested(again, "train + validation")
        yield row

    def _tested(self, model: RecommenderModel, learned_from: str) -> Recommending:
        """Test a model; it does not know that its log is a part of another one."""
        found = measure_cases(model, self.tests, "test", self.leave_out)
        return dataclasses.replace(found, split=self.split, learned_from=learned_from)

    def _fitted(
        self, kind: type[Any], fits: list[Settings], seconds: float
    ) -> Iterator[tuple[Any, Settings]]:
        """Yield the model fitted with each of its settings.

        A model whose training can be limited gets its share of the time, of which the last fit has one, too.
        """
        name = kind.name
        if name == "ease":
            self._check_ease()
        if (name == "eges" and not self.train.sides) or (name == "session" and not self.train.marks.size):
            needed = "side values (--side, --items)" if name == "eges" else "bookings (--booked)"
            raise DataError(f"left out: the log has no {needed}")
        names = {field.name for field in dataclasses.fields(kind)}
        limits = {"minutes": max(seconds, 1.0) / 60 / (1 + len(fits))}
        shared = {name: value for name, value in (limits | self.shared).items() if name in names}
        for settings in fits or self._recent():
            watched = Watched(self.validation, self.leave_out)
            yield _whole(kind(**shared, **settings).fit(self.train, validation=watched)), settings

    def _recent(self) -> list[Settings]:
        if self.train.times.size:
            return [{"days": days} for days in DAYS]
        return [{"events": max(1, int(share * self.train.words))} for share in SHARES]

    def _check_ease(self) -> None:
        """Raise a `DataError` if ease needs too much memory or time."""
        items = len(self.both.items)
        cost, free = ease_cost(items), available_memory()
        if (free is not None and cost.memory > free) or cost.seconds > EASE_SHARE * self.seconds:
            has = "" if free is None else f"{readable(free)} and "
            raise DataError(f"left out: needs {cost}, and there are {has}{EASE_SHARE * self.seconds:.0f} s")


def recommender_report(found: RecommenderComparison) -> ComparisonReport:
    """Return the report: a row of the table for each model, a row of the file for each of its two tests."""
    tested = [row.refit for row in found.rows if row.refit is not None]
    return ComparisonReport(
        command="unhot recommend compare",
        summary=f"{how(found)}.",
        columns=COLUMNS,
        records=[_record(row) for row in found.rows],
        terms=EXPLAINED,
        failures=[f"{row.name}: {row.failed}" for row in found.rows if row.failed],
        files={".csv": [record for row in found.rows for record in _tests(row)]},
        pictures={".svg": Picture("NDCG@10 of recommenders", partial(ranking, found=tested), (8.0, 4.5))},
        data={"split": found.split, "seconds": found.seconds, "models": [_data(row) for row in found.rows]},
        measured=bool(tested),
        interrupted=found.interrupted,
    )


def _record(row: ComparedModel) -> dict[str, Any]:
    if row.refit is None or row.fit is None:
        return {"model": row.name}
    return {
        **row.refit.figures,
        "model": row.name,
        "interval": " .. ".join(f"{100 * edge:.2f}" for edge in row.refit.intervals["ndcg@10"]),
        "fit": row.fit.figures["ndcg@10"],
        "validation": row.validation,
        "seconds": row.seconds,
        "milliseconds": row.refit.milliseconds,
        "settings": settings_text(row.settings),
    }


def _tests(row: ComparedModel) -> list[dict[str, Any]]:
    """Return the records of both tests of a model, with figures as fractions; one if it failed."""
    tests = {"train": row.fit, "train + validation": row.refit}
    done = {name: test.figures for name, test in tests.items() if test is not None}
    return [
        {
            "model": row.name,
            "settings": settings_text(row.settings),
            "learned_from": name,
            **{figure: f"{value:.6f}" for figure, value in figures.items()},
            "seconds": f"{row.seconds:.2f}",
            "validation_ndcg@10": f"{row.validation:.6f}",
            "failed": row.failed,
        }
        for name, figures in (done or ({"": {}} if row.failed else {})).items()
    ]


def _data(row: ComparedModel) -> dict[str, Any]:
    tests = {name: test and test.as_dict() for name, test in (("fit", row.fit), ("refit", row.refit))}
    return {"model": row.name, "settings": row.settings, "failed": row.failed or None, **tests}


def how(found: RecommenderComparison) -> str:
    """Return what was compared, in a sentence."""
    repeated = max((row.refit.repeated for row in found.rows if row.refit is not None), default=0)
    misses = f"{repeated:,} targets are in the history, which recommendations exclude: misses; "
    return (
        f"{found.events:,} events with {found.items:,} items in {found.lines:,} lines, split {found.split}; "
        f"{misses if repeated else ''}{found.seconds / 60:.1f} minutes in all"
    )
