"""Measure what messages cost on this host: every mechanism in every regime, over sizes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gnomon import _native
from gnomon.analysis.messages.conditions import (
    DEFAULT_EVENTS,
    Counters,
    Places,
    counters_of,
    listed,
    listed_cpus,
    places,
    usable_mechanisms,
    watching,
)
from gnomon.analysis.messages.costs import NULL_CALL, Measurement, Taken, bench_of_measurement
from gnomon.analysis.messages.recorded import provenance_here, writing
from gnomon.analysis.messages.result import Bench, LeftOut, Regime
from gnomon.errors import UsageError
from gnomon.messaging.sessions import (
    LARGEST,
    Histogram,
    Mechanism,
    Phase,
    Session,
    Timed,
    What,
    run_session,
)
from gnomon.units import parse_duration, parse_size

DURATION = "40s"
SPIN = "5us"
SIZES = (0, 16, *(1 << power for power in range(6, 21)))
_LEAST_BUDGET = 200_000  # ns: less would be a handful of messages
_OF_ALL_SIZES = 0.35
_OF_ALL_BASE = 0.55
_PASSES = 7  # over all sizes, for the round trips to which curves are fitted
_LEAST_OF_PASS = 4_000_000  # ns for a size
_LEAST_SCALE = 0.1  # of the planned time, which all have, or the last ones would have no times
_OVER = 1.2  # times the planned time of a mechanism after which no further pass begins
_LEAST_PASSES = 3  # as long as there is some time: two of them can tell that the third is wrong
_FAR_OVER = 3.0
_SHARES = {What.ROUND_TRIP: 0.7, What.SEND: 0.1, What.RECEIVE: 0.1, What.GAP: 0.1}
_SIZE_SHARES = {What.ROUND_TRIP: 0.4, What.SEND: 0.2, What.RECEIVE: 0.2, What.GAP: 0.2}

OnStep = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to measure, and for how long each."""

    mechanisms: tuple[Mechanism, ...]
    places: Places
    sizes: tuple[int, ...]
    sized: Regime | None  # the regime in which sizes are tried
    duration_ns: int
    spin_ns: int

    def sessions(self, mechanism: Mechanism, regime: Regime, scale: float) -> list[list[Phase]]:
        """Return what is timed of a mechanism in a regime, in a part of the time that it has.

        All but the first session are further passes over sizes.
        """
        alone = regime is Regime.SAME and mechanism.polls
        pairs = len(self.mechanisms) * len(self.places)
        budget = scale * _OF_ALL_BASE * self.duration_ns / pairs
        # Pollers on one core wait for each other's slices: all but round trips means nothing.
        shares = {What.ROUND_TRIP: 1.0} if alone else _SHARES
        first = [Phase(what, 0, _budget(budget * share)) for what, share in shares.items()]
        sizes = [size for size in self.sizes if size <= mechanism.limit]
        if regime is not self.sized or alone or not any(sizes):
            return [first]
        each = _OF_ALL_SIZES * self.duration_ns / (len(self.mechanisms) * len(sizes))
        passes = min(_PASSES, max(1, int(each / _LEAST_OF_PASS)))
        each *= scale
        trips = _budget(each * _SIZE_SHARES[What.ROUND_TRIP] / passes)
        first += [
            Phase(what, size, trips if what is What.ROUND_TRIP else _budget(each * share))
            for size in sizes
            for what, share in _SIZE_SHARES.items()
        ]
        # Down and up again: what changes with time must not look as if it did with size.
        return [first] + [
            [Phase(What.ROUND_TRIP, size, trips) for size in (sizes if n % 2 else sizes[::-1])]
            for n in range(passes - 1)
        ]


def _planned(sessions: Sequence[Sequence[Phase]]) -> int:
    return sum(phase.budget_ns for phases in sessions for phase in phases)


def _budget(nanoseconds: float) -> int:
    return max(int(nanoseconds), _LEAST_BUDGET)


def bench(
    *,
    mechanisms: str | Sequence[str] | None = None,
    regimes: str | Sequence[str] | None = None,
    sizes: str | Sequence[int] | None = None,
    cpus: str | Sequence[int] | None = None,
    duration: str = DURATION,
    spin: str = SPIN,
    events: str | Sequence[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    on_step: OnStep | None = None,
) -> Bench:
    """Measure what a message costs by each mechanism, in each regime.

    Each list may be a text with commas. `sizes` are tried in one regime, the one that is kept
    awake where there is one; an empty list, or `none`, tries none. `duration` is about what all of
    it takes. `events` are counted for each message, none with an empty list or `none`. `on_step`
    is told how many sessions are done, how many there are, and which is next.

    >>> found = gn.messages.bench(mechanisms="futex", sizes="none", duration="50ms")
    >>> {row.mechanism for row in found.rows}
    {'futex'}
    """
    chosen, missing = places(listed_cpus(cpus), listed(regimes, "regimes"))
    usable, left_out = usable_mechanisms(listed(mechanisms, "mechanisms"))
    tried = _sizes(sizes)
    counted = [] if events == "none" else listed(events, "events")
    left_out = [*missing, *left_out]
    plan = _Plan(
        tuple(usable),
        chosen,
        _checked(SIZES if tried is None else tried, explicit=tried is not None, among=usable),
        next((r for r in (Regime.AWAKE, *Regime) if r in chosen), None),
        parse_duration(duration, "duration"),
        parse_duration(spin, "time to spin"),
    )
    left_out += [
        LeftOut(f"{each.name} over {each.limit} bytes", "the kernel's limit for a message")
        for each in usable
        if any(size > each.limit for size in plan.sizes)
    ]
    counters, unavailable = counters_of(DEFAULT_EVENTS if counted is None else counted)
    if counted is not None:
        left_out += unavailable
    provenance = provenance_here("messages bench")
    with writing(provenance, output, overwrite=overwrite) as keep:
        with watching() as warnings:
            found = _measure(plan, counters, left_out, on_step or (lambda *_: None))
        found = replace(found, warnings=tuple(warnings))
        keep(found)
    return bench_of_measurement(found, provenance)


def _sizes(given: str | Sequence[int] | None) -> Sequence[int] | None:
    if not isinstance(given, str):
        return given
    if given == "none":
        return ()
    return [parse_size(word, "sizes") for word in listed(given, "sizes") or ()]


def _checked(
    sizes: Sequence[int], *, explicit: bool, among: Sequence[Mechanism]
) -> tuple[int, ...]:
    for size in sizes:
        if not 0 <= size <= LARGEST:
            raise UsageError(
                f"messages of {size} bytes cannot be measured: sizes go from 0 to {LARGEST}."
            )
        if explicit and among and all(size > each.limit for each in among):
            most = max(each.limit for each in among)
            raise UsageError(
                f"messages of {size} bytes are too large for {among[0].name}: at most {most} here."
            )
    return tuple(sorted(set(sizes)))


def _measure(
    plan: _Plan, counters: Sequence[Counters], left_out: Sequence[LeftOut], on_step: OnStep
) -> Measurement:
    pairs = [(m, regime) for m in plan.mechanisms for regime in plan.places]
    taken: list[Taken] = []
    deadline = _native.monotonic_ns() + plan.duration_ns
    on_step(0, len(pairs) + 1, NULL_CALL)
    null_call = _null_call(plan)
    for number, (mechanism, regime) in enumerate(pairs, 1):
        on_step(number, len(pairs) + 1, f"{mechanism.name} {regime}")
        planned = sum(_planned(plan.sessions(*pair, 1.0)) for pair in pairs[number - 1 :])
        # On a busy machine phases take longer than they should: later ones make up for it.
        left = (deadline - _native.monotonic_ns()) / planned
        scale = min(1.0, max(left, _LEAST_SCALE))
        taken.append(_taken(plan, mechanism, regime, counters, scale))
    on_step(len(pairs) + 1, len(pairs) + 1, "fits")
    return Measurement(tuple(taken), null_call, tuple(left_out), plan.spin_ns)


def _null_call(plan: _Plan) -> Histogram:
    cpu = next(iter(plan.places.values()))[0]
    budget = _budget(plan.duration_ns / 200)
    session = run_session("futex", cpu, cpu, [Phase(What.NULL_CALL, 0, budget)])
    return session.phases[0].histogram


def _taken(
    plan: _Plan, mechanism: Mechanism, regime: Regime, counters: Sequence[Counters], scale: float
) -> Taken:
    left, right = plan.places[regime]

    def measured(phases: Sequence[Phase], counters: Sequence[Counters] = ()) -> Session:
        return run_session(
            mechanism.name,
            left,
            right,
            phases,
            awake=regime is Regime.AWAKE,
            spin_ns=plan.spin_ns,
            events=[each.spec for each in counters],
        )

    planned = plan.sessions(mechanism, regime, scale)
    start, length = _native.monotonic_ns(), _planned(planned)
    session = measured(planned[0], counters)
    timed = list(session.phases)
    for number, phases in enumerate(planned[1:], 2):
        # On a busy machine there are fewer passes, or other mechanisms would have no time left.
        over = _FAR_OVER if number <= _LEAST_PASSES else _OVER
        if _native.monotonic_ns() - start < over * length:
            timed += measured(phases).phases
    first = timed[0]
    return Taken(
        mechanism.name,
        regime,
        (left, right),
        _joined(timed),
        {each.name: _a_message(first, number) for number, each in enumerate(counters)},
        first.messages,
        session.clock_ns,
    )


def _joined(phases: Sequence[Timed]) -> dict[tuple[What, int], Histogram]:
    """Return the times of each thing and size, those of all passes together."""
    parts: dict[tuple[What, int], list[Histogram]] = {}
    for timed in phases:
        parts.setdefault((timed.phase.what, timed.phase.size), []).append(timed.histogram)
    return {key: Histogram.joined(some) for key, some in parts.items()}


def _a_message(timed: Timed, event: int) -> float | None:
    """Return what an event counted for a message, scaled where it had no counter all the time."""
    total = 0.0
    for side in timed.counts[event]:
        if not side.running:
            return None
        total += side.value * side.enabled / side.running
    return total / timed.messages
