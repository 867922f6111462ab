"""Simulated machines to look at, and programs compiled for them: what `gn.sim` offers."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.recording.contents import Provenance

if TYPE_CHECKING:
    from gnomon.machines.result import MachineResult, MachinesResult
    from gnomon.machines.workloads.definition import WorkloadsResult

_WORKLOAD = "workload:"


def list(what: str = "machines") -> MachinesResult | WorkloadsResult:  # noqa: A001
    """Return the machines that come with gnomon, or the `workloads` that can run on them."""
    from gnomon.machines.description import load_machine, machine_names
    from gnomon.machines.result import MachineRow, MachinesResult

    origin = Provenance("machine", simulated=True)
    if what == "workloads":
        from gnomon.machines.workloads.definition import WorkloadsResult, describe, workload_names

        return WorkloadsResult(tuple(map(describe, workload_names())), provenance=origin)
    if what != "machines":
        raise UsageError(f"'{what}' cannot be listed: choose machines or workloads.")
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


def show(name: str) -> MachineResult | WorkloadsResult:
    """Return all that describes a machine, by its name or its .toml file, or `workload:NAME`."""
    from gnomon.machines.result import Counters, MachineResult

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
