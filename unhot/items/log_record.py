"""What a recommender knows of the log that it learned from: what it keeps of it, its questions, facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from unhot.errors import FormatError
from unhot.items.kept_cases import saved_cases
from unhot.items.kept_log import KeptLog


class LogRecord(NamedTuple):
    """What is known of the log of a recommender."""

    kept: KeptLog
    cases: Mapping[str, Any]  # the questions of the split, as tensors
    # its checksum, its size, which part was learned from; paths: its files, which are not saved
    facts: Mapping[str, Any]

    def tensors(self) -> dict[str, Any]:
        """Return what is saved as tensors."""
        return {**self.kept.tensors(), **self.cases}

    def saved_facts(self) -> dict[str, Any]:
        """Return what is saved in the config."""
        log = {name: value for name, value in self.facts.items() if name != "paths"}
        return {"log": {**log, "holds_users": self.kept.log is not None}}

    @classmethod
    def of_saved(cls, config: Mapping[str, Any], tensors: Mapping[str, Any], items: int) -> LogRecord:
        """Read back what was saved; raise a `FormatError` if it is damaged."""
        facts = config.get("log")
        paths = facts.get("paths") if isinstance(facts, dict) else 0
        texts = isinstance(paths, list) and all(isinstance(path, str) for path in paths)
        if not isinstance(facts, dict) or not (paths is None or texts):
            raise FormatError("a recommender without facts about its log: config.json is damaged")
        known = {name: value for name, value in facts.items() if name != "paths"}
        return cls(KeptLog.of_tensors(tensors, items), saved_cases(tensors), known)
