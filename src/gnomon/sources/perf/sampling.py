"""Samples of where events happen, through the kernel's ring buffers."""

from __future__ import annotations

import array
import errno
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gnomon import _native
from gnomon.errors import GnomonError, NotPermittedError, NotSupportedError, StateError, UsageError
from gnomon.events.encoding import event_spec, separates_levels
from gnomon.recording.contents import Status
from gnomon.sources.base import Closing, Command, Cpus, Process, Target, Thread
from gnomon.sources.host import Host, Subject
from gnomon.sources.perf.opening import checked_cpus, explain, tasks
from gnomon.sources.sampling import MappedFile, Place, SampleBatch, Sampling

_CODES = {"event": "I", "pid": "I", "tid": "I", "cpu": "I"}


def sample_spec(sampling: Sampling, *, track_maps: bool) -> _native.SampleSpec:
    """Return a sampling in the kernel's terms."""
    spec = _native.SampleSpec()
    spec.period = sampling.amount
    spec.frequency = sampling.frequency is not None
    spec.callchain = sampling.callchain
    spec.address = sampling.address
    spec.weight = sampling.weight
    spec.data_source = sampling.data_source
    spec.track_maps = track_maps
    spec.wake_each = sampling.wake_each
    spec.follows = sampling.follows
    spec.aux = sampling.aux
    spec.common_sources = sampling.common_sources
    return spec


class _Part(NamedTuple):
    """Events that the same CPUs have, on one task; `events` are their numbers among all."""

    native: _native.Sampler
    events: tuple[int, ...]


class PerfSampler(Closing):
    """Sampled events on a target: start, drain now and then, stop, close."""

    def __init__(
        self,
        samplings: Sequence[Sampling],
        target: Target,
        host: Host,
        *,
        has_core_pmu: bool,
        pages: int = 128,
    ) -> None:
        if not samplings:
            raise UsageError("nothing to sample: name at least one event.")
        self._samplings = tuple(samplings)
        self._target = target
        self._parts: list[_Part] = []
        self._throttled = 0
        self._state = "ready"
        self._subject = Subject(target)
        try:
            self._open(host, has_core_pmu=has_core_pmu, pages=pages)
        except BaseException:
            self.close()
            raise

    def _open(self, host: Host, *, has_core_pmu: bool, pages: int) -> None:
        cpus = list(host.online_cpus)
        match self._target:
            case Cpus(cpus=chosen):
                pids, cpus = [-1], list(checked_cpus(chosen, host))
            case Thread(tid=tid):
                pids, cpus = [tid], [-1]  # one ring that follows the thread
            case Process(pid=pid):
                pids = list(tasks(pid))
            case _:
                assert self._subject.pid is not None
                pids = [self._subject.pid]
        from_exec = isinstance(self._target, Command)
        inherit = isinstance(self._target, Command | Process)
        follow = (inherit, from_exec)
        for pid in pids:
            for events, having in self._by_cores(cpus):
                native = self._open_one(
                    pid, having, events, host, pages, follow, has_core_pmu=has_core_pmu
                )
                self._parts.append(_Part(native, events))
        if not self._parts:
            label = self._samplings[0].request.label
            raise NotSupportedError(f"'{label}' cannot be sampled: none of these CPUs has it.")

    def _by_cores(self, cpus: list[int]) -> Iterator[tuple[tuple[int, ...], list[int]]]:
        """Yield the numbers of events that the same kind of core has, with its CPUs."""
        kinds = [each.request.event.cores for each in self._samplings]
        for cores in dict.fromkeys(kinds):
            # A ring that follows a thread has no CPU; what a CPU lacks then does not count there.
            chosen = [cpu for cpu in cpus if cores is None or cpu < 0 or cpu in cores]
            events = tuple(number for number, each in enumerate(kinds) if each == cores)
            if chosen:
                yield events, chosen

    def _open_one(
        self,
        pid: int,
        cpus: list[int],
        events: tuple[int, ...],
        host: Host,
        pages: int,
        follow: tuple[bool, bool],
        *,
        has_core_pmu: bool,
    ) -> _native.Sampler:
        inherit, from_exec = follow
        samplings = [self._samplings[number] for number in events]
        how = [sample_spec(each, track_maps=True) for each in samplings]
        for user_only in (False, True):
            specs = [
                event_spec(
                    s.request,
                    inherit=inherit,
                    enable_on_exec=from_exec,
                    user_only=user_only and separates_levels(s.request.event),
                )
                for s in samplings
            ]
            try:
                return _native.Sampler(specs, how, pid, cpus, pages)
            except OSError as error:
                number = error.errno or 0
                if number in (errno.EACCES, errno.EPERM) and not user_only and pid != -1:
                    continue  # a user without rights may still sample user mode
                request = samplings[getattr(error, "event_index", 0)].request
                reason = explain(
                    number, request.event, host, has_core_pmu=has_core_pmu, whole_cpus=pid == -1
                )
                kind: type[GnomonError] = NotSupportedError
                if reason.status is Status.NOT_PERMITTED:
                    kind = NotPermittedError
                raise kind(f"'{request.label}' cannot be sampled: {reason.sentence}.") from None
        raise AssertionError("unreachable")

    def start(self) -> None:
        """Begin to sample; a command begins to run."""
        if self._state != "ready":
            raise StateError(f"cannot start a sampler that is {self._state}.")
        if not isinstance(self._target, Command):
            for part in self._parts:
                part.native.enable()
        self._state = "running"
        self._subject.release()

    def drain(self) -> SampleBatch:
        """Return the samples since the last call."""
        if self._state not in ("running", "stopped"):
            raise StateError(f"cannot drain a sampler that is {self._state}.")
        batch = SampleBatch()
        for part in self._parts:
            columns = part.native.drain()
            shift = len(batch.chain_frames)
            for name, content in columns.items():
                column = array.array(_CODES.get(name, "Q"), content)
                if name == "chain_ends" and shift:
                    column = array.array("Q", (end + shift for end in column))
                if name == "event" and len(part.events) < len(self._samplings):
                    column = array.array("I", (part.events[number] for number in column))
                getattr(batch, name).extend(column)
        return batch

    def maps(self) -> list[MappedFile]:
        """Return the files mapped since the last call."""
        return [MappedFile(*row) for part in self._parts for row in part.native.take_maps()]

    def place_of(self, ip: int) -> Place | None:  # noqa: ARG002
        """Return nothing: addresses lie in the mapped files."""
        return None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the target; False when the time was over first."""
        return self._subject.wait(timeout)

    @property
    def exit_status(self) -> int | None:
        """How the command ended, as a shell would say it."""
        return self._subject.exit_status

    def wait_for_samples(self, timeout: float) -> bool:
        """Wait until there is something to drain; the interpreter is free meanwhile."""
        return self._parts[0].native.wait(round(timeout * 1000))

    def stop(self) -> None:
        """Cease to sample; what is in the rings can still be drained."""
        if self._state != "running":
            raise StateError(f"cannot stop a sampler that is {self._state}.")
        for part in self._parts:
            part.native.disable()
        self._state = "stopped"

    def totals(self, index: int) -> tuple[int, int, int]:
        """Return time enabled, time running and count of an event over all its rings."""
        sums = [
            part.native.totals(part.events.index(index))
            for part in self._parts
            if index in part.events
        ]
        enabled, running, count = (sum(words) for words in zip((0, 0, 0), *sums, strict=True))
        return enabled, running, count

    @property
    def lost(self) -> int:
        """How many samples the kernel had to drop because a ring was full."""
        return sum(part.native.lost for part in self._parts)

    @property
    def throttled(self) -> int:
        """How often the kernel paused an event because it came too fast."""
        return self._throttled + sum(part.native.throttled for part in self._parts)

    def close(self) -> None:
        """Give everything back; a command that still runs is ended."""
        for part in self._parts:
            self._throttled += part.native.throttled
            part.native.close()
        self._parts.clear()
        self._subject.close()
        self._state = "closed"
