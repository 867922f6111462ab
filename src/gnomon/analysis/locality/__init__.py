"""Locality: which memory is accessed from where, found with few counters.

result = gn.locality(["workload:fft"], on="smile-4")
print(result.flow.records_per_million, result.pages.page[:5])
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from gnomon import lazy_names
from gnomon.analysis.locality.feeds import Feed, host_stream, machine_stream
from gnomon.analysis.locality.model import (
    UNKNOWN,
    Accesses,
    Flow,
    LocalityResult,
    MappingUse,
    Origin,
    PageHistogram,
    RegionMap,
    Scheme,
    StaticCount,
    WideRanges,
)
from gnomon.errors import UsageError
from gnomon.launch import Command
from gnomon.sources.base import Process

if TYPE_CHECKING:
    from gnomon.analysis.locality.counters import CounterSetup, Monitors
    from gnomon.analysis.locality.streams import MachineStream, Scope, Stream
    from gnomon.measure.run import Stopper
    from gnomon.recording.contents import Provenance
    from gnomon.sources.base import Source
    from gnomon.sources.simulated.simulator import Simulator

__all__ = [
    "UNKNOWN",
    "Accesses",
    "CounterSetup",
    "Feed",
    "Flow",
    "LocalityResult",
    "MachineStream",
    "MappingUse",
    "Origin",
    "PageHistogram",
    "RegionMap",
    "Scheme",
    "StaticCount",
    "WideRanges",
    "locality",
]


def locality(
    what: Command | Process | Sequence[str] | str | os.PathLike[str],
    *,
    on: Source | str | None = None,
    setup: CounterSetup | None = None,
    scope: Scope | str = "remote",
    feed: Feed | str = "auto",
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    on_piece: Callable[[int], None] | None = None,
) -> LocalityResult:
    """Run a command, watch a process, or open a recording; return where its accesses went.

    `on` may be a simulated machine. On this host `feed` says how accesses are found: by `samples`
    where the PMU of this host tells addresses, by a `trace` of programs that `sim compile` has
    compiled, by `pages` that the kernel tracks, or `auto`, the first of those that works. With
    `output` every flush record is kept. The callback is told how many accesses there were.
    """
    if isinstance(what, str | os.PathLike):
        from gnomon.analysis.locality.store import read

        return read(what)
    from gnomon.analysis.locality.attribution import ObjectTally
    from gnomon.analysis.locality.counters import CounterSetup, Monitors
    from gnomon.analysis.locality.naming import Naming
    from gnomon.analysis.locality.result import result_of

    target = what if isinstance(what, Command | Process) else Command(tuple(what))
    source = _simulator(on)
    tally = ObjectTally()
    total = 0
    with Naming(target, seed=1 if source is None else source.seed) as naming:
        given = Feed(feed) if isinstance(feed, str) else feed
        stream = _stream(naming.target, source, _scope(scope), given)
        chosen = setup or CounterSetup(page_bytes=stream.origin.page_bytes)
        monitors = Monitors(chosen, stream.origin.nodes, stream.origin.page_bytes)
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
    monitors.finish()
    origin = _origin(stream, monitors)
    result = result_of(
        monitors,
        origin,
        duration_ns=max(stream.duration_ns, 1.0),
        exit_status=stream.exit_status,
    )
    page = origin.page_bytes if origin.kind == "tracked" else None
    result = replace(
        result,
        static=(*result.static, *stream.static),
        mappings=stream.mappings,
        objects=tally.attributed(objects, origin.nodes, page) if objects else (),
        interrupted=stream.interrupted,
        provenance=_provenance(target, source, origin.kind),
        warnings=(*result.warnings, *naming.notes),
    )
    if output is not None:
        from gnomon.analysis.locality.store import write

        write(output, result, monitors.records, overwrite=overwrite)
    return result


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


def _stream(target: Command | Process, on: Simulator | None, scope: Scope, feed: Feed) -> Stream:
    if isinstance(target, Command) and not target.argv:
        raise UsageError("there is no command to run: name a workload or a program.")
    if on is None:
        return host_stream(target, scope, feed)
    if isinstance(target, Process):
        raise UsageError("a process runs on this host, not on a simulated machine: choose one.")
    return machine_stream(on, target, scope, feed)


def _scope(given: Scope | str) -> Scope:
    from gnomon.analysis.locality.streams import Scope

    try:
        return Scope(given)
    except ValueError:
        raise UsageError(f"there is no scope '{given}': choose from {', '.join(Scope)}.") from None


def _simulator(on: Source | str | None) -> Simulator | None:
    """Return the simulated machine that was chosen, None where this host is meant."""
    from gnomon.sources.registry import source as chosen_source
    from gnomon.sources.sampling import CanSample
    from gnomon.sources.simulated.simulator import Simulator

    source = chosen_source(on)
    if isinstance(source, Simulator):
        return source
    if source.capabilities.simulated or not isinstance(source, CanSample):
        raise UsageError(
            f"{source.name} tells no accesses: choose a simulated machine, as in --on ring-4, "
            "or this host."
        )
    return None


def _origin(stream: Stream, monitors: Monitors) -> Origin:
    """Return the origin of a stream that has ended; there are as many threads as asked."""
    origin = replace(stream.origin, warnings=(*stream.origin.warnings, *stream.warnings))
    if origin.asker == "thread":
        asked = monitors.paths.sum(axis=1)[: origin.nodes].nonzero()[0]
        count = int(asked.max()) + 1 if len(asked) else 1
        monitors.keep_nodes(count)
        origin = replace(origin, nodes=count)
    return origin


def _provenance(target: Command | Process, source: Simulator | None, kind: str) -> Provenance:
    if source is not None:
        return source.provenance(target)
    from gnomon.sources.registry import source as chosen_source

    found = chosen_source().provenance(target)
    return replace(found, source={"tracked": "pages", "traced": "trace"}.get(kind, found.source))


__getattr__, _ = lazy_names(__name__, {"CounterSetup": "counters", "MachineStream": "streams"})
