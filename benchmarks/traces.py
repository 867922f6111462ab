"""Traces of packets: how fast they are kept and asked, beside SQLite and tshark.

10 million packets of a simulated torus of 8 x 8, half of them echoes. The first of them go to
SQLite as well (one transaction, no syncs), and its time is scaled; tshark filters a capture of its
own. All times are processor time, of all threads: what a machine of its own would need at most.
Data are deleted at the end.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness.result import Benchmark, Effort, Judged, Note, Result, Row, Target
from benchmarks.harness.statistics import Summary, quartiles
from gnomon.fabric import Fabric, FabricRun, Load, torus
from gnomon.recording.contents import Provenance
from gnomon.recording.traces import Matches, Trace, TraceDatabase, TraceWriter, compact
from gnomon.recording.traces.importers import import_trace

_RECORDS = 10_000_000
_BATCH = 1 << 16
_ROUNDS = 10
_SQLITE = 300_000
_FRAMES = 200_000
_ORIGIN = Provenance("benchmark", simulated=True)
_P99 = """
    SELECT src, dst, quantile_cont(dt, 0.99) FROM packets WHERE type BETWEEN 10 AND 17
    GROUP BY src, dst"""


def run(effort: Effort) -> Iterator[Result]:
    """Keep 10 million records, ask them, compact them, and compare with the peers."""
    count = effort.rounds(_RECORDS, least=_RECORDS // 10)
    rounds = effort.rounds(_ROUNDS)
    columns = _records(count)
    with tempfile.TemporaryDirectory(prefix="gnomon-bench-") as name:
        folder = Path(name)
        ours = [_ingest(folder / f"{at}", columns) for at in range(min(rounds, 5))]
        yield _at_most(f"{count:,} records appended", ours, count / 25e6)
        trace = Trace(folder / "0.trace")
        yield from _asked(trace, rounds, "mapped", count)
        yield from _beside_sqlite(folder, columns, ours, count)
        size = _compacted(folder / "0.trace")
        yield from size
        yield from _asked(Trace(folder / "0.trace"), rounds, "Parquet", count)
        yield from _beside_tshark(folder, rounds)


def _records(count: int) -> dict[str, Any]:
    """Return so many packets on the links of a torus of 8 x 8, half of them echoes."""
    fabric = Fabric("torus", "Torus of 8 x 8", "torus", torus(8, 8))
    run = FabricRun(fabric, Load(), records=True)
    parts: list[dict[str, Any]] = []
    while sum(len(part["time"]) for part in parts) < count:
        parts.extend(run.batches(run.now + 100_000))
    return {name: np.concatenate([p[name] for p in parts])[:count] for name in parts[0]}


def _ingest(path: Path, columns: dict[str, Any]) -> float:
    count = len(columns["time"])
    with TraceWriter(path, _ORIGIN, sync_every=None) as writer:
        start = _cpu()
        for at in range(0, count, _BATCH):
            writer.append({name: values[at : at + _BATCH] for name, values in columns.items()})
        return _cpu() - start


def _cpu() -> float:
    """Return the processor time of this process and of what it has run."""
    own = os.times()
    return time.process_time() + own.children_user + own.children_system


def _at_most(text: str, seconds: list[float], most: float | None) -> Row:
    target = None if most is None else Target(most, Judged.VALUE)
    return Row(text, quartiles(seconds), target=target)


def _timed(action: Callable[[], object], rounds: int) -> list[float]:
    found = []
    for _ in range(rounds):
        start = _cpu()
        action()
        found.append(_cpu() - start)
    return found


def _asked(trace: Trace, rounds: int, form: str, count: int) -> Iterator[Result]:
    mapped = form == "mapped"
    with TraceDatabase((trace,)) as database:
        pairs = _timed(lambda: database.ask(_P99), rounds)
    yield _at_most(f"{form}: p99 by pair", pairs, 0.5)
    numbers = iter(np.random.default_rng(2).integers(0, count, 100 * rounds).tolist())
    if mapped:
        one = [each / 1000 for each in _timed(lambda: _thousand(trace), rounds)]
        yield _at_most("mapped: where a record is", one, 10e-6)
    look = _timed(lambda: trace.record(next(numbers)), rounds)
    yield _at_most(f"{form}: a record with all its fields", look, None if mapped else 10e-3)
    for what, text in (
        ("frequent", "sci.dst == 3"),
        ("rare", "sci.dst == 3 and sci.src == 5 and sci.latency > 5000"),
        ("no hit", "sci.dst == 3 and sci.latency > 4000000000"),
    ):
        first = _timed(lambda text=text: Matches(trace, text).page(0), rounds)  # type: ignore[misc]
        yield _at_most(f"{form}: first page, {what}", first, 0.05)
    if mapped:
        matches = Matches(trace, "sci.dst == 3")
        pages = itertools.count(1)
        later = _timed(lambda: matches.page(next(pages)), 100)
        p95 = float(np.quantile(later, 0.95))
        yield Row("mapped: later pages of 200, p95", Summary(p95, p95, p95, 100),
                  target=Target(5e-3, Judged.VALUE))  # fmt: skip
    start, stop = trace.span
    trace.overview(start, stop, 2000)
    drawn = _timed(lambda: trace.overview(start, stop, 2000), rounds)
    yield _at_most(f"{form}: overview of 2,000 pixels", drawn, 5e-3 if mapped else None)


def _thousand(trace: Trace) -> None:
    for number in range(0, trace.rows, max(trace.rows // 1000, 1)):
        part, row = trace.where(number)
        part.columns["addr"][row]  # type: ignore[union-attr]


def _compacted(path: Path) -> Iterator[Result]:
    rows = Trace(path).rows
    start = _cpu()
    compact(path)
    seconds = _cpu() - start
    size = sum(each.stat().st_size for each in path.glob("*.parquet"))
    yield _at_most("compaction", [seconds], rows / 5e6)
    verdict = "" if size / rows <= 8 else " (the target of 8 is missed)"
    yield Note(f"{size / rows:.2f} B a record in Parquet{verdict}; 29 B mapped")


def _beside_sqlite(
    folder: Path, columns: dict[str, Any], ours: list[float], count: int
) -> Iterator[Result]:
    rows = [*zip(*(values[:_SQLITE].tolist() for values in columns.values()), strict=True)]
    seconds = []
    for at in range(3):
        connection = sqlite3.connect(folder / f"{at}.sqlite", isolation_level=None)
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute(f"CREATE TABLE packets ({', '.join(f'{n} INTEGER' for n in columns)})")
        start = _cpu()
        connection.execute("BEGIN")
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO packets VALUES ({marks})", rows)
        connection.execute("COMMIT")
        seconds.append((_cpu() - start) * count / _SQLITE)
        connection.close()
    ratio = quartiles(np.array(ours[:3]) / np.array(seconds))
    yield Row("records appended", quartiles(ours), "SQLite, bulk", quartiles(seconds), ratio,
              Target(1 / 20))  # fmt: skip


def _beside_tshark(folder: Path, rounds: int) -> Iterator[Result]:
    path = folder / "frames.pcap"
    path.write_bytes(_capture(_FRAMES))
    read, theirs, imported = [], [], []
    wanted = "tcp.port == 7 and frame.len > 60"
    for at in range(min(rounds, 3)):
        start = _cpu()
        try:
            done = subprocess.run(
                ["tshark", "-r", str(path), "-Y", wanted, "-T", "fields", "-e", "frame.number"],
                capture_output=True,
                check=True,
            )
        except OSError:
            yield Note("not compared with tshark: it is not installed")
            return
        theirs.append(_cpu() - start)
        start = _cpu()
        made = import_trace([path], folder / f"frames{at}")
        imported.append(_cpu() - start)
        trace = Trace(made)
        start = _cpu()
        found = Matches(trace, wanted).all()
        read.append(_cpu() - start)
        assert len(found) == len(done.stdout.split())
        imported[-1] += read[-1]
    peer = quartiles(theirs)
    for text, ours, target in (
        (f"{_FRAMES:,} frames filtered", read, 1 / 300),
        ("the same, imported first", imported, 1 / 50),
    ):
        ratio = quartiles(np.array(ours) / np.array(theirs))
        yield Row(text, quartiles(ours), "tshark -Y", peer, ratio, Target(target))


def _capture(count: int) -> bytes:
    out = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)]
    ethernet = bytes(12) + b"\x08\x00"
    address = b"\x0a\0\0\x01\x0a\0\0\x02"
    for at in range(count):
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 60, 1, 0, 64, 6, 0) + address
        tcp = struct.pack("!HHIIBBHHH", at % 50, 6379, at, 0, 0x50, 24, 100, 0, 0) + bytes(20)
        frame = ethernet + ip + tcp
        head = struct.pack("<IIII", 10**9 + at // 10**6, at % 10**6 * 1000, len(frame), len(frame))
        out.append(head + frame)
    return b"".join(out)


BENCHMARK = Benchmark("traces", "Keeping and asking traces of packets", run)
