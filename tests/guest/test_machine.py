"""The emulated machine is what the tests of the lane take it for."""

import pytest

from .lane import Lane

TIMES = 1_000_000
PER_ITERATION = 2  # instructions


def test_one_processor_counts_instructions_exactly(bare_guest: Lane) -> None:
    def values(times: int) -> set[int]:
        params = {"times": times, "events": 1, "repeats": 7}
        results = bare_guest.run_guest("counting", params=params).results
        return {readings[0][0] for readings in results}

    (once,), (twice,) = values(TIMES), values(2 * TIMES)
    assert twice - once == PER_ITERATION * TIMES


def test_more_events_than_counters_share_them(bare_guest: Lane) -> None:
    times = 100_000_000
    result = bare_guest.run_guest("counting", params={"times": times, "events": 12, "repeats": 1})
    (readings,) = result.results
    for value, enabled, running in readings:
        assert 0.4 < running / enabled < 0.7
        assert value * enabled / running == pytest.approx(PER_ITERATION * times, rel=0.01)


def test_four_nodes_with_two_processors_each(bare_guest: Lane) -> None:
    (machine,) = bare_guest.run_guest("machine", smp=8, nodes=4).results
    assert machine == {
        "machine": "aarch64",
        "cpus": 8,
        "cpus of nodes": ["0-1", "2-3", "4-5", "6-7"],
        "distances": [[10, 16, 22, 16], [16, 10, 16, 22], [22, 16, 10, 16], [16, 22, 16, 10]],
        "event sources": [
            "armv8_pmuv3",
            "breakpoint",
            "kprobe",
            "software",
            "tracepoint",
            "uprobe",
        ],
        "tracing": True,
    }


def test_without_virtual_time_there_are_no_instructions(bare_guest: Lane) -> None:
    params = {"times": 1, "events": 1, "repeats": 1}
    result = bare_guest.run_guest("counting", params=params, icount=None, check=False)
    assert result.exit_status == 1
    assert "No such file or directory" in result.console
