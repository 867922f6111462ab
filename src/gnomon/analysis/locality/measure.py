"""From a program to where its accesses went: what tells of them, counters, names, the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from gnomon.analysis.locality.result import TOP, LocalityResult, Origin
from gnomon.errors import NotPermittedError, NotSupportedError, UsageError
from gnomon.launch import Command
from gnomon.sources.base import Process
from gnomon.units import parse_count, parse_duration, parse_size

if TYPE_CHECKING:
    from gnomon.analysis.locality.counters import CounterSetup, Monitors
    from gnomon.analysis.locality.streams import Scope, Stream
    from gnomon.measure.run import Stopper
    from gnomon.recording.contents import Provenance
    from gnomon.sources.abilities import HasTraffic
    from gnomon.sources.base import Source
    from gnomon.sources.sampling import CanSample
    from gnomon.sources.simulated.simulator import Simulator

AUTO, SAMPLES, TRACE, PAGES = METHODS = ("auto", "samples", "trace", "pages")
PERIOD = 1009
_Choice = TypeVar("_Choice", bound=StrEnum)
_LEAST_INTERVAL = 1_000_000  # ns between two looks at pages


def locality(
    what: Command | Process | Sequence[str] | str | os.PathLike[str],
    *,
    on: Source | str | None = None,
    seed: int | None = None,
    counters: int | str = 32,
    range: int | str | None = None,  # noqa: A002
    page: int | str | None = None,
    scheme: str = "plain",
    gap: int | str | None = None,
    reach: int | str | None = None,
    static: Sequence[str] = (),
    ring: int | str = "1MiB",
    empty_every: str | float | None = None,
    fetch_delay: str | float | None = None,
    scope: Scope | str = "remote",
    by: str = AUTO,
    period: int | str = PERIOD,
    interval: str | float | None = None,
    duration: str | float | None = None,
    top: int = TOP,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    on_piece: Callable[[int], None] | None = None,
) -> LocalityResult:
    """Run a command, watch a process, or open a recording; return where its accesses went.

    `on` may be a simulated machine, or a fabric, whose Blinks are watched. On this host
    `by` says how accesses are found: by `samples` where the PMU tells addresses, by a `trace` of
    programs that `sim compile` has compiled, by `pages` that the kernel tracks, or `auto`, the
    first of those that works. Each node has so many
    `counters`, which cover a `range` within a `page`; those of the `hybrid` scheme also grow over
    a `gap`, and shared ones over a `reach`. With `output` every flush record is kept. The callback
    is told how many accesses there were. Times are texts or seconds, sizes texts or bytes.

        >>> import gnomon as gn
        >>> gn.locality(["workload:triad", "size=64KB"], on="ring-4").origin.nodes
        4

    >>> result = gn.locality(["workload:false-sharing", "threads=4"], on="ring-4", counters=16)
    >>> result.flow.lost
    0
    """
    if top < 0:
        raise UsageError(f"--top must be at least 0, not {top}.")
    if isinstance(what, str | os.PathLike):
        from gnomon.analysis.locality.build import read

        return replace(read(what), top=top)
    if scheme == "plain" and (gap is not None or reach is not None):
        name = "gap" if gap is not None else "reach"
        raise UsageError(f"--{name} needs --scheme hybrid.")
    if interval is not None and by not in (AUTO, PAGES):
        raise UsageError("--interval needs --by pages.")
    target = what if isinstance(what, Command | Process) else Command(tuple(what))
    if duration is not None and not isinstance(target, Process):
        raise UsageError("--duration needs -p.")
    source, host = _places(on, seed)
    feed = Feed(
        by,
        _number(period, "--period"),
        _nanoseconds(interval, "--interval"),
        _nanoseconds(duration, "--duration"),
        tuple(static) if by == PAGES else (),
        host,
    )

    def setup(page_bytes: int) -> CounterSetup:
        from gnomon.analysis.locality.counters import CounterSetup, Scheme

        whole = page_bytes if page is None else _size(page, "--page")
        return CounterSetup(
            counters=_number(counters, "--counters"),
            range_bytes=whole if range is None else _size(range, "--range"),
            scheme=_one_of(Scheme, scheme, "--scheme"),
            page_bytes=whole,
            ring_bytes=_size(ring, "--ring"),
            empty_every_ns=_nanoseconds(empty_every, "--empty-every") or 0,
            fetch_delay_ns=_nanoseconds(fetch_delay, "--fetch-delay") or 0,
            static=() if by == PAGES else tuple(map(_range, static)),
            gap_bytes=64 if gap is None else _size(gap, "--gap"),
            reach_bytes=16 << 20 if reach is None else _size(reach, "--reach"),
        )

    result, monitors = _counted(target, source, _scope(scope), feed, setup, on_piece)
    if output is not None:
        from gnomon.analysis.locality.build import write

        write(output, result, monitors.records, overwrite=overwrite)
    return replace(result, top=top)


def _counted(
    target: Command | Process,
    source: Simulator | HasTraffic | None,
    scope: Scope,
    feed: Feed,
    setup: Callable[[int], CounterSetup],
    on_piece: Callable[[int], None] | None,
) -> tuple[LocalityResult, Monitors]:
    """Run what is to be run, and return where its accesses went, with the counters."""
    from gnomon.analysis.locality.counters import Monitors
    from gnomon.analysis.locality.naming import Naming
    from gnomon.analysis.locality.objects import ObjectTally

    tally = ObjectTally()
    total = 0
    with Naming(target, seed=getattr(source, "seed", 1)) as naming:
        stream = _stream(naming.target, source, scope, feed)
        monitors = Monitors(
            setup(stream.origin.page_bytes), stream.origin.nodes, stream.origin.page_bytes
        )
        with _stopping(stream) as stopper:
            for piece in stream:
                monitors.feed(piece)
                tally.add(piece)
                total += len(piece)
                if on_piece is not None:
                    on_piece(total)
                if stopper.requested:
                    stream.interrupted = True
                    break
        objects = naming.objects()
    from gnomon.analysis.locality.build import result_of  # now that the program has run

    monitors.finish()
    origin = _origin(stream, monitors)
    result = result_of(
        monitors,
        origin,
        duration_ns=max(stream.duration_ns, 1.0),
        exit_status=stream.exit_status,
    )
    page = origin.page_bytes if origin.kind == "tracked" else None
    uses = tally.attributed(objects, origin.nodes, page) if objects else ()
    if not result.tells_homes:
        uses = tuple(replace(use, remote=None) for use in uses)
    result = replace(
        result,
        static=(*result.static, *stream.static),
        mappings=stream.mappings,
        objects=uses,
        interrupted=stream.interrupted,
        provenance=_provenance(target, source, origin.kind),
        warnings=(*result.warnings, *naming.notes),
    )
    return result, monitors


@contextmanager
def _stopping(stream: Stream) -> Iterator[Stopper]:
    """Let Ctrl-C end a stream that allows it; others see to that themselves."""
    from gnomon.measure.run import Stopper

    stopper = Stopper()
    if stream.may_end_early:
        with stopper.installed():
            yield stopper
    else:
        yield stopper


# ---- what is asked for ----------------------------------------------------------------------


def _scope(given: Scope | str) -> Scope:
    from gnomon.analysis.locality.streams import Scope

    return _one_of(Scope, given, "--scope")


def _one_of(choices: type[_Choice], given: str, what: str) -> _Choice:
    try:
        return choices(given)
    except ValueError:
        raise UsageError(
            f"{what} '{given}' is unknown: choose from {', '.join(choices)}."
        ) from None


def _size(given: int | str, what: str) -> int:
    return parse_size(given, what) if isinstance(given, str) else given


def _number(given: int | str, what: str) -> int:
    return parse_count(given, what) if isinstance(given, str) else given


def _nanoseconds(given: str | float | None, what: str) -> int | None:
    if given is None:
        return None
    return parse_duration(given, what) if isinstance(given, str) else round(given * 1e9)


def _range(text: str) -> tuple[int, int]:
    from gnomon.analysis.locality.pages import parse_range

    found = parse_range(text)
    if found is None:
        raise UsageError(
            f"--static '{text}' is no range: write START-END or START+SIZE, as in 0x10000+4KiB. "
            "Names of variables need --by pages."
        )
    return found


def _places(
    on: Source | str | None, seed: int | None
) -> tuple[Simulator | HasTraffic | None, CanSample | None]:
    """Return what was chosen among simulated machines and fabrics, or else this host's source."""
    from gnomon.sources.registry import source as chosen_source
    from gnomon.sources.sampling import CanSample

    source = chosen_source(on, seed=seed)
    if source.capabilities.simulated:
        from gnomon.sources.abilities import HasTraffic
        from gnomon.sources.simulated.simulator import Simulator

        if isinstance(source, Simulator | HasTraffic):
            return source, None
    if source.capabilities.simulated or not isinstance(source, CanSample):
        raise UsageError(
            f"{source.name} does not tell accesses: choose a simulated machine, as in --on ring-4, "
            "or this host."
        )
    return None, source


# ---- where accesses come from ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Feed:
    """How accesses of this host are found.

    `watch` are ranges or variables for breakpoint registers, and `interval_ns` is the time
    between two looks at pages; `duration_ns` ends the measurement of a process that runs on.
    """

    by: str = AUTO
    period: int = PERIOD
    interval_ns: int | None = None
    duration_ns: int | None = None
    watch: tuple[str, ...] = ()
    host: CanSample | None = None

    def __post_init__(self) -> None:
        if self.by not in METHODS:
            raise UsageError(f"--by '{self.by}' is unknown: choose from {', '.join(METHODS)}.")
        if self.period < 1:
            raise UsageError(f"--period must be at least 1, not {self.period}.")
        if self.interval_ns is not None and self.interval_ns < _LEAST_INTERVAL:
            raise UsageError("--interval must be at least 1ms: more looks only slow it down.")


def _stream(
    target: Command | Process, on: Simulator | HasTraffic | None, scope: Scope, feed: Feed
) -> Stream:
    if isinstance(target, Command) and not target.argv:
        raise UsageError("there is no command to run: name a workload or a program.")
    if on is None:
        return host_stream(target, scope, feed)
    if isinstance(target, Process):
        raise UsageError("a process runs on this host, not on a simulated machine: choose one.")
    if feed.by != AUTO:
        raise UsageError(f"--by {feed.by} is for this host: a simulated machine tells everything.")
    from gnomon.sources.simulated.simulator import Simulator

    if not isinstance(on, Simulator):
        from gnomon.analysis.locality.blink import FabricStream

        return FabricStream(on, target)
    from gnomon.analysis.locality.streams import MachineStream

    return MachineStream(on, target, scope)


def host_stream(target: Command | Process, scope: Scope, feed: Feed) -> Stream:
    """Return the accesses of a program on this host, in the best way that there is.

    Samples tell nodes and cost little. A program compiled by `sim compile` tells all. Otherwise
    the page tables cost little as well, and tell pages; the last resort is valgrind.
    """
    if not isinstance(target, Process) and target.argv[0].startswith(("workload:", "signal:")):
        raise UsageError(f"'{target.argv[0]}' runs on simulated machines only: name one with --on.")
    if feed.by == TRACE or (feed.by == AUTO and _tells_all(target)):
        return _traced(target)
    if feed.by == PAGES:
        return _tracked(target, feed)
    try:
        return _sampled(target, scope, feed)
    except (NotSupportedError, NotPermittedError):
        if feed.by == SAMPLES:
            raise
    try:
        return _tracked(target, feed)
    except NotSupportedError:
        if isinstance(target, Process) or feed.watch:
            raise
        return _traced(target)


def _tells_all(target: Command | Process) -> bool:
    """Whether a program was compiled by `gnomon sim compile`."""
    if isinstance(target, Process):
        return False
    from gnomon.machines.tracing.traced import is_traced_binary, program_file

    with suppress(UsageError):
        return is_traced_binary(program_file(target))
    return False


def _sampled(target: Command | Process, scope: Scope, feed: Feed) -> Stream:
    from gnomon.analysis.locality.samples import SampledStream
    from gnomon.sources.host import Host

    assert feed.host is not None
    return SampledStream(
        feed.host,
        target,
        Host().nodes or {0: (0,)},
        period=feed.period,
        scope=scope,
        duration_ns=feed.duration_ns,
    )


def _tracked(target: Command | Process, feed: Feed) -> Stream:
    from gnomon.analysis.locality.pages import PagesStream
    from gnomon.sources.host import Host

    return PagesStream(
        target.pid if isinstance(target, Process) else target,
        max(Host().nodes, default=0) + 1,
        interval_ns=feed.interval_ns,
        duration_ns=feed.duration_ns,
        static=feed.watch,
    )


def _traced(target: Command | Process) -> Stream:
    from gnomon.analysis.locality.streams import TracedStream

    if isinstance(target, Process):
        raise UsageError(
            "a process that runs cannot be traced: start the program with gnomon, or track its "
            "pages with --by pages."
        )
    return TracedStream(target)


def _origin(stream: Stream, monitors: Monitors) -> Origin:
    """Return the origin of a stream that has ended; there are as many threads as asked."""
    origin = replace(stream.origin, warnings=(*stream.origin.warnings, *stream.warnings))
    if origin.asker == "thread":
        asked = monitors.paths.sum(axis=1)[: origin.nodes].nonzero()[0]
        count = int(asked.max()) + 1 if len(asked) else 1
        monitors.keep_nodes(count)
        origin = replace(origin, nodes=count)
    return origin


def _provenance(
    target: Command | Process, source: Simulator | HasTraffic | None, kind: str
) -> Provenance:
    if source is not None:
        return source.provenance(target)
    from gnomon.sources.registry import source as chosen_source

    found = chosen_source().provenance(target)
    return replace(found, source={"tracked": "pages", "traced": "trace"}.get(kind, found.source))
