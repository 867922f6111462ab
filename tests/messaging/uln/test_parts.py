"""The notification table and the policy of cache injection, on their own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import StateError
from gnomon.messaging.uln.machine_kinds import Fallback, NotificationTable, Wake
from gnomon.messaging.uln.network import LINE_BYTES, Placement, lines, place_line


@pytest.fixture(params=list(Fallback))
def table(request: pytest.FixtureRequest) -> NotificationTable:
    made = NotificationTable(request.param)
    made.add(1)
    return made


def test_arming_then_sleeping_blocks_until_woken(table: NotificationTable) -> None:
    assert not table.arm(1)
    assert table.sleep(1)
    assert table.is_blocked(1)
    assert table.wake(1) is Wake.WOKEN
    assert not table.is_blocked(1)


def test_a_wake_between_arming_and_sleeping_is_kept(table: NotificationTable) -> None:
    table.arm(1)
    assert table.wake(1) is Wake.NOTED
    assert not table.sleep(1)


def test_a_wake_before_arming_is_lost(table: NotificationTable) -> None:
    table.wake(1)
    assert table.arm(1)
    assert table.sleep(1)


def test_off_the_core() -> None:
    for fallback, outcome in ((Fallback.LIST, Wake.LISTED), (Fallback.HINT, Wake.DROPPED)):
        table = NotificationTable(fallback)
        table.add(1)
        table.arm(1)
        table.sleep(1)
        table.take_off(1)
        assert table.wake(1) is outcome
        assert table.is_blocked(1)
        assert table.bring_back(1)
        assert not table.is_blocked(1)


def test_coming_back_without_a_wake_up_differs() -> None:
    for fallback, goes_on in ((Fallback.LIST, False), (Fallback.HINT, True)):
        table = NotificationTable(fallback)
        table.add(1)
        table.arm(1)
        table.sleep(1)
        table.take_off(1)
        assert table.bring_back(1) is goes_on


def test_unknown_threads(table: NotificationTable) -> None:
    with pytest.raises(StateError, match="no thread 5"):
        table.wake(5)


@given(st.lists(st.sampled_from(["arm", "wake", "sleep"]), max_size=20), st.sampled_from(Fallback))
def test_a_thread_sleeps_only_if_no_wake_came_since_it_armed(
    steps: list[str], fallback: Fallback
) -> None:
    table = NotificationTable(fallback)
    table.add(1)
    woken = False
    for step in steps:
        if step == "sleep":
            assert table.sleep(1) is not woken
        else:
            getattr(table, step)(1)
            woken = step == "wake"


@given(st.booleans(), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_a_line_is_injected_only_when_all_agree(
    hint: bool, connection: bool, running: bool, cached: bool, whole: bool
) -> None:
    found = place_line(
        hint=hint, connection=connection, running=running, cached=cached, whole=whole
    )
    if cached:
        assert found is Placement.UPDATE
    elif hint and connection and running:
        assert found is (Placement.INJECT if whole else Placement.INJECT_AND_FILL)
    else:
        assert found is Placement.FORWARD


@given(st.integers(0, 10_000), st.integers(0, 2000))
def test_lines_cover_the_range_and_no_more(address: int, size: int) -> None:
    touched = {byte // LINE_BYTES for byte in range(address, address + size)}
    found = lines(address, size)
    assert {line for line, _ in found} == touched
    for line, whole in found:
        covered = range(line * LINE_BYTES, (line + 1) * LINE_BYTES)
        assert whole == all(address <= byte < address + size for byte in covered)
