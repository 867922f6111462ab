"""What a study gives: a row per published quantity, and what is drawn beside them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from gnomon.messaging.result import Timeline
from gnomon.result import Result, derived

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
class Drawings:
    """What an experiment draws, by kind."""

    id: str
    title: str
    surfaces: tuple[Surface, ...] = ()
    curves: tuple[Curves, ...] = ()
    bars: tuple[Bars, ...] = ()
    scenes: tuple[Scene, ...] = ()


@dataclass(frozen=True, slots=True)
class Findings(Result):
    """What carrying out a study has given, after which document, with which seed.

    `drawings` are those of the experiments; there are none where it was interrupted.
    """

    kind: ClassVar[str] = "study"

    study: str
    title: str
    document: str
    seed: int
    rows: tuple[Row, ...]
    interrupted: bool = False
    drawings: tuple[Drawings, ...] = ()

    @derived
    def verdicts(self) -> dict[str, int]:
        """How many rows have each verdict."""
        found = Counter(row.verdict for row in self.rows)
        return {verdict.value: found[verdict] for verdict in Verdict}

    def count(self, verdict: Verdict) -> int:
        """Return how many rows have this verdict."""
        return self.verdicts[verdict]


@dataclass(frozen=True, slots=True)
class Listed:
    """An experiment in a listing."""

    id: str
    title: str


@dataclass(frozen=True, slots=True)
class StudyEntry:
    """A study in a listing."""

    name: str
    title: str
    document: str
    simulated: bool
    experiments: tuple[Listed, ...]


@dataclass(frozen=True, slots=True)
class Studies(Result):
    """The studies that can be carried out."""

    kind: ClassVar[str] = "studies"

    studies: tuple[StudyEntry, ...]
