"""How a fitted law looks: its formula, its parameters with intervals, and what it says."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon import units
from gnomon.messaging.result import Fit, Law
from gnomon.views import blocks as b


def describe(fit: Fit) -> Iterator[b.Block]:
    """Yield what there is to see of a fitted law."""
    yield b.Headline(f"ESTIMATED {fit.formula}", tuple(_lines(fit)))
    if fit.doubt:
        yield b.Finding(fit.doubt, b.Tone.DOUBT)
    yield b.Table.of(
        fit.parameters.items(),
        b.Column("parameter", lambda each: each[0]),
        b.Column("value", lambda each: b.Cell(each[1].value), digits=5),
        b.Column("from", lambda each: each[1].low, digits=5),
        b.Column("to (95 %)", lambda each: each[1].high, digits=5),
        name="parameters",
    )
    if fit.points:
        x = tuple(point.x for point in fit.points)
        measured, fitted = zip(
            *((point.measured, point.fitted) for point in fit.points), strict=True
        )
        shared = fit.law is Law.SHARING
        yield b.Chart.of(
            "Measurements, and the fitted law.",
            b.Axis("threads" if shared else "nodes", zero=True),
            b.Axis("throughput" if shared else "misses", zero=True),
            b.Layer(b.Kind.DOTS, x, measured, "measured"),
            b.Layer(b.Kind.LINE if shared else b.Kind.DOTS, x, fitted, "fitted"),
        )


def _lines(fit: Fit) -> Iterator[str]:
    if fit.speeds:
        speeds = ", ".join(f"{speed:.2f}" for speed in fit.speeds)
        yield f"speed of each of 1 to {len(fit.speeds)} threads: {speeds}"
    if fit.error is not None:
        yield f"root mean square error {fit.error:.2g}"
    if fit.r_squared is not None:
        yield f"explains {units.number(fit.r_squared, '%', digits=3)} of the variance between runs"
    if fit.late:
        later = ", ".join(f"{share:.1%} of {nodes}" for nodes, share in fit.late.items())
        yield f"with more nodes, assuming normal times: {later}"
