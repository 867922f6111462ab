"""Simulated machines to look at, and programs compiled for them: what `gn.sim` offers.

The results come first, then a function for each word of `gnomon sim`.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, ClassVar

from gnomon.errors import UsageError
from gnomon.machines.machine import Machine
from gnomon.machines.routes import Matrix
from gnomon.recording.contents import Provenance
from gnomon.result import Result

if TYPE_CHECKING:
    from gnomon.fabric.result import FabricsResult
    from gnomon.machines.workloads.definition import WorkloadsResult

_FABRIC = "fabric:"
_WORKLOAD = "workload:"


@dataclass(frozen=True, slots=True)
class MachineRow:
    """A machine in a list; memory and links are those of its first node and link."""

    name: str
    title: str
    nodes: int
    cores: int
    threads: int
    clock_ghz: float
    caches: tuple[int, ...]  # B, the first level first
    memories: int
    memory_gb_per_s: float
    memory_ns: float
    links: int
    link_gb_per_s: float | None = None
    link_ns: float | None = None


@dataclass(frozen=True, slots=True)
class MachinesResult(Result):
    """The simulated machines that come with gnomon."""

    kind: ClassVar[str] = "machines"

    rows: tuple[MachineRow, ...]


@dataclass(frozen=True, slots=True)
class Counters:
    """The counters of a simulated machine: so many general ones a thread, `uncore` a node."""

    title: str
    general: int
    fixed: tuple[str, ...]
    uncore: int
    width: int
    events: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MachineResult(Result):
    """A simulated machine, its counters, and what a read of one node costs in another's memory.

    `latency_ns` and `gb_per_s` have a row a reading node, a column a node with the memory; they
    are those beyond the caches, without other load. None is a node without memory.
    """

    kind: ClassVar[str] = "machine"

    machine: Machine
    counters: Counters
    latency_ns: Matrix
    gb_per_s: Matrix


def list(  # noqa: A001
    what: str = "machines",
) -> MachinesResult | WorkloadsResult | FabricsResult:
    """Return the machines that come with gnomon, the `workloads` that run on them, or `fabrics`.

    >>> "ring-4" in [row.name for row in gn.sim.list().rows]
    True
    """
    from gnomon.machines.description import load_machine, machine_names

    origin = Provenance("machine", simulated=True)
    if what == "workloads":
        from gnomon.machines.workloads.definition import WorkloadsResult, describe, workload_names

        return WorkloadsResult(tuple(map(describe, workload_names())), provenance=origin)
    if what == "fabrics":
        from gnomon.fabric.result import list_fabrics

        return list_fabrics()
    if what != "machines":
        raise UsageError(f"'{what}' cannot be listed: choose machines, workloads or fabrics.")
    rows = []
    for machine in map(load_machine, machine_names()):
        held = [node.memory for node in machine.nodes if node.memory is not None]
        link = machine.links[0] if machine.links else None
        rows.append(
            MachineRow(
                machine.name,
                machine.title,
                len(machine.nodes),
                machine.cores,
                machine.threads,
                machine.core.clock_ghz,
                tuple(level.size for level in machine.levels),
                len(held),
                held[0].gb_per_s,
                held[0].read_latency_ns,
                len(machine.links),
                None if link is None else link.gb_per_s,
                None if link is None else link.latency_ns,
            )
        )
    return MachinesResult(tuple(rows), provenance=origin)


def show(name: str) -> MachineResult | WorkloadsResult | FabricsResult:
    """Return all that describes a machine, by name or .toml file, `workload:` or `fabric:NAME`.

    >>> gn.sim.show("ring-4").machine.name
    'ring-4'
    """
    if name.startswith(_FABRIC):
        from gnomon.fabric.result import show_fabric

        return show_fabric(name.removeprefix(_FABRIC))
    if name.startswith(_WORKLOAD):
        from gnomon.machines.workloads.definition import WorkloadsResult, describe

        found = describe(name.removeprefix(_WORKLOAD))
        origin = Provenance("machine", simulated=True)
        return WorkloadsResult((found,), explained=True, provenance=origin)
    from dataclasses import asdict

    from gnomon.machines.description import load_machine
    from gnomon.machines.pmu.description import load_pmu
    from gnomon.machines.routes import distances

    machine = load_machine(name)
    pmu = load_pmu(machine.pmu)
    return MachineResult(
        machine,
        Counters(pmu.title, pmu.general, pmu.fixed, pmu.uncore, pmu.width, tuple(pmu.events)),
        **asdict(distances(machine)),
        provenance=Provenance("machine", simulated=True, machine=machine.name),
    )


def compile(  # noqa: A001
    arguments: Sequence[str],
    *,
    compiler: str | None = None,
    cxx: bool = False,
    stdout: int | IO[bytes] | IO[str] | None = None,
) -> int:
    """Compile and link a program so that its memory references can be traced.

    `arguments` are gcc's. Return the compiler's exit status, as a shell would say it.

    >>> written = Path("a.c").write_text("int main(void) { return 0; }")
    >>> gn.sim.compile(["-O1", "a.c", "-o", "a"])
    0
    """
    import subprocess

    status = subprocess.call(command(arguments, compiler=compiler, cxx=cxx), stdout=stdout)
    return status if status >= 0 else 128 - status


def command(
    arguments: Sequence[str], *, compiler: str | None = None, cxx: bool = False
) -> builtins.list[str]:
    """Return the call of the compiler that `compile` makes."""
    from gnomon.machines.tracing.compiler import compiler_command

    if not arguments:
        raise UsageError("nothing to compile: give gcc's arguments, as in -O2 prog.c -o prog.")
    return compiler_command(arguments, compiler, cxx=cxx)
