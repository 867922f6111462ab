"""Records by chance, for tests of traces, and what they should be answered by in plain Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gnomon.recording.contents import Provenance
from gnomon.recording.traces import Batch, Trace, TraceWriter
from gnomon.recording.traces.types import COLUMNS, FIXED

ORIGIN = Provenance("test", clock="simulated", simulated=True)
NETWORK = ("source", "destination", "length", "sport", "dport")
HOSTS = ("10.0.0.1", "10.0.0.2", "2001:db8::7", "10.0.0.12")


def records(count: int, seed: int = 1, types: tuple[int, ...] = (1, 5, 9, 14, 18, 68, 69)) -> Any:
    """Return columns of so many records of some types, in order of time."""
    rng = np.random.default_rng(seed)
    columns = {
        "time": np.sort(rng.integers(0, 1 + 50 * count, count)),
        "type": rng.choice(np.array(types, "u1"), count),
        "flags": rng.integers(0, 2, count),
        "tx": rng.integers(0, 64, count),
        "addr": rng.integers(0, 1 << 48, count),
        "dt": rng.integers(0, 1000, count),
    }
    for name in ("lc", "src", "dst"):
        columns[name] = rng.integers(0, 100, count)
    for name in ("source", "destination"):
        columns[name] = rng.integers(0, 1 + len(HOSTS), count)
    columns["length"] = rng.integers(40, 1500, count)
    columns["sport"] = rng.choice([80, 443, 6379], count)
    columns["dport"] = rng.choice([80, 443, 6379], count)
    return {name: np.asarray(values, COLUMNS[name].kind) for name, values in columns.items()}


def payloads(count: int, seed: int = 2) -> list[bytes]:
    """Return so many payloads of 0 to 40 bytes."""
    rng = np.random.default_rng(seed)
    return [rng.bytes(int(size)) for size in rng.integers(0, 40, count)]


def batch(columns: Any, data: list[bytes] | None = None, fixed: bool = False) -> Batch:
    """Return a batch, with payloads where there are some."""
    kept = {each.name for each in FIXED} if fixed else columns.keys()
    some = {name: values for name, values in columns.items() if name in kept}
    if data is None:
        return Batch(some)
    return Batch(some, np.cumsum([len(each) for each in data]), b"".join(data))


def written(
    path: Path, columns: Any, data: list[bytes] | None = None, size: int = 5000, fixed: bool = False
) -> Trace:
    """Write a trace in batches of a size and open it."""
    with TraceWriter(path, ORIGIN, sync_every=None) as writer:
        writer.numbers(HOSTS)
        for at in range(0, len(columns["time"]), size):
            piece = {name: values[at : at + size] for name, values in columns.items()}
            writer.append(batch(piece, None if data is None else data[at : at + size], fixed))
    return Trace(writer.path)
