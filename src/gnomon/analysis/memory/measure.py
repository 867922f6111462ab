"""Carry out probes of this host's memory."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from itertools import pairwise

from gnomon.analysis.memory.plan import (
    DUTIES,
    HUGE_PAGE,
    POINTS,
    SECONDS,
    SMALL_PAGE,
    SMALLEST,
    Plan,
    Request,
    pages_of,
    parts_of,
    plan_probes,
)
from gnomon.analysis.memory.plateaus import (
    find_plateaus,
    measured_caches,
    name_levels,
    named_latencies,
    notes_on_caches,
)
from gnomon.analysis.memory.result import (
    Access,
    Bandwidth,
    CoreClass,
    CoreKind,
    CorePair,
    CurvePoint,
    LatencyCurve,
    Load,
    MemoryResult,
    Node,
    NodePair,
    Part,
    Rates,
    SharedCore,
    Times,
    UnderLoad,
)
from gnomon.errors import GnomonError, NotPermittedError, UsageError
from gnomon.recording.contents import Provenance
from gnomon.stress import nodes
from gnomon.stress.chase import Chase, core_clock, core_to_core, page_size
from gnomon.stress.memory import Buffer
from gnomon.stress.samples import LoadWatch, Samples
from gnomon.stress.streams import STAGGER, Lane, Stream, stream_rounds
from gnomon.units import parse_count, parse_duration, parse_size

REFINED_RISE = 1.3
"""Between sizes whose latencies differ by this factor, more sizes are measured."""
_REFINED_POINTS = 3
_MOST_REFINED = 6  # steps of a curve
_SECOND_SECONDS = 0.7  # for sizes that deserve a second look, and for those between
_DISTURBED = 1.1  # times the latency of a larger size
_ROUNDS = 50
_NEAR_SIZE = 16 << 10  # within any first cache
_SLICE = 0.25  # s that streams go on at a time: only between them can a user interrupt
_BUSY = 0.25  # CPUs used by others that are worth a warning

Progress = Callable[[int, int], None]
"""Is told after each step how many are done, and how many there are."""


def memory(
    *parts: str,
    smallest: int | str = SMALLEST,
    largest: int | str | None = None,
    points: int = POINTS,
    pages: str = "both",
    cpus: Sequence[int] | str = (),
    threads: Sequence[int] | str = (),
    array: int | str | None = None,
    time: float | str = SECONDS,
    on_progress: Progress | None = None,
) -> MemoryResult:
    """Probe this host's memory: all of it, or the parts named, as `gnomon memory` does.

    Parts are `curve`, `bandwidth`, `cores`, `loaded` and `matrix`. Sizes are bytes, or texts such
    as "64MiB"; `time` is seconds, or a text such as "1s"; CPUs and numbers of threads are numbers,
    or texts such as "0-3,8" and "1,2". Nothing else should run meanwhile.

    >>> result = gn.memory("curve", largest="256KiB", points=1)
    >>> result.caches[0].name
    'L1'
    """
    if isinstance(cpus, str):
        from gnomon.events.sysfs import parse_cpu_list

        cpus = parse_cpu_list(cpus)
        if not cpus:
            raise UsageError("--cpus names no CPU: write it as in 0-3,8.")
    if isinstance(threads, str):
        threads = [parse_count(number, "--threads") for number in threads.split(",")]
    request = Request(
        parts=parts_of(parts),
        smallest=_size(smallest, "--from") or 0,
        largest=_size(largest, "--to"),
        points=points,
        pages=pages_of(pages),
        cpus=tuple(cpus),
        threads=tuple(threads),
        array=_size(array, "--array"),
        seconds=parse_duration(time, "--time") / 1e9 if isinstance(time, str) else time,
    )
    return measure_memory(plan_probes(request), on_progress)


def _size(size: int | str | None, what: str) -> int | None:
    return parse_size(size, what) if isinstance(size, str) else size


def measure_memory(plan: Plan, on_progress: Progress | None = None) -> MemoryResult:
    """Do what is planned."""
    # Before memory is taken: under a tight limit, a library that finds none ends the process.
    import numpy as np  # noqa: F401

    try:
        return _Probe(plan, on_progress).run()
    except OSError as error:
        if error.filename is not None:
            raise
        raise GnomonError(
            f"a thread could not be started or kept on its CPU ({error.strerror or error}): look "
            "at the limits of this process (ulimit -u, cpuset) and try again."
        ) from None


class _Probe:
    """One run of all probes; collects what is to be said beside numbers."""

    def __init__(self, plan: Plan, on_progress: Progress | None) -> None:
        self._plan = plan
        self._on_progress = on_progress
        self._done = 0
        self._notes: list[str] = list(plan.notes)
        self._warnings: list[str] = []
        self._caches = plan.cpus[plan.cpu].caches
        self._pages_confirmed = 0

    def run(self) -> MemoryResult:
        plan = self._plan
        watch = LoadWatch()
        clock = core_clock(plan.cpu)
        parts = plan.parts
        curves = tuple(self._curves()) if Part.CURVE in parts else ()
        bandwidth = tuple(self._bandwidth()) if Part.BANDWIDTH in parts else ()
        cores = tuple(self._cores()) if Part.CORES in parts else ()
        kinds = tuple(self._kinds()) if Part.CORES in parts else ()
        shared = tuple(self._shared_cores()) if Part.CORES in parts else ()
        loaded = tuple(self._loaded()) if Part.LOADED in parts else ()
        matrix = tuple(self._matrix()) if Part.MATRIX in parts else ()
        main = max(curves, key=lambda curve: curve.page, default=None)
        load = watch.load()
        if load.others > _BUSY or load.steal > 0.02:
            self._warnings.append(
                f"the machine was busy ({load}): trust only the best values, and measure again."
            )
        caches = () if main is None else measured_caches(main, self._caches)
        self._notes += notes_on_caches(caches)
        return MemoryResult(
            cpu=plan.cpu,
            cycles_per_ns=clock,
            cpus=plan.order,
            siblings=_siblings(plan),
            classes=tuple(CoreClass(each.name, each.cpus) for each in plan.cpus.classes),
            nodes=tuple(_node(each) for each in plan.nodes.nodes),
            curves=curves,
            caches=caches,
            bandwidth=bandwidth,
            cores=cores,
            kinds=kinds,
            shared_cores=shared,
            loaded=loaded,
            matrix=matrix,
            latencies=named_latencies(main, matrix, clock),
            load=Load(load.average, load.others, load.steal),
            pages_confirmed=self._pages_confirmed,
            notes=tuple(dict.fromkeys(self._notes)),
            provenance=_provenance(),
            warnings=tuple(dict.fromkeys(self._warnings)),
        )

    def _advance(self) -> None:
        self._done += 1
        if self._on_progress is not None:
            self._on_progress(self._done, self._plan.steps)

    def _curves(self) -> Iterator[LatencyCurve]:
        plan = self._plan
        done: set[int] = set()
        for page in plan.pages:
            with self._buffer(plan.sizes[-1], plan.node, huge=page == HUGE_PAGE) as buffer:
                got = page_size(buffer)
                if got in done:
                    # Huge pages were not to be had: the same curve again would tell nothing.
                    for _ in plan.sizes:
                        self._advance()
                    continue
                done.add(got)
                yield self._curve(buffer, got)

    def _curve(self, buffer: Buffer, page: int) -> LatencyCurve:
        points: dict[int, Samples] = {}

        def measure(size: int) -> None:
            found = Chase(buffer, size, line=self._line).samples(self._plan.cpu)
            if size not in points or found.least < points[size].least:
                points[size] = found

        for size in self._plan.sizes:
            measure(size)
            self._advance()
        deadline = time.monotonic() + _SECOND_SECONDS
        for look in (_disturbed, _between_steps, _disturbed):
            for size in look(points):
                if time.monotonic() < deadline:
                    measure(size)
        sizes = sorted(points)
        found = find_plateaus(sizes, [points[size].least for size in sizes])
        names = name_levels(found, self._caches)
        return LatencyCurve(
            page,
            tuple(CurvePoint(size, _times(points[size])) for size in sizes),
            tuple(replace(each, name=n) for each, n in zip(found.levels, names, strict=True)),
            found.ramps,
        )

    @property
    def _line(self) -> int:
        return self._caches[0].line if self._caches else 64

    def _bandwidth(self) -> Iterator[Bandwidth]:
        plan = self._plan
        for count in plan.threads:
            cpus = plan.order[:count]
            with ExitStack() as stack:
                lanes = self._lanes(stack, cpus, 3)
                for stream in Stream:
                    yield Bandwidth(stream, cpus, self._rates(stream, lanes))
                    self._advance()

    def _rates(self, stream: Stream, lanes: Sequence[Lane]) -> Rates:
        left = self._plan.request.seconds
        rates: list[float] = []
        while left > 0 and len(rates) < _ROUNDS:
            begin = time.monotonic()
            rounds = _ROUNDS - len(rates)
            found = stream_rounds(stream, lanes, rounds=rounds, seconds=min(left, _SLICE))
            rates.extend(found.tolist())
            left -= time.monotonic() - begin
        return Rates(tuple(rates))

    def _lanes(self, stack: ExitStack, cpus: Sequence[int], arrays: int) -> list[Lane]:
        """Divide arrays between CPUs; each has its part on its own node."""
        plan = self._plan
        lanes = []
        each = max(self._plan.array // len(cpus) // 64 * 64, 64)
        by_node: dict[int | None, list[int]] = {}
        for cpu in cpus:
            number = plan.nodes.of_cpu(cpu)
            has_memory = number is not None and plan.nodes[number].memory > 0
            by_node.setdefault(number if has_memory else None, []).append(cpu)
        for node, members in by_node.items():
            size = each * len(members) + arrays * STAGGER
            buffers = [stack.enter_context(self._buffer(size, node)) for _ in range(arrays)]
            b, a, c = (*buffers, None, None)[:3]
            assert b is not None
            lanes += [
                Lane(b, a, c, each, at * each, cpu, STAGGER) for at, cpu in enumerate(members)
            ]
        return lanes

    def _cores(self) -> Iterator[CorePair]:
        for first, second in self._plan.pairs:
            relation = self._plan.cpus.relation(first, second)
            yield CorePair(first, second, relation, _times(core_to_core(first, second)))
            self._advance()

    def _kinds(self) -> Iterator[CoreKind]:
        plan = self._plan
        for kind in plan.cpus.classes:
            cpu = next(number for number in plan.order if number in kind.cpus)
            with ExitStack() as stack:
                near = stack.enter_context(self._buffer(_NEAR_SIZE, None, huge=False))
                lanes = self._lanes(stack, [cpu], 1)
                memory = lanes[0].b
                yield CoreKind(
                    kind.name,
                    cpu,
                    core_clock(cpu),
                    _times(Chase(near, line=self._line).samples(cpu)),
                    _times(Chase(memory, line=self._line).samples(cpu)),
                    self._rates(Stream.READ, lanes),
                )
            self._advance()

    def _shared_cores(self) -> Iterator[SharedCore]:
        for cpus in self._plan.shared_cores:
            with ExitStack() as stack:
                near = stack.enter_context(self._buffer(_NEAR_SIZE, None, huge=False))
                alone, together = self._lanes(stack, cpus[:1], 1), self._lanes(stack, cpus, 1)
                chase = Chase(near, line=self._line)
                yield SharedCore(
                    cpus,
                    self._rates(Stream.READ, alone),
                    self._rates(Stream.READ, together),
                    _times(chase.samples(cpus[0])),
                    _times(chase.loaded(together[1:], cpu=cpus[0]).latency),
                )
            self._advance()

    def _loaded(self) -> Iterator[UnderLoad]:
        plan = self._plan
        near = plan.nodes.of_cpu(plan.cpu)
        others = [cpu for cpu in plan.order[1:] if near is None or plan.nodes.of_cpu(cpu) == near]
        with ExitStack() as stack:
            buffer = stack.enter_context(self._buffer(plan.array, plan.node))
            chase = Chase(buffer, line=self._line)
            yield UnderLoad(0.0, _times(chase.samples(plan.cpu)), 0.0)
            self._advance()
            lanes = self._lanes(stack, others, 1) if others else []
            for duty in DUTIES:
                if lanes:
                    found = chase.loaded(lanes, Stream.READ, duty=duty, cpu=plan.cpu)
                    yield UnderLoad(duty, _times(found.latency), found.bandwidth)
                self._advance()

    def _matrix(self) -> Iterator[NodePair]:
        for source, target in self._plan.node_pairs:
            try:
                yield self._node_pair(source, target)
            except GnomonError as error:
                self._warnings.append(f"node {source} to node {target} was skipped: {error}")
            self._advance()

    def _node_pair(self, source: int, target: int) -> NodePair:
        plan = self._plan
        cpus = [cpu for cpu in plan.order if plan.nodes.of_cpu(cpu) == source]
        size = max(min(plan.array, plan.nodes[target].free // 4), 1 << 20)
        with self._buffer(size, target) as buffer:
            latency = _times(Chase(buffer, line=self._line).samples(cpus[0]))
            each = buffer.size // len(cpus) // 64 * 64
            lanes = [
                Lane(buffer, size=each, offset=at * each, cpu=cpu) for at, cpu in enumerate(cpus)
            ]
            rates = self._rates(Stream.READ, lanes)
            # Once more, at the end: the kernel may have moved pages meanwhile.
            verified = self._confirm(buffer)
        return NodePair(source, target, latency, rates, verified)

    def _confirm(self, buffer: Buffer) -> bool:
        """Ask the kernel where pages are; what is not where it should be is warned of."""
        if buffer.node is None:
            return False
        try:
            buffer.verify()
        except GnomonError as error:
            self._warnings.append(str(error))
            return False
        return True

    def _buffer(self, size: int, node: int | None, *, huge: bool = True) -> Buffer:
        try:
            buffer = Buffer(size, node, huge=huge)
        except NotPermittedError as error:
            # A container may forbid placement; on the machine's only node it changes nothing.
            self._warnings.append(f"{error} The kernel chose the placement of memory.")
            buffer = Buffer(size, None, huge=huge)
        if buffer.note:
            self._notes.append(f"huge pages: {buffer.note}")
        if self._confirm(buffer):
            self._pages_confirmed += -(-buffer.size // SMALL_PAGE)
        return buffer


def _disturbed(points: dict[int, Samples]) -> list[int]:
    """Return sizes that took longer than larger ones: something else was going on."""
    found, least = [], math.inf
    for size in sorted(points, reverse=True):
        latency = points[size].least
        if latency > _DISTURBED * least:
            found.append(size)
        least = min(least, latency)
    return found


def _between_steps(points: dict[int, Samples]) -> list[int]:
    """Return more sizes where the curve climbs steeply from one size to the next."""
    sizes = sorted(points)
    rises = [(points[b].least / points[a].least, a, b) for a, b in pairwise(sizes)]
    steep = sorted((rise for rise in rises if rise[0] >= REFINED_RISE), reverse=True)
    parts = _REFINED_POINTS + 1
    found = [
        round(a * (b / a) ** (part / parts) / 256) * 256
        for _, a, b in steep[:_MOST_REFINED]
        for part in range(1, parts)
    ]
    return sorted(set(found) - set(sizes))


def _siblings(plan: Plan) -> tuple[tuple[int, ...], ...]:
    found = dict.fromkeys(cpu.siblings for cpu in plan.cpus.cpus if len(cpu.siblings) > 1)
    return tuple(found)


def _node(node: nodes.Node) -> Node:
    told = node.access
    access = None if told is None else Access(**asdict(told))
    return Node(node.number, node.cpus, node.memory, node.free, node.distances, access)


def _times(samples: Samples) -> Times:
    return Times(samples.values)


def _provenance() -> Provenance:
    from gnomon.sources.base import Thread
    from gnomon.sources.host import Host, host_provenance

    return replace(host_provenance("host", Host(), Thread(0)), target="memory of this host")
