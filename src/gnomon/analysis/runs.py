"""The values of a measurement run by run, as a matrix of runs x events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.analysis.summary import summarise
from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Status
from gnomon.sources.registry import capabilities

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.recording import Recording

ELAPSED = EventInfo("elapsed", "time from start to end of the run", "ns")


@dataclass(frozen=True, slots=True)
class RunTable:
    """What every event counted in every run, in the event's unit.

    `values` is runs x events; NaN where an event has no value in a run. `scaled` names
    the events that were extrapolated from the share of time they were counted.
    """

    provenance: Provenance
    events: tuple[EventInfo, ...]
    runs: tuple[RunInfo, ...]
    values: NDArray[np.float64]
    scaled: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()

    def column(self, event: str) -> NDArray[np.float64]:
        """Return the values of an event, one a run."""
        return self.values[:, [info.name for info in self.events].index(event)]

    def select(self, keep: Sequence[int]) -> RunTable:
        """Return the table with these rows only."""
        runs = tuple(self.runs[i] for i in keep)
        return RunTable(
            self.provenance, self.events, runs, self.values[list(keep)], self.scaled, self.warnings
        )


def tabulate(
    provenance: Provenance,
    events: Sequence[EventInfo],
    runs: Sequence[RunInfo],
    readings: Iterable[Reading],
    warnings: Iterable[str] = (),
) -> RunTable:
    """Add up readings to one value an event and run; a set of events has runs of its own.

    The time that a run took is an event like the others, except where it would be that of
    a simulator or of valgrind.
    """
    import numpy as np

    gathered: dict[tuple[int, int], list[Reading]] = {}
    for reading in readings:
        gathered.setdefault((reading.run, reading.batch), []).append(reading)
    known = {(info.run, info.batch): info for info in runs}
    keys = sorted(gathered, key=lambda key: (known[key].start if key in known else 0, key))
    infos = {info.name: info for info in events}
    for some in gathered.values():
        for reading in some:
            infos.setdefault(reading.event, EventInfo(reading.event))
    timed = not provenance.simulated and all(
        key in known and known[key].end > known[key].start for key in keys
    )
    listed = (*([ELAPSED] if timed and keys else []), *infos.values())
    place = {info.name: i for i, info in enumerate(listed)}
    values = np.full((len(keys), len(listed)), np.nan)
    scaled: set[str] = set()
    for row, key in enumerate(keys):
        if timed and not _slowed(provenance, key[1]):
            values[row, 0] = known[key].end - known[key].start
        for count in summarise(gathered[key], tuple(infos.values())):
            if count.value is not None:
                values[row, place[count.event]] = count.value
            if count.status is Status.SCALED:
                scaled.add(count.event)
    found = tuple(known.get(key, RunInfo(*key)) for key in keys)
    return RunTable(provenance, listed, found, values, frozenset(scaled), tuple(warnings))


def _slowed(provenance: Provenance, batch: int) -> bool:
    """Whether a batch of a survey was run by something that makes programs slow."""
    plan = provenance.plan
    return batch < len(plan) and bool(capabilities(plan[batch].partition(" ")[0]).slowdown)


def table_of(recording: Recording) -> RunTable:
    """Read a recording run by run; its warnings come with it."""
    warnings = list(recording.warnings)
    if not recording.complete:
        warnings.insert(0, "the recording is incomplete: it was cut short or is being written")
    readings = (
        Reading(0, t.event, t.scope, t.value, t.enabled, t.running, t.status, t.run, t.batch)
        for t in recording.totals()
    )
    return tabulate(recording.provenance, recording.events, recording.runs, readings, warnings)


def without_failures(table: RunTable, name: str) -> tuple[RunTable, tuple[str, ...]]:
    """Leave out runs that failed, unless all did, and say so."""
    failed = [i for i, run in enumerate(table.runs) if run.exit_status]
    if not failed:
        return table, ()
    statuses = sorted({str(table.runs[i].exit_status) for i in failed})
    how = f"exit status {', '.join(statuses)}"
    if len(failed) == len(table.runs):
        return table, (f"all runs of {name} ended with {how}: compare what they did, too",)
    kept = [i for i in range(len(table.runs)) if i not in failed]
    numbers = ", ".join(str(table.runs[i].run) for i in failed[:8])
    text = f"{len(failed)} of {len(table.runs)} runs of {name} failed ({how}) and are left out"
    return table.select(kept), (f"{text}: run {numbers}",)
