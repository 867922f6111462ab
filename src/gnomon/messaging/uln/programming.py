"""The programming interface of message programs: what a thread of a node can do.

    async def ping(thread):
        comm = await thread.establish_communication(2)
        request = Descriptor(dest_node_id=1, comm_id=comm).flagged(Doorbell.WAKE)
        start = thread.get_clock()
        await thread.send(request)
        reply = await thread.sleep_recv()
        thread.free_note(reply)
        return thread.get_clock() - start

What takes time is awaited; the rest does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from gnomon.errors import StateError, UsageError
from gnomon.messaging.protocol import Connection, Descriptor, Doorbell
from gnomon.messaging.uln.engine import (
    MEMORY_BASE,
    MEMORY_BYTES,
    Park,
    Program,
    ProgramRun,
    Task,
    Until,
    run_programs,
)
from gnomon.messaging.uln.machine_kinds import ULN, MachineKind

if TYPE_CHECKING:
    from gnomon.messaging.uln.engine import Engine, Node
    from gnomon.messaging.uln.network import Note


@dataclass(frozen=True, slots=True)
class ThreadHandle:
    """Names a thread of a node, for `wake_thread`, `join` and `preempt`."""

    node: int
    number: int


class Thread:
    """A thread of a node, as its program sees it; every program gets its own."""

    def __init__(self, engine: Engine, node: Node, handle: int, name: str) -> None:
        self.name = name
        self.handle = handle
        self.hit = 0
        self.task: Task
        self._engine = engine
        self._node = node
        self._costs = engine.costs

    # Who and when

    @property
    def node_id(self) -> int:
        """The number of the node."""
        return self._node.number

    def my_node_id(self) -> int:
        """Return the number of this node, counted from 0."""
        return self._node.number

    def get_clock(self) -> int:
        """Return the simulated time in nanoseconds."""
        return self._engine.clock.now

    def get_thread_handle(self) -> ThreadHandle:
        """Return what others need to wake this thread."""
        return ThreadHandle(self._node.number, self.handle)

    # Setting up

    async def establish_communication(self, nodes: int, *, inject: bool = True) -> int:
        """Connect the first n nodes; goes on when all of them have called. Returns a comm_id."""
        engine = self._engine
        if not 1 <= nodes <= len(engine.nodes):
            raise UsageError(
                f"{nodes} nodes cannot be connected: this machine has {len(engine.nodes)}."
            )
        waiting = engine.meeting.setdefault(nodes, [])
        comm_id = nodes
        self._node.nic.connections.add(
            Connection(
                comm_id,
                self.handle,
                MEMORY_BASE,
                MEMORY_BASE + MEMORY_BYTES,
                tuple(range(nodes)),
                inject,
            )
        )
        if len(waiting) + 1 < nodes:
            waiting.append(self.task)
            await Park("establish_communication")
            return comm_id
        for task in waiting:
            engine.clock.at(engine.clock.now, partial(engine.resume, task))
        waiting.clear()
        return comm_id

    async def teardown_communication(self, comm_id: int) -> None:
        """End a connection at this node; messages that still come are refused."""
        self._node.nic.connections.remove(comm_id)

    def store(self, address: int, data: bytes) -> None:
        """Write to this node's memory for messages."""
        self._node.nic.memory.write(address, data)

    def load(self, address: int, size: int) -> bytes:
        """Read this node's memory for messages."""
        return self._node.nic.memory.read(address, size)

    # Sending

    async def send(self, descriptor: Descriptor) -> None:
        """Send a message by DMA, from the addresses in its descriptor."""
        physical, cut = self._node.nic.packets_by_dma(descriptor)
        number, start = await self._enter_send()
        costs = self._costs
        reaches = start + costs.before_exchange + costs.to_nic
        self._mark(start + costs.before_exchange, "send exchange issues", number)
        self._mark(reaches, "exchange reaches the NIC", number)
        self._mark(reaches + costs.to_nic, "exchange result is back", number)
        self._launch(reaches, physical.dest_node_id, cut, number)
        await self._return_from_send(reaches + costs.to_nic + costs.after_exchange, number)

    async def send_pio(
        self, descriptor: Descriptor, metadata: bytes = b"", data: bytes = b""
    ) -> None:
        """Send a message by programmed I/O: its bytes are stored to registers one by one."""
        physical, cut = self._node.nic.packets_by_pio(descriptor, metadata, data)
        number, start = await self._enter_send()
        copying = -(-(len(metadata) + len(data)) // self._costs.pio_bytes_per_ns)
        reaches = start + self._costs.pio_reaches_nic + copying
        self._mark(reaches, "last store reaches the NIC", number)
        self._launch(reaches, physical.dest_node_id, cut, number)
        await self._return_from_send(start + self._costs.pio_call + copying, number)

    async def _enter_send(self) -> tuple[int, int]:
        engine = self._engine
        engine.messages += 1
        number = engine.messages
        self._mark(self.get_clock(), "send is called", number)
        for name, duration in self._costs.system_send:
            await self._spend(name, duration, number)
        return number, self.get_clock()

    def _launch(self, reaches: int, dest: int, cut: list[bytes], number: int) -> None:
        out = reaches + self._costs.launch
        engine = self._engine
        engine.clock.at(out, partial(engine.launch, self._node, dest, cut, number))

    async def _return_from_send(self, time: int, number: int) -> None:
        start = self.get_clock()
        await Until(time)
        self._engine.span(self.task, start, time, "send")
        self._mark(time, "send returns", number)

    # Receiving

    async def poll_recv(self) -> Note:
        """Wait for a message by asking the interface again and again."""
        costs, nic = self._costs, self._node.nic
        start = self.get_clock()
        first = self.get_clock() + costs.before_poll + costs.to_nic
        await Until(first)
        self.hit = first
        while not nic.has_before(self.hit):
            self._node.polling.append((self.task, self.hit + costs.poll_period))
            self._engine.answer_polls(self._node)  # one may have come at this very time
            await Park("poll_recv")
        note = nic.take()
        assert note is not None
        if self.hit > first:
            missed = self.hit - costs.poll_period
            self._mark(missed, "last missing poll reaches the NIC", note.number)
        self._mark(self.hit, "poll reaches the NIC", note.number)
        self._mark(self.hit + costs.to_nic, "poll response is back", note.number)
        await Until(self.hit + costs.to_nic + costs.after_poll)
        await self._received(note, start, "poll_recv")
        return note

    async def sleep_recv(self) -> Note:
        """Wait for a message asleep: arm, look into the queue, sleep until one wakes."""
        costs, node = self._costs, self._node
        start = self.get_clock()
        node.sleeping_for_message.append(self.task)
        try:
            while True:
                await Until(self.get_clock() + costs.arm)
                node.table.arm(self.handle)
                self.task.notified = False
                await Until(self.get_clock() + costs.before_check)
                note = await self._check_queue()
                if note is not None:
                    break
                if costs.system_sleep:
                    await Until(self.get_clock() + costs.system_sleep)
                self._mark(self.get_clock(), "goes to sleep")
                if node.table.sleep(self.handle):
                    await Park("sleep_recv")
                note = await self._check_queue()
                if note is not None:
                    break
        finally:
            node.sleeping_for_message.remove(self.task)
        await self._received(note, start, "sleep_recv")
        return note

    async def _check_queue(self) -> Note | None:
        """Look into the queue once: a message of the time when the question gets there."""
        costs = self._costs
        await Until(self.get_clock() + costs.to_nic)
        note = self._node.nic.take()
        back = self.get_clock() + costs.to_nic + costs.after_check
        await Until(back + (costs.after_poll if note is not None else 0))
        return note

    async def _received(self, note: Note, start: int, what: str) -> None:
        # The system keeps the message until it is asked for, then copies it (figure 1).
        for name, duration in self._costs.system_receive:
            await self._spend(name, duration, note.number)
        self._engine.span(self.task, start, self.get_clock(), what)
        self._mark(self.get_clock(), "receive returns", note.number)

    def free_note(self, note: Note) -> None:
        """Give the place of a received message back."""
        self._node.nic.free(note)

    # Sleeping and waking

    async def stage_sleep(self) -> None:
        """Arm: forget wake-ups so far. Call it before anything that may lead to the wake-up."""
        await Until(self.get_clock() + self._costs.arm)
        if self._node.table.arm(self.handle):
            self.task.lost_wake = (self.task.last_wake, self.get_clock())
            self._mark(self.get_clock(), "arms and forgets a wake-up")
        else:
            self._mark(self.get_clock(), "arms")

    async def thread_sleep(self) -> None:
        """Sleep until woken; goes on at once if a wake-up came since arming."""
        if self._costs.system_sleep:
            await Until(self.get_clock() + self._costs.system_sleep)
        self._mark(self.get_clock(), "goes to sleep")
        if self._node.table.sleep(self.handle):
            await Park("thread_sleep")
        self.task.lost_wake = None
        self._mark(self.get_clock(), "goes on")

    async def wake_thread(self, handle: ThreadHandle) -> None:
        """Wake another thread of this node."""
        target = self._task_of(handle)
        engine, costs = self._engine, self._costs
        self._mark(self.get_clock(), f"wakes thread '{target.thread.name}'")
        engine.wake(target, costs.wake_latency)
        start = self.get_clock()
        await Until(start + costs.wake_call)
        engine.span(self.task, start, start + costs.wake_call, "wake_thread")

    # Threads and work

    def spawn(self, program: Program, *arguments: Any, name: str = "") -> ThreadHandle:
        """Begin another thread on this node."""
        number = len(self._node.tasks)
        task = self._engine.start(self._node, program, name or f"thread {number}", *arguments)
        return task.thread.get_thread_handle()

    async def join(self, handle: ThreadHandle) -> Any:
        """Wait until a thread of this node has ended; returns its result."""
        target = self._task_of(handle)
        if target is self.task:
            raise StateError("a thread cannot wait for its own end.")
        if not target.done:
            target.joined_by.append(self.task)
            await Park("join")
        return target.result

    async def compute(self, nanoseconds: int) -> None:
        """Work for a while."""
        if nanoseconds < 0:
            raise UsageError(f"{nanoseconds} ns of work cannot be done: give zero or more.")
        start = self.get_clock()
        await Until(start + nanoseconds)
        self._engine.span(self.task, start, self.get_clock(), "compute")

    async def preempt(self, handle: ThreadHandle, nanoseconds: int) -> None:
        """Let the operating system take a thread of this node off the core for a while."""
        if nanoseconds < 1:
            raise UsageError("a thread is taken off the core for a nanosecond or more.")
        target = self._task_of(handle)
        if target is self.task:
            raise StateError("a thread cannot take itself off the core.")
        engine, table = self._engine, self._node.table
        table.take_off(handle.number)
        target.away_until = self.get_clock() + nanoseconds
        engine.mark(self.get_clock(), target, "is taken off the core")

        def back() -> None:
            engine.mark(engine.clock.now, target, "comes back to the core")
            if table.bring_back(handle.number):
                engine.resume(target)

        engine.clock.at(target.away_until, back)

    # Helpers

    def _task_of(self, handle: ThreadHandle) -> Task:
        if handle.node != self._node.number or handle.number >= len(self._node.tasks):
            raise StateError(
                f"thread {handle.number} of node {handle.node} is not on node "
                f"{self._node.number}: send it a message instead."
            )
        return self._node.tasks[handle.number]

    async def _spend(self, what: str, duration: int, message: int = 0) -> None:
        start = self.get_clock()
        self._mark(start, what, message)
        await Until(start + duration)
        self._engine.span(self.task, start, start + duration, "system")

    def _mark(self, time: int, what: str, message: int = 0) -> None:
        self._engine.mark(time, self.task, what, message)


# ---- ping-pongs in every style --------------------------------------------------------------

NODE_A, NODE_B = 0, 1
PING, PONG = 3, 4
"""The numbers of the timed messages; 1 and 2 are those with which the nodes meet."""
_APART = 5000  # ns after the meeting, so that the far side is asleep or polls


class Style(StrEnum):
    """How the messages are received."""

    POLLING = "polling"
    NOTIFIED = "notified"
    THREADED = "receive thread"


def run_ping_pong(style: Style, machine: MachineKind = ULN, late: int = 0) -> ProgramRun:
    """Run a ping-pong; node A's result is the round trip in nanoseconds.

    `late` nanoseconds more before the ping move it against the other side's polls.
    """
    doorbell = Doorbell.POLL if style is Style.POLLING else Doorbell.WAKE
    node_a = _threaded_node_a if style is Style.THREADED else _node_a
    return run_programs(
        partial(node_a, doorbell=doorbell, late=late),
        partial(_node_b, doorbell=doorbell),
        machine=machine,
    )


async def _sync(thread: Thread, comm: int, remote: int) -> None:
    """Make sure that the other node is ready."""
    request = Descriptor(dest_node_id=remote, comm_id=comm).flagged(Doorbell.POLL)
    await thread.send(request)
    thread.free_note(await thread.poll_recv())


async def _receive(thread: Thread, doorbell: Doorbell) -> None:
    note = await (thread.sleep_recv() if doorbell is Doorbell.WAKE else thread.poll_recv())
    thread.free_note(note)


async def _node_a(thread: Thread, doorbell: Doorbell, late: int) -> int:
    """Send the ping and wait for the pong; returns the round trip in nanoseconds."""
    comm = await thread.establish_communication(2)
    request = Descriptor(dest_node_id=NODE_B, comm_id=comm).flagged(doorbell)
    await _sync(thread, comm, NODE_B)
    await thread.compute(_APART + late)
    start = thread.get_clock()
    await thread.send(request)
    await _receive(thread, doorbell)
    stop = thread.get_clock()
    await thread.teardown_communication(comm)
    return stop - start


async def _node_b(thread: Thread, doorbell: Doorbell) -> None:
    """Wait for the ping and send the pong."""
    comm = await thread.establish_communication(2)
    response = Descriptor(dest_node_id=NODE_A, comm_id=comm).flagged(doorbell)
    await _sync(thread, comm, NODE_A)
    await _receive(thread, doorbell)
    await thread.send(response)
    await thread.teardown_communication(comm)


async def _threaded_node_a(thread: Thread, doorbell: Doorbell, late: int) -> int:
    """Send the ping and sleep; another thread receives the pong and wakes this one."""
    comm = await thread.establish_communication(2)
    request = Descriptor(dest_node_id=NODE_B, comm_id=comm).flagged(doorbell)
    receiver = thread.spawn(_response_handler, thread.get_thread_handle(), name="receiver")
    await thread.compute(_APART)
    await _sync(thread, comm, NODE_B)
    await thread.stage_sleep()
    await thread.compute(_APART + late)
    start = thread.get_clock()
    await thread.send(request)
    await thread.thread_sleep()
    stop = thread.get_clock()
    await thread.join(receiver)
    await thread.teardown_communication(comm)
    return stop - start


async def _response_handler(thread: Thread, main: ThreadHandle) -> None:
    note = await thread.sleep_recv()
    await thread.wake_thread(main)
    thread.free_note(note)
