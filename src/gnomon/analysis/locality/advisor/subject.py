"""What advice is about: a program that can be run again and again, and the objects it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gnomon.analysis.locality.objects import DataObject, ObjectTable, program_objects
from gnomon.errors import GnomonError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gnomon.launch import Command
    from gnomon.machines.program import Program
    from gnomon.machines.tracing import TracedProgram

MOST_OPERATIONS = 1 << 25
"""How much of a traced program is kept, 16 bytes each."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A program that does the same in every run, and its objects in order of address."""

    name: str
    objects: tuple[DataObject, ...]
    program: Callable[[], Program]
    notes: tuple[str, ...] = ()
    exit_status: int | None = None  # of a real program


def command_subject(what: Command | Sequence[str], *, seed: int = 1) -> Subject:
    """Return a workload, or a real program that is run now, once, and kept."""
    from gnomon.launch import Command

    command = what if isinstance(what, Command) else Command(tuple(what))
    if not command.argv or not command.argv[0]:
        raise UsageError("there is no command to run: name a workload or a program.")
    if command.argv[0].startswith("workload:"):
        from gnomon.machines.workloads import parse_workload

        name, parameters = parse_workload(command.argv)
        subject = workload_subject(name, parameters, seed=seed)
        return replace(subject, name=" ".join(command.argv))
    if command.argv[0].startswith("signal:"):
        raise UsageError("a signal accesses no memory: name a workload or a program.")
    return _program_subject(command)


def _program_subject(command: Command) -> Subject:
    from gnomon.analysis.locality.naming import Naming
    from gnomon.launch import Command
    from gnomon.machines.tracing import trace

    with Naming(command) as naming:
        given = naming.target
        assert isinstance(given, Command)
        with trace(given.argv, given.environment, given.directory, given.stdout) as traced:
            subject = traced_subject(traced, naming.objects)
        name = " ".join(command.argv)
        return replace(subject, name=name, notes=(*subject.notes, *naming.notes))


def workload_subject(
    name: str, parameters: Mapping[str, str] | None = None, *, seed: int = 1
) -> Subject:
    """Return a workload, whose arrays are its objects."""
    from gnomon.machines.workloads import build

    given = dict(parameters or {})
    objects = program_objects(build(name, given, seed=seed))
    return Subject(f"workload:{name}", objects, lambda: build(name, given, seed=seed))


def traced_subject(traced: TracedProgram, objects: Callable[[], Sequence[DataObject]]) -> Subject:
    """Run a traced program once, keep what it does, and return it with its objects.

    `objects` is asked when the program has ended.
    """
    from gnomon import _native

    traced.release()
    original = traced.program
    recorded = _native.record_feeds(original.feeds, MOST_OPERATIONS)
    if not recorded.complete:
        traced.close()
        raise GnomonError(
            f"{original.name} does more than {MOST_OPERATIONS >> 20} Mi operations, which is too "
            "much to be repeated: give it a smaller problem."
        )
    traced.wait()
    if recorded.operations == 0:
        why = traced.warnings[0] if traced.warnings else "it told of no reference."
        raise UsageError(f"{original.name} cannot be advised on: {why}")

    def program() -> Program:
        feeds = tuple(_native.RecordedFeed(recorded, t) for t in range(recorded.threads))
        return replace(original, feeds=feeds)

    return Subject(
        original.name,
        ObjectTable(objects()).merged(),
        program,
        (*traced.warnings, *_notes(traced)),
        traced.exit_status,
    )


def _notes(traced: TracedProgram) -> Iterator[str]:
    name = traced.program.name
    if traced.method == "lackey":
        yield (
            f"{name} was traced by valgrind, which sees all its threads as one, so that nothing "
            "is shared: compile it with `gnomon sim compile`."
        )
    else:
        yield f"the machine sees the loads and stores of {name} only: times leave out the rest."
    if traced.exit_status:
        yield (
            f"{name} ended with exit status {traced.exit_status}: this is about what it did before."
        )
