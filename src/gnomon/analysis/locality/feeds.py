"""Which way accesses are found: by a simulated machine, samples, the page tables or a trace."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.errors import NotPermittedError, NotSupportedError, UsageError
from gnomon.sources.base import Process

if TYPE_CHECKING:
    from gnomon.analysis.locality.streams import Scope, Stream
    from gnomon.launch import Command
    from gnomon.sources.sampling import CanSample
    from gnomon.sources.simulated.simulator import Simulator

AUTO, SAMPLES, TRACE, PAGES = "auto", "samples", "trace", "pages"
METHODS = (AUTO, SAMPLES, TRACE, PAGES)
PERIOD = 1009


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
    source: CanSample | None = None

    def __post_init__(self) -> None:
        if self.by not in METHODS:
            raise UsageError(
                f"accesses cannot be found by '{self.by}': choose from {', '.join(METHODS)}."
            )
        if self.period < 1:
            raise UsageError(f"a sampling period of {self.period} makes no sense: at least 1.")
        if self.interval_ns is not None and self.interval_ns < 1_000_000:
            raise UsageError("a look at pages every less than a millisecond only disturbs: 1ms.")


def machine_stream(on: Simulator, command: Command, scope: Scope, feed: Feed) -> Stream:
    """Return the accesses of a command on a simulated machine."""
    from gnomon.analysis.locality.streams import MachineStream

    if feed.by != AUTO:
        raise UsageError(f"--by {feed.by} is for this host: a simulated machine tells everything.")
    return MachineStream(on, command, scope)


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
    from gnomon.sources.registry import source as chosen_source
    from gnomon.sources.sampling import CanSample

    source = feed.source or chosen_source()
    assert isinstance(source, CanSample)
    return SampledStream(
        source,
        target,
        Host().nodes or {0: (0,)},
        period=feed.period,
        scope=scope,
        duration_ns=feed.duration_ns,
    )


def _tracked(target: Command | Process, feed: Feed) -> Stream:
    from gnomon.analysis.locality.pages import INTERVAL_NS, Looks, PagesStream
    from gnomon.sources.host import Host

    looks = Looks(feed.interval_ns or INTERVAL_NS, feed.duration_ns)
    nodes = max(Host().nodes, default=0) + 1
    given = target.pid if isinstance(target, Process) else target
    return PagesStream(given, nodes, looks=looks, static=feed.watch)


def _traced(target: Command | Process) -> Stream:
    from gnomon.analysis.locality.streams import TracedStream

    if isinstance(target, Process):
        raise UsageError(
            "a process that runs cannot be traced: start the program with gnomon, or track its "
            "pages with --by pages."
        )
    return TracedStream(target)
