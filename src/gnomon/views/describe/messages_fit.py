"""How a fitted law looks: its formula, its parameters with intervals, and what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.analysis.messages.result import Law
from gnomon.views.blocks import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Finding,
    Headline,
    Kind,
    Layer,
    Table,
    Tone,
)

if TYPE_CHECKING:
    from gnomon.analysis.messages.result import Fit


def describe(fit: Fit) -> Iterator[Block]:
    """Yield what there is to see of a fitted law."""
    yield Headline(f"ESTIMATED {fit.formula}", tuple(_lines(fit)))
    if fit.doubt:
        yield Finding(fit.doubt, Tone.DOUBT)
    yield Table.of(
        fit.parameters.items(),
        (
            Column("parameter", lambda each: each[0]),
            Column("value", lambda each: Cell(each[1].value), digits=5),
            Column("from", lambda each: each[1].low, digits=5),
            Column("to (95 %)", lambda each: each[1].high, digits=5),
        ),
        name="parameters",
    )
    if fit.points:
        yield _points(fit)


def _lines(fit: Fit) -> Iterator[str]:
    if fit.speeds:
        speeds = ", ".join(f"{speed:.2f}" for speed in fit.speeds)
        yield f"speed of each of 1 to {len(fit.speeds)} threads: {speeds}"
    if fit.error is not None:
        yield f"root mean square error {fit.error:.2g}"
    if fit.r_squared is not None:
        yield f"explains {units.number(fit.r_squared, '%', digits=3)} of what differs between runs"
    if fit.late:
        later = ", ".join(f"{share:.1%} of {nodes}" for nodes, share in fit.late.items())
        yield f"with more nodes, if times are normal: {later}"


def _points(fit: Fit) -> Chart:
    x = tuple(point.x for point in fit.points)
    shared = fit.law is Law.SHARING
    return Chart(
        "What was measured, and what the law says.",
        Axis("threads" if shared else "nodes", zero=True),
        Axis("throughput" if shared else "misses", zero=True),
        (
            Layer(Kind.DOTS, x, tuple(point.measured for point in fit.points), "measured"),
            Layer(
                Kind.LINE if shared else Kind.DOTS,
                x,
                tuple(point.fitted for point in fit.points),
                "fitted",
            ),
        ),
    )
