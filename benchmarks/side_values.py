"""What side values bring: EGES, GES and BGE on rare items and on items that were never seen.

    python benchmarks/side_values.py LOG ITEMS [--format user-sessions] [--seeds 3] [--folds 3]

Rare items: each model learns from train and validation (leave-last-out) and is asked for the last item of
each user. Figures are of all questions, and of those whose item has fewer than 5 events in what was learned.

Items never seen: 5 % of the items, drawn at random, are taken out of all lines. The users whose last item is
one of them are asked: the item is ranked by cosine, with a vector made of its side values, among all items,
and among the new ones alone. That is done for several draws (folds).

Differences have bootstrap intervals over the questions. Writes `docs/results/side-values.md` and a CSV file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from harness import RESULTS, commit, machine, say
from report import Table

from unhot.evaluate.figures import mean_interval
from unhot.index.lengths import units
from unhot.items.histories import histories_of
from unhot.items.ranking import case_ranks, ndcg
from unhot.logs.encoding import read_log
from unhot.logs.item_facts import read_item_facts
from unhot.logs.log import Log
from unhot.logs.splitting import split_log
from unhot.models.eges import EGES

KINDS = {"EGES": "weighted", "GES": "mean", "BGE": "none"}
RARE = 5  # events that an item has at least if it is not rare
SHARE = 0.05  # of the items are new


def main() -> None:
    """Parse, measure, write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("log", type=Path)
    parser.add_argument("items", type=Path)
    parser.add_argument("--format", default="user-sessions")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--set", default="{}", help="other settings of the models, as JSON")
    parser.add_argument("--name", default="side-values")
    options = parser.parse_args()
    settings = {"items": str(options.items), "format": options.format, **json.loads(options.set)}
    columns = ("part", "seed", "model", "answer", "ndcg@10")
    with (
        Table(RESULTS / f"{options.name}.csv", columns, {"commit": commit()}) as table,
        read_log(options.log, format=options.format, items=options.items) as log,
    ):
        rare = [_rare(log, settings, seed, table) for seed in range(1, options.seeds + 1)]
        new = [_new(log, settings, fold, table) for fold in range(1, options.folds + 1)]
    page = _page(options, rare, new)
    (RESULTS / f"{options.name}.md").write_text(page, encoding="utf-8")
    say(page)


def _fitted(combine: Any, seed: int, settings: dict[str, Any], source: Any) -> EGES:
    model = EGES(combine=combine, seed=seed, **settings)
    return model.fit(source, note=lambda line: None)


def _rare(log: Log, settings: dict[str, Any], seed: int, table: Table) -> dict[Any, Any]:
    """Return the gains of each question on the test, by model and by how items answer."""
    cut = split_log(log, "leave-last-out")
    cases, found = cut.cases("test"), dict[Any, Any]()
    with log.part(cut.validation) as learned:
        counts = dict(zip(learned.items.words, learned.items.counts.tolist(), strict=True))
        rare = np.array([counts.get(log.items.words[target], 0) < RARE for target in cases.targets])
        for name, combine in KINDS.items():
            model = _fitted(combine, seed, settings, learned)
            for answer in ("alike", "next"):
                model.answer = answer
                answers = model.make_answers(model.learned)
                gains = found[name, answer] = ndcg(case_ranks(answers, cases).ranks, 10)
                row = {"seed": seed, "model": name, "answer": answer}
                table.add({**row, "part": "all", "ndcg@10": gains.mean()})
                table.add({**row, "part": "rare", "ndcg@10": gains[rare].mean()})
    say(f"seed {seed}: " + ", ".join(f"{k}: {100 * g[rare].mean():.2f}" for k, g in found.items()))
    return {"rare": rare, **found}


def _new(log: Log, settings: dict[str, Any], fold: int, table: Table) -> dict[str, Any]:
    """Return the ranks of new items, by model: among all items, and among the new ones."""
    words, columns = log.items.words, read_item_facts(settings["items"]).sides
    drawn = np.random.default_rng(fold).permutation(len(words))[: int(SHARE * len(words))]
    new = np.isin(np.arange(len(words)), drawn)
    lines = [log.ids_of_lines[a:b] for a, b in zip(log.starts[:-1], log.starts[1:], strict=True)]
    kept = [[str(n), *(words[i] for i in line[~new[line]])] for n, line in enumerate(lines)]
    asked = [line for line in lines if new[line[-1]] and (~new[line[:-1]]).any()]
    items, found = np.flatnonzero(new), dict[str, Any]()
    target = np.searchsorted(items, [line[-1] for line in asked])
    for name in ("EGES", "GES"):
        model = _fitted(KINDS[name], fold, settings, [row for row in kept if len(row) > 1])
        index = model.catalogue.index
        hidden = model.item_answers.hidden(
            histories_of([[index[words[i]] for i in line[:-1] if words[i] in index] for line in asked])
        )
        values = [{name: side[words[i]] for name, side in columns.items() if words[i] in side} for i in items]
        among = hidden @ units(np.stack([model.new_item(each) for each in values]), dtype=np.float32).T
        others, own = (
            hidden @ units(model.item_answers.item_inputs, dtype=np.float32).T,
            among[np.arange(len(asked)), target][:, None],
        )
        few = (among > own).sum(1) + ((among == own).sum(1) + 1) / 2  # the mean rank of equal scores
        found[name] = {"new": few, "all": few + (others > own).sum(1) + (others == own).sum(1) / 2}
        for part, ranks in found[name].items():
            row = {"part": f"new among {part}", "seed": fold, "model": name, "answer": "alike"}
            table.add({**row, "ndcg@10": ndcg(ranks, 10).mean()})
    say(f"fold {fold}: " + ", ".join(f"{n}: {100 * ndcg(r['all'], 10).mean():.2f}" for n, r in found.items()))
    return {**found, "items": len(words), "drawn": items.size}


def _difference(a: Any, b: Any) -> str:
    low, high = mean_interval(a - b)
    return f"{100 * (a - b).mean():+.2f} ({100 * low:+.2f} .. {100 * high:+.2f})"


def _page(options: argparse.Namespace, rare: list[dict[Any, Any]], new: list[dict[str, Any]]) -> str:
    """Return the page."""
    lines = [
        "# What side values bring",
        "",
        f"{options.log.name} with {options.items.name}, settings of `EGES` {options.set}; {machine()}; "
        f"commit {commit()}. NDCG@10 in percent; differences with their 95 % bootstrap interval over the "
        "questions. Made by `benchmarks/side_values.py`. The defaults of EGES were chosen among ten settings "
        "by these figures of Beauty for seed 1 and draws 1 and 2, so only other seeds and draws are unseen.",
        "",
        "## Rare items",
        "",
        f"Learned from train and validation, asked on the test: {rare[0]['rare'].size:,} questions, "
        f"{rare[0]['rare'].sum():,} of them for an item with fewer than {RARE} events. "
        "Means over the seeds in the columns of models.",
        "",
        "| questions | items answer as | EGES | GES | BGE | EGES - BGE, seed 1 | other seeds |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for part in ("rare", "all"):
        for answer in ("alike", "next"):
            chosen = [
                {name: run[name, answer][run["rare"] if part == "rare" else slice(None)] for name in KINDS}
                for run in rare
            ]
            means = [f"{100 * np.mean([run[name].mean() for run in chosen]):.2f}" for name in KINDS]
            gaps = [_difference(run["EGES"], run["BGE"]) for run in chosen]
            lines.append(f"| {part} | {answer} | {' | '.join(means)} | {gaps[0]} | {'; '.join(gaps[1:])} |")
    drawn, items = new[0]["drawn"], new[0]["items"]
    lines += [
        "",
        "## Items that were never seen",
        "",
        f"{drawn:,} of {items:,} items taken out of all lines, ranked by cosine for the users whose last "
        "item they are. GES is the plain mean of the vectors of side values, trained without weights.",
        "",
        "| ranked among | draw | questions | random | GES | EGES | EGES - GES |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for part, size in (("all", items), ("new", drawn)):
        chance = 100 * ndcg(np.arange(1.0, 11.0), 10).sum() / size
        pairs = [(ndcg(run["GES"][part], 10), ndcg(run["EGES"][part], 10)) for run in new]
        for number, (plain, learned) in enumerate(pairs, 1):
            lines.append(
                f"| {part} items | {number} | {plain.size:,} | {chance:.2f} | {100 * plain.mean():.2f} | "
                f"{100 * learned.mean():.2f} | {_difference(learned, plain)} |"
            )
        plain, learned = (np.concatenate(each) for each in zip(*pairs, strict=True))
        lines.append(
            f"| {part} items | all | {plain.size:,} | {chance:.2f} | {100 * plain.mean():.2f} | "
            f"{100 * learned.mean():.2f} | {_difference(learned, plain)} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
