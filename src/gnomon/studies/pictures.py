"""What an experiment has to draw beside its rows: numbers, with what they are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnomon.messaging.uln.timeline import Timeline


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
