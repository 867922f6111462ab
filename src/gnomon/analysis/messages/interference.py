"""Compute beside a communicator: what waiting for messages takes from those that compute.

A node computes on its CPUs, one of which it shares with a communicator that answers messages
from a client. The way in which the communicator waits decides what the node loses: a poller
takes processor time without any message, one that blocks takes time for each of them. Rounds
of all ways follow each other, so that what disturbs the host disturbs all of them alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from gnomon.analysis.messages.conditions import (
    allowed_cpus,
    check_cpus,
    listed,
    listed_cpus,
    siblings_of,
    usable_mechanisms,
    watching,
)
from gnomon.analysis.messages.recorded import provenance_here
from gnomon.analysis.messages.result import Beside, Interference, Pays
from gnomon.errors import GnomonError, UsageError
from gnomon.messaging.sessions import MECHANISMS, Family, Histogram, run_interference
from gnomon.messaging.sessions import Interference as Round
from gnomon.result import Interval, Quantity
from gnomon.units import format_duration, parse_duration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WAYS = ("poll-pause", "spin-block", "futex")
"""A communicator that polls, one that polls for a while and then blocks, and one that blocks."""
PAUSES = ("10us", "100us", "1ms")
ROUNDS = 6
DURATION = "12s"
_DOUBTFUL = 0.05  # of the compute: nobody gains so much by a neighbour
_LEAST_ROUNDS = 3
_LEAST_ROUND = 20_000_000  # ns: several slices of the scheduler
_LONGER = 10
_REPLICATES = 500
_SEED = 81
_TAILS = (0.025, 0.975)
_KEEPS_ON = (Family.POLLING, Family.HYBRID)

OnStep = Callable[[int, int, str], None]


def recommend(rows: Sequence[Beside]) -> str:
    """Say in a sentence how a communicator should wait."""
    block = _blocker([row.mechanism for row in rows])
    losers = sorted({row.mechanism for row in rows} - {block})
    if block is None or not losers:
        return (
            "measure a mechanism that blocks and one that polls: one kind alone cannot be compared."
        )
    gained = sorted({row.mechanism for row in rows if row.lost.high < -_DOUBTFUL})
    if gained:
        return (
            f"no recommendation: compute was faster beside {' and '.join(gained)} than alone, as "
            "only other programs can make it; measure again on an idle machine."
        )
    others = [
        row
        for row in rows
        if row.pays in (Pays.ALWAYS, Pays.BELOW) and (row.between is None or row.between.low > 0)
    ]
    if not others:
        worst = max(rows, key=lambda row: row.lost.value)
        return (
            f"block with {block}: {' and '.join(losers)} never paid off, and "
            f"{worst.mechanism} took up to {worst.lost.value:.0%} of the compute."
        )
    best = max(others, key=lambda row: math.inf if row.break_even is None else row.break_even)
    every = format_duration(best.pause)
    if best.break_even is None or best.between is None:
        return (
            f"wait with {best.mechanism}: with a message every {every} it lost no more compute "
            f"than {block} and answered sooner."
        )
    span = f"{format_duration(best.between.low)} to {_or_more(best.between.high)}"
    return (
        f"wait with {best.mechanism} where there is less than {format_duration(best.break_even)} "
        f"({span}) of compute per message, and block with {block} otherwise."
    )


def _or_more(nanoseconds: float) -> str:
    return "any" if math.isinf(nanoseconds) else format_duration(nanoseconds)


def _blocker(names: Sequence[str]) -> str | None:
    """Return the way that others are compared with: one that blocks at once."""
    blocking = [name for name in names if MECHANISMS[name].family not in _KEEPS_ON]
    return "futex" if "futex" in blocking else next(iter(blocking), None)


def interfere(
    *,
    mechanisms: str | Sequence[str] | None = None,
    pauses: str | Sequence[str] = PAUSES,
    cpus: str | Sequence[int] | None = None,
    threads: int | None = None,
    duration: str = DURATION,
    rounds: int = ROUNDS,
    spin: str = "5us",
    on_step: OnStep | None = None,
) -> Interference:
    """Measure compute lost and latency gained for each way in which a communicator waits.

    Messages come from the first of `cpus`; the others are the node. `threads` compute there,
    one a CPU unless told otherwise. `pauses` lie between an answer and the next message. Each list
    may be a text with commas.

    >>> found = gn.messages.interfere(mechanisms="futex", pauses="50us", duration="50ms")
    >>> {row.mechanism for row in found.rows}
    {'futex'}
    """
    ways, left_out = usable_mechanisms(listed(mechanisms, "mechanisms") or WAYS)
    gaps = sorted({parse_duration(text, "pause") for text in listed(pauses, "pauses") or ()})
    if not gaps:
        raise UsageError("no pause between messages given: name one, as in 100us.")
    if not _LEAST_ROUNDS <= rounds <= 1000:
        raise UsageError(
            f"--rounds must be {_LEAST_ROUNDS} to 1000, not {rounds}: fewer give no interval."
        )
    client, node = _node(listed_cpus(cpus))
    if threads is not None and not 1 <= threads <= 64:
        raise UsageError(f"--threads must be 1 to 64, not {threads}.")
    compute = tuple(node[i % len(node)] for i in range(threads or len(node)))
    communicator, shares = _communicator(compute, node, client)
    steps = rounds * (1 + len(ways) * len(gaps))
    each = max(parse_duration(duration, "duration") // steps, _LEAST_ROUND)
    tell = on_step or (lambda *_: None)
    alone: list[float] = []
    found: dict[tuple[str, int], list[Round]] = {(w.name, g): [] for w in ways for g in gaps}
    done = 0
    with watching() as warnings:
        for _ in range(rounds):
            for name, gap in (("", 0), *found):
                tell(done, steps, name or "compute alone")
                run = partial(
                    run_interference,
                    name,
                    compute,
                    communicator,
                    client,
                    pause_ns=gap,
                    spin_ns=parse_duration(spin, "time to spin"),
                    client_blocks=client in compute,
                )
                one = run(duration_ns=each)
                if not name and not any(one.work):
                    # Other programs had the CPUs for all of so short a round: try a longer one.
                    one = run(duration_ns=_LONGER * each)
                done += 1
                if not name:
                    alone.append(_rate(one))
                else:
                    found[name, gap].append(one)
    tell(steps, steps, "")
    rows = tuple(_rows(alone, found, compute))
    return Interference(
        recommend(rows),
        rows,
        compute,
        communicator,
        client,
        shares,
        rounds,
        tuple(left_out),
        provenance=provenance_here("messages interfere"),
        warnings=tuple(warnings),
    )


def _node(cpus: Sequence[int] | None) -> tuple[int, tuple[int, ...]]:
    """Return the CPU of the client and those of the node; one CPU must do for both."""
    usable = tuple(cpus) if cpus is not None else allowed_cpus()
    check_cpus(usable)
    if not usable or len(set(usable)) != len(usable):
        raise UsageError("name each CPU once: the client's first, then those that compute.")
    return usable[0], usable[1:] or usable


def _communicator(compute: Sequence[int], node: Sequence[int], client: int) -> tuple[int, str]:
    """Return where the communicator is: beside compute on its core, or on the same CPU."""
    last = compute[-1]
    free = [c for c in siblings_of(last) if c in node and c not in compute and c != client]
    if free:
        return free[0], "a thread of a core that computes"
    return last, "a CPU that computes" if last != client else "the only CPU, with the client"


def _rate(one: Round) -> float:
    return sum(one.work) / max(one.elapsed_ns, 1)


def _rows(
    alone: Sequence[float],
    found: dict[tuple[str, int], list[Round]],
    compute: Sequence[int],
) -> list[Beside]:
    import numpy as np

    base = np.array(alone)
    there = np.flatnonzero(base > 0)
    if there.size < 2:
        raise GnomonError(
            "compute alone got no CPU time in most rounds: the machine is too busy; "
            "measure again when less runs, or longer (-d)."
        )
    base = base[there]
    found = {key: [rounds[i] for i in there] for key, rounds in found.items()}
    drawn = np.random.default_rng(_SEED).integers(0, base.size, (_REPLICATES, base.size))
    costs = {key: Costs.of(base, rounds, len(compute)) for key, rounds in found.items()}
    names = list(dict.fromkeys(name for name, _ in found))
    blocker = _blocker(names)
    rows = []
    for (name, pause), rounds in found.items():
        own = costs[name, pause]
        histogram = Histogram.joined([one.histogram for one in rounds])
        edge = None
        if blocker is not None and name != blocker:
            blocking = costs[blocker, pause]
            edge = break_even_of(own, blocking, drawn, polls=MECHANISMS[name].polls)
        rows.append(
            Beside(
                name,
                pause,
                own.interval("lost", drawn),
                own.interval("latency", drawn),
                histogram.quantile(0.5),
                histogram.quantile(0.99),
                own.interval("work", drawn),
                *pays(edge, reference=name == blocker),
                sum(one.messages for one in rounds),
            )
        )
    return rows


def pays(
    edge: Quantity | None, *, reference: bool = False
) -> tuple[Pays, float | None, Interval | None]:
    """Return when a way pays off, with the break-even and its interval where it has one."""
    if edge is None:
        return (Pays.REFERENCE if reference else Pays.NEVER), None, None
    between = None if math.isinf(edge.low) else Interval(edge.low, edge.high)
    if math.isinf(edge.value):
        return Pays.ALWAYS, None, between
    return Pays.BELOW, edge.value, between


@dataclass(frozen=True, slots=True)
class Costs:
    """What each round of one way cost: a share of compute, ns of a round trip, ns a message."""

    lost: Floats  # (round,)
    latency: Floats
    work: Floats

    @classmethod
    def of(cls, alone: Floats, rounds: Sequence[Round], threads: int) -> Costs:
        import numpy as np

        lost = 1 - np.array([_rate(one) for one in rounds]) / alone
        every = np.array([one.elapsed_ns / max(one.messages, 1) for one in rounds])
        # A share of all computing threads, as time of one processor for each message.
        return cls(lost, np.array([one.histogram.mean for one in rounds]), lost * threads * every)

    def interval(self, name: str, drawn: NDArray[np.int64]) -> Quantity:
        """Return the mean over rounds with its interval, by bootstrap over rounds."""
        import numpy as np

        values: Floats = getattr(self, name)
        low, high = np.quantile(values[drawn].mean(1), _TAILS)
        return Quantity(float(values.mean()), float(low), float(high))


def break_even_of(
    way: Costs, blocking: Costs, drawn: NDArray[np.int64], *, polls: bool
) -> Quantity | None:
    """Return the compute per message below which a way is faster than blocking.

    A thread computes C, sends, and waits for the answer. Beside a poller, which takes a share
    p of compute, it needs C / (1 - p) and that latency; beside one that blocks, C, what the
    message takes from compute, and that latency. Both are alike at
    C = (work + latency of blocking - latency of polling) (1 - p) / p. A way that takes time by
    the message, as all but pollers do, is faster for every C or for none.
    """
    import numpy as np

    def edge(lost: Floats, gain: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = np.where(
                gain <= 0, 0.0, np.where(lost <= 0, np.inf, gain * (1 - lost) / lost)
            )
        return found

    gains = blocking.work + blocking.latency - way.latency
    if not polls:
        better = gains - way.work
        sure = np.quantile(better[drawn].mean(1), _TAILS[0]) > 0
        return Quantity(np.inf, np.inf, np.inf) if sure else None
    value = float(edge(np.array(way.lost.mean()), np.array(gains.mean())))
    if value == 0.0:
        return None
    some = np.sort(edge(way.lost[drawn].mean(1), gains[drawn].mean(1)))
    low, high = (some[int(tail * some.size)] for tail in _TAILS)
    return Quantity(value, min(float(low), value), max(float(high), value))
