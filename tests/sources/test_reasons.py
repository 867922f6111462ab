"""Why an event cannot be had: each errno in words that a user can act on."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from functools import cached_property

import pytest

from gnomon.events import kernel
from gnomon.events.event import Event, Kind, Modifiers, Request, Scope
from gnomon.recording.contents import Status
from gnomon.sources.base import Verdict
from gnomon.sources.host import Host
from gnomon.sources.perf.opening import explain, never_in_user_mode


@dataclass(frozen=True)
class FakeHost(Host):
    """A host with the facts that a test wants."""

    fake_paranoid: int | None = 2
    fake_seccomp: bool = False
    fake_hypervisor: str = ""
    fake_container: str = ""

    @property
    def paranoid(self) -> int | None:
        return self.fake_paranoid

    @property
    def seccomp(self) -> bool:
        return self.fake_seccomp

    @cached_property
    def hypervisor(self) -> str:
        return self.fake_hypervisor

    @cached_property
    def container(self) -> str:
        return self.fake_container


CYCLES = kernel.hardware_events()[0]
FAULTS = kernel.software_events()[2]
RAW = kernel.raw_event("r1c2", 0x1C2)
TRACEPOINT = Event("sched:switch", kind=Kind.TRACEPOINT)
UNCORE = Event("imc/read/", scope=Scope.SOCKET, cpus=(0,))
METAL = FakeHost()

NO_EVENT = "this CPU's PMU has no such event; `gnomon events --available` lists what it has"
NO_DRIVER = (
    "the kernel has no driver for this CPU's PMU; look for 'Performance Events' in the kernel log"
)
FILES = (
    "too many files are open: each event takes one a CPU or thread; "
    "raise the limit (`ulimit -n`) or ask for fewer events"
)
SECCOMP = (
    "a seccomp filter forbids perf_event_open; run the container with --security-opt "
    "seccomp=unconfined or a profile that allows it"
)


@pytest.mark.parametrize(
    ("error", "event", "host", "has_core_pmu", "sentence"),
    [
        (errno.ENOENT, CYCLES, METAL, True, NO_EVENT),
        (errno.ENODEV, CYCLES, METAL, True, NO_EVENT),
        (errno.EOPNOTSUPP, RAW, METAL, True, NO_EVENT),
        (errno.ENXIO, FAULTS, METAL, True, NO_EVENT),
        (errno.ENOENT, CYCLES, METAL, False, NO_DRIVER),
        (errno.EINVAL, RAW, METAL, False, NO_DRIVER),
        (
            errno.ENOENT,
            CYCLES,
            FakeHost(fake_hypervisor="QEMU Standard PC"),
            False,
            "this virtual machine (QEMU Standard PC) has no PMU; ask for a machine with a "
            "virtual PMU (KVM: -cpu host,pmu=on), or measure on the host",
        ),
        (
            errno.EINVAL,
            RAW,
            METAL,
            True,
            "the PMU refuses the event as encoded; check the code and its modifiers; precise or "
            "filtered counting may not exist here",
        ),
        (errno.EMFILE, FAULTS, METAL, True, FILES),
        (errno.ENFILE, FAULTS, METAL, False, FILES),
        (
            errno.ENOSPC,
            FAULTS,
            METAL,
            True,
            "all hardware breakpoints are taken; watch fewer addresses (x86 has four)",
        ),
        (
            errno.EBUSY,
            CYCLES,
            METAL,
            True,
            "another user of the counters has them to itself; end the other profiler",
        ),
        (
            errno.ENOSYS,
            FAULTS,
            METAL,
            True,
            "the kernel has no perf events; boot a kernel built with CONFIG_PERF_EVENTS",
        ),
        (errno.EIO, FAULTS, METAL, True, "the kernel refused it (Input/output error)"),
    ],
)
def test_what_is_not_supported(
    error: int, event: Event, host: Host, has_core_pmu: bool, sentence: str
) -> None:
    reason = explain(error, event, host, has_core_pmu=has_core_pmu)
    assert reason.sentence == sentence
    assert reason.status is Status.NOT_SUPPORTED
    assert reason.verdict is Verdict.NOT_SUPPORTED


def _paranoid(value: int, what: str, needed: int) -> str:
    return (
        f"kernel.perf_event_paranoid is {value} and {what} needs at most {needed}; "
        f"run with CAP_PERFMON, or as root `sysctl kernel.perf_event_paranoid={needed}`"
    )


OWNER = "the target belongs to another user; run as its owner or with CAP_PERFMON"


@pytest.mark.parametrize(
    ("error", "event", "host", "whole_cpus", "kernel", "sentence"),
    [
        (
            errno.EACCES,
            FAULTS,
            FakeHost(3),
            False,
            False,
            _paranoid(3, "counting own processes", 2),
        ),
        (errno.EACCES, FAULTS, FakeHost(2), False, True, _paranoid(2, "counting the kernel", 1)),
        (errno.EACCES, FAULTS, FakeHost(2), True, True, _paranoid(2, "counting whole CPUs", 0)),
        (errno.EACCES, FAULTS, FakeHost(1), True, False, _paranoid(1, "counting whole CPUs", 0)),
        (errno.EACCES, UNCORE, FakeHost(1), False, False, _paranoid(1, "counting whole CPUs", 0)),
        (errno.EPERM, TRACEPOINT, FakeHost(0), False, False, _paranoid(0, "tracepoints", -1)),
        (errno.EACCES, FAULTS, FakeHost(2), False, False, OWNER),
        (errno.EACCES, FAULTS, FakeHost(1), False, True, OWNER),
        (errno.EACCES, FAULTS, FakeHost(None), True, True, OWNER),
        (errno.EPERM, FAULTS, FakeHost(-1, fake_seccomp=True), False, False, SECCOMP),
        (errno.ENOSYS, FAULTS, FakeHost(-1, fake_seccomp=True), False, False, SECCOMP),
        (
            errno.EPERM,
            FAULTS,
            FakeHost(-1, fake_container="docker"),
            False,
            False,
            "this docker container may not use perf events; run it with --cap-add PERFMON and a "
            "seccomp profile that allows perf_event_open",
        ),
        (errno.EACCES, FAULTS, FakeHost(-1, fake_container="docker"), False, False, OWNER),
    ],
)
def test_what_is_not_permitted(
    error: int, event: Event, host: Host, whole_cpus: bool, kernel: bool, sentence: str
) -> None:
    reason = explain(error, event, host, has_core_pmu=True, whole_cpus=whole_cpus, kernel=kernel)
    assert reason.sentence == sentence
    assert reason.status is Status.NOT_PERMITTED
    assert reason.verdict is Verdict.NOT_PERMITTED


@pytest.mark.parametrize("error", sorted(errno.errorcode))
def test_every_errno_has_a_reason(error: int) -> None:
    for event in (CYCLES, FAULTS, TRACEPOINT, UNCORE):
        for host in (METAL, FakeHost(-1, True), FakeHost(None, fake_hypervisor="KVM")):
            for has_core_pmu in (False, True):
                reason = explain(error, event, host, has_core_pmu=has_core_pmu)
                assert reason.text
                assert "\n" not in reason.sentence


@pytest.mark.parametrize("event", kernel.software_events())
def test_what_happens_in_the_kernel_alone_is_never_counted_in_user_mode(event: Event) -> None:
    user = Modifiers(kernel=False, hypervisor=False)
    in_kernel = event.name in ("context-switches", "cpu-migrations", "cgroup-switches")
    reason = never_in_user_mode(Request(event, user))
    assert (reason is not None) == in_kernel
    assert never_in_user_mode(Request(event)) is None
    if reason is not None:
        assert reason.status is Status.NOT_SUPPORTED
        assert "always reads 0" in reason.sentence


def test_switches_in_user_mode_have_a_status_instead_of_a_zero() -> None:
    from gnomon.analysis.count import count

    found = count(["true"], "context-switches:u,page-faults:u", on="host")
    assert found["context-switches:u"].value is None
    assert found["context-switches:u"].status is Status.NOT_SUPPORTED
    assert found["page-faults:u"].value
