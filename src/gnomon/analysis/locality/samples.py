"""Address samples of the host as a stream: what the PMU tells of a few accesses."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from gnomon.analysis.locality.result import UNKNOWN, Origin
from gnomon.analysis.locality.streams import Accesses, Scope, Stream
from gnomon.errors import GnomonError, NotSupportedError
from gnomon.sources.base import Process
from gnomon.sources.latency import find_facility
from gnomon.sources.sampling import Sampling

if TYPE_CHECKING:
    from gnomon.launch import Command
    from gnomon.sources.sampling import CanSample, SampleBatch

_STORES = "mem-stores"
_ALL_LOADS = 3  # cycles, the least that can be asked for
_OTHERWISE = "trace the program with --by trace, track its pages with --by pages, or use --on"
_NAP = 0.1
_WORD = 8
# As in the kernel's perf_mem_data_src.
_OP_STORE = 0x04
_LEVEL_SHIFT = 5
_LOCAL_RAM = 0x80
_REMOTE = 0x100 | 0x200 | 0x400 | 0x800
_REMOTE_BIT = 37


class SampledStream(Stream):
    """A sample of a program's accesses, each with the node of its CPU and what served it."""

    may_end_early = True

    def __init__(
        self,
        source: CanSample,
        target: Command | Process,
        nodes: dict[int, tuple[int, ...]],
        *,
        period: int = 1009,
        scope: Scope = Scope.REMOTE,
        page_bytes: int = 4096,
        duration_ns: int | None = None,
    ) -> None:
        self._source, self._target = source, target
        self._duration_ns = duration_ns
        self._samplings = address_samplings(source, period)
        highest = max((cpu for cpus in nodes.values() for cpu in cpus), default=0)
        self._node_of = np.zeros(highest + 1, np.int16)
        for node, cpus in nodes.items():
            self._node_of[list(cpus)] = node
        notes: list[str] = []
        if len(nodes) < 2 and scope is Scope.REMOTE:
            scope = Scope.MEMORY
            notes.append(
                "this host has one node, so no access is remote: these are the samples that its "
                "memory answered."
            )
        self._scope = scope
        labels = ", ".join(each.request.label for each in self._samplings if each.address)
        self.warnings = tuple(notes)
        self.origin = Origin(
            kind="sampled",
            what=_name(target),
            machine="",
            seen=f"one of {period:,} of {labels} that {_who(scope)} answered",
            nodes=max(nodes, default=0) + 1,
            page_bytes=page_bytes,
        )

    def __iter__(self) -> Iterator[Accesses]:
        with self._source.sample(self._samplings, self._target) as sampler:
            sampler.start()
            begin = time.monotonic_ns()
            ended = False
            while not ended:
                ended = sampler.wait(_NAP) or self._over(begin)
                self.duration_ns = float(time.monotonic_ns() - begin)
                yield self._accesses(sampler.drain(), begin)
            sampler.stop()
            yield self._accesses(sampler.drain(), begin)
            self.duration_ns = float(time.monotonic_ns() - begin)
            self.exit_status = sampler.exit_status
            if sampler.lost or sampler.throttled:
                self.warnings += (
                    f"{sampler.lost:,} samples were lost and the kernel paused an event "
                    f"{sampler.throttled:,} times: raise --period.",
                )

    def _over(self, begin: int) -> bool:
        return self._duration_ns is not None and time.monotonic_ns() - begin >= self._duration_ns

    def _accesses(self, batch: SampleBatch, begin: int) -> Accesses:
        served = np.frombuffer(batch.data_source, dtype=np.uint64)
        address = np.frombuffer(batch.address, dtype=np.uint64)
        level = (served >> np.uint64(_LEVEL_SHIFT)).astype(np.int64) & 0x3FFF
        remote = (level & _REMOTE != 0) | (served >> np.uint64(_REMOTE_BIT) & np.uint64(1) != 0)
        local = (level & _LOCAL_RAM != 0) & ~remote
        kept = remote | local if self._scope is Scope.MEMORY else remote
        kept &= (address != 0) & (address < np.uint64(1 << 47))
        times = np.frombuffer(batch.time, dtype=np.uint64).astype(np.int64)
        order = np.argsort(times[kept], kind="stable")
        chosen = np.flatnonzero(kept)[order]
        source = self._node_of[np.frombuffer(batch.cpu, dtype=np.uint32)[chosen]]
        # A page that memory of the own node served is there; of others only two nodes tell.
        home = np.where(local[chosen], source, UNKNOWN).astype(np.int16)
        if self.origin.nodes == 2:
            home = np.where(local[chosen], source, 1 - source).astype(np.int16)
        return Accesses(
            time_ns=np.maximum(times[chosen] - begin, 0),
            address=address[chosen],
            size=np.full(len(chosen), _WORD, np.uint32),
            write=(served[chosen] & np.uint64(_OP_STORE)) != 0,
            source=source,
            home=home,
            thread=np.frombuffer(batch.tid, dtype=np.uint32)[chosen].astype(np.int32),
        )


def address_samplings(source: CanSample, period: int) -> tuple[Sampling, ...]:
    """Return what samples addresses here: loads, and stores beside them where there are any."""
    try:
        found = find_facility(source).sampled(_ALL_LOADS, period)
    except NotSupportedError:
        raise NotSupportedError(
            "no event samples addresses here: that needs Intel's mem-loads, AMD's ibs_op or ARM's "
            f"arm_spe_0, which most virtual machines lack; {_OTHERWISE}."
        ) from None
    verdicts = source.availability([each.request for each in found])
    for each, verdict in zip(found, verdicts, strict=True):
        if each.address and not verdict.countable:
            raise NotSupportedError(
                f"{each.request.label} samples no addresses here: {verdict.reason or 'refused'}; "
                f"{_OTHERWISE}."
            )
    from gnomon.events.syntax import parse_events

    with suppress(GnomonError):
        ((stores, *_), *_) = parse_events(_STORES, source.resolve)
        [verdict] = source.availability([stores])
        if verdict.countable:
            found += (Sampling(stores, period=period, address=True, data_source=True),)
    return found


def _name(target: Command | Process) -> str:
    return f"process {target.pid}" if isinstance(target, Process) else " ".join(target.argv)


def _who(scope: Scope) -> str:
    return "another node" if scope is Scope.REMOTE else "memory"
