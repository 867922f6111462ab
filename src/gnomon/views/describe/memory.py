"""How probes of memory look: the caches that were found, then each part that was probed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from operator import attrgetter

from gnomon import units
from gnomon.analysis.memory.result import LatencyCurve, MemoryResult, NodePair
from gnomon.views import blocks as b
from gnomon.views.shared import counted

_ns = partial(b.Column, unit="ns", digits=3)
_rate = partial(b.Column, unit="B/s", digits=3)
_LEAST_SQUARE, _MOST_SQUARE = 3, 64  # CPUs, for a matrix to tell more than a list of pairs


def describe(result: MemoryResult) -> Iterator[b.Block]:
    """Yield what there is to see of probes of memory, from the result alone."""
    yield b.Headline(result.headline, tuple(_lines(result)))
    yield from map(b.Finding, _findings(result))
    yield from (b.Text(f"note: {note}", b.Tone.FAINT) for note in result.notes)
    yield from _curves(result)
    yield from _bandwidth(result)
    yield from _pairs(result)
    yield from _cores(result)
    yield from _loaded(result)
    yield from _nodes(result)


def _lines(result: MemoryResult) -> Iterator[str]:
    total = units.brief(sum(node.memory for node in result.nodes), "B")
    nodes = counted(len(result.nodes), "NUMA node")
    words = [counted(len(result.cpus), "CPU"), f"{total} on {nodes}"]
    if result.siblings:
        words.append(f"up to {max(map(len, result.siblings))} hardware threads per core")
    if len(result.classes) > 1:
        kinds = (f"{len(each.cpus)} {each.name}" for each in result.classes)
        words.append(f"classes of cores: {', '.join(kinds)}")
    words.append(f"CPU {result.cpu} at {units.brief(result.cycles_per_ns * 1e9, 'Hz')}")
    processor = result.provenance.cpu if result.provenance is not None else ""
    yield f"{processor}{': ' * bool(processor)}{', '.join(words)}"
    load = result.load
    used = f"other programs used {load.others:.2f} CPUs, {load.steal:.1%} stolen"
    yield f"load {load.average:.2f}, {used}"
    if result.pages_confirmed:
        yield f"{result.pages_confirmed:,} pages were on the requested node (by move_pages)"


def _findings(result: MemoryResult) -> Iterator[str]:
    """Yield a sentence per part, where it says more than a table does at first sight."""
    found = [
        f"{each.name} holds about {units.brief(each.measured, 'B')}"
        + (f" ({units.brief(each.reported, 'B')} reported)" if each.reported else "")
        for each in result.caches
        if each.measured
    ]
    if result.curves:
        yield f"{'; '.join(found) or 'No cache is visible in this range of sizes'}."
    reads = [row for row in result.bandwidth if row.stream == "read"]
    if len(reads) > 1:
        one, most = reads[0], max(reads, key=attrgetter("rates.best"))
        if most.rates.best > one.rates.best:
            yield (
                f"{counted(len(most.cpus), 'thread')} read {units.brief(most.rates.best, 'B/s')} "
                f"together, {most.rates.best / one.rates.best:.1f}× what {len(one.cpus)} reads "
                f"({units.brief(one.rates.best, 'B/s')})."
            )
    if len(result.loaded) > 1:
        idle, busy = result.loaded[0], max(result.loaded, key=attrgetter("bandwidth"))
        yield (
            f"A load takes {units.brief(idle.latency.best, 'ns')} while memory is idle, "
            f"{units.brief(busy.latency.best, 'ns')} while others read "
            f"{units.brief(busy.bandwidth, 'B/s')}."
        )
    local = [pair.latency.best for pair in result.matrix if pair.cpus == pair.memory]
    remote = [pair.latency.best for pair in result.matrix if pair.cpus != pair.memory]
    if local and remote:
        yield f"Memory of other nodes has up to {max(remote) / min(local):.1f}× the latency."


# ---- the curve ------------------------------------------------------------------------------


def _curves(result: MemoryResult) -> Iterator[b.Block]:
    yield b.Section("Latency over size")
    if result.main_curve is not None:
        yield _curve_chart(result, result.main_curve)
    if result.levels:
        yield b.Table.of(
            result.levels,
            b.Column("level", lambda row: row[0]),
            _ns("latency", lambda row: row[1] and row[1].ns),
            b.Column("cycles", lambda row: row[1] and row[1].cycles, digits=3),
            b.Column("measured size", lambda row: row[2] and row[2].measured, "B", digits=3),
            b.Column("misses from", lambda row: row[2] and row[2].begins, "B", 1, digits=3),
            b.Column("reported size", lambda row: row[2] and row[2].reported, "B", digits=3),
            name="levels",
        )


def _curve_chart(result: MemoryResult, main: LatencyCurve) -> b.Chart:
    layers = []
    for curve in result.curves:
        medians = tuple(b.Cell(point.latency.median, "ns") for point in curve.points)
        line = curve.points, "size", "latency.best", f"pages of {units.number(curve.page, 'B')}"
        layers.append(b.Layer.of(b.Kind.LINE, *line))
        layers.append(b.Layer.of(b.Kind.DOTS, *line, hover=(("median", medians),)))
    ramps = [ramp.size for ramp in main.breakpoints]
    edges = [main.points[0].size, *ramps, main.points[-1].size]
    return b.Chart.of(
        "Best latency of a load over the size of the working set. Levels are those "
        "of the curve with the largest pages.",
        b.Axis("size", "B", log=2),
        b.Axis("latency", "ns", log=10),
        *layers,
        marks=(
            *(b.Mark(size, "half of the loads miss") for size in ramps),
            *(
                b.Mark(each.reported, "reported size of a cache", reported=True)
                for each in result.caches
                if each.reported and edges[0] <= each.reported <= edges[-1]
            ),
        ),
        zones=tuple(
            b.Zone(*ends, level.name)
            for level, ends in zip(main.levels, pairwise(edges), strict=True)
        ),
        alone=True,
    )


# ---- the other parts ------------------------------------------------------------------------


def _bandwidth(result: MemoryResult) -> Iterator[b.Block]:
    if not result.bandwidth:
        return
    rates = {(row.stream, len(row.cpus)): row.rates for row in result.bandwidth}
    streams, counts = (tuple(dict.fromkeys(names)) for names in zip(*rates, strict=True))

    def of(count: int, which: str) -> Callable[[str], float | None]:
        return lambda stream: getattr(rates.get((stream, count)), which, None)

    yield b.Section("Bandwidth")
    yield b.Text("Total of all threads, each on its own part of the arrays.", b.Tone.FAINT)
    yield b.Chart.of(
        "Best rate of each stream.",
        b.Axis("", names=streams),
        b.Axis("rate", "B/s", zero=True),
        *(
            b.Layer(
                b.Kind.BARS,
                streams,
                tuple(map(of(count, "best"), streams)),
                counted(count, "thread"),
            )
            for count in counts
        ),
    )
    columns = [b.Column("bandwidth", lambda stream: stream)]
    for count in counts:
        columns += [
            _rate(f"{counted(count, 'thread')}, best", of(count, "best")),
            _rate("median", of(count, "median"), drop=1),
        ]
    yield b.Table.of(streams, *columns, name="bandwidth")


def _pairs(result: MemoryResult) -> Iterator[b.Block]:
    """Every pair where they are few, else the pairs of each relation together."""
    if not result.cores:
        return
    yield b.Section("Cache line transfers between CPUs")
    pairs = b.Table.of(
        result.cores,
        b.Column("transfer between", lambda pair: f"CPU {pair.first} and {pair.second}"),
        b.Column("", "relation"),
        _ns("best", "latency.best"),
        _ns("median", "latency.median"),
        name="cores",
    )
    cpus = sorted({cpu for pair in result.cores for cpu in (pair.first, pair.second)})
    if len(cpus) < _LEAST_SQUARE:
        yield pairs
        return
    yield b.Table.of(
        result.relations,
        b.Column("pairs of CPUs with", "relation"),
        b.Column("pairs"),
        _ns("best"),
        _ns("median"),
        name="relations",
    )
    if len(cpus) <= _MOST_SQUARE:
        times = {(pair.first, pair.second): pair.latency.best for pair in result.cores}
        times |= {(second, first): ns for (first, second), ns in times.items()}
        names = [f"CPU {cpu}" for cpu in cpus]
        cells = [[times.get((row, column)) for column in cpus] for row in cpus]
        caption = "Best time for a line to move from the CPU that wrote it to one that polls it"
        yield b.Table.matrix("", names, cells, "ns", caption=caption, name="between cores")
    yield b.Fold(f"{counted(len(result.cores), 'pair')} of CPUs, with medians", (pairs,))


def _cores(result: MemoryResult) -> Iterator[b.Block]:
    if not result.kinds:
        return
    yield b.Section("Cores")
    yield b.Table.of(
        result.kinds,
        b.Column("class of cores", lambda kind: kind.name or "all cores"),
        b.Column("CPU", "cpu"),
        b.Column("clock", lambda kind: kind.cycles_per_ns * 1e9, "Hz", 1, digits=3),
        _ns("first cache", "first_cache.best"),
        _ns("memory", "memory.best"),
        _rate("reads", "read.best"),
        name="classes",
    )
    if not result.siblings:
        yield b.Text("The kernel reports one hardware thread per core.", b.Tone.FAINT)
    if result.shared_cores:
        yield b.Table.of(
            result.shared_cores,
            b.Column("a core shared by", lambda core: f"CPUs {', '.join(map(str, core.cpus))}"),
            _rate("one reads", "one_reads.best"),
            _rate("all read", "all_read.best"),
            _ns("first cache, alone", "first_cache_alone.best"),
            _ns("while others read", "first_cache_beside.best"),
            name="shared cores",
        )


def _loaded(result: MemoryResult) -> Iterator[b.Block]:
    if not result.loaded:
        return
    rows = sorted(result.loaded, key=attrgetter("bandwidth"))
    busy = (("others read", tuple(b.Cell(row.duty, "%") for row in rows)),)
    yield b.Section("Latency under load")
    yield b.Chart.of(
        f"Latency of a load on CPU {result.cpu} over the bandwidth of the others.",
        b.Axis("others read", "B/s", zero=True),
        b.Axis("latency", "ns", zero=True),
        b.Layer.of(b.Kind.LINE, rows, "bandwidth", "latency.best", "best"),
        b.Layer.of(b.Kind.DOTS, rows, "bandwidth", "latency.best", "best", hover=busy),
        b.Layer.of(b.Kind.DOTS, rows, "bandwidth", "latency.median", "median", hover=busy),
    )
    yield b.Table.of(
        result.loaded,
        b.Column(
            "latency while others read",
            lambda row: f"{units.number(row.duty, '%')} of the time" if row.duty else "never: idle",
        ),
        _ns("best", "latency.best"),
        _ns("median", "latency.median"),
        _rate("they read", lambda row: row.bandwidth if row.duty else None),
        name="loaded",
    )


def _nodes(result: MemoryResult) -> Iterator[b.Block]:
    if not result.matrix:
        return
    yield b.Section("Between NUMA nodes")
    yield b.Text(_placement(result.matrix), b.Tone.FAINT)
    found = {(pair.cpus, pair.memory): pair for pair in result.matrix}
    sources = list(dict.fromkeys(pair.cpus for pair in result.matrix))
    targets = sorted({pair.memory for pair in result.matrix})
    above, beside = ([f"node {n}" for n in numbers] for numbers in (targets, sources))
    rows = [[found.get((source, target)) for target in targets] for source in sources]
    for what, best, unit in (
        ("latency", attrgetter("latency.best"), "ns"),
        ("read bandwidth", attrgetter("bandwidth.best"), "B/s"),
    ):
        cells = [[None if pair is None else best(pair) for pair in row] for row in rows]
        caption = f"Best {what} from the CPUs of a node to the memory of another"
        name = f"{what} between nodes"
        yield b.Table.matrix("from", above, cells, unit, down=beside, caption=caption, name=name)
    reported = [node for node in result.nodes if node.access is not None]
    if reported:
        yield b.Table.of(
            reported,
            b.Column("reported (HMAT) for", lambda node: f"node {node.number}"),
            b.Column(
                "from",
                lambda node: ", ".join(f"node {number}" for number in node.access.initiators),
            ),
            b.Column("read latency", "access.read_latency", "ns"),
            b.Column("read bandwidth", "access.read_bandwidth", "B/s"),
            name="reported",
        )


def _placement(pairs: Sequence[NodePair]) -> str:
    bad = [pair for pair in pairs if not pair.verified]
    if not bad:
        return "The kernel confirms that all memory was on the requested nodes."
    names = ", ".join(f"{pair.cpus} to {pair.memory}" for pair in bad)
    return f"The placement of memory is not confirmed for nodes {names}."
