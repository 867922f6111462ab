"""The three ping-pongs of section 4.3: polling, notified, and with a thread that receives.

Both sides meet in a ping-pong of their own before anything is timed, so that the far side
waits already when the ping is sent.
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from gnomon.messaging.protocol import Descriptor, Doorbell
from gnomon.messaging.uln.engine import ProgramRun, run_programs
from gnomon.messaging.uln.machine_kinds import ULN, MachineKind

if TYPE_CHECKING:
    from gnomon.messaging.uln.programming import Thread, ThreadHandle

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
