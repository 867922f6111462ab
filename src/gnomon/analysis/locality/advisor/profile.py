"""What advice is about: a program that can be run again and again, and one run of it as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gnomon import _native
from gnomon.analysis.locality.advisor.changes import Outcome, outcome_of, references_made
from gnomon.analysis.locality.objects import ObjectTable, program_objects
from gnomon.analysis.locality.result import DataObject
from gnomon.errors import GnomonError, UsageError
from gnomon.machines.execution import Execution
from gnomon.machines.memory import MONITORED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from gnomon.launch import Command
    from gnomon.machines.machine import Machine
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
        with trace(given) as traced:
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
            f"{original.name} does more than {MOST_OPERATIONS >> 20} Mi operations, too many to "
            "simulate again: give it a smaller problem."
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
            f"{name} was traced by valgrind, which sees all threads as one, so nothing appears "
            "shared: compile it with `gnomon sim compile`."
        )
    else:
        yield f"the machine sees the loads and stores of {name} only: times exclude the rest."
    if traced.exit_status:
        yield f"{name} ended with exit status {traced.exit_status}: this covers the run up to then."


# ---- one run as it is: how long it takes, and which thread touches what when ------------------


PAGE_CELL = np.dtype(
    [
        ("page", np.uint64),
        ("thread", np.uint32),
        ("spare", np.uint32),
        ("loads", np.uint64),
        ("stores", np.uint64),
    ]
)
BLOCK_CELL = np.dtype(
    [
        ("block", np.uint64),
        ("thread", np.uint32),
        ("spare", np.uint32),
        ("loads", np.uint64),
        ("stores", np.uint64),
        ("read_bytes", np.uint64),
        ("written_bytes", np.uint64),
    ]
)
BLOCK = 64
_MOST_SLICES = 64
_PIECE_SECONDS = 0.1  # after which what the monitor keeps is taken
_FIRST_SLICE_NS = 2000.0


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """How one object is used: references by page, by node, and over time."""

    pages: NDArray[np.uint64]  # (page,), their numbers
    home: NDArray[np.int64]  # (page,), the node of each, -1 when unknown
    use: NDArray[np.int64]  # (page, node), references after setting up
    user: NDArray[np.int64]  # (page,), the thread that made most of them
    setter: int | None  # the thread that set it up, if one did so alone
    course: NDArray[np.int64]  # (slice, node), all references
    setting_up: int  # slices before a second thread came
    loads: int
    stores: int
    later_stores: int  # after setting up

    @property
    def total(self) -> int:
        """References after setting up."""
        return int(self.use.sum())

    @property
    def remote(self) -> int:
        """Those from another node than that of the page."""
        local = self.use[np.arange(len(self.pages)), np.maximum(self.home, 0)]
        return int(self.use.sum() - local[self.home >= 0].sum())


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """A simulated run: its time, where threads ran, and what they referenced."""

    machine: Machine
    outcome: Outcome
    slice_ns: float
    slices: int
    thread_nodes: NDArray[np.int64]  # (thread,), -1 for one that never ran
    cells: NDArray[np.void]  # PAGE_CELL, in order of slices
    cell_slices: NDArray[np.int64]
    made: NDArray[np.int64]  # (slice,), loads and stores of the program by its end
    blocks: NDArray[np.void]  # BLOCK_CELL
    homes: dict[int, int]  # of pages
    traffic: NDArray[np.uint64]  # (block,), those that memory or another node was asked for
    asked: NDArray[np.int64]  # (block,), how often each was

    @property
    def references(self) -> int:
        """All loads and stores."""
        return int(self.cells["loads"].sum() + self.cells["stores"].sum())

    @property
    def running(self) -> int:
        """How many threads ran."""
        return int((self.thread_nodes >= 0).sum())

    def traffic_share(self, thing: DataObject) -> float:
        """Return the part of what memory and other nodes answered that was for an object."""
        first, last = np.searchsorted(
            self.traffic, np.array([thing.start // BLOCK, -(-thing.end // BLOCK)], np.uint64)
        )
        return float(self.asked[first:last].sum() / max(self.asked.sum(), 1))

    def references_to(self, thing: DataObject) -> int:
        """Return how often an object was referenced, down to its first and last byte."""
        cells = cells_of(self.blocks, thing)
        touched = cells["read_bytes"] | cells["written_bytes"]
        begin = cells["block"] * np.uint64(BLOCK)
        inside = np.full(len(cells), ~np.uint64(0))
        low = thing.start - begin.astype(np.int64)
        high = begin.astype(np.int64) + BLOCK - thing.end
        cut = low > 0
        inside[cut] &= ~np.uint64(0) << low[cut].astype(np.uint64)
        cut = high > 0
        inside[cut] &= ~np.uint64(0) >> high[cut].astype(np.uint64)
        own = cells[(touched & inside) != 0]
        return int(own["loads"].sum() + own["stores"].sum())

    def usage(self, thing: DataObject) -> Usage:
        """Return how an object is used."""
        page = self.machine.translation.page
        first, last = thing.start // page, (thing.end - 1) // page
        inside = (self.cells["page"] >= first) & (self.cells["page"] <= last)
        cells, slices = self.cells[inside], self.cell_slices[inside]
        nodes = self.thread_nodes[cells["thread"]]
        counts = (cells["loads"] + cells["stores"]).astype(np.int64)
        count = len(self.machine.nodes)
        course = np.zeros((self.slices, count), np.int64)
        np.add.at(course, (slices, nodes), counts)
        setter, setting_up = _setting_up(cells["thread"], slices, counts, self.slices)
        pages, index = np.unique(cells["page"], return_inverse=True)
        use = np.zeros((len(pages), count), np.int64)
        later = slices >= setting_up
        # It may end within a slice, in which others begin: who alone writes sets up.
        writers = np.unique(cells["thread"][cells["stores"] > 0])
        writer = int(writers[0]) if len(writers) == 1 else setter
        ending = (slices == setting_up) & (cells["thread"] == writer)
        np.add.at(use, (index[later], nodes[later]), counts[later])
        return Usage(
            pages,
            np.array([self.homes.get(int(each), -1) for each in pages], np.int64),
            use,
            _main_users(index[later], cells["thread"][later], counts[later], len(pages)),
            setter if setting_up else None,
            course,
            setting_up,
            int(cells["loads"].sum()),
            int(cells["stores"].sum()),
            int(cells["stores"][later & ~ending].sum()),
        )


def cells_of(blocks: NDArray[np.void], thing: DataObject) -> NDArray[np.void]:
    """Return the cells of the blocks that an object lies in."""
    first, last = thing.start // BLOCK, (thing.end - 1) // BLOCK
    return blocks[(blocks["block"] >= first) & (blocks["block"] <= last)]


def _setting_up(
    threads: NDArray[np.uint32], slices: NDArray[np.int64], counts: NDArray[np.int64], most: int
) -> tuple[int, int]:
    """Return which thread uses an object first, and in which slice others begin to.

    A thread takes its operations in pieces and may hold some that it has not executed yet, so a
    few references of others do not count.
    """
    if not len(threads) or len(np.unique(threads)) < 2:
        return 0, 0
    everyone = np.bincount(slices, counts, minlength=most)
    begin = int(np.argmax(everyone > 0))
    among_first = slices == begin
    first = np.bincount(threads[among_first], counts[among_first]).argmax()
    others = np.bincount(slices, np.where(threads == first, 0, counts), minlength=most)
    shared = np.flatnonzero(others > 0.2 * np.maximum(everyone, 1))
    return int(first), int(shared[0]) if len(shared) else 0


def _main_users(
    pages: NDArray[np.int64], threads: NDArray[np.uint32], counts: NDArray[np.int64], most: int
) -> NDArray[np.int64]:
    """Return the thread that made most references to each page, -1 where nobody did."""
    users = np.full(most, -1, np.int64)
    if not len(pages):
        return users
    width = int(threads.max()) + 1
    keys, index = np.unique(pages * width + threads, return_inverse=True)
    sums = np.bincount(index, counts)
    order = np.argsort(sums, kind="stable")
    users[keys[order] // width] = keys[order] % width  # the last one written has most
    return users


def profiled(machine: Machine, subject: Subject) -> Profile:
    """Run a program once on a machine and note who touches what."""
    program = subject.program()
    census = _native.Census(len(program.feeds), machine.translation.page)
    feeds = tuple(
        _native.CountedFeed(feed, census, thread) for thread, feed in enumerate(program.feeds)
    )
    pieces: list[NDArray[np.void]] = []
    made: list[int] = []
    traffic = _Traffic()
    with Execution(machine, replace(program, feeds=feeds)) as execution:
        execution.memory.watch_remote(traffic.monitor)
        slice_ns = _FIRST_SLICE_NS
        done = False
        while not done:
            until = slice_ns * (len(pieces) + 1)
            while not done and execution.now_ns < until - 1:
                done = execution.advance(until_ns=until, seconds=_PIECE_SECONDS)
                traffic.take()
            pieces.append(np.frombuffer(census.take_pages(), PAGE_CELL))
            made.append(references_made(execution))
            if len(pieces) >= _MOST_SLICES:
                pieces = [np.concatenate(pieces[i : i + 2]) for i in range(0, len(pieces), 2)]
                made = [*made[1::2], *made[len(made) // 2 * 2 :]]
                slice_ns *= 2
        outcome = outcome_of(execution)
        hardware = [each.hardware for each in execution.threads]
        blocks = np.frombuffer(census.blocks(), BLOCK_CELL)
        cells = np.concatenate(pieces)
        page = machine.translation.page
        homes = {
            int(number): node
            for number in np.unique(cells["page"])
            if (node := execution.memory.node_of(int(number) * page)) is not None
        }
    nodes = machine.core_nodes
    asked_for, asked = traffic.joined()
    return Profile(
        machine,
        outcome,
        slice_ns,
        len(pieces),
        np.array([-1 if h is None else nodes[h // machine.core.threads] for h in hardware]),
        cells,
        np.repeat(np.arange(len(pieces)), [len(piece) for piece in pieces]),
        np.array(made, np.int64),
        blocks,
        homes,
        asked_for,
        asked,
    )


class _Traffic:
    """What memory and other nodes were asked for, counted by block."""

    def __init__(self) -> None:
        self.monitor = _native.StreamMonitor(True)
        self._blocks: list[NDArray[np.uint64]] = []
        self._counts: list[NDArray[np.int64]] = []

    def take(self) -> None:
        rows = np.frombuffer(self.monitor.take(), MONITORED)
        if not len(rows):
            return
        blocks, counts = np.unique(rows["address"] // np.uint64(BLOCK), return_counts=True)
        self._blocks.append(blocks)
        self._counts.append(counts.astype(np.int64))
        if len(self._blocks) >= _MOST_SLICES:
            blocks, counts = self.joined()
            self._blocks, self._counts = [blocks], [counts]

    def joined(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        if not self._blocks:
            return np.empty(0, np.uint64), np.empty(0, np.int64)
        blocks, index = np.unique(np.concatenate(self._blocks), return_inverse=True)
        sums = np.zeros(len(blocks), np.int64)
        np.add.at(sums, index, np.concatenate(self._counts))
        return blocks, sums
