"""What is scored: models, each with a rule of what it may look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from gnomon.analysis.estimate.model import Model
from gnomon.analysis.estimate.models import DEFAULT, find_model, is_model, model_names
from gnomon.errors import UsageError


class Rule(StrEnum):
    """What an estimate of a row may depend on."""

    STRICT = "strict"
    """Rows up to it."""
    CAUSAL = "causal"
    """Rows up to the end of its rotation."""
    SMOOTHED = "smoothed"
    """All rows."""
    CALIBRATED = "calibrated"
    """As causal, after a first half in which every event was read in every row."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the table."""

    model: str
    rule: Rule

    @property
    def name(self) -> str:
        """The model's name, and the rule unless it is the usual one."""
        return self.model if self.rule is usual_rule(self.model) else f"{self.model}-{self.rule}"

    def make(self) -> Model:
        """The model itself."""
        return find_model(self.model)


def usual_rule(model: str) -> Rule:
    """Hold is the one that needs no more than the past; the others wait for the rotation."""
    return Rule.STRICT if model == "hold" else Rule.CAUSAL


def all_entries() -> list[Entry]:
    """Every model under its usual rule, and what else is worth a line."""
    entries = []
    for model in model_names():
        entries.append(Entry(model, usual_rule(model)))
        if model == DEFAULT:
            entries += [
                Entry(model, rule) for rule in (Rule.STRICT, Rule.SMOOTHED, Rule.CALIBRATED)
            ]
        elif model in ("interpolation", "trapezoid"):
            entries.append(Entry(model, Rule.SMOOTHED))
    return entries


def choose_entries(names: Sequence[str]) -> list[Entry]:
    """The entries of these names; any model may be asked for under any rule."""
    return [_entry(name) for name in dict.fromkeys(names)]


def _entry(name: str) -> Entry:
    if is_model(name):
        return Entry(name, usual_rule(name))
    model, _, rule = name.rpartition("-")
    if is_model(model) and rule in set(Rule):
        return Entry(model, Rule(rule))
    known = ", ".join(model_names())
    rules = ", ".join(f"-{rule}" for rule in Rule)
    raise UsageError(f"'{name}' is not a model: there are {known}, each also with {rules}.")
