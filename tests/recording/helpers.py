"""Readings to write, and ways to write them, for the tests of recordings."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from gnomon.recording.contents import EventInfo, Provenance, Reading, RunInfo, Sample, Status
from gnomon.recording.writer import RecordingWriter

LOWEST, HIGHEST = -(2**63), 2**63 - 1
NEVER = 1e9  # seconds between flushes, where a slow machine must not flush by itself

EVENTS = (
    EventInfo("cycles", "Processor cycles", scope="thread"),
    EventInfo("task-clock", "Time on a processor", unit="ns"),
    EventInfo("energy", "Energy used", unit="J", scale=2.0**-14, caveats=("whole socket",)),
)
PROVENANCE = Provenance(
    source="test",
    command=("./solve", "--grid", "64", 'odd "name"\n'),
    host="bench",
    cpus=4,
    interval=10_000_000,
    environment={"LANG": "C", "odd key.with = signs": "x\ty"},
)


def make_reading(number: int, run: int = 0) -> Reading:
    """Return a reading that can be told from all others, now and then without a value."""
    missing = number % 7 == 3
    return Reading(
        time=1_000 * number,
        event=EVENTS[number % 3].name,
        scope=f"cpu/{number % 4}",
        value=None if missing else number * 1_000_003,
        enabled=1_000,
        running=0 if missing else 1_000 - number % 2 * 250,
        status=Status.NOT_COUNTED if missing else Status.COUNTED,
        run=run,
    )


def make_readings(count: int, run: int = 0) -> list[Reading]:
    """Return `count` readings that can be told from each other."""
    return [make_reading(number, run) for number in range(count)]


def write(path: Path, readings: list[Reading], *, flush_rows: int = 65_536) -> Path:
    """Write a complete recording with one run and return its path."""
    with RecordingWriter(path, PROVENANCE, EVENTS, flush_rows=flush_rows) as writer:
        writer.append(readings)
        writer.add_run(RunInfo(0, end=10, exit_status=0))
    return writer.path


int64 = st.integers(LOWEST, HIGHEST) | st.sampled_from([LOWEST, -1, 0, 1, HIGHEST])
uint64 = st.integers(0, 2**64 - 1)
texts = st.text(max_size=20)  # without lone surrogates, which are stored as escapes


@st.composite
def readings(draw: st.DrawFn) -> Reading:
    """Any reading that makes sense."""
    status = draw(st.sampled_from([s for s in Status if s is not Status.ESTIMATED]))
    return Reading(
        time=draw(int64),
        event=draw(texts),
        scope=draw(texts),
        value=draw(int64) if status.has_value else None,
        enabled=draw(int64),
        running=draw(int64),
        status=status,
        run=draw(int64),
        batch=draw(int64),
    )


samples = st.builds(
    Sample,
    time=int64,
    event=texts,
    pid=int64,
    tid=int64,
    cpu=int64,
    ip=st.none() | uint64,
    address=st.none() | uint64,
    weight=st.none() | int64,
    source=texts,
    period=int64,
    run=int64,
)
