"""From times to the result: what a message costs by each mechanism, and their order."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from gnomon.analysis.messages.fits import fit_curve
from gnomon.analysis.messages.result import (
    LEAST_TIMES,
    Bench,
    Curve,
    Hidden,
    LeftOut,
    Order,
    Place,
    Regime,
    Row,
    Timing,
)
from gnomon.analysis.messages.statistics import difference, timing_of
from gnomon.errors import UsageError
from gnomon.messaging.sessions import Histogram, What
from gnomon.result import Quantity

if TYPE_CHECKING:
    from gnomon.recording import Recording
    from gnomon.recording.contents import Provenance

NULL_CALL = "null-call"
"""The name under which the null system call stands beside the mechanisms."""
REFERENCES = ("poll", "poll-pause")
"""Mechanisms whose time is the way through the memory, the better one first."""
GROUPS = {
    "polling": ("poll", "poll-pause", "umwait", "tpause", "uintr"),
    "futex": ("futex", "eventfd"),
    "UNIX socket": ("unix-stream", "unix-datagram"),
    "TCP": ("tcp",),
}
"""Mechanisms of each group: who waits there needs more and more of the kernel."""
_HIDDEN = ("futex", "UNIX socket")
_NOTHING = Quantity.exactly(0.0)

Times = Mapping[tuple[What, int], Histogram]
"""Histograms of what was timed, with messages of which size."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken of one mechanism in one regime, as a recording keeps it."""

    mechanism: str
    regime: Regime
    cpus: tuple[int, int]
    times: Times
    counts: Mapping[str, float | None]  # per message
    messages: int
    clock: float  # ns


@dataclass(frozen=True, slots=True)
class Measurement:
    """All that a benchmark took, before anything is made of it."""

    taken: tuple[Taken, ...]
    null_call: Histogram | None
    left_out: tuple[LeftOut, ...]
    spin: int  # ns
    warnings: tuple[str, ...] = ()


def bench_of_measurement(found: Measurement, provenance: Provenance) -> Bench:
    """Return the result: summaries of all times, curves over sizes, costs and orders."""
    rows = tuple(map(_row, found.taken))
    trips = (_over_sizes(each.times, What.ROUND_TRIP) for each in found.taken)
    curves = (fit_curve(row, list(some.values())) for row, some in zip(rows, trips, strict=True))
    return bench_of_rows(
        rows,
        None if found.null_call is None else timing_of(0, found.null_call),
        tuple(curve for curve in curves if curve is not None),
        left_out=found.left_out,
        spin=found.spin,
        provenance=provenance,
        warnings=found.warnings,
    )


def _row(taken: Taken) -> Row:
    def timings(what: What) -> tuple[Timing, ...]:
        return tuple(timing_of(size, h) for size, h in _over_sizes(taken.times, what).items())

    return Row(
        taken.mechanism,
        taken.regime,
        taken.cpus,
        timings(What.ROUND_TRIP),
        timings(What.SEND),
        timings(What.RECEIVE),
        timings(What.GAP),
        taken.counts,
        taken.messages,
        taken.clock,
    )


def _over_sizes(times: Times, wanted: What) -> dict[int, Histogram]:
    """Return the histograms of one thing, the smallest size first."""
    found = {size: histogram for (what, size), histogram in times.items() if what is wanted}
    return dict(sorted(found.items()))


def bench_of_rows(
    rows: Sequence[Row],
    null_call: Timing | None = None,
    curves: Sequence[Curve] = (),
    *,
    left_out: tuple[LeftOut, ...] = (),
    spin: int = 0,
    provenance: Provenance | None = None,
    warnings: tuple[str, ...] = (),
) -> Bench:
    """Return the result of rows: what notifying costs in each, and the order of mechanisms."""
    priced = tuple(_priced(row, _wire(rows, row.regime)) for row in rows)
    orders = orders_of(priced)
    return Bench(
        priced,
        null_call,
        tuple(curves),
        median(curve.hockney.error for curve in curves) if curves else None,
        orders,
        hidden_in(orders),
        left_out,
        spin,
        provenance=provenance,
        warnings=warnings,
    )


def only(
    bench: Bench, mechanisms: Sequence[str] | None = None, regimes: Sequence[str] | None = None
) -> Bench:
    """Return the rows and curves of these mechanisms and regimes; of all without names."""
    for asked, there in (
        (mechanisms, dict.fromkeys(row.mechanism for row in bench.rows)),
        (regimes, dict.fromkeys(str(row.regime) for row in bench.rows)),
    ):
        for name in asked or ():
            if name not in there:
                raise UsageError(f"nothing was measured of '{name}': there is {', '.join(there)}.")
    rows = tuple(
        row
        for row in bench.rows
        if (mechanisms is None or row.mechanism in mechanisms)
        and (regimes is None or row.regime in regimes)
    )
    if not rows:
        raise UsageError("nothing was measured of these mechanisms in these regimes.")
    kept = {(row.mechanism, row.regime) for row in rows}
    curves = tuple(each for each in bench.curves if (each.mechanism, each.regime) in kept)
    orders = orders_of(rows)
    error = median(each.hockney.error for each in curves) if curves else None
    return replace(
        bench, rows=rows, curves=curves, error=error, orders=orders, hidden=hidden_in(orders)
    )


# ---- what a message costs -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MessageCosts:
    """The costs of the smallest message by one mechanism in one regime, all in ns.

    `send` is the call that sends; it includes waking the receiver where that must be done.
    `receive` is the call that receives a message which is there already. `latency` goes from
    before the one to after the other. `notification` is how much of it polling would save, and
    `wake` what of it passes outside both calls and the way through the memory: at least that
    is spent on waking up, since the call that sends goes on meanwhile.
    """

    mechanism: str
    regime: Regime
    send: Quantity
    receive: Quantity
    latency: Quantity
    notification: Quantity
    wake: Quantity


def message_costs(what: Bench | str | os.PathLike[str] | Recording) -> tuple[MessageCosts, ...]:
    """Return the measured costs of a benchmark or of its recording.

    Rows without times of sending and receiving, which are those of pollers on one core, are
    left out.
    """
    from gnomon.analysis.messages.recorded import bench_of

    result = what if isinstance(what, Bench) else bench_of(what)
    return tuple(
        MessageCosts(
            row.mechanism,
            row.regime,
            row.sends[0].p50,
            row.receives[0].p50,
            row.round_trip.p50.times(0.5),
            row.notification,
            row.wake,
        )
        for row in result.rows
        if row.notification is not None and row.wake is not None
    )


def _wire(rows: Sequence[Row], regime: Regime) -> Quantity:
    """Return the way through the memory alone; on one core there is none."""
    if regime is not Regime.SAME:
        there = {row.mechanism: row for row in rows if row.regime is regime}
        for name in REFERENCES:
            if name in there:
                return there[name].round_trip.p50.times(0.5)
    return _NOTHING


def _priced(row: Row, wire: Quantity) -> Row:
    if not row.sends or not row.receives:
        return row
    if row.mechanism in REFERENCES:
        return replace(row, notification=_NOTHING, wake=_NOTHING)
    latency = row.round_trip.p50.times(0.5)
    calls = row.sends[0].p50, row.receives[0].p50
    return replace(
        row,
        notification=difference(latency, wire).at_least_zero(),
        wake=difference(latency, *calls, wire).at_least_zero(),
    )


# ---- the order of groups --------------------------------------------------------------------


def orders_of(rows: Sequence[Row]) -> tuple[Order, ...]:
    """Return the order of groups in each regime in which there are two or more."""
    found = ((regime, tuple(_places(rows, regime))) for regime in Regime)
    return tuple(
        Order(regime, places, tuple(_sign(a.p50, b.p50) for a, b in itertools.pairwise(places)))
        for regime, places in found
        if len(places) > 1
    )


def _places(rows: Sequence[Row], regime: Regime) -> list[Place]:
    places = []
    for group, mechanisms in GROUPS.items():
        # Pollers on one core wait for the end of a slice, and not for a message.
        if group == "polling" and regime is Regime.SAME:
            continue
        some = [
            row
            for row in rows
            if row.mechanism in mechanisms
            and row.regime is regime
            and row.round_trip.samples >= LEAST_TIMES
        ]
        if some:
            best = min(some, key=lambda row: row.round_trip.p50.value)
            places.append(Place(group, best.mechanism, best.round_trip.p50))
    return places


def _sign(one: Quantity, other: Quantity) -> str:
    if one.high < other.low:
        return "<"
    return ">" if one.low > other.high else "~"


def hidden_in(orders: Sequence[Order]) -> Hidden | None:
    """Return where waking the other CPU hides how futexes and sockets differ; None if nowhere."""
    alone = next((order for order in orders if order.regime is Regime.SAME), None)
    if alone is None or (apart := _pair(alone)) is None or _sign(*apart) != "<":
        return None
    hidden = [
        (order, pair)
        for order in orders
        if order is not alone and (pair := _pair(order)) is not None and _sign(*pair) != "<"
    ]
    if not hidden:
        return None
    waking = max(pair[0].value - apart[0].value for _, pair in hidden)
    differ = apart[1].value - apart[0].value
    if waking <= differ:
        return None
    return Hidden(tuple(order.regime for order, _ in hidden), waking, differ)


def _pair(order: Order) -> tuple[Quantity, Quantity] | None:
    one, other = (order.place(group) for group in _HIDDEN)
    return None if one is None or other is None else (one.p50, other.p50)
