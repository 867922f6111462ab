"""Real programs are counted whole, children included, and end as they would by themselves."""

from __future__ import annotations

import os
import signal

import pytest

from .case import Bench
from .checks import totals
from .programs import NOTHING, announces_itself, dies_of, exits_with, faults_in_grandchild


@pytest.fixture(autouse=True)
def _runs_programs(bench: Bench) -> None:
    if not bench.case.runs_programs:
        pytest.skip("the source runs no programs")


@pytest.mark.parametrize("status", [0, 3, 255])
def test_the_exit_status_is_passed_on(bench: Bench, status: int) -> None:
    with bench.open(exits_with(status)) as counting:
        counting.start()
        assert counting.wait()
        assert counting.exit_status == status
        counting.stop()
    assert counting.exit_status == status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_death_by_signal_is_told_as_a_shell_would(bench: Bench, number: int) -> None:
    with bench.open(dies_of(number)) as counting:
        counting.start()
        assert counting.wait()
        assert counting.exit_status == 128 + number


def test_there_is_no_exit_status_while_the_program_runs(bench: Bench) -> None:
    with bench.open(bench.case.lengthy) as counting:
        assert counting.exit_status is None
        counting.start()
        assert not counting.wait(0)
        assert counting.exit_status is None


def test_a_signal_is_passed_on_to_the_program(bench: Bench) -> None:
    seen, said = os.pipe()
    with (
        os.fdopen(seen, "rb") as line,
        os.fdopen(said, "wb") as end,
        bench.open(announces_itself(end.fileno())) as counting,
    ):
        counting.start()
        line.readline()
        counting.interrupt(signal.SIGTERM)
        assert counting.wait()
        assert counting.exit_status == 128 + signal.SIGTERM
        counting.interrupt(signal.SIGTERM)
        assert set(totals(counting.stop())) == set(bench.case.events)


def test_the_end_is_noticed_after_the_stop_as_well(bench: Bench) -> None:
    with bench.open(bench.case.brief) as counting:
        counting.start()
        counting.stop()
        assert counting.wait()
        assert counting.wait()
        assert counting.exit_status == 0


def test_a_program_is_counted_from_its_first_instruction(bench: Bench) -> None:
    with bench.open(NOTHING) as counting:
        counting.start()
        counting.wait()
        final = totals(counting.stop())
    # Loading itself is all that this program does, and every event sees it.
    assert all(value > 0 for value in final.values())


def test_children_of_children_are_counted(bench: Bench) -> None:
    if not bench.case.fault_event:
        pytest.skip("the source has no event that counts page faults")
    pages = 4000
    counts = []
    for touched in (0, pages):
        with bench.open(faults_in_grandchild(touched), bench.case.fault_event) as counting:
            counting.start()
            counting.wait()
            assert counting.exit_status == 0
            counts.append(totals(counting.stop())[bench.case.fault_event])
    assert abs(counts[1] - counts[0] - pages) < pages // 10
