"""Ways of being told with the costs that `gnomon notify bench` measured on a host."""

from __future__ import annotations

from dataclasses import dataclass

from gnomon.analysis.notify.costs import REFERENCES, MessageCosts, at_least_zero, message_costs
from gnomon.analysis.notify.model import Bench, Measured, Regime
from gnomon.analysis.notify.statistics import difference
from gnomon.analysis.prediction.quantity import Quantity
from gnomon.analysis.prediction.ways import Way
from gnomon.errors import UsageError
from gnomon.messaging.host import MECHANISMS, Family

_PREFERRED = (Regime.AWAKE, Regime.SIBLINGS, Regime.IDLE, Regime.SAME)
_BLOCKS = (Family.BLOCKING, Family.SOCKET)
_WAKES_THREADS = "futex"  # what semaphores and condition variables are made of


def default_regime(bench: Bench) -> Regime:
    """Return the regime that says most about software: where no halted CPU must be woken."""
    return next(regime for regime in _PREFERRED if regime in bench.regimes)


@dataclass(frozen=True, slots=True)
class MeasuredWays:
    """The ways of one regime; `polling` is where user-level sending is taken from.

    `warnings` say why the benchmark may not be trusted.
    """

    regime: Regime
    ways: tuple[Way, ...]
    polling: Way | None
    warnings: tuple[str, ...] = ()


def measured_ways(bench: Bench, regime: str | None = None) -> MeasuredWays:
    """Return the ways that were measured in a regime, with what each costs.

    The way through the memory is that of polling; what the others take longer, besides their
    calls, is spent on waking up. On one core nobody polls: there, all of it is waking up, and
    polling is that of another regime.
    """
    if regime is not None and regime not in bench.regimes:
        raise UsageError(
            f"the benchmark has no regime '{regime}': it has {', '.join(bench.regimes)}."
        )
    chosen = default_regime(bench) if regime is None else Regime(regime)
    ways = _ways(bench, chosen)
    if not ways:
        raise UsageError(
            f"the benchmark has no times of sending and receiving in regime {chosen}: measure "
            "mechanisms that block as well, or choose another regime."
        )
    everything = (*ways, *(w for r in _PREFERRED if r is not chosen for w in _ways(bench, r)))
    named = {way.name: way for way in reversed(everything)}  # those of the regime come first
    polling = next((named[name] for name in REFERENCES if name in named), None)
    return MeasuredWays(chosen, ways, polling, (*bench.warnings, *_doubts(bench, chosen)))


def _doubts(bench: Bench, regime: Regime) -> tuple[str, ...]:
    times = {r.mechanism: r.round_trip.p50.value for r in bench.rows if r.regime is regime}
    polling = [times[name] for name in REFERENCES if name in times]
    blocking = [time for name, time in times.items() if MECHANISMS[name].family in _BLOCKS]
    if regime is Regime.SAME or not polling or min(polling) <= min(blocking, default=min(polling)):
        return ()
    return (
        "polling was slower than blocking in this benchmark, as it is where its two CPUs are not "
        "free: measure again on a quiet machine",
    )


def _ways(bench: Bench, regime: Regime) -> tuple[Way, ...]:
    costs = {each.mechanism: each for each in message_costs(bench) if each.regime is regime}
    wire = _wire(costs)
    thread = costs.get(_WAKES_THREADS)
    return tuple(
        _way(bench, each, wire, thread or each, work=regime is Regime.SAME)
        for each in costs.values()
    )


def _wire(costs: dict[str, MessageCosts]) -> Measured:
    polling = next((costs[name] for name in REFERENCES if name in costs), None)
    if polling is None:
        return Measured(0.0, 0.0, 0.0)
    return at_least_zero(difference(polling.latency, polling.send, polling.receive))


def _way(
    bench: Bench, costs: MessageCosts, wire: Measured, thread: MessageCosts, *, work: bool
) -> Way:
    polls = MECHANISMS[costs.mechanism].polls
    wake = difference(costs.latency, costs.send, costs.receive, wire)
    return Way(
        costs.mechanism,
        send=_quantity(costs.send),
        receive=_quantity(costs.receive),
        wire=_quantity(wire),
        wake=_quantity(wake),
        wake_call=_quantity(thread.send),
        wake_latency=_quantity(thread.wake),
        sizes=_sizes(bench, costs.mechanism),
        wake_is_work=work,
        polls=polls,
    )


def _sizes(bench: Bench, mechanism: str) -> tuple[tuple[int, float], ...]:
    """Return what larger messages take longer; never less than smaller ones do."""
    for curve in bench.curves:
        if curve.mechanism != mechanism:
            continue
        most, found = 0.0, []
        for size, time in zip(curve.sizes, curve.times, strict=True):
            most = max(most, time.value - curve.times[0].value)
            found.append((size, most))
        return tuple(found[1:])
    return ()


def _quantity(value: Measured) -> Quantity:
    least = at_least_zero(value)
    return Quantity(least.value, least.low, least.high)
