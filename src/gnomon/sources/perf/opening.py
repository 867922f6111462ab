"""Where counters must be opened for a target, and why one could not be, in words to act on."""

from __future__ import annotations

import _thread
import errno
import os
from dataclasses import dataclass
from pathlib import Path

from gnomon.errors import GnomonError, UsageError
from gnomon.events.encoding import made_by_the_kernel
from gnomon.events.event import Event, Kind, Request
from gnomon.recording.contents import Status
from gnomon.sources.base import Cpus, Process, Target, Thread, Verdict
from gnomon.sources.host import Host


@dataclass(frozen=True, slots=True)
class Place:
    """One task or CPU to open an event on; `inherit` follows new threads and children."""

    pid: int
    cpu: int
    scope: str
    inherit: bool = False
    from_exec: bool = False


def places(event: Event, target: Target, child_pid: int | None, host: Host) -> tuple[Place, ...]:
    """Return where to open an event so that it covers the target."""
    if event.cpus is not None:  # a unit outside the cores belongs to no task
        wanted = set(event.cpus)
        return tuple(Place(-1, cpu, f"socket/{host.socket_of(cpu)}") for cpu in sorted(wanted))
    match target:
        case Cpus(cpus=cpus):
            chosen = checked_cpus(cpus, host)
            if event.cores is not None:  # only some kinds of core have its unit
                chosen = tuple(cpu for cpu in chosen if cpu in event.cores)
            return tuple(Place(-1, cpu, f"cpu/{cpu}") for cpu in chosen)
        case Thread(tid=tid):
            if not 0 <= tid < 2**31:
                raise GnomonError(f"there is no thread {tid}: threads have positive numbers.")
            return (Place(tid, -1, f"thread/{tid or threading_id()}"),)
        case Process(pid=pid):
            return tuple(Place(tid, -1, f"thread/{tid}", inherit=True) for tid in tasks(pid))
        case _:
            assert child_pid is not None
            return (Place(child_pid, -1, "process", inherit=True, from_exec=True),)


def threading_id() -> int:
    """Return the kernel's number of the calling thread."""
    return _thread.get_native_id()  # threading would cost start-up time


def tasks(pid: int) -> tuple[int, ...]:
    """Return the threads of a running process."""
    try:
        return tuple(sorted(int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()))
    except FileNotFoundError:
        raise GnomonError(f"there is no process {pid}: it may have ended already.") from None
    except PermissionError:
        raise GnomonError(
            f"the threads of process {pid} cannot be listed: run as its owner or as root."
        ) from None


def checked_cpus(cpus: tuple[int, ...] | None, host: Host) -> tuple[int, ...]:
    """Return the CPUs asked for, or all; refuses those that are not online."""
    if cpus is None:
        return host.online_cpus
    if not cpus:
        raise UsageError("the list of CPUs is empty: name at least one, as in -C 0-3.")
    missing = sorted(set(cpus) - set(host.online_cpus))
    if missing:
        raise UsageError(
            f"CPU {missing[0]} is not online: this host has {_ranges(host.online_cpus)}."
        )
    return tuple(sorted(set(cpus)))


def _ranges(cpus: tuple[int, ...]) -> str:
    return f"CPU {cpus[0]}" if len(cpus) == 1 else f"CPUs {cpus[0]} to {cpus[-1]}"


_CPU_KINDS = frozenset({Kind.HARDWARE, Kind.CACHE, Kind.RAW})


@dataclass(frozen=True, slots=True)
class Reason:
    """What a failed open means, and the remedy."""

    status: Status
    text: str
    remedy: str = ""

    @property
    def verdict(self) -> Verdict:
        """The same as an availability verdict."""
        permitted = self.status is not Status.NOT_PERMITTED
        return Verdict.NOT_SUPPORTED if permitted else Verdict.NOT_PERMITTED

    @property
    def sentence(self) -> str:
        """Both in one sentence."""
        return f"{self.text}; {self.remedy}" if self.remedy else self.text


def _unsupported(text: str, remedy: str = "") -> Reason:
    return Reason(Status.NOT_SUPPORTED, text, remedy)


def never_in_user_mode(request: Request) -> Reason | None:
    """Return why an event reads zero in user mode alone, where that is what was asked for."""
    if request.modifiers.kernel or not made_by_the_kernel(request.event):
        return None
    return _unsupported(
        "it happens in the kernel, so that user mode alone always reads 0",
        f"ask for {request.event.name} without modifiers",
    )


def explain(
    error: int,
    event: Event,
    host: Host,
    *,
    has_core_pmu: bool,
    whole_cpus: bool = False,
    kernel: bool = False,
) -> Reason:
    """Return the meaning of the errno with which perf_event_open refused an event.

    `kernel` tells that what the kernel does was to be counted as well.
    """
    if error in (errno.EACCES, errno.EPERM):
        return _not_permitted(error, event, host, whole_cpus=whole_cpus, kernel=kernel)
    if error == errno.ENOSYS:
        if host.seccomp:
            return _seccomp()
        return _unsupported(
            "the kernel has no perf events",
            "boot a kernel built with CONFIG_PERF_EVENTS",
        )
    if error in (errno.EMFILE, errno.ENFILE):
        return _unsupported(
            "too many files are open: each event takes one a CPU or thread",
            "raise the limit (`ulimit -n`) or ask for fewer events",
        )
    if error == errno.ENOSPC:
        return _unsupported(
            "all hardware breakpoints are taken", "watch fewer addresses (x86 has four)"
        )
    if error == errno.EBUSY:
        return _unsupported(
            "another user of the counters has them to itself", "end the other profiler"
        )
    if event.kind in _CPU_KINDS and not has_core_pmu:
        return _no_pmu(host)
    if error in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP, errno.ENXIO):
        return _unsupported(
            "this CPU's PMU has no such event",
            "`gnomon events --available` lists what it has",
        )
    if error == errno.EINVAL:
        return _unsupported(
            "the PMU refuses the event as encoded",
            "check the code and its modifiers; precise or filtered counting may not exist here",
        )
    return _unsupported(f"the kernel refused it ({os.strerror(error)})")


def _no_pmu(host: Host) -> Reason:
    if host.hypervisor:
        return _unsupported(
            f"this virtual machine ({host.hypervisor}) has no PMU",
            "ask for a machine with a virtual PMU (KVM: -cpu host,pmu=on), or measure on the host",
        )
    return _unsupported(
        "the kernel has no driver for this CPU's PMU",
        "look for 'Performance Events' in the kernel log",
    )


def _seccomp() -> Reason:
    return Reason(
        Status.NOT_PERMITTED,
        "a seccomp filter forbids perf_event_open",
        "run the container with --security-opt seccomp=unconfined or a profile that allows it",
    )


def _not_permitted(
    error: int, event: Event, host: Host, *, whole_cpus: bool, kernel: bool
) -> Reason:
    paranoid = host.paranoid
    if event.kind is Kind.TRACEPOINT:
        needed, what = -1, "tracepoints"
    elif whole_cpus or event.cpus is not None:
        needed, what = 0, "counting whole CPUs"
    elif kernel:
        needed, what = 1, "counting the kernel"
    else:
        needed, what = 2, "counting own processes"
    if paranoid is not None and paranoid > needed:
        return Reason(
            Status.NOT_PERMITTED,
            f"kernel.perf_event_paranoid is {paranoid} and {what} needs at most {needed}",
            f"run with CAP_PERFMON, or as root `sysctl kernel.perf_event_paranoid={needed}`",
        )
    if error == errno.EPERM and host.seccomp:
        return _seccomp()
    if error == errno.EPERM and host.container:
        return Reason(
            Status.NOT_PERMITTED,
            f"this {host.container} container may not use perf events",
            "run it with --cap-add PERFMON and a seccomp profile that allows perf_event_open",
        )
    return Reason(
        Status.NOT_PERMITTED,
        "the target belongs to another user",
        "run as its owner or with CAP_PERFMON",
    )
