"""Names for what is accessed: arrays of a workload, variables of a program, its allocations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from gnomon.analysis.locality.objects import (
    DataObject,
    allocated_objects,
    process_objects,
    program_objects,
)
from gnomon.errors import GnomonError, NotSupportedError
from gnomon.sources.base import Process

if TYPE_CHECKING:
    from gnomon.launch import Command
    from gnomon.sources.allocation_log import AllocationLog

_WORKLOAD = "workload:"


class Naming:
    """What is run so that its objects can be named: ask for them when it has ended.

    A command notes its allocations while it runs; `target` is that command. Of a process that
    runs already only variables and mappings are known. `notes` says what has no name, and why.
    """

    def __init__(self, target: Command | Process, *, seed: int = 1) -> None:
        self.target: Command | Process = target
        self.notes: tuple[str, ...] = ()
        self._log: AllocationLog | None = None
        self._known: tuple[DataObject, ...] = ()
        if isinstance(target, Process):
            self._known = process_objects(target.pid)
            self.notes = ("what the process had allocated before has no name.",)
        elif target.argv and target.argv[0].startswith(_WORKLOAD):
            self._known = _arrays(target, seed)
        else:
            self._prepare(target)

    def _prepare(self, command: Command) -> None:
        from gnomon.sources.allocation_log import AllocationLog

        try:
            self._log = AllocationLog()
        except NotSupportedError as error:
            self.notes = (f"objects have no names: {error}",)
            return
        variables = self._log.environment(command.environment, _program(command))
        self.target = replace(command, environment=variables)

    def objects(self) -> tuple[DataObject, ...]:
        """Return what there was, once the program has ended."""
        if self._log is None:
            return self._known
        allocations = self._log.read()
        if not allocations.attached:
            self.notes = (
                "objects have no names: the program did not load the library that notes "
                "allocations, as programs that are linked statically do not.",
            )
            return ()
        if allocations.missed:
            self.notes = (
                f"{allocations.missed:,} allocations and releases were too many to be noted: "
                "what they allocated has no name.",
            )
        return allocated_objects(allocations)

    def close(self) -> None:
        """Remove what was noted."""
        if self._log is not None:
            self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _arrays(command: Command, seed: int) -> tuple[DataObject, ...]:
    from gnomon.machines.workloads import build, parse_workload

    try:
        name, parameters = parse_workload(command.argv)
        return program_objects(build(name, parameters, seed=seed))
    except GnomonError:
        return ()  # running it will say what is wrong


def _program(command: Command) -> Path | None:
    """Return the file of the program itself, None when an interpreter will run it."""
    from gnomon.machines.tracing.traced import program_file, read_binary

    try:
        path = program_file(command).resolve()
        read_binary(path)
    except GnomonError:
        return None  # a script; or starting it will say what is wrong
    return path
