"""What a study is made of: experiments, and a row for each quantity that was published."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.events.tomlfile import suggestion

if TYPE_CHECKING:
    from gnomon.studies.pictures import Picture

Value = int | float | str | None
"""A number, a few words where no number says it, or nothing where nothing was published."""


class Verdict(StrEnum):
    """How a value of ours relates to the published one."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    SHAPE_ONLY = "shape only"


@dataclass(frozen=True, slots=True)
class Row:
    """One quantity of an experiment: as published, as found here, and what that says."""

    id: str
    quantity: str
    published: Value
    ours: Value
    tolerance: str
    verdict: Verdict
    note: str = ""


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment of a document; `module` has a function `run(seed)` that yields its rows.

    It may have a function `pictures(seed)`, too, for what a table cannot show.
    """

    id: str
    title: str
    module: str

    def run(self, seed: int) -> list[Row]:
        """Carry the experiment out; its module is loaded only now."""
        function: Callable[[int], Iterable[Row]] = import_module(self.module).run
        return list(function(seed))

    def pictures(self, seed: int) -> Sequence[Picture]:
        """Return what its module has to draw, which most have not."""
        function: Callable[[int], Sequence[Picture]] | None = getattr(
            import_module(self.module), "pictures", None
        )
        return () if function is None else function(seed)


@dataclass(frozen=True, slots=True)
class Study:
    """A document whose experiments can be carried out again."""

    name: str
    title: str
    document: str
    experiments: tuple[Experiment, ...]
    simulated: bool = True

    def choose(self, ids: Sequence[str] | None) -> tuple[Experiment, ...]:
        """Return the experiments of these ids in the study's order; all of them for None."""
        if ids is None:
            return self.experiments
        known = {each.id.lower(): each for each in self.experiments}
        for wanted in ids:
            if wanted.lower() not in known:
                names = [each.id for each in self.experiments]
                hint = suggestion(wanted, names) or f": choose from {', '.join(names)}."
                raise UsageError(f"study {self.name} has no experiment '{wanted}'{hint}")
        asked = {wanted.lower() for wanted in ids}
        return tuple(each for key, each in known.items() if key in asked)


@dataclass(frozen=True, slots=True)
class Findings:
    """What carrying out a study has given."""

    study: Study
    seed: int
    rows: tuple[Row, ...]

    def count(self, verdict: Verdict) -> int:
        """Return how many rows have this verdict."""
        return sum(row.verdict is verdict for row in self.rows)


def carry_out(
    study: Study,
    ids: Sequence[str] | None = None,
    *,
    seed: int = 0,
    on_experiment: Callable[[], None] | None = None,
) -> Findings:
    """Carry out a study, or some of its experiments; the callback is told of each that is done."""
    rows: list[Row] = []
    for experiment in study.choose(ids):
        rows += experiment.run(seed)
        if on_experiment is not None:
            on_experiment()
    return Findings(study, seed, tuple(rows))
