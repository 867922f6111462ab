"""Small programs for simulated machines, and counting them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.events.event import Request
from gnomon.events.syntax import parse_events
from gnomon.machines.operations import OPERATION, Code, fixed_feed
from gnomon.machines.program import Observed, Program
from gnomon.sources.base import Snapshot
from gnomon.sources.machine.source import MachineSource
from gnomon.sources.simulated.counting import SimulatedCounting

Operations = Sequence[tuple[Code, int]]
"""What a thread does: an operation and its value, an address or a number of times."""


def program(*threads: Operations, observed: frozenset[Observed] = frozenset(Observed)) -> Program:
    """Return a program of these threads, each on a hardware thread of its own."""
    feeds = tuple(
        fixed_feed(
            np.array([(value, 1, code, 8, 1, 0) for code, value in operations], dtype=OPERATION)
        )
        for operations in threads
    )
    return Program("test", feeds, observed, binding=tuple(range(len(threads))))


def counted(source: MachineSource, events: str, what: Program) -> dict[str, int]:
    """Return what events count over a program, all places added up; all must fit at once."""
    groups = parse_events(events, source.resolve)
    with source.open_program(groups, what, exact=True) as counting:
        counting.start()
        assert counting.wait()
        return totals(counting.stop())


def totals(snapshot: Snapshot) -> dict[str, int]:
    """Return the sum over all places of each event that has a value."""
    sums: dict[str, int] = {}
    for reading in snapshot.readings:
        if reading.value is not None:
            sums[reading.event] = sums.get(reading.event, 0) + reading.value
    return sums


def each_alone(
    source: MachineSource, names: Sequence[str], what: Sequence[Operations]
) -> dict[str, int]:
    """Return what events count, each over a run of its own."""
    return {name: counted(source, name, program(*what)).get(name, 0) for name in names}


def request(source: MachineSource, name: str) -> Request:
    """Return the event of a name, as a request."""
    ((found,),) = parse_events(name, source.resolve)
    return found


def finish(counting: SimulatedCounting) -> Snapshot:
    """Run a counting to its end."""
    counting.start()
    assert counting.wait()
    return counting.stop()
