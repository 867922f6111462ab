"""Where counters must be opened for a target: which tasks, on which CPUs."""

from __future__ import annotations

import _thread
from dataclasses import dataclass
from pathlib import Path

from gnomon.errors import GnomonError, UsageError
from gnomon.events.event import Event
from gnomon.sources.base import Cpus, Process, Target, Thread
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
