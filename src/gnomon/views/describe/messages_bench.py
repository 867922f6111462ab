"""How the costs of messages look: round trips in each regime, their order, fits over sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnomon import units
from gnomon.analysis.messages.result import (
    LEAST_TIMES,
    Bench,
    Curve,
    Order,
    Regime,
    Row,
    Segment,
    Timing,
    by_reason,
)
from gnomon.result import Quantity
from gnomon.views import blocks as b
from gnomon.views.shared import counted

_MEANINGS = {
    Regime.IDLE: "two cores; a waiting core halts",
    Regime.AWAKE: "two cores that a low-priority process keeps awake",
    Regime.SIBLINGS: "two threads of one core; a waiting thread halts",
    Regime.SAME: "one core; the two take turns",
}
_DRAWN = 24  # mechanisms that can be told apart in a chart
_WITHIN = "95 % interval"


def describe(bench: Bench) -> Iterator[b.Block]:
    """Yield what there is to see of a benchmark of messages."""
    yield b.Headline(_title(bench), tuple(_lines(bench)))
    yield from _findings(bench)
    for regime in bench.regimes:
        yield from _regime(regime, bench.ranked(regime))
    if bench.orders:
        yield b.Section("Ranking by round trip")
        yield b.Table.of(
            bench.orders,
            b.Column("regime", lambda order: str(order.regime)),
            b.Column("fastest of each group", _in_order),
            caption=(
                "The fastest mechanism that polls, of futexes, of UNIX sockets, and TCP: < where "
                "the 95 % intervals of round trips are disjoint, ~ where they overlap."
            ),
            name="order",
        )
        if shown := [str(order.regime) for order in bench.orders if order.shown]:
            yield b.Text(f"{', '.join(shown)}: each group is faster than the next.")
    if bench.curves:
        yield from _over_sizes(bench)
    if bench.left_out:
        yield b.Section("Not measured")
        for reason, names in by_reason(bench.left_out).items():
            yield b.Text(f"{', '.join(names)}: {reason}")


def _title(bench: Bench) -> str:
    fastest = [bench.ranked(regime)[0] for regime in bench.regimes]
    told = [
        f"{units.brief(row.round_trip.p50.value, 'ns')} by {row.mechanism} ({row.regime})"
        for row in fastest
    ]
    return f"Fastest round trips: {', '.join(told)}" if told else "no messages were timed"


def _lines(bench: Bench) -> Iterator[str]:
    names, regimes = len({row.mechanism for row in bench.rows}), len(bench.regimes)
    yield (
        f"{bench.samples:,} timings: {counted(names, 'mechanism')}, {counted(regimes, 'regime')}"
    )
    if bench.null_call is not None:
        time = bench.null_call.p50
        told = units.with_interval(time.value, time.low, time.high, "ns")
        yield f"an empty system call takes {told}"


def _findings(bench: Bench) -> Iterator[b.Finding]:
    if (hidden := bench.hidden) is not None:
        yield b.Finding(
            f"{' and '.join(hidden.regimes)}: waking the other CPU adds "
            f"{units.brief(hidden.waking, 'ns')} to a round trip, which masks that a futex is "
            f"{units.brief(hidden.differ, 'ns')} faster than a UNIX socket, as same-core shows."
        )
    for curve in bench.curves:
        passes = curve.passes
        if passes.kept < passes.count:
            faster = passes.others < 1
            times = 1 / passes.others if faster else passes.others
            yield b.Finding(
                f"{curve.mechanism}: {passes.count - passes.kept} of {passes.count} passes over "
                f"sizes were discarded: messages in them were {times:.1f} times as "
                f"{'fast' if faster else 'slow'}, as when a hypervisor moves its CPUs or other "
                "programs run.",
                b.Tone.DOUBT,
            )


def _regime(regime: Regime, rows: Sequence[Row]) -> Iterator[b.Block]:
    left, right = rows[0].cpus
    cpus = f"CPU {left}" if left == right else f"CPUs {left} and {right}"
    yield b.Section(f"{regime} ({cpus}): {_MEANINGS[regime]}")
    counts = [row.counts_per_message.items() for row in rows]
    events = dict.fromkeys(event for each in counts for event, n in each if n is not None)
    yield b.Table.of(
        rows,
        b.Column("mechanism"),
        b.Column("round trip", lambda row: _time(row.round_trip), interval=_WITHIN),
        b.Column("p90", "round_trip.p90", "ns", drop=1),
        b.Column("p99", "round_trip.p99", "ns", drop=1),
        b.Column("p99.9", "round_trip.p999", "ns", drop=2),
        b.Column("samples", "round_trip.samples", drop=6),
        b.Column("send", lambda row: _call(row.sends), drop=3),
        b.Column("receive", lambda row: _call(row.receives), drop=3),
        b.Column("gap", lambda row: _call(row.gaps), drop=4),
        *map(_per_message, events),
        name=f"{regime}",
    )
    drawn = rows[:_DRAWN]
    names, trips = tuple(row.mechanism for row in drawn), [row.round_trip for row in drawn]
    medians, tails = tuple(trip.p50.value for trip in trips), tuple(trip.tail for trip in trips)
    yield b.Chart.of(
        "Round trips of the smallest message: the median, the 90th percentile, and a line up to "
        "the highest known percentile.",
        b.Axis("round trip", "ns", log=10),
        b.Axis("", names=names),
        b.Layer(b.Kind.RANGES, medians, names, "median", medians, tails),
        b.Layer(b.Kind.DOTS, tuple(trip.p90 for trip in trips), names, "90th percentile"),
    )
    yield b.Chart.of(
        "Histograms of round trips: the share in each bin, 3 % wide.",
        b.Axis("round trip", "ns", log=10),
        b.Axis("share of round trips", "%", zero=True),
        *map(_steps, drawn),
    )


def _time(timing: Timing) -> b.Cell:
    """Return a median; its interval only where there are times enough for one."""
    enough = timing.samples >= LEAST_TIMES
    return b.Cell.of(timing.p50, "ns") if enough else b.Cell(timing.p50.value, "ns")


def _call(timings: Sequence[Timing]) -> b.Cell:
    return _short(timings[0].p50) if timings else b.Cell()


def _short(value: Quantity | None) -> b.Cell:
    """Return what a call took; what is left of a short one beside the clock is no number."""
    if value is not None and 0 <= value.value < 1:
        return b.Cell(None, "ns", status="< 1 ns")
    return b.Cell(None if value is None else value.value, "ns")


def _per_message(event: str) -> b.Column:
    return b.Column(f"{event}/msg", lambda row: row.counts_per_message.get(event), drop=7, digits=3)


def _steps(row: Row) -> b.Layer:
    edges, counts = row.round_trip.histogram.steps()
    samples = max(row.round_trip.samples, 1)
    return b.Layer(b.Kind.STEPS, edges, tuple(n / samples for n in counts), row.mechanism)


def _in_order(order: Order) -> str:
    signs = ("", *(f" {sign} " for sign in order.signs))
    places = zip(signs, order.places, strict=True)
    return "".join(f"{sign}{place.mechanism}" for sign, place in places)


# ---- over sizes -----------------------------------------------------------------------------


def _over_sizes(bench: Bench) -> Iterator[b.Block]:
    worst = max(bench.curves, key=lambda curve: curve.hockney.error)
    yield b.Section(f"Over sizes, {bench.curves[0].regime}: the time of a message one way")
    yield b.Text(
        f"At sizes held out of the fits, the median error is "
        f"{units.number(bench.error, '%', digits=2)}; the largest is that of {worst.mechanism}, "
        f"{units.number(worst.hockney.error, '%', digits=2)}."
    )
    yield b.Chart.of(
        "Half of a measured round trip, and Hockney's law, fitted piecewise where the protocol "
        "changes.",
        b.Axis("size", "B", log=2),
        b.Axis("one way", "ns", log=10),
        _measured(bench.curves[:_DRAWN]),
        *map(_fitted, bench.curves[:_DRAWN]),
    )
    yield b.Table.of(
        [(curve, segment) for curve in bench.curves for segment in curve.hockney.segments],
        b.Column("mechanism", lambda each: each[0].mechanism),
        b.Column("from", lambda each: each[1].smallest, "B"),
        b.Column("to", lambda each: each[1].largest, "B"),
        b.Column("start-up", lambda each: b.Cell.of(each[1].startup, "ns"), interval=_WITHIN),
        b.Column("bandwidth", lambda each: _rate(each[1]), interval="95 %", drop=2),
        b.Column("error", lambda each: each[0].hockney.error, "%", drop=1, digits=2),
        caption="Hockney's law: start-up time and bandwidth, and the error at sizes held out.",
        name="hockney",
    )
    yield b.Table.of(
        [curve for curve in bench.curves if curve.loggp is not None],
        b.Column("mechanism"),
        b.Column("L", lambda curve: _short(curve.loggp.latency), drop=2),
        b.Column("o send", lambda curve: _short(curve.loggp.send), drop=2),
        b.Column("o receive", lambda curve: _short(curve.loggp.receive), drop=2),
        b.Column("g", lambda curve: _short(curve.loggp.gap), drop=2),
        b.Column("G", lambda curve: b.Cell.of(curve.loggp.gap_per_byte, "ns/B"), drop=2),
        b.Column("error", "loggp.error", "%", digits=2, drop=1),
        b.Column("PLogP error", "plogp_error", "%", digits=2, drop=4),
        caption=(
            "LogGP: the overhead of sender and receiver for a small message (o), the rest of "
            "its time (L), the gap before the next one (g), and the time per byte of a large "
            "one (G). In PLogP o and g depend on the size."
        ),
        name="loggp",
    )


def _rate(segment: Segment) -> b.Cell:
    rate = segment.bandwidth
    return b.Cell(None, "B/s", status="any") if rate is None else b.Cell.of(rate, "B/s")


def _measured(curves: Sequence[Curve]) -> b.Layer:
    points = [
        (float(size), time.value, curve.mechanism)
        for curve in curves
        for size, time in zip(curve.sizes, curve.times, strict=True)
        if size > 0
    ]
    sizes, times, names = zip(*points, strict=True) if points else ((), (), ())
    return b.Layer(b.Kind.DOTS, sizes, times, "measured", hover=(("mechanism", names),))


def _fitted(curve: Curve) -> b.Layer:
    return b.Layer(b.Kind.LINE, *curve.fitted(), curve.mechanism)
