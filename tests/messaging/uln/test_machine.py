"""Published timelines, ping-pongs on three machines, and what goes wrong in programs."""

from __future__ import annotations

import pytest

from gnomon.errors import GnomonError, StateError, UsageError
from gnomon.messaging.protocol import ProtectionError
from gnomon.messaging.uln import (
    KERNEL_NIC,
    MACHINES,
    MEMORY_BASE,
    ULN,
    USER_LEVEL_NIC,
    DeadlockError,
    Descriptor,
    Doorbell,
    Fallback,
    Placement,
    Thread,
    ThreadHandle,
    TimeLimitError,
    engine,
    machine_kind,
    run_programs,
)
from gnomon.messaging.uln.programming import PING, Style, run_ping_pong


def since_send(style: Style, what: str, late: int = 0) -> int:
    timeline = run_ping_pong(style, late=late).timeline
    return timeline.time_of(what, PING) - timeline.time_of("send is called", PING)


@pytest.mark.parametrize(
    ("what", "published"),
    [
        ("send exchange issues", 5),
        ("exchange reaches the NIC", 15),
        ("exchange result is back", 25),
        ("send returns", 26),
        ("first byte leaves", 45),
        ("first byte arrives", 345),
        ("last byte arrives", 383),
        ("marked as arrived", 423),
        ("thread 'main' woken", 433),
        ("receive returns", 458),
    ],
)
def test_table_2(what: str, published: int) -> None:
    assert since_send(Style.NOTIFIED, what) == published


@pytest.mark.parametrize(
    ("what", "published"),
    [
        ("last missing poll reaches the NIC", 413),
        ("poll reaches the NIC", 434),
        ("poll response is back", 444),
        ("receive returns", 448),
    ],
)
def test_table_1_over_all_phases_of_the_polls(what: str, published: int) -> None:
    times = [since_send(Style.POLLING, what, late) for late in range(21)]
    assert sum(times) / len(times) == pytest.approx(published, abs=1)
    assert max(times) - min(times) == 20


@pytest.mark.parametrize("late", range(60))
def test_a_message_is_polled_whenever_it_comes(late: int) -> None:
    async def sender(thread: Thread) -> None:
        comm = await thread.establish_communication(2)
        await thread.send(Descriptor(comm_id=comm))

    async def receiver(thread: Thread) -> None:
        await thread.establish_communication(2)
        await thread.compute(380 + late)
        await thread.poll_recv()

    run_programs(receiver, sender)


def test_round_trips() -> None:
    polled = [run_ping_pong(Style.POLLING, late=late).results[0] for late in range(21)]
    assert all(abs(time - 896) <= 20 for time in polled)
    assert run_ping_pong(Style.NOTIFIED).results[0] == 916
    assert run_ping_pong(Style.THREADED).results[0] == 921


def test_machines_without_user_level_notification_take_longer() -> None:
    trips = [
        run_ping_pong(Style.NOTIFIED, kind).results[0] for kind in (ULN, USER_LEVEL_NIC, KERNEL_NIC)
    ]
    assert trips == sorted(trips)
    assert trips[1] - trips[0] == 2 * (1000 - ULN.costs.nic_wake)  # a microsecond for each
    assert trips[2] - trips[1] == 4 * 1000  # each send and each receive
    assert [kind.user_level_notification for kind in MACHINES.values()] == [True, False, False]


async def nothing(thread: Thread) -> None:
    await thread.establish_communication(2)


async def waiting_already(thread: Thread, sleeping: bool) -> int:
    comm = await thread.establish_communication(2)
    if thread.my_node_id() == 1:
        await thread.send(Descriptor(comm_id=comm))
        return 0
    await thread.compute(2000)
    start = thread.get_clock()
    await (thread.sleep_recv() if sleeping else thread.poll_recv())
    return thread.get_clock() - start


@pytest.mark.parametrize(("sleeping", "published"), [(False, 31), (True, 32)])
def test_receiving_what_is_there_already(sleeping: bool, published: int) -> None:
    async def program(thread: Thread) -> int:
        return await waiting_already(thread, sleeping)

    assert run_programs(program, program).results[0] == published


def test_data_arrives_where_the_sender_says() -> None:
    async def sender(thread: Thread) -> None:
        comm = await thread.establish_communication(2)
        thread.store(MEMORY_BASE, bytes(range(256)) * 16)
        await thread.send(
            Descriptor(
                dest_node_id=1,
                comm_id=comm,
                user_field=42,
                data_size=4096,
                data_src=MEMORY_BASE,
                data_dest=MEMORY_BASE + 8192,
            ).flagged(Doorbell.WAKE)
        )
        await thread.send_pio(
            Descriptor(dest_node_id=1, comm_id=comm, metadata_size=3, metadata_dest=MEMORY_BASE),
            b"abc",
        )

    async def receiver(thread: Thread) -> tuple[int, bytes, bytes]:
        await thread.establish_communication(2)
        note = await thread.sleep_recv()
        second = await thread.poll_recv()
        assert second.descriptor.src_node_id == 0
        return (
            note.descriptor.user_field,
            thread.load(MEMORY_BASE + 8192, 4096),
            thread.load(MEMORY_BASE, 3),
        )

    outcome = run_programs(sender, receiver)
    assert outcome.results[1] == (42, bytes(range(256)) * 16, b"abc")
    long, short = sorted(outcome.timeline.flights, key=lambda flight: flight.number)
    assert long.last - long.first == long.bytes == 4096 + 38 + 30
    assert short.left >= long.left + long.bytes  # one port out of the node


def test_messages_of_two_nodes_share_the_port_of_a_third() -> None:
    async def sender(thread: Thread) -> None:
        comm = await thread.establish_communication(3)
        await thread.send(
            Descriptor(comm_id=comm, data_size=1000, data_src=MEMORY_BASE, data_dest=MEMORY_BASE)
        )

    async def receiver(thread: Thread) -> None:
        await thread.establish_communication(3)
        await thread.poll_recv()
        await thread.poll_recv()

    first, second = run_programs(receiver, sender, sender).timeline.flights
    assert first.left == second.left
    assert second.first == first.last


def test_a_wake_up_before_arming_is_lost_and_said_to_be() -> None:
    async def main(thread: Thread) -> None:
        handle = thread.get_thread_handle()
        waker = thread.spawn(wake, handle)
        await thread.join(waker)
        await thread.stage_sleep()
        await thread.thread_sleep()

    async def wake(thread: Thread, handle: ThreadHandle) -> None:
        await thread.wake_thread(handle)

    with pytest.raises(DeadlockError) as failure:
        run_programs(main)
    text = str(failure.value)
    assert "thread 'main' of node 0 waits in thread_sleep since 4 ns" in text
    assert "lost a wake-up that came at 0 ns when it armed at 4 ns: call stage_sleep before" in text


def test_a_wake_up_after_arming_is_kept() -> None:
    async def main(thread: Thread) -> int:
        await thread.stage_sleep()
        thread.spawn(wake, thread.get_thread_handle())
        await thread.compute(100)
        await thread.thread_sleep()
        return thread.get_clock()

    async def wake(thread: Thread, handle: ThreadHandle) -> None:
        await thread.wake_thread(handle)

    assert run_programs(main).results[0] == 102


@pytest.mark.parametrize("fallback", list(Fallback))
def test_a_message_for_a_thread_off_the_core_is_received_when_it_is_back(
    fallback: Fallback,
) -> None:
    async def main(thread: Thread) -> int:
        await thread.establish_communication(2)
        receiver = thread.spawn(receive)
        await thread.compute(100)
        await thread.preempt(receiver, 10_000)
        time: int = await thread.join(receiver)
        return time

    async def receive(thread: Thread) -> int:
        await thread.sleep_recv()
        return thread.get_clock()

    async def sender(thread: Thread) -> None:
        comm = await thread.establish_communication(2)
        await thread.compute(200)
        await thread.send(Descriptor(comm_id=comm).flagged(Doorbell.WAKE))

    outcome = run_programs(main, sender, fallback=fallback)
    assert outcome.results[0] == 10_100 + 25
    word = {Fallback.LIST: "listed", Fallback.HINT: "dropped"}[fallback]
    assert any(mark.what.endswith(word) for mark in outcome.timeline.marks)


def test_hints_wake_a_thread_that_comes_back_for_nothing() -> None:
    async def main(thread: Thread) -> int:
        sleeper = thread.spawn(sleep)
        await thread.compute(100)
        await thread.preempt(sleeper, 1000)
        woken: int = await thread.join(sleeper)
        return woken

    async def sleep(thread: Thread) -> int:
        await thread.stage_sleep()
        await thread.thread_sleep()
        return thread.get_clock()

    assert run_programs(main, fallback=Fallback.HINT).results[0] == 1100
    with pytest.raises(DeadlockError):
        run_programs(main, fallback=Fallback.LIST)


def test_two_sleepers_get_a_message_each() -> None:
    async def main(thread: Thread) -> list[int]:
        await thread.establish_communication(2)
        sleepers = [thread.spawn(receive) for _ in range(2)]
        return [await thread.join(sleeper) for sleeper in sleepers]

    async def receive(thread: Thread) -> int:
        note = await thread.sleep_recv()
        return note.descriptor.user_field

    async def sender(thread: Thread) -> None:
        comm = await thread.establish_communication(2)
        await thread.compute(100)
        for field in (1, 2):
            message = Descriptor(comm_id=comm, user_field=field)
            await thread.send(message.flagged(Doorbell.WAKE))

    assert sorted(run_programs(main, sender).results[0]) == [1, 2]


async def receives_forever(thread: Thread) -> None:
    await thread.establish_communication(2)
    await thread.sleep_recv()


async def polls_forever(thread: Thread) -> None:
    await thread.establish_communication(2)
    await thread.poll_recv()


async def sends_without_doorbell(thread: Thread) -> None:
    comm = await thread.establish_communication(2)
    await thread.compute(1000)
    await thread.send(Descriptor(comm_id=comm).flagged(Doorbell.POLL))


def test_deadlocks_are_told_in_a_sentence() -> None:
    with pytest.raises(DeadlockError, match=r"'main' of node 0 waits in sleep_recv since 28 ns"):
        run_programs(receives_forever, nothing)
    with pytest.raises(DeadlockError, match="waits in poll_recv"):
        run_programs(polls_forever, nothing)
    with pytest.raises(DeadlockError, match=r"1 messages wait at node 0 whose doorbell"):
        run_programs(receives_forever, sends_without_doorbell)
    with pytest.raises(DeadlockError, match="establish_communication"):
        run_programs(nothing, no_part)


async def no_part(thread: Thread) -> None:
    await thread.compute(1)


async def no_end(thread: Thread) -> None:
    while True:
        await thread.compute(1000)


def test_a_program_without_end_is_stopped() -> None:
    with pytest.raises(TimeLimitError, match=r"100 µs of simulated time: thread 'main'"):
        run_programs(no_end, limit=100_000)


def test_a_program_that_goes_round_in_no_time_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    async def idler(thread: Thread) -> None:
        while True:
            await thread.compute(0)

    monkeypatch.setattr(engine, "STEP_LIMIT", 1000)
    with pytest.raises(TimeLimitError, match=r"1,000 steps in 0 ns of .*thread 'main' of node 0"):
        run_programs(idler)


def not_async(thread: Thread) -> int:
    return 1


async def awaits_elsewhere(thread: Thread) -> None:
    import asyncio

    await asyncio.sleep(0)


async def fails(thread: Thread) -> None:
    await thread.compute(5)
    raise ZeroDivisionError


async def wrong_node(thread: Thread) -> None:
    comm = await thread.establish_communication(1)
    await thread.send(Descriptor(comm_id=comm, dest_node_id=1))


async def wrong_address(thread: Thread) -> None:
    comm = await thread.establish_communication(1)
    await thread.send(Descriptor(comm_id=comm, data_size=8, data_src=0))


async def no_connection(thread: Thread) -> None:
    await thread.send(Descriptor(comm_id=7))


async def too_much_pio(thread: Thread) -> None:
    comm = await thread.establish_communication(1)
    await thread.send_pio(Descriptor(comm_id=comm, data_size=1025), b"", bytes(1025))


async def frees_twice(thread: Thread) -> None:
    comm = await thread.establish_communication(1)
    await thread.send(Descriptor(comm_id=comm))
    note = await thread.poll_recv()
    thread.free_note(note)
    thread.free_note(note)


async def never_frees(thread: Thread) -> None:
    comm = await thread.establish_communication(1)
    for _ in range(1025):
        await thread.send(Descriptor(comm_id=comm))
        await thread.poll_recv()


async def wakes_elsewhere(thread: Thread) -> None:
    await thread.wake_thread(ThreadHandle(3, 0))


async def too_many_nodes(thread: Thread) -> None:
    await thread.establish_communication(2)


async def negative_work(thread: Thread) -> None:
    await thread.compute(-1)


@pytest.mark.parametrize(
    ("program", "error", "said"),
    [
        (not_async, UsageError, "no `async def`"),
        (awaits_elsewhere, UsageError, "may only await"),
        (wrong_node, ProtectionError, "no node 1"),
        (wrong_address, ProtectionError, "data_src"),
        (no_connection, ProtectionError, "no connection 7"),
        (too_much_pio, ProtectionError, "send by DMA"),
        (frees_twice, StateError, "freed before"),
        (never_frees, StateError, "free_note"),
        (wakes_elsewhere, StateError, "send it a message"),
        (too_many_nodes, UsageError, "has 1"),
        (negative_work, UsageError, "zero or more"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    program: object, error: type[GnomonError], said: str
) -> None:
    with pytest.raises(error, match=said):
        run_programs(program)  # type: ignore[arg-type]


def test_other_errors_of_a_program_come_through() -> None:
    with pytest.raises(ZeroDivisionError):
        run_programs(fails)
    with pytest.raises(UsageError, match="no program"):
        run_programs()
    with pytest.raises(UsageError, match="choose from"):
        machine_kind("abacus")


def test_a_message_after_teardown_is_refused() -> None:
    async def gone(thread: Thread) -> None:
        comm = await thread.establish_communication(2)
        await thread.teardown_communication(comm)
        await thread.compute(5000)

    outcome = run_programs(gone, sends_without_doorbell)
    assert any("refused: node 0 has no connection" in m.what for m in outcome.timeline.marks)
    assert outcome.refused == 1


def test_the_same_program_gives_the_same_timeline() -> None:
    first, second = (run_ping_pong(Style.THREADED).timeline for _ in range(2))
    assert first == second


def test_programmed_io_saves_what_the_document_says() -> None:
    async def program(thread: Thread, pio: bool) -> int:
        comm = await thread.establish_communication(1)
        start = thread.get_clock()
        message = Descriptor(comm_id=comm)
        await (thread.send_pio(message) if pio else thread.send(message))
        spent = thread.get_clock() - start
        await thread.poll_recv()
        return spent

    async def by_pio(thread: Thread) -> int:
        return await program(thread, True)

    async def by_dma(thread: Thread) -> int:
        return await program(thread, False)

    pio, dma = run_programs(by_pio), run_programs(by_dma)
    assert dma.results[0] - pio.results[0] == 18
    assert dma.timeline.flights[0].left - pio.timeline.flights[0].left == 10


@pytest.mark.parametrize(
    ("allowed", "hint", "expected"),
    [
        (True, True, {Placement.INJECT: 2, Placement.INJECT_AND_FILL: 1}),
        (False, True, {Placement.FORWARD: 3}),
        (True, False, {Placement.FORWARD: 3}),
    ],
)
def test_lines_go_to_the_cache_if_sender_and_connection_want_it(
    allowed: bool, hint: bool, expected: dict[Placement, int]
) -> None:
    async def sender(thread: Thread) -> None:
        comm = await thread.establish_communication(2)
        message = Descriptor(
            dest_node_id=1, comm_id=comm, data_size=160, data_src=MEMORY_BASE, data_dest=MEMORY_BASE
        )
        await thread.send(message.flagged(Doorbell.POLL, cache_hint=hint))

    async def receiver(thread: Thread) -> None:
        await thread.establish_communication(2, inject=allowed)
        thread.free_note(await thread.poll_recv())

    assert run_programs(sender, receiver).placements == ({}, expected)
