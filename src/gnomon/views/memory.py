"""How probes of memory look in a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TextIO

from gnomon.analysis.memory.model import LatencyCurve, MeasuredCache, MemoryResult
from gnomon.stress.samples import Samples
from gnomon.units import format_bytes
from gnomon.views.plot import dot_plot
from gnomon.views.table import Column, Table

_COLUMNS = 60
_MOST_IN_MATRIX = 16


def print_memory(result: MemoryResult, stream: TextIO) -> None:
    """Write everything that was probed, a table for each part."""
    stream.write(f"{machine_text(result)}\n")
    stream.write(f"{result.load}\n")
    if result.pages_confirmed:
        stream.write(f"{placement_text(result)}\n")
    for curve in result.curves:
        stream.write("\n")
        _print_curve(curve, stream)
    for table in memory_tables(result).values():
        if table.rows:
            stream.write("\n")
            table.print(stream)
    stream.write("\n" if result.notes else "")
    stream.writelines(f"  note: {note}\n" for note in result.notes)


def memory_tables(result: MemoryResult) -> dict[str, Table]:
    """Return the tables of all parts, by name; those of parts not probed are empty."""
    latencies, rates = _matrix_tables(result)
    return {
        "levels": _level_table(result),
        "bandwidth": _bandwidth_table(result),
        "cores": _core_table(result),
        "classes": _class_table(result),
        "shared cores": _shared_table(result),
        "loaded": _loaded_table(result),
        "latencies between nodes": latencies,
        "bandwidth between nodes": rates,
        "reported": _reported_table(result),
    }


def machine_text(result: MemoryResult) -> str:
    """Say in one line what was measured."""
    total = format_bytes(sum(node.memory for node in result.nodes.nodes))
    words = [f"{_count(len(result.cpus), 'CPU')}", f"{total} on {_nodes_text(result)}"]
    if result.siblings:
        words.append(f"up to {max(map(len, result.siblings))} hardware threads a core")
    if len(result.classes) > 1:
        kinds = (f"{len(each.cpus)} {each.name}" for each in result.classes)
        words.append(f"classes of cores: {', '.join(kinds)}")
    words.append(f"CPU {result.cpu} at {result.clock:.2f} GHz")
    return f"{result.machine}: {', '.join(words)}"


def placement_text(result: MemoryResult) -> str:
    """Say how much memory was found where it should be."""
    return f"{result.pages_confirmed:,} pages were on the node they should be on (move_pages)"


def _nodes_text(result: MemoryResult) -> str:
    return _count(len(result.nodes.nodes), "NUMA node")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _print_curve(curve: LatencyCurve, stream: TextIO) -> None:
    sizes = [math.log2(point.size) for point in curve.points]
    best = [point.latency.least for point in curve.points]
    lines, low, high = dot_plot(
        sizes, [math.log2(ns) for ns in best], start=sizes[0], end=sizes[-1], columns=_COLUMNS
    )
    top, bottom = (f"{_ns(2**value)}" for value in (high, low))
    margin = max(len(top), len(bottom))
    stream.write(
        f"  latency over size, pages of {format_bytes(curve.page)} (both axes logarithmic)\n"
    )
    for number, line in enumerate(lines):
        label = top if number == 0 else bottom if number == len(lines) - 1 else ""
        stream.write(f"  {label:>{margin}} {line}\n")
    stream.write(f"  {'':>{margin}} {_marks(curve, sizes)}\n")
    ends = (format_bytes(curve.points[0].size), format_bytes(curve.points[-1].size))
    stream.write(f"  {'':>{margin}} {ends[0]}{ends[1]:>{_COLUMNS - len(ends[0])}}\n")


def _marks(curve: LatencyCurve, sizes: Sequence[float]) -> str:
    """Return a line with the names of levels, and marks at the sizes that end them."""
    line = ["─"] * _COLUMNS
    width = sizes[-1] - sizes[0]
    places = (
        round((math.log2(ramp.size) - sizes[0]) / width * (_COLUMNS - 1))
        for ramp in curve.plateaus.ramps
    )
    edges = [0, *places, _COLUMNS - 1]
    for name, left, right in zip(curve.names, edges, edges[1:], strict=False):
        text = f" {name} "
        if right - left <= len(text):
            text = name
        if right - left > len(text):
            at = (left + right + 1 - len(text)) // 2
            line[at : at + len(text)] = text
    for edge in edges[1:-1]:
        line[edge] = "┼"
    line[0], line[-1] = "├", "┤"
    return "".join(line)


def _level_table(result: MemoryResult) -> Table:
    columns = [Column("level")]
    columns += [
        Column(name, right=True)
        for name in ("latency", "cycles", "measured size", "misses from", "reported size")
    ]
    table = Table(columns)
    measured = {each.name: each for each in result.measured}
    latencies = {each.name: each for each in result.latencies}
    main = main_curve(result)
    names = dict.fromkeys((*measured, *(main.names if main else ())))
    for name in names:
        cache = measured.get(name) or MeasuredCache(name, None, None, None, None)
        known = latencies.get(name)
        table.add(
            name,
            _ns(known.ns) if known else "",
            f"{known.cycles:.1f}" if known else "",
            _size(cache.measured),
            _size(cache.begins),
            _size(cache.reported),
        )
    return table


def main_curve(result: MemoryResult) -> LatencyCurve | None:
    """Return the curve that levels are named by: the one with the largest pages."""
    return max(result.curves, key=lambda curve: curve.page, default=None)


def _bandwidth_table(result: MemoryResult) -> Table:
    counts = list(dict.fromkeys(len(row.cpus) for row in result.bandwidth))
    columns = [Column("bandwidth")]
    for count in counts:
        columns += [Column(f"{_count(count, 'thread')}, best", True), Column("median", True)]
    table = Table(columns)
    for stream in dict.fromkeys(row.stream for row in result.bandwidth):
        rows = [row for row in result.bandwidth if row.stream is stream]
        cells = [(rate_text(row.rates.most), rate_text(row.rates.median)) for row in rows]
        table.add(stream, *(cell for pair in cells for cell in pair))
    return table


def _core_table(result: MemoryResult) -> Table:
    """Every pair where they are few, else the pairs of each relation together."""
    table = Table(
        [Column("a line between"), Column(""), Column("best", True), Column("median", True)]
    )
    if len(result.cores) <= _MOST_IN_MATRIX:
        for pair in result.cores:
            name = f"CPU {pair.first} and {pair.second}"
            table.add(name, pair.relation, _ns(pair.latency.least), _ns(pair.latency.median))
        return table
    for relation in dict.fromkeys(pair.relation for pair in result.cores):
        pairs = [pair for pair in result.cores if pair.relation == relation]
        all_of_them = Samples.of(pair.latency.least for pair in pairs)
        middle = Samples.of(pair.latency.median for pair in pairs).median
        table.add(_count(len(pairs), "pair"), relation, _ns(all_of_them.least), _ns(middle))
    return table


def _class_table(result: MemoryResult) -> Table:
    """One core of each class, alone."""
    columns = [Column("a core alone"), Column("CPU", True), Column("clock", True)]
    columns += [Column(name, True) for name in ("first cache", "memory", "reads")]
    table = Table(columns)
    for kind in result.kinds:
        table.add(
            kind.name or "all cores are alike",
            str(kind.cpu),
            f"{kind.clock:.2f} GHz",
            _ns(kind.near.least),
            _ns(kind.memory.least),
            rate_text(kind.rates.most),
        )
    return table


def _shared_table(result: MemoryResult) -> Table:
    """Cores with several hardware threads: one of them at work, then all."""
    columns = [Column("a core shared by")]
    columns += [
        Column(name, True)
        for name in ("one reads", "all read", "first cache, alone", "while others read")
    ]
    table = Table(columns)
    for core in result.shared:
        table.add(
            f"CPUs {', '.join(map(str, core.cpus))}",
            rate_text(core.one.most),
            rate_text(core.all.most),
            _ns(core.alone.least),
            _ns(core.beside.least),
        )
    return table


def _loaded_table(result: MemoryResult) -> Table:
    table = Table(
        [
            Column("latency while others read"),
            Column("best", True),
            Column("median", True),
            Column("they read", True),
        ]
    )
    for row in result.loaded:
        table.add(
            f"{row.duty:.0%} of the time" if row.duty else "never: idle",
            _ns(row.latency.least),
            _ns(row.latency.median),
            rate_text(row.bandwidth) if row.duty else "",
        )
    return table


def _matrix_tables(result: MemoryResult) -> list[Table]:
    targets = sorted({pair.memory for pair in result.matrix})
    tables = []
    for name in ("latency", "read bandwidth"):
        table = Table(
            [Column(f"{name} from"), *(Column(f"to node {target}", True) for target in targets)]
        )
        found = {(pair.cpus, pair.memory): pair for pair in result.matrix}
        for source in dict.fromkeys(pair.cpus for pair in result.matrix):
            row = [found.get((source, target)) for target in targets]
            cells = (
                ""
                if pair is None
                else _ns(pair.latency.least)
                if name == "latency"
                else rate_text(pair.rates.most)
                for pair in row
            )
            table.add(f"node {source}", *cells)
        tables.append(table)
    return tables


def _reported_table(result: MemoryResult) -> Table:
    """What firmware says of reaching each node, where it says anything."""
    table = Table(
        [
            Column("reported (HMAT) for"),
            Column("from"),
            Column("read latency", True),
            Column("read bandwidth", True),
        ]
    )
    for node in result.nodes.nodes if result.matrix else ():
        if node.access is not None:
            latency, rate = node.access.read_latency, node.access.read_bandwidth
            table.add(
                f"node {node.number}",
                ", ".join(f"node {number}" for number in node.access.initiators),
                "" if latency is None else _ns(latency),
                "" if rate is None else rate_text(rate),
            )
    return table


def rate_text(rate: float) -> str:
    """Return bytes a second in GB/s."""
    return f"{rate / 1e9:.3g} GB/s" if rate < 99.95e9 else f"{rate / 1e9:.0f} GB/s"


def _ns(value: float) -> str:
    return f"{value:.2f} ns" if value < 10 else f"{value:.1f} ns"


def _size(value: int | None) -> str:
    return "" if value is None else f"{format_bytes(_three_digits(value))}"


def _three_digits(value: int) -> int:
    """Drop digits that a measurement of sizes does not have; whole binary units stay."""
    if value % 1024 == 0:
        return value
    unit = 1 << (value.bit_length() - 10)
    return round(value / unit) * unit
