"""From what a user wants to run to a run on a simulated machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.errors import CommandError, UsageError
from gnomon.sources.base import Command
from gnomon.units import parse_duration

if TYPE_CHECKING:
    from gnomon.machines.execution import RunOptions
    from gnomon.machines.machine import Machine
    from gnomon.machines.pmu.events import Pmu
    from gnomon.machines.program import Program
    from gnomon.sources.base import Target
    from gnomon.sources.simulated.run import Run

_SIGNAL_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Bench:
    """A simulated machine on which things are run, and how."""

    machine: Machine
    pmu: Pmu
    seed: int = 1
    options: RunOptions | None = None


def prepare(bench: Bench, target: Target) -> Run:
    """Return what is to be run on a machine, not begun yet.

    A command is `workload:NAME` or `signal:NAME` with words `key=value` after it, or a real
    program, whose references are traced.
    """
    if not isinstance(target, Command):
        raise UsageError(
            f"{bench.machine.name} is simulated and runs nothing by itself: give it a command, "
            "as in workload:chase or ./program."
        )
    if not target.argv or not target.argv[0]:
        raise CommandError("there is no command to run: name a workload or a program.")
    if target.input:
        raise UsageError("a simulated machine reads no standard input: omit --input.")
    kind, colon, name = target.argv[0].partition(":")
    if colon and kind == "workload":
        return _workload(bench, target)
    if colon and kind == "signal":
        return _signal(bench, name, target.argv[1:])
    return _traced(bench, target)


def run_program(bench: Bench, program: Program) -> Run:
    """Return a program to be run on a machine, not begun yet."""
    from gnomon.sources.machine.runs import ExecutionRun

    return ExecutionRun(bench.machine, program, seed=bench.seed, options=bench.options)


def _workload(bench: Bench, command: Command) -> Run:
    from gnomon.machines.workloads import build, parse_workload

    name, parameters = parse_workload(command.argv)
    return run_program(bench, build(name, parameters, seed=bench.seed))


def _signal(bench: Bench, name: str, words: tuple[str, ...]) -> Run:
    from gnomon.machines.loads import LOADS
    from gnomon.machines.signals import SignalRun, load_signal
    from gnomon.sources.machine.runs import SignalledRun

    if name == LOADS:
        from gnomon.sources.machine.runs import loads_run

        return loads_run(bench, words)

    duration = _SIGNAL_SECONDS * 10**9
    for word in words:
        key, equals, value = word.partition("=")
        if key != "duration" or not equals:
            raise UsageError(f"'{word}' means nothing to a signal: it takes duration=10s.")
        duration = parse_duration(value, "duration")
    run = SignalRun(load_signal(name), duration, bench.seed)
    return SignalledRun(run, bench.pmu.name, bench.machine.name)


def _traced(bench: Bench, command: Command) -> Run:
    from gnomon.machines.tracing import trace
    from gnomon.sources.machine.runs import TracedRun

    traced = trace(command.argv, command.environment, command.directory, command.stdout)
    return TracedRun(bench.machine, traced, seed=bench.seed, options=bench.options)
