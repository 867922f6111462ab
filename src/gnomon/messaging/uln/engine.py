"""Running message programs: threads of nodes as coroutines, in simulated time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from gnomon.errors import GnomonError, UsageError
from gnomon.messaging.protocol import ConnectionTable, Doorbell, ProtocolError
from gnomon.messaging.result import Flight, Mark, Span, Timeline
from gnomon.messaging.uln.machine_kinds import ULN, Fallback, MachineKind, NotificationTable, Wake
from gnomon.messaging.uln.network import Clock, Memory, Network, NetworkInterface, Note, Placement
from gnomon.units import format_duration

if TYPE_CHECKING:
    from gnomon.messaging.uln.programming import Thread

Program = Callable[..., Coroutine[Any, Any, Any]]
"""An `async def` that takes its thread and returns a result."""

MEMORY_BASE = 0x10000
MEMORY_BYTES = 1 << 20
TIME_LIMIT = 10**9
STEP_LIMIT = 2_000_000
"""Steps of a program: some ten seconds of ours, however short they are in simulated time."""
_ASLEEP = {"sleep_recv": "asleep", "thread_sleep": "asleep"}
"""What a thread is while it waits in these; in others it is still busy with them."""


class DeadlockError(GnomonError):
    """All threads wait and nothing is under way; the message says who waits for what."""


class TimeLimitError(GnomonError):
    """A program has not ended in the simulated time that it was given."""


class Until:
    """Awaited by a thread that goes on at a time."""

    def __init__(self, time: int) -> None:
        self.time = time

    def __await__(self) -> Generator[Until, None, None]:
        yield self


class Park:
    """Awaited by a thread that goes on when somebody resumes it."""

    def __init__(self, why: str) -> None:
        self.why = why

    def __await__(self) -> Generator[Park, None, None]:
        yield self


@dataclass(eq=False, slots=True)
class Task:
    """A thread that runs: its coroutine, and where it stands."""

    thread: Thread
    coroutine: Coroutine[Any, Any, Any]
    waiting: str = ""
    since: int = 0
    done: bool = False
    result: Any = None
    away_until: int = 0
    lost_wake: tuple[int, int] | None = None
    last_wake: int = 0
    notified: bool = False
    joined_by: list[Task] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Node:
    """A node: its interface, its table of threads, and those that poll."""

    number: int
    nic: NetworkInterface
    table: NotificationTable
    tasks: list[Task] = field(default_factory=list)
    polling: list[tuple[Task, int]] = field(default_factory=list)
    sleeping_for_message: list[Task] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """What a program gave: a result for each node, how long it took, and what happened when.

    `placements` says for each node what became of the cache lines of messages; `refused` is
    how many messages were thrown away because a connection did not allow them.
    """

    results: tuple[Any, ...]
    time: int
    timeline: Timeline
    placements: tuple[dict[Placement, int], ...] = ()
    refused: int = 0


class Engine:
    """The machine in motion; programs reach it through their `Thread`."""

    def __init__(self, nodes: int, kind: MachineKind, fallback: Fallback) -> None:
        self.kind = kind
        self.costs = kind.costs
        self.clock = Clock()
        self.network = Network(self.clock, self.costs.wire, self.costs.bytes_per_ns)
        self.marks: list[Mark] = []
        self.spans: list[Span] = []
        self.flights: list[Flight] = []
        self.nodes = [self._node(number, fallback) for number in range(nodes)]
        self.messages = 0
        self.dropped = 0
        self.failure: GnomonError | None = None
        self.meeting: dict[int, list[Task]] = {}

    def _node(self, number: int, fallback: Fallback) -> Node:
        memory = Memory(MEMORY_BASE, bytearray(MEMORY_BYTES))

        def running() -> bool:
            tasks = self.nodes[number].tasks
            return any(not task.done and task.away_until <= self.clock.now for task in tasks)

        nic = NetworkInterface(number, memory, ConnectionTable(number), running)
        return Node(number, nic, NotificationTable(fallback))

    # Threads

    def start(self, node: Node, program: Program, name: str, *arguments: Any) -> Task:
        """Begin a thread now."""
        from gnomon.messaging.uln.programming import Thread

        thread = Thread(self, node, len(node.tasks), name)
        coroutine = program(thread, *arguments)
        if not isinstance(coroutine, Awaitable):
            raise UsageError(f"the program '{name}' is no `async def`: it cannot wait.")
        task = Task(thread, coroutine, since=self.clock.now)
        thread.task = task
        node.table.add(thread.handle)
        node.tasks.append(task)
        self.clock.at(self.clock.now, partial(self.resume, task))
        return task

    def resume(self, task: Task) -> None:
        """Let a thread go on until it waits again; not before it is back on the core."""
        if task.away_until > self.clock.now:
            self.clock.at(task.away_until, partial(self.resume, task))
            return
        if task.waiting:
            what = _ASLEEP.get(task.waiting, task.waiting)
            self.span(task, task.since, self.clock.now, what)
            task.waiting = ""
        try:
            wanted = task.coroutine.send(None)
        except StopIteration as stop:
            task.done, task.result = True, stop.value
            for waiting in task.joined_by:
                self.clock.at(self.clock.now, partial(self.resume, waiting))
            return
        if isinstance(wanted, Until):
            self.clock.at(wanted.time, partial(self.resume, task))
        elif isinstance(wanted, Park):
            task.waiting, task.since = wanted.why, self.clock.now
        else:
            raise UsageError("a program may only await operations of its thread.")

    def wake(self, task: Task, latency: int) -> Wake:
        """Wake a thread by the table; if it slept it goes on after a latency."""
        node = self.nodes[task.thread.node_id]
        outcome = node.table.wake(task.thread.handle)
        task.last_wake = self.clock.now
        if outcome is Wake.WOKEN:
            self.clock.at(self.clock.now + latency, partial(self.resume, task))
        return outcome

    def mark(self, time: int, task: Task | Node, what: str, message: int = 0) -> None:
        """Leave a mark in the timeline."""
        node = task.number if isinstance(task, Node) else task.thread.node_id
        name = "NIC" if isinstance(task, Node) else task.thread.name
        self.marks.append(Mark(time, node, name, what, message))

    def span(self, task: Task, start: int, end: int, what: str) -> None:
        """Remember what a thread did for a while."""
        if end > start:
            thread = task.thread
            self.spans.append(Span(start, end, thread.node_id, thread.name, what))

    # Messages

    def launch(self, node: Node, dest: int, packets: list[bytes], number: int) -> None:
        """Put a message on the wire; it is there when its last byte and the pipeline are."""
        size = sum(map(len, packets))

        def arrived(left: int, first: int, last: int) -> None:
            target = self.nodes[dest]
            self.flights.append(Flight(number, node.number, dest, size, left, first, last))
            self.mark(left, node, "first byte leaves", number)
            self.mark(first, target, "first byte arrives", number)
            self.mark(last, target, "last byte arrives", number)
            there = last + self.costs.receive_pipeline
            self.clock.at(there, partial(self._deliver, target, packets, number))

        self.network.send(node.number, dest, size, arrived)

    def _deliver(self, node: Node, packets: list[bytes], number: int) -> None:
        try:
            note = node.nic.deposit(packets, number, self.clock.now)
        except ProtocolError as error:
            self.dropped += 1
            self.mark(self.clock.now, node, f"refused: {error}", number)
            return
        except GnomonError as error:
            self.failure = error
            return
        self.mark(self.clock.now, node, "marked as arrived", number)
        self.answer_polls(node)
        if note.descriptor.doorbell is Doorbell.WAKE:
            self._notify(node, note)

    def answer_polls(self, node: Node) -> None:
        """Let the poll that reaches the interface next, and not right now, find the message."""
        if not node.polling or not node.nic.queue:
            return
        period = self.costs.poll_period
        waits = [
            (max(0, (self.clock.now - first) // period + 1) * period + first, at)
            for at, (_, first) in enumerate(node.polling)
        ]
        time, at = min(waits)
        task, _ = node.polling.pop(at)
        task.thread.hit = time
        self.clock.at(time, partial(self.resume, task))

    def _notify(self, node: Node, note: Note) -> None:
        """Tell a sleeping thread: by the table, or through the operating system."""
        if not node.sleeping_for_message:
            return
        sleepers = node.sleeping_for_message
        # One that was told already looks into the queue anyway: the next message is for another.
        task = next((each for each in sleepers if not each.notified), sleepers[0])
        task.notified = True
        time = self.clock.now + (0 if self.costs.notification else self.costs.nic_wake)
        for name, duration in self.costs.notification:
            self.mark(time, node, name, note.number)
            time += duration

        def reach() -> None:
            outcome = self.wake(task, 0)
            who = f"thread '{task.thread.name}'"
            self.mark(self.clock.now, node, f"{who} {outcome}", note.number)

        self.clock.at(time, reach)

    # Running

    def run(self, limit: int) -> None:
        """Let everything happen until all threads have ended."""
        steps = 0
        while not all(task.done for node in self.nodes for task in node.tasks):
            upcoming = self.clock.next_time
            steps += 1
            if steps > STEP_LIMIT:
                raise TimeLimitError(
                    f"the program took {STEP_LIMIT:,} steps in {format_duration(self.clock.now)} "
                    f"of simulated time and did not end: {self._running()} goes round without "
                    "end, or does too much for this machine; `gnomon.messaging.simulator` is for "
                    "long programs."
                )
            if upcoming is None:
                raise DeadlockError(self._deadlock())
            if upcoming > limit:
                raise TimeLimitError(
                    f"the program did not end in {format_duration(limit)} of simulated time: "
                    f"{self._running()} still runs or waits."
                )
            self.clock.step()
            if self.failure is not None:
                raise self.failure

    def _running(self) -> str:
        """Return the name of a thread that has not ended."""
        threads = (task.thread for node in self.nodes for task in node.tasks if not task.done)
        one = next(threads)
        return f"thread '{one.name}' of node {one.node_id}"

    def _deadlock(self) -> str:
        waits, reasons = [], []
        for node in self.nodes:
            for task in node.tasks:
                if task.done:
                    continue
                who = f"thread '{task.thread.name}' of node {node.number}"
                waits.append(f"{who} waits in {task.waiting} since {task.since} ns")
                if task.lost_wake is not None:
                    came, armed = task.lost_wake
                    reasons.append(
                        f"{who} lost a wake-up that came at {came} ns when it armed at {armed} ns: "
                        "call stage_sleep before anything that may lead to the wake-up"
                    )
                if node.nic.queue and "sleep_recv" in task.waiting:
                    reasons.append(
                        f"{len(node.nic.queue)} messages wait at node {node.number} whose doorbell "
                        "does not wake: send them with Doorbell.WAKE"
                    )
        text = "nothing can go on: " + "; ".join(waits) + "."
        return text + (f" {'; '.join(reasons)}." if reasons else "")

    def close(self) -> None:
        """End what has not ended, so that no coroutine is left over."""
        for node in self.nodes:
            for task in node.tasks:
                task.coroutine.close()


def run_programs(
    *programs: Program,
    machine: MachineKind = ULN,
    fallback: Fallback = Fallback.LIST,
    limit: int = TIME_LIMIT,
) -> ProgramRun:
    """Run a program on each node, a node for each one given; returns when all have ended.

    Raises `DeadlockError` when all wait for each other, and `TimeLimitError` after `limit`
    nanoseconds of simulated time.
    """
    if not programs:
        raise UsageError("there is no program to run: give one for each node.")
    engine = Engine(len(programs), machine, fallback)
    try:
        mains = [
            engine.start(node, program, "main")
            for node, program in zip(engine.nodes, programs, strict=True)
        ]
        engine.run(limit)
    finally:
        engine.close()
    return ProgramRun(
        tuple(task.result for task in mains),
        engine.clock.now,
        Timeline.of(machine.name, len(programs), engine.marks, engine.spans, engine.flights),
        tuple(dict(node.nic.placements) for node in engine.nodes),
        engine.dropped,
    )
