"""Samples through the kernel's rings."""

from __future__ import annotations

import array
import contextlib
import mmap
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnomon import _native

from .helpers import user_spec

CPU_CLOCK, PAGE_FAULTS = 0, 2
USER_FRAMES = 2**64 - 512  # PERF_CONTEXT_USER
KERNEL_FRAMES = 2**64 - 128  # PERF_CONTEXT_KERNEL
_CODES = {"event": "I", "pid": "I", "tid": "I", "cpu": "I"}


def _every(period: int, **how: bool) -> _native.SampleSpec:
    spec = _native.SampleSpec()
    spec.period = period
    for name, value in how.items():
        setattr(spec, name, value)
    return spec


@contextlib.contextmanager
def _sampler(
    *events: tuple[int, _native.SampleSpec], pages: int = 128, cpus: tuple[int, ...] = (-1,)
) -> Iterator[_native.Sampler]:
    """Sample the calling thread."""
    specs = [user_spec(config) for config, _ in events]
    sampler = _native.Sampler(specs, [how for _, how in events], 0, cpus, pages)
    try:
        yield sampler
    finally:
        sampler.close()


def _columns(sampler: _native.Sampler) -> dict[str, array.array[int]]:
    return {
        name: array.array(_CODES.get(name, "Q"), content)
        for name, content in sampler.drain().items()
    }


@pytest.mark.parametrize("period", [1, 10, 100])
def test_there_is_a_sample_for_each_period(period: int) -> None:
    with _sampler((PAGE_FAULTS, _every(period))) as sampler:
        sampler.enable()
        _native.known_faults(1000)
        sampler.disable()
        columns = _columns(sampler)
        _, _, count = sampler.totals(0)
        assert sampler.lost == 0
    assert count >= 1000
    assert len(columns["time"]) == count // period
    assert set(columns["period"]) == {period}
    assert set(columns["event"]) == {0}


def test_samples_say_who_where_and_when() -> None:
    before = time.monotonic_ns()
    with _sampler((PAGE_FAULTS, _every(1, address=True))) as sampler:
        sampler.enable()
        _native.known_faults(50)
        sampler.disable()
        columns = _columns(sampler)
    after = time.monotonic_ns()
    assert set(columns["pid"]) == {os.getpid()}
    assert set(columns["tid"]) == {threading.get_native_id()}
    assert set(columns["cpu"]) <= set(range(os.cpu_count() or 1))
    assert list(columns["time"]) == sorted(columns["time"])
    assert all(before <= moment <= after for moment in columns["time"])
    assert all(columns["ip"])
    # The pages that were touched, one after the other.
    page = mmap.PAGESIZE
    steps = [b - a for a, b in zip(columns["address"], columns["address"][1:], strict=False)]
    assert steps.count(page) >= 45


def test_samples_of_a_clock_come_with_its_ticks() -> None:
    period = 500_000
    with _sampler((CPU_CLOCK, _every(period))) as sampler:
        sampler.enable()
        _native.known_loop(200_000_000)
        sampler.disable()
        samples = len(_columns(sampler)["time"])
        _, _, count = sampler.totals(0)
    # A virtual machine may miss some ticks of its clock, and none is made up.
    assert count / period * 0.3 <= samples <= count / period * 1.1 + 2


def test_several_events_share_a_ring_and_are_told_apart() -> None:
    with _sampler((PAGE_FAULTS, _every(1)), (5, _every(2))) as sampler:
        sampler.enable()
        _native.known_faults(200)
        sampler.disable()
        columns = _columns(sampler)
        counts = [sampler.totals(index)[2] for index in range(2)]
    assert list(columns["event"]).count(0) == counts[0]
    assert list(columns["event"]).count(1) == counts[1] // 2


def test_what_a_tiny_ring_cannot_hold_is_counted_as_lost() -> None:
    with _sampler((PAGE_FAULTS, _every(1)), pages=1) as sampler:
        sampler.enable()
        _native.known_faults(2000)
        sampler.disable()
        kept = len(_columns(sampler)["time"])
        _, _, count = sampler.totals(0)
        assert 0 < kept < count
        assert kept + sampler.lost == count
        sampler.enable()
        _native.known_faults(5)  # now there is room to report the loss in the ring as well
        sampler.disable()
        kept += len(_columns(sampler)["time"])
        _, _, count = sampler.totals(0)
        assert kept + sampler.lost == count
        lost = sampler.lost
    assert sampler.lost == lost > 0


def test_a_ring_that_is_drained_goes_round_and_loses_nothing() -> None:
    with _sampler((PAGE_FAULTS, _every(1, callchain=True)), pages=2) as sampler:
        sampler.enable()
        kept = 0
        for _ in range(300):
            _native.known_faults(3)
            kept += len(_columns(sampler)["time"])
        sampler.disable()
        kept += len(_columns(sampler)["time"])
        assert sampler.lost == 0
        assert kept == sampler.totals(0)[2]


def test_call_chains_lead_from_the_place_to_its_callers() -> None:
    with _sampler((PAGE_FAULTS, _every(10, callchain=True))) as sampler:
        sampler.enable()
        _native.known_faults(500)
        sampler.disable()
        columns = _columns(sampler)
    ends = columns["chain_ends"]
    assert len(ends) == len(columns["ip"]) > 0
    assert list(ends) == sorted(ends)
    assert ends[-1] == len(columns["chain_frames"])
    first = 0
    for index, end in enumerate(ends):
        frames = list(columns["chain_frames"][first:end])
        assert frames[0] in (USER_FRAMES, KERNEL_FRAMES)
        assert columns["ip"][index] in frames
        first = end


def test_files_mapped_as_code_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "code with ümlaut"
    path.write_bytes(b"\0" * 4 * mmap.PAGESIZE)
    before = time.monotonic_ns()
    with _sampler((PAGE_FAULTS, _every(1, track_maps=True))) as sampler:
        sampler.enable()
        with path.open("rb") as file:
            mapped = mmap.mmap(
                file.fileno(),
                2 * mmap.PAGESIZE,
                flags=mmap.MAP_PRIVATE,
                prot=mmap.PROT_READ | mmap.PROT_EXEC,
                offset=mmap.ALLOCATIONGRANULARITY,
            )
            mapped.close()
        sampler.disable()
        sampler.drain()
        maps = [found for found in sampler.take_maps() if found[5] == str(path)]
        assert sampler.take_maps() == []
    [(moment, pid, start, length, offset, _)] = maps
    assert before <= moment <= time.monotonic_ns()
    assert pid == os.getpid()
    assert start % mmap.PAGESIZE == 0
    assert length == 2 * mmap.PAGESIZE
    assert offset == mmap.ALLOCATIONGRANULARITY


def test_each_cpu_has_a_ring_of_its_own() -> None:
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    with _sampler((PAGE_FAULTS, _every(1)), cpus=cpus) as sampler:
        sampler.enable()
        try:
            for cpu in cpus:
                os.sched_setaffinity(0, {cpu})
                _native.known_faults(100)
        finally:
            os.sched_setaffinity(0, cpus)
        sampler.disable()
        columns = _columns(sampler)
    for cpu in cpus:
        assert list(columns["cpu"]).count(cpu) >= 90


def test_waiting_ends_when_a_ring_fills() -> None:
    with _sampler((PAGE_FAULTS, _every(1))) as sampler:
        assert not sampler.wait(0)
        sampler.enable()
        _native.known_faults(1000)
        sampler.disable()
        assert sampler.wait(0)


def test_a_closed_sampler_gives_nothing() -> None:
    with _sampler((PAGE_FAULTS, _every(1))) as sampler:
        assert sampler.is_open
    assert not sampler.is_open
    assert not any(sampler.drain().values())
    sampler.close()


@pytest.mark.parametrize("pages", [0, 3, 100])
def test_a_ring_must_be_a_power_of_two_pages(pages: int) -> None:
    with (
        pytest.raises(OSError, match="power of two"),
        _sampler((PAGE_FAULTS, _every(1)), pages=pages),
    ):
        pass


def test_an_event_that_cannot_be_sampled_is_named_by_its_place() -> None:
    bad = _native.EventSpec()
    bad.type = 4000
    with pytest.raises(OSError) as caught:
        _native.Sampler([user_spec(PAGE_FAULTS), bad], [_every(1), _every(1)], 0, [-1])
    assert getattr(caught.value, "event_index", None) == 1
