"""A study: its experiments, a row for each published quantity, and what is drawn beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.events.tomlfile import suggestion

if TYPE_CHECKING:
    from gnomon.messaging.result import Timeline

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
class Surface:
    """Numbers over two quantities, to be drawn: a row of cells for each of `rows`."""

    title: str
    x_label: str
    y_label: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """A line through points, and the points that were published of it."""

    name: str
    points: tuple[tuple[float, float], ...]
    published: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Curves:
    """Lines over one quantity; `doubling` axes have the same width for each doubling."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    doubling: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A value of ours, and the published one where there is one."""

    name: str
    ours: float
    published: float | None = None


@dataclass(frozen=True, slots=True)
class Bars:
    """Values side by side; `even` is where nothing is gained or lost."""

    title: str
    label: str
    bars: tuple[Bar, ...]
    even: float = 0.0


@dataclass(frozen=True, slots=True)
class Scene:
    """What threads and messages do over time."""

    title: str
    timeline: Timeline


Picture = Surface | Curves | Bars | Scene
"""What an experiment draws beside its rows: numbers, with what they are called."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment of a document; `module` has a function `run(seed)` that yields its rows.

    It may have a function `pictures(seed)`, too, for what a table cannot show. Where a module
    has several experiments, `MODULE:NAME` stands for its functions `run_NAME` and
    `pictures_of_NAME`.
    """

    id: str
    title: str
    module: str

    def run(self, seed: int) -> list[Row]:
        """Carry the experiment out; its module is loaded only now."""
        module, _, name = self.module.partition(":")
        function: Callable[[int], Iterable[Row]] = getattr(
            import_module(module), f"run_{name}" if name else "run"
        )
        return list(function(seed))

    def pictures(self, seed: int) -> Sequence[Picture]:
        """Return what there is to draw, which most experiments have not."""
        module, _, name = self.module.partition(":")
        function: Callable[[int], Sequence[Picture]] | None = getattr(
            import_module(module), f"pictures_of_{name}" if name else "pictures", None
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
    interrupted: bool = False

    def count(self, verdict: Verdict) -> int:
        """Return how many rows have this verdict."""
        return sum(row.verdict is verdict for row in self.rows)
