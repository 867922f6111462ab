"""The sources that the suite is run against; a new source adds its case here."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from gnomon import _native
from gnomon.events.event import Request
from gnomon.sources.abilities import HasUnits
from gnomon.sources.base import Choice, Command, Source, Verdict
from gnomon.sources.host import Host
from gnomon.sources.registry import source as chosen_source
from gnomon.sources.totals import Total, totals

from .case import SourceCase
from .programs import BRIEF, LENGTHY, rounds

# Some kernel lists each of these, few machines count them all.
_RARELY_COUNTABLE = ("cycles", "node-prefetch-misses", "node-store-misses", "iTLB-prefetches")


def _first_refused(source: Source) -> str:
    """Return the first of the rare events that this machine does not count, if any."""
    for name in _RARELY_COUNTABLE:
        for event in source.resolve(name):
            if source.availability([Request(event)])[0].verdict is Verdict.NOT_SUPPORTED:
                return event.name
    return ""


@dataclass(frozen=True)
class _Rights:
    """What this user may count: a suffix for events, whole CPUs or not, or nothing at all."""

    suffix: str = ""
    cpus: bool = True
    unavailable: str = ""


def _rights(host: Host) -> _Rights:
    paranoid = host.paranoid
    if paranoid is None:
        return _Rights(unavailable="the kernel has no perf events")
    if host.may_measure or paranoid <= 0:
        return _Rights()
    if paranoid > 2:
        return _Rights(unavailable=f"kernel.perf_event_paranoid is {paranoid}")
    return _Rights("" if paranoid == 1 else ":u", cpus=False)


def _perf(name: str, events: tuple[str, ...], unavailable: str = "") -> SourceCase:
    source = chosen_source("host")
    rights = _rights(Host())
    unavailable = unavailable or rights.unavailable
    return SourceCase(
        name=name,
        make=lambda: chosen_source("host"),
        events=tuple(event + rights.suffix for event in events),
        unknown="no-such-event",
        brief=BRIEF,
        lengthy=LENGTHY,
        refused="" if unavailable else _first_refused(source),
        work=_work,
        runs_programs=True,
        fault_event="page-faults" + rights.suffix if "page-faults" in events else "",
        threads=True,
        processes=True,
        cpus=rights.cpus,
        restarts=True,
        unavailable=unavailable,
    )


def _work() -> None:
    _native.known_loop(50_000)
    _native.known_faults(16)


def _perf_hardware() -> SourceCase:
    host = chosen_source("host")
    pmu = isinstance(host, HasUnits) and any(unit.of_cores for unit in host.units())
    reason = "" if pmu else "the kernel has no PMU in the cores of this machine"
    return _perf("perf-hardware", ("cycles", "instructions"), reason)


def _valgrind() -> SourceCase:
    source = chosen_source("valgrind")
    works = source.availability([request for group in source.default_events() for request in group])
    return SourceCase(
        name="valgrind",
        make=lambda: chosen_source("valgrind"),
        events=("valgrind::Ir", "valgrind::D1mr", "valgrind::Bc"),
        unknown="no-such-event",
        brief=rounds(2_000),
        lengthy=LENGTHY,
        refused="valgrind::Ir:k" if works[0].countable else "",
        runs_programs=True,
        unavailable=works[0].reason,
    )


_NO_NUMPY = "" if find_spec("numpy") else "numpy is not installed, which it needs"


def _machine(name: str, events: tuple[str, ...], refused: str) -> SourceCase:
    """A simulated machine; what it runs is a workload, which takes hundreds of ns an access."""
    workload = ("workload:random", "size=16MiB", "dependent=yes")
    return SourceCase(
        name=f"machine-{name}",
        make=lambda: chosen_source(name),
        events=events,
        unknown="no-such-event",
        brief=Command((*workload, "accesses=60000")),
        lengthy=Command((*workload, "accesses=10000000000000")),
        refused=refused,
        unavailable=_NO_NUMPY,
    )


def _signal() -> SourceCase:
    """Counter processes in place of a program."""
    return SourceCase(
        name="machine-signal",
        make=lambda: chosen_source("pentium3-smp"),
        events=("INST_RETIRED", "CPU_CLK_UNHALTED"),
        unknown="no-such-event",
        brief=Command(("signal:celestia", "duration=100ms")),
        lengthy=Command(("signal:celestia", "duration=1000000000m")),
        refused="FP_ASSIST",
        unavailable=_NO_NUMPY,
    )


def _cluster() -> SourceCase:
    """A simulated cluster that runs a message program."""

    return SourceCase(
        name="cluster",
        make=lambda: chosen_source("cluster:uln"),
        events=("messages-sent", "task-clock"),
        unknown="no-such-event",
        brief=Command(("program:ping-pong", "rounds=20000")),
        lengthy=Command(("program:ping-pong", "rounds=100000000000")),
        refused="messages-sent:u",
    )


def _fabric() -> SourceCase:
    """A simulated interconnect that has a load."""
    return SourceCase(
        name="fabric",
        make=lambda: chosen_source("fabric:ring-8"),
        events=("link-bytes", "transactions"),
        unknown="no-such-event",
        brief=Command(("traffic:uniform", "duration=20ms")),
        lengthy=Command(("traffic:uniform", "duration=1000000000m")),
        refused="link-bytes:u",
        unavailable=_NO_NUMPY,
    )


def _totals() -> SourceCase:
    """Totals that functions read, the shortest way to a source."""
    entry = totals(
        "kernel",
        "totals of the kernel",
        (
            Total("switches", lambda: int(_kernel("ctxt"))),
            Total("gone", lambda: Path("/proc/no-such-file").stat().st_size),
        ),
    )
    return SourceCase(
        name="totals",
        make=lambda: entry.make(Choice("kernel")),
        events=("kernel::switches",),
        unknown="no-such-event",
        brief=BRIEF,
        lengthy=LENGTHY,
        refused="kernel::gone",
        runs_programs=True,
        processes=True,
    )


def _kernel(word: str) -> str:
    lines = Path("/proc/stat").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(f"{word} "))


CASES = (
    _totals(),
    _perf("perf-software", ("task-clock", "page-faults")),
    _perf_hardware(),
    _valgrind(),
    _machine("laptop", ("cycles", "L1-dcache-load-misses"), "link-bytes"),
    _machine("niagara2", ("Instr_cnt", "DC_miss"), "Instr_ld:G"),  # there are no guests
    _signal(),
    _cluster(),
    _fabric(),
)
