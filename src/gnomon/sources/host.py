"""What sources that measure on this host share: its facts, provenance, and what is measured."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gnomon.launch import Launch, has_ended, watch
from gnomon.recording.contents import Provenance
from gnomon.sources.base import Command, Cpus, Process, Target, Thread
from gnomon.units import utc_now

CAP_PERFMON = 38
CAP_SYS_ADMIN = 21


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


@dataclass(frozen=True)
class Host:
    """This machine, read on demand and at most once."""

    @cached_property
    def cpu_model(self) -> str:
        """The CPU's name as it gives it, or its implementer and part on ARM."""
        fields = self._cpuinfo
        if "model name" in fields:
            return fields["model name"]
        if "CPU part" in fields:
            implementer = fields.get("CPU implementer", "?")
            return f"ARM implementer {implementer} part {fields['CPU part']}"
        return os.uname().machine

    @cached_property
    def midr(self) -> int | None:
        """Maker and part of an ARM core, in the places of its register MIDR; None elsewhere."""
        fields = self._cpuinfo
        if "CPU part" not in fields or "CPU implementer" not in fields:
            return None
        return int(fields["CPU implementer"], 0) << 24 | int(fields["CPU part"], 0) << 4

    @cached_property
    def _cpuinfo(self) -> dict[str, str]:
        fields: dict[str, str] = {}
        for line in _read("/proc/cpuinfo").splitlines():
            if not line.strip():
                break  # the first CPU speaks for all
            key, _, value = line.partition(":")
            fields[key.strip()] = value.strip()
        return fields

    @property
    def kernel(self) -> str:
        """The kernel's name and release."""
        uname = os.uname()
        return f"{uname.sysname} {uname.release}"

    @property
    def architecture(self) -> str:
        """The instruction set, as uname gives it."""
        return os.uname().machine

    @property
    def is_arm(self) -> bool:
        """Whether the instruction set is one of ARM's."""
        return self.architecture.startswith(("aarch64", "arm"))

    @cached_property
    def hypervisor(self) -> str:
        """The hypervisor that this host runs under, empty on bare metal."""
        vendor = _read("/sys/class/dmi/id/sys_vendor")
        product = _read("/sys/class/dmi/id/product_name")
        if "hypervisor" in self._cpuinfo.get("flags", "").split():
            return f"{vendor} {product}".strip() or "unnamed hypervisor"
        if any(word in f"{vendor} {product}" for word in ("QEMU", "KVM", "VMware", "VirtualBox")):
            return f"{vendor} {product}".strip()
        compatible = _read("/proc/device-tree/compatible")
        return "QEMU" if "dummy-virt" in compatible else ""

    @cached_property
    def container(self) -> str:
        """The kind of container this process is in, empty when in none that shows."""
        if Path("/.dockerenv").exists():
            return "docker"
        if Path("/run/.containerenv").exists():
            return "podman"
        return _read("/run/systemd/container")

    @property
    def paranoid(self) -> int | None:
        """The value of kernel.perf_event_paranoid, None when the kernel has no perf."""
        text = _read("/proc/sys/kernel/perf_event_paranoid")
        return int(text) if text else None

    @property
    def user_access(self) -> bool:
        """Whether kernel.perf_user_access, which ARM has, lets programs read counters."""
        return _read("/proc/sys/kernel/perf_user_access") == "1"

    @property
    def nmi_watchdog(self) -> bool:
        """Whether the kernel's watchdog holds a counter."""
        return _read("/proc/sys/kernel/nmi_watchdog") == "1"

    @property
    def seccomp(self) -> bool:
        """Whether a filter decides which system calls this process may make."""
        return self._status.get("Seccomp", "0") == "2"

    @cached_property
    def _status(self) -> dict[str, str]:
        lines = _read("/proc/self/status").splitlines()
        return {k: v.strip() for k, _, v in (line.partition(":") for line in lines)}

    @property
    def may_measure(self) -> bool:
        """Whether this process holds a capability that lifts perf's restrictions."""
        effective = int(self._status.get("CapEff", "0"), 16)
        return bool(effective >> CAP_PERFMON & 1 or effective >> CAP_SYS_ADMIN & 1)

    @cached_property
    def online_cpus(self) -> tuple[int, ...]:
        """The CPUs that are online, whether or not this process may run on them."""
        from gnomon.events.sysfs import parse_cpu_list

        text = _read("/sys/devices/system/cpu/online")
        return parse_cpu_list(text) if text else tuple(sorted(os.sched_getaffinity(0)))

    @cached_property
    def nodes(self) -> dict[int, tuple[int, ...]]:
        """The NUMA nodes and their CPUs."""
        from gnomon.events.sysfs import parse_cpu_list

        found = {}
        for path in Path("/sys/devices/system/node").glob("node[0-9]*"):
            found[int(path.name[4:])] = parse_cpu_list(_read(f"{path}/cpulist"))
        return dict(sorted(found.items()))

    def socket_of(self, cpu: int) -> int:
        """Return the number of the socket that a CPU is in."""
        text = _read(f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id")
        return max(int(text), 0) if text.lstrip("-").isdigit() else 0

    @property
    def smt(self) -> bool:
        """Whether two hardware threads share a core."""
        return _read("/sys/devices/system/cpu/smt/active") == "1"


class Subject:
    """A command that waits for its release, a process that is watched, or nothing at all."""

    def __init__(self, target: Target) -> None:
        self._launch: Launch | None = None
        self._pidfd = -1
        self._pid = target.pid if isinstance(target, Process) else None
        command = target.command if isinstance(target, Cpus) else None
        if isinstance(target, Command):
            command = target
        if command is not None:
            self._launch = Launch(command)
        elif isinstance(target, Process):
            self._pidfd = watch(target.pid)

    @property
    def is_command(self) -> bool:
        """Whether it was started by us."""
        return self._launch is not None

    @property
    def pid(self) -> int | None:
        """The number of the process, or of the command's."""
        return self._launch.pid if self._launch is not None else self._pid

    @property
    def exit_status(self) -> int | None:
        """How a command ended; None while it runs."""
        return self._launch.exit_status if self._launch is not None else None

    def release(self) -> None:
        """Let a command run its first instruction; raises CommandError when it cannot start."""
        if self._launch is not None:
            self._launch.release()

    def wait(self, timeout: float | None) -> bool:
        """Wait for its end; False when the time was over first or there is nothing to end."""
        if self._launch is not None:
            return self._launch.wait(timeout)
        if self._pidfd >= 0:
            return has_ended(self._pidfd, timeout)
        if timeout is not None:
            time.sleep(timeout)
        return False

    def signal(self, number: int) -> None:
        """Pass a signal on to a command that still runs."""
        if self._launch is not None:
            self._launch.signal(number)

    def close(self) -> None:
        """Let go; a command that still runs is ended."""
        if self._launch is not None:
            self._launch.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    def __del__(self) -> None:
        self.close()


# Settings that change how a parallel program runs; the rest of the environment is private.
_TELLING_VARIABLES = ("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "MALLOC_", "LD_PRELOAD")


def host_provenance(
    source: str, host: Host, target: Target, *, simulated: bool = False, machine: str = ""
) -> Provenance:
    """Return what this host is and what a source measures on it."""
    from gnomon import __version__

    command: tuple[str, ...] = ()
    match target:
        case Command(argv=argv):
            command, what = argv, "command"
        case Process(pid=pid):
            what = f"process {pid}"
        case Thread(tid=tid):
            what = f"thread {tid}" if tid else "own thread"
        case Cpus(cpus=cpus, command=inner):
            command = inner.argv if inner else ()
            what = "all CPUs" if cpus is None else f"CPUs {','.join(map(str, cpus))}"
    return Provenance(
        source=source,
        simulated=simulated,
        command=command,
        target=what,
        host=os.uname().nodename,
        cpu=host.cpu_model,
        cpus=len(host.online_cpus),
        kernel=host.kernel,
        machine=machine,
        gnomon=__version__,
        python=sys.version.split(maxsplit=1)[0],
        created=utc_now(),
        environment={
            k: v for k, v in sorted(os.environ.items()) if k.startswith(_TELLING_VARIABLES)
        },
    )
