"""How the costs of messages look: round trips in each regime, their order, fits over sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gnomon import units
from gnomon.analysis.messages.result import LEAST_TIMES, Regime, by_reason
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
    Section,
    Table,
    Text,
    Tone,
)

if TYPE_CHECKING:
    from gnomon.analysis.messages.result import Bench, Curve, Order, Row, Segment, Timing
    from gnomon.result import Quantity

_MEANINGS = {
    Regime.IDLE: "two cores; a waiting core halts",
    Regime.AWAKE: "two cores that a low-priority process keeps awake",
    Regime.SIBLINGS: "two threads of one core; a waiting thread halts",
    Regime.SAME: "one core; the two take turns",
}
_DRAWN = 24  # mechanisms that can be told apart in a chart


def describe(bench: Bench) -> Iterator[Block]:
    """Yield what there is to see of a benchmark of messages."""
    yield Headline(_title(bench), tuple(_lines(bench)))
    yield from _findings(bench)
    for regime in bench.regimes:
        rows = [row for row in bench.rows if row.regime is regime]
        yield from _regime(sorted(rows, key=lambda row: row.round_trip.p50.value))
    if bench.orders:
        yield Section("In order of round trips")
        yield _order(bench.orders)
        if shown := [str(order.regime) for order in bench.orders if order.shown]:
            yield Text(f"{', '.join(shown)}: each group is faster than the next.")
    if bench.curves:
        yield from _over_sizes(bench)
    if bench.left_out:
        yield Section("What was left out")
        for reason, names in by_reason(bench.left_out).items():
            yield Text(f"{', '.join(names)}: {reason}")


def _title(bench: Bench) -> str:
    fastest = []
    for regime in bench.regimes:
        rows = [row for row in bench.rows if row.regime is regime]
        best = min(rows, key=lambda row: row.round_trip.p50.value)
        time = units.brief(best.round_trip.p50.value, "ns")
        fastest.append(f"{time} by {best.mechanism} ({regime})")
    return f"Fastest round trips: {', '.join(fastest)}" if fastest else "no messages were timed"


def _lines(bench: Bench) -> Iterator[str]:
    timings = [
        timing
        for row in bench.rows
        for some in (row.round_trips, row.sends, row.receives, row.gaps)
        for timing in some
    ]
    names = len({row.mechanism for row in bench.rows})
    samples = sum(timing.samples for timing in timings)
    yield (
        f"{samples:,} timings: {names} mechanism{'s' * (names != 1)}, "
        f"{len(bench.regimes)} regime{'s' * (len(bench.regimes) != 1)}"
    )
    if bench.null_call is not None:
        time = bench.null_call.p50
        told = units.with_interval(time.value, time.low, time.high, "ns")
        yield f"a system call that does nothing takes {told}"


def _findings(bench: Bench) -> Iterator[Finding]:
    if (hidden := bench.hidden) is not None:
        regimes = " and ".join(hidden.regimes)
        yield Finding(
            f"{regimes}: waking the other CPU adds {units.brief(hidden.waking, 'ns')} to a round "
            f"trip, which hides that a futex is {units.brief(hidden.differ, 'ns')} faster than a "
            "UNIX socket, as one core shows."
        )
    for curve in bench.curves:
        if curve.passes.kept < curve.passes.count:
            yield Finding(_passes(curve), Tone.DOUBT)


def _passes(curve: Curve) -> str:
    passes = curve.passes
    faster = passes.others < 1
    times = 1 / passes.others if faster else passes.others
    return (
        f"{curve.mechanism}: {passes.count - passes.kept} of {passes.count} passes over sizes are "
        f"left out, in which messages were {times:.1f} times as {'fast' if faster else 'slow'}, "
        "as when a hypervisor moves its CPUs or other programs run."
    )


def _regime(rows: Sequence[Row]) -> Iterator[Block]:
    left, right = rows[0].cpus
    cpus = f"CPU {left}" if left == right else f"CPUs {left} and {right}"
    regime = rows[0].regime
    yield Section(f"{regime} ({cpus}): {_MEANINGS[regime]}")
    counted = dict.fromkeys(
        event
        for row in rows
        for event, value in row.counts_per_message.items()
        if value is not None
    )
    yield Table.of(
        rows,
        (
            Column("mechanism", lambda row: row.mechanism),
            Column("round trip", lambda row: _time(row.round_trip), interval="95 % interval"),
            Column("p90", lambda row: row.round_trip.p90, "ns", drop=1),
            Column("p99", lambda row: row.round_trip.p99, "ns", drop=1),
            Column("p99.9", lambda row: row.round_trip.p999, "ns", drop=2),
            Column("samples", lambda row: row.round_trip.samples, drop=6),
            Column("send", lambda row: _call(row.sends), drop=3),
            Column("receive", lambda row: _call(row.receives), drop=3),
            Column("gap", lambda row: _call(row.gaps), drop=4),
            *(_per_message(event) for event in counted),
        ),
        name=f"{regime}",
    )
    yield _percentiles(rows[:_DRAWN])
    yield _histograms(rows[:_DRAWN])


def _time(timing: Timing) -> Cell:
    """Return a median; its interval only where there are times enough for one."""
    if timing.samples < LEAST_TIMES:
        return Cell(timing.p50.value, "ns")
    return _cell(timing.p50)


def _cell(value: Quantity, unit: str = "ns") -> Cell:
    return Cell(value.value, unit, value.low, value.high)


def _call(timings: Sequence[Timing]) -> Cell:
    return _short(timings[0].p50) if timings else Cell()


def _short(value: Quantity) -> Cell:
    """Return what a call took; what is left of a short one beside the clock is no number."""
    below = 0 <= value.value < 1
    return Cell(None, "ns", status="< 1 ns") if below else Cell(value.value, "ns")


def _per_message(event: str) -> Column:
    return Column(f"{event}/msg", lambda row: row.counts_per_message.get(event), drop=7, digits=3)


def _percentiles(rows: Sequence[Row]) -> Chart:
    names = tuple(row.mechanism for row in rows)
    trips = [row.round_trip for row in rows]
    tails = [trip.p999 or trip.p99 or trip.p90 or trip.p50.high for trip in trips]
    medians = tuple(trip.p50.value for trip in trips)
    return Chart(
        "Round trips of the smallest message: the median, the 90th percentile, and a line up to "
        "the highest percentile that is known.",
        Axis("round trip", "ns", log=10),
        Axis("", names=names),
        (
            Layer(Kind.RANGES, medians, names, "median", medians, tuple(tails)),
            Layer(Kind.DOTS, tuple(trip.p90 for trip in trips), names, "90th percentile"),
        ),
    )


def _histograms(rows: Sequence[Row]) -> Chart:
    return Chart(
        "Histograms of the same: the share of round trips in bins 3 % wide.",
        Axis("round trip", "ns", log=10),
        Axis("share of round trips", "%", zero=True),
        tuple(_steps(row) for row in rows),
    )


def _steps(row: Row) -> Layer:
    """Return where each bin begins and its share; between bins there is nothing."""
    bins = row.round_trip.histogram
    edges: list[float] = []
    shares: list[float] = []
    end = None
    for low, high, count in zip(bins.low, bins.high, bins.counts, strict=True):
        if end is None or low > end:
            edges += [low] if end is None else [end, low]
            shares += [0.0] if end is None else [0.0, 0.0]
        edges.append(low)
        shares.append(count / max(row.round_trip.samples, 1))
        end = high
    if end is not None:
        edges, shares = [*edges, end], [*shares, 0.0]
    return Layer(Kind.STEPS, tuple(edges), tuple(shares), row.mechanism)


def _order(orders: Sequence[Order]) -> Table:
    return Table.of(
        orders,
        (
            Column("regime", lambda order: str(order.regime)),
            Column("fastest of each group", _in_order),
        ),
        caption=(
            "The fastest mechanism that polls, of futexes, of UNIX sockets, and TCP: < where the "
            "95 % intervals of round trips are apart, ~ where they overlap."
        ),
        name="order",
    )


def _in_order(order: Order) -> str:
    signs = ("", *(f" {sign} " for sign in order.signs))
    return "".join(
        f"{sign}{place.mechanism}" for sign, place in zip(signs, order.places, strict=True)
    )


# ---- over sizes -----------------------------------------------------------------------------


def _over_sizes(bench: Bench) -> Iterator[Block]:
    worst = max(bench.curves, key=lambda curve: curve.hockney.error)
    yield Section(f"Over sizes, {bench.curves[0].regime}: the time of a message one way")
    yield Text(
        f"Sizes held out of the fits were met with a median error of "
        f"{units.number(bench.error, '%', digits=2)}; the worst is {worst.mechanism} with "
        f"{units.number(worst.hockney.error, '%', digits=2)}."
    )
    yield Chart(
        "Half of a round trip as measured, and Hockney's law fitted by pieces where the protocol "
        "changes.",
        Axis("size", "B", log=2),
        Axis("one way", "ns", log=10),
        (_measured(bench.curves[:_DRAWN]), *map(_fitted, bench.curves[:_DRAWN])),
    )
    yield Table.of(
        [(curve, segment) for curve in bench.curves for segment in curve.hockney.segments],
        (
            Column("mechanism", lambda each: each[0].mechanism),
            Column("from", lambda each: each[1].smallest, "B"),
            Column("to", lambda each: each[1].largest, "B"),
            Column("start-up", lambda each: _cell(each[1].startup), interval="95 % interval"),
            Column("bandwidth", lambda each: _rate(each[1]), interval="95 %", drop=2),
            Column("error", lambda each: each[0].hockney.error, "%", drop=1, digits=2),
        ),
        caption="Hockney's law: start-up time and bandwidth, and the error at sizes held out.",
        name="hockney",
    )
    yield _loggp([curve for curve in bench.curves if curve.loggp is not None])


def _rate(segment: Segment) -> Cell:
    slope = segment.per_byte
    if slope.value <= 0:
        return Cell(None, "B/s", status="any")
    high = 1e9 / slope.low if slope.low > 0 else math.inf
    return Cell(1e9 / slope.value, "B/s", 1e9 / slope.high, high)


def _measured(curves: Sequence[Curve]) -> Layer:
    points = [
        (float(size), time.value, curve.mechanism)
        for curve in curves
        for size, time in zip(curve.sizes, curve.times, strict=True)
        if size > 0
    ]
    sizes, times, names = zip(*points, strict=True) if points else ((), (), ())
    return Layer(Kind.DOTS, sizes, times, "measured", hover=(("mechanism", names),))


def _fitted(curve: Curve) -> Layer:
    x: list[float | None] = []
    y: list[float | None] = []
    for segment in curve.hockney.segments:
        inside = [s for s in curve.sizes if s > 0 and segment.smallest <= s <= segment.largest]
        times = [segment.startup.value + segment.per_byte.value * size for size in inside]
        x += [*map(float, inside), None]
        y += [*(time if time > 0 else None for time in times), None]
    return Layer(Kind.LINE, tuple(x), tuple(y), curve.mechanism)


def _loggp(curves: Sequence[Curve]) -> Table:
    def of(name: str) -> Column:
        heading = _LOGGP[name]
        return Column(heading, lambda curve: _parameter(curve, name), drop=2)

    return Table.of(
        curves,
        (
            Column("mechanism", lambda curve: curve.mechanism),
            *map(of, _LOGGP),
            Column("error", lambda curve: curve.loggp.error, "%", digits=2, drop=1),
            Column(
                "PLogP error",
                lambda curve: None if curve.plogp is None else curve.plogp.error,
                "%",
                digits=2,
                drop=4,
            ),
        ),
        caption=(
            "LogGP: what sender and receiver are busy with a small message (o), what is left of "
            "its time (L), how soon the next one may follow (g), and what each byte of a large "
            "one adds (G). PLogP lets o and g change with the size."
        ),
        name="loggp",
    )


_LOGGP = {
    "latency": "L",
    "send": "o send",
    "receive": "o receive",
    "gap": "g",
    "gap_per_byte": "G",
}


def _parameter(curve: Curve, name: str) -> Cell:
    value: Quantity | None = getattr(curve.loggp, name)
    if value is None:
        return Cell()
    return _cell(value, "ns/B") if name == "gap_per_byte" else _short(value)
