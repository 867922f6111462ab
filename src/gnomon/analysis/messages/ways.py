"""Ways of being told of a message and what they cost: as measured on a host, and at user level.

Costs of measured ways come from `gnomon messages bench`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gnomon.analysis.messages.costs import REFERENCES, MessageCosts, message_costs
from gnomon.analysis.messages.fits import time_of
from gnomon.analysis.messages.result import Bench, Regime
from gnomon.analysis.messages.statistics import difference
from gnomon.errors import UsageError
from gnomon.messaging.sessions import MECHANISMS, Family
from gnomon.messaging.uln.machine_kinds import ULN
from gnomon.result import Quantity

USER_LEVEL = "user-level"
"""The name of user-level notification among the ways."""


@dataclass(frozen=True, slots=True)
class Way:
    """What a message costs by one way, in ns.

    `send` and `receive` are calls, `wire` the way between them and `wake` what waking the
    receiver adds. With `wake_is_work` the receiver's processor is busy with it; otherwise it
    was idle and only time passes. `sizes` has what messages of so many bytes take longer.
    A way that `polls` keeps its processor busy. `wake_call` and `wake_latency` are for waking
    another thread of the same node.
    """

    name: str
    send: Quantity
    receive: Quantity
    wire: Quantity
    wake: Quantity
    wake_call: Quantity
    wake_latency: Quantity
    sizes: tuple[tuple[int, float], ...] = ()
    wake_is_work: bool = False
    polls: bool = False
    measured: bool = True

    @property
    def latency(self) -> float:
        """What the smallest message takes from sender to receiver."""
        return sum(part.value for part in (self.send, self.wire, self.wake, self.receive))

    def transfer(self, size: int) -> float:
        """Return what a message of so many bytes takes longer than one without any."""
        before = (0, 0.0)
        for point in self.sizes:
            if size <= point[0]:
                span = point[0] - before[0]
                share = (size - before[0]) / span if span else 1.0
                return before[1] + share * (point[1] - before[1])
            before = point
        return before[1] * size / before[0] if before[0] else 0.0


def user_level(polling: Way) -> Way:
    """Return user-level notification on a host on which polling costs so much.

    Sending and receiving are polling's, through memory and without the system. Waking takes
    the nanoseconds of Parker's simulated processor (table 3): they are modelled, not measured.
    """
    costs = ULN.costs
    return replace(
        polling,
        name=USER_LEVEL,
        wake=Quantity.exactly(costs.nic_wake),
        wake_call=Quantity.exactly(costs.wake_call),
        wake_latency=Quantity.exactly(costs.wake_latency),
        wake_is_work=False,
        polls=False,
        measured=False,
    )


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


def _wire(costs: dict[str, MessageCosts]) -> Quantity:
    polling = next((costs[name] for name in REFERENCES if name in costs), None)
    if polling is None:
        return Quantity.exactly(0.0)
    return difference(polling.latency, polling.send, polling.receive).at_least_zero()


def _way(
    bench: Bench, costs: MessageCosts, wire: Quantity, thread: MessageCosts, *, work: bool
) -> Way:
    polls = MECHANISMS[costs.mechanism].polls
    wake = difference(costs.latency, costs.send, costs.receive, wire)
    return Way(
        costs.mechanism,
        send=costs.send.at_least_zero(),
        receive=costs.receive.at_least_zero(),
        wire=wire.at_least_zero(),
        wake=wake.at_least_zero(),
        wake_call=thread.send.at_least_zero(),
        wake_latency=thread.wake.at_least_zero(),
        sizes=_sizes(bench, costs.mechanism),
        wake_is_work=work,
        polls=polls,
    )


def _sizes(bench: Bench, mechanism: str) -> tuple[tuple[int, float], ...]:
    """Return what larger messages take longer; never less than smaller ones do.

    By the fitted lines, which a single size that was measured beside something else cannot move.
    """
    for curve in bench.curves:
        if curve.mechanism != mechanism:
            continue
        start = time_of(curve.hockney, curve.sizes[0])
        most, found = 0.0, []
        for size in curve.sizes:
            most = max(most, time_of(curve.hockney, size) - start)
            found.append((size, most))
        return tuple(found[1:])
    return ()
