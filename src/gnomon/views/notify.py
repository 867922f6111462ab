"""How times of messages look in a terminal and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

from gnomon.messaging.host import What
from gnomon.units import format_bytes, format_duration
from gnomon.views.table import Column, Table

if TYPE_CHECKING:
    from gnomon.analysis.notify import Bench, LeftOut, Measured, Order, Regime, Row, Timing
    from gnomon.analysis.notify.fits import Curve, LogGP, PLogP, Segment


def print_bench(bench: Bench, stream: TextIO) -> None:
    """Write a table for each regime, their order, the fits over sizes, and what was left out."""
    stream.write(f"{headline(bench)}\n")
    for regime in bench.regimes:
        stream.write("\n")
        table = regime_table(bench, regime)
        table.title = f"{regime_title(bench, regime)}"
        table.print(stream)
    if (order := order_table(bench)).rows:
        stream.write("\n")
        order.title = ORDER_TITLE
        order.print(stream)
        stream.writelines(f"  {line}\n" for line in order_lines(bench))
    if bench.curves:
        stream.write("\n")
        table = fits_table(bench)
        table.title = f"over sizes, {bench.curves[0].regime}: one way, piecewise"
        table.print(stream)
        stream.writelines(f"  {line}\n" for line in (errors_text(bench), *passes_lines(bench)))
    lines = left_out_lines(bench.left_out)
    if lines:
        stream.write("\n")
        stream.writelines(f"  {line}\n" for line in lines)


def headline(bench: Bench) -> str:
    """Return what was measured, in a line."""
    mechanisms = len({row.mechanism for row in bench.rows})
    samples = sum(timing.samples for row in bench.rows for timing in row.timings)
    text = (
        f"messages by {mechanisms} mechanism{'s' * (mechanisms != 1)} in "
        f"{len(bench.regimes)} regime{'s' * (len(bench.regimes) != 1)}: {samples:,} times"
    )
    if bench.null_call is not None:
        text += f"; a system call that does nothing takes {interval_text(bench.null_call.p50)}"
    return text


def regime_title(bench: Bench, regime: Regime) -> str:
    """Return the name of a regime, what it means, and its CPUs."""
    row = next(row for row in bench.rows if row.regime is regime)
    cpus = f"CPU {row.left}" if row.left == row.right else f"CPUs {row.left} and {row.right}"
    return f"{regime}: {regime.meaning} ({cpus})"


def rows_of(bench: Bench, regime: Regime) -> list[Row]:
    """Return the rows of a regime, the fastest first."""
    rows = [row for row in bench.rows if row.regime is regime]
    return sorted(rows, key=lambda row: row.round_trip.p50.value)


def events_of(bench: Bench) -> list[str]:
    """Return the events that were counted for messages."""
    names = dict.fromkeys(event for row in bench.rows for event in row.counts)
    return [e for e in names if any(row.counts.get(e) is not None for row in bench.rows)]


HEADINGS = ("round trip", "95 %", "p90", "p99", "p99.9", "times", "send", "receive", "gap")


def regime_table(bench: Bench, regime: Regime) -> Table:
    """Return round trips with percentiles, calls, and counts a message of each mechanism."""
    events = events_of(bench)
    headings = (*HEADINGS, *(f"{event}/msg" for event in events))
    table = Table([Column("told by"), *(Column(name, right=True) for name in headings)])
    for row in rows_of(bench, regime):
        table.add(row.mechanism, *row_cells(row), *(_count(row.counts.get(e)) for e in events))
    return table


def row_cells(row: Row) -> list[str]:
    """Return the times of a row as texts, in the order of the headings."""
    from gnomon.analysis.notify.statistics import LEAST_TIMES

    trip = row.round_trip
    calls = (row.timing(what) for what in (What.SEND, What.RECEIVE, What.GAP))
    return [
        format_duration(trip.p50.value),
        bounds_text(trip.p50) if trip.samples >= LEAST_TIMES else "",
        *(
            format_duration(value) if trip.samples * beyond >= 1 else ""
            for value, beyond in ((trip.p90, 0.1), (trip.p99, 0.01), (trip.p999, 0.001))
        ),
        f"{trip.samples:,}",
        *("" if call is None else call_text(call.p50.value) for call in calls),
    ]


def call_text(nanoseconds: float) -> str:
    """Return what a call took; what is left of a short one beside the clock is no number."""
    return "< 1 ns" if 0 <= nanoseconds < 1 else format_duration(nanoseconds)


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def bounds_text(value: Measured) -> str:
    """Return the bounds of an interval, in one unit where they share it."""
    low, high = format_duration(value.low), format_duration(value.high)
    if low.rpartition(" ")[2] == high.rpartition(" ")[2]:
        low = low.rpartition(" ")[0]
    return f"[{low}, {high}]"


def interval_text(value: Measured) -> str:
    """Return a time with its bounds."""
    return f"{format_duration(value.value)} {bounds_text(value)}"


ORDER_TITLE = "in order: < where 95 % intervals of round trips are apart, ~ where they overlap"


def order_table(bench: Bench) -> Table:
    """Return the fastest mechanism of each class in each regime, and how it stands to the next."""
    from gnomon.analysis.notify.order import CLASSES, orders_of

    table = Table([Column("regime"), *map(Column, CLASSES)])
    for order in orders_of(bench):
        cells = dict.fromkeys(CLASSES, "")
        for sign, place in zip(("", *order.signs), order.places, strict=True):
            text = f"{sign} {place.mechanism} {interval_text(place.time)}"
            cells[place.name] = text.strip()
        table.add(order.regime, *cells.values())
    return table


def order_lines(bench: Bench) -> list[str]:
    """Return what the order of classes says and what it hides, a line each."""
    from gnomon.analysis.notify.order import hidden_text, orders_of

    orders = orders_of(bench)
    shown = [str(order.regime) for order in orders if order.shown]
    said = f"{', '.join(shown)}: each class is faster than the next" if shown else ""
    return [line for line in (said, hidden_text(orders)) if line]


def segment_text(segment: Segment) -> str:
    """Return a piece of Hockney's law: its sizes, its start-up time and its bandwidth."""
    span = f"{format_bytes(segment.smallest)} to {format_bytes(segment.largest)}"
    slope = segment.per_byte.value
    rate = "" if slope <= 0 else f" + m / {1 / slope:.3g} GB/s"
    return f"{span}: {format_duration(segment.startup.value)}{rate}"


def errors_text(bench: Bench) -> str:
    """Return how well the fits met sizes that they had not seen."""
    from statistics import median

    errors = {curve.mechanism: curve.hockney.error for curve in bench.curves}
    worst = max(errors, key=lambda name: errors[name])
    return (
        f"sizes held out of the fits were met with a median error of {median(errors.values()):.1%}"
        f"; the worst is {worst} with {errors[worst]:.1%}"
    )


def passes_lines(bench: Bench) -> list[str]:
    """Return which passes over sizes were left out of the fits, a line each."""
    found = []
    for curve in bench.curves:
        passes = curve.passes
        if passes.kept < passes.count:
            faster = passes.others < 1
            times = 1 / passes.others if faster else passes.others
            found.append(
                f"{curve.mechanism}: {passes.count - passes.kept} of {passes.count} passes over "
                f"sizes are left out, in which messages were {times:.1f} times as "
                f"{'fast' if faster else 'slow'}, as when a hypervisor moves its CPUs or others run"
            )
    return found


def fits_table(bench: Bench) -> Table:
    """Return the fitted parameters of each mechanism, with errors at sizes held out."""
    headings = ("L", "o send", "o receive", "g", "G", "error", "PLogP error")
    table = Table(
        [
            Column("told by"),
            Column("Hockney by pieces"),
            *(Column(name, right=True) for name in headings),
        ]
    )
    for curve in bench.curves:
        first, *others = map(segment_text, curve.hockney.segments)
        table.add(curve.mechanism, first, *_fit_cells(curve))
        for text in others:
            table.add("", text, *[""] * len(headings))
    return table


def _fit_cells(curve: Curve) -> list[str]:
    loggp, plogp = curve.loggp, curve.plogp
    if loggp is None:
        cells = [""] * 5
    else:
        gap = "" if loggp.gap is None else format_duration(loggp.gap.value)
        parts = (loggp.latency, loggp.send, loggp.receive)
        rate = f"{loggp.gap_per_byte.value:.3g} ns/B"
        cells = [*(call_text(part.value) for part in parts), gap, rate]
    return [*cells, f"{curve.hockney.error:.1%}", "" if plogp is None else f"{plogp.error:.1%}"]


def left_out_lines(left_out: tuple[LeftOut, ...]) -> list[str]:
    """Return what was left out, things with the same reason in one line."""
    reasons: dict[str, list[str]] = {}
    for each in left_out:
        reasons.setdefault(each.reason, []).append(each.what)
    return [f"left out: {', '.join(what)} ({reason})" for reason, what in reasons.items()]


def bench_as_json(bench: Bench) -> dict[str, Any]:
    """Return everything in the form that scripts read; times are in ns."""
    from gnomon.analysis.notify import message_costs, orders_of

    costs = {(each.mechanism, each.regime): each for each in message_costs(bench)}
    rows = []
    for row in bench.rows:
        found = costs.get((row.mechanism, row.regime))
        rows.append(
            {
                "mechanism": row.mechanism,
                "regime": str(row.regime),
                "cpus": [row.left, row.right],
                "clock": row.clock_ns,
                "timings": [_timing(timing) for timing in row.timings],
                "notification": None if found is None else measured_json(found.notification),
                "wake": None if found is None else measured_json(found.wake),
                "messages": row.messages,
                "counts_per_message": dict(row.counts),
            }
        )
    return {
        "null_call": None if bench.null_call is None else _timing(bench.null_call),
        "spin": bench.spin_ns,
        "rows": rows,
        "order": [_order(order) for order in orders_of(bench)],
        "curves": [_curve(curve) for curve in bench.curves],
        "left_out": [{"what": each.what, "reason": each.reason} for each in bench.left_out],
    }


def measured_json(value: Measured) -> dict[str, float]:
    """Return a value with its interval."""
    return {"value": value.value, "low": value.low, "high": value.high}


def _order(order: Order) -> dict[str, Any]:
    return {
        "regime": str(order.regime),
        "shown": order.shown,
        "signs": list(order.signs),
        "classes": [
            {"class": each.name, "mechanism": each.mechanism, "p50": measured_json(each.time)}
            for each in order.places
        ],
    }


def _timing(timing: Timing) -> dict[str, Any]:
    histogram = timing.histogram
    return {
        "what": timing.what.word,
        "size": timing.size,
        "samples": timing.samples,
        "p50": measured_json(timing.p50),
        "p90": timing.p90,
        "p99": timing.p99,
        "p99.9": timing.p999,
        "mean": timing.mean,
        "histogram": {
            "low": histogram.low.tolist(),
            "high": histogram.high.tolist(),
            "counts": histogram.counts.sum(0).tolist(),
        },
    }


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "mechanism": curve.mechanism,
        "regime": str(curve.regime),
        "sizes": list(curve.sizes),
        "times": [measured_json(time) for time in curve.times],
        "hockney": {
            "error": curve.hockney.error,
            "segments": [
                {
                    "smallest": each.smallest,
                    "largest": each.largest,
                    "startup": measured_json(each.startup),
                    "per_byte": measured_json(each.per_byte),
                }
                for each in curve.hockney.segments
            ],
        },
        "loggp": None if curve.loggp is None else _loggp(curve.loggp),
        "plogp": None if curve.plogp is None else _plogp(curve.plogp),
        "passes": {
            "count": curve.passes.count,
            "kept": curve.passes.kept,
            "others": curve.passes.others,
        },
    }


def _loggp(fit: LogGP) -> dict[str, Any]:
    return {
        "L": measured_json(fit.latency),
        "o_send": measured_json(fit.send),
        "o_receive": measured_json(fit.receive),
        "g": None if fit.gap is None else measured_json(fit.gap),
        "G": measured_json(fit.gap_per_byte),
        "error": fit.error,
    }


def _plogp(fit: PLogP) -> dict[str, Any]:
    return {
        "L": measured_json(fit.latency),
        "sizes": list(fit.sizes),
        "g": [measured_json(each) for each in fit.gaps],
        "o_send": [measured_json(each) for each in fit.sends],
        "o_receive": [measured_json(each) for each in fit.receives],
        "error": fit.error,
    }
