"""Samples of a target, through the sampler of the perf source."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gnomon import _native
from gnomon.errors import CommandError, GnomonError, NotSupportedError, StateError, UsageError
from gnomon.events.event import Request
from gnomon.sources.base import Command, Cpus, Process, Target, Thread
from gnomon.sources.perf.sampling import PerfSampler
from gnomon.sources.perf.source import PerfSource
from gnomon.sources.sampling import SampleBatch, Sampling

from .helpers import as_root

BRIEF = Command(("/bin/sh", "-c", "/bin/sh -c ':'; :"))


def _sample(
    target: Target,
    name: str = "page-faults",
    *,
    period: int | None = 1,
    frequency: int | None = None,
    callchain: bool = False,
) -> PerfSampler:
    source = PerfSource()
    [event] = source.resolve(name)
    sampling = Sampling(Request(event), period, frequency, callchain)
    return source.sample([sampling], target)


def _whole(sampler: PerfSampler) -> SampleBatch:
    """Sample a command to its end."""
    sampler.start()
    while not sampler.wait(1):
        pass
    sampler.stop()
    return sampler.drain()


def test_a_command_is_sampled_with_its_children() -> None:
    with _sample(BRIEF) as sampler:
        batch = _whole(sampler)
        _, _, count = sampler.totals(0)
        assert sampler.exit_status == 0
        assert len(batch) + sampler.lost == count > 0
    assert len(set(batch.pid)) == 2
    assert os.getpid() not in batch.pid


def test_the_files_of_a_command_are_known() -> None:
    with _sample(BRIEF) as sampler:
        batch = _whole(sampler)
        maps = sampler.maps()
    shell = str(Path("/bin/sh").resolve())
    assert any(Path(found.path).resolve() == Path(shell) for found in maps)
    assert {found.pid for found in maps} <= set(batch.pid)


def test_own_thread_is_sampled_with_call_chains() -> None:
    with _sample(Thread(), callchain=True) as sampler:
        sampler.start()
        _native.known_faults(100)
        sampler.stop()
        batch = sampler.drain()
    assert len(batch) >= 100
    assert all(batch.ip[index] in batch.chain(index) for index in range(len(batch)))


def test_a_running_process_is_sampled() -> None:
    with _sample(Process(os.getpid())) as sampler:
        sampler.start()
        _native.known_faults(100)
        sampler.stop()
        assert len(sampler.drain()) >= 100


@as_root
def test_whole_cpus_are_sampled() -> None:
    with _sample(Cpus()) as sampler:
        sampler.start()
        _native.known_faults(100)
        sampler.stop()
        batch = sampler.drain()
    assert list(batch.pid).count(os.getpid()) >= 100


def test_a_frequency_gives_samples_as_well() -> None:
    with _sample(Thread(), "cpu-clock", period=None, frequency=2000) as sampler:
        sampler.start()
        _native.known_loop(100_000_000)
        sampler.stop()
        assert len(sampler.drain()) > 0


def test_calls_in_the_wrong_order_are_refused() -> None:
    with _sample(Thread()) as sampler:
        for early in (sampler.drain, sampler.stop):
            with pytest.raises(StateError):
                early()
        sampler.start()
        with pytest.raises(StateError):
            sampler.start()
        sampler.stop()
        with pytest.raises(StateError):
            sampler.stop()
        sampler.drain()
    for late in (sampler.start, sampler.drain, sampler.stop):
        with pytest.raises(StateError):
            late()
    sampler.close()


@pytest.mark.parametrize(
    ("period", "frequency"), [(None, None), (1, 1), (0, None), (-1, None), (2**64, None)]
)
def test_a_period_or_a_frequency_is_needed(period: int | None, frequency: int | None) -> None:
    with pytest.raises(UsageError):
        _sample(Thread(), period=period, frequency=frequency)


def test_sampling_nothing_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="nothing to sample"):
        PerfSource().sample([], Thread())


def test_an_event_that_cannot_be_sampled_says_why() -> None:
    if PerfSource().has_core_pmu:
        pytest.skip("this machine has a PMU in its cores")
    with pytest.raises(NotSupportedError, match=r"'cycles' cannot be sampled: .*PMU"):
        _sample(Thread(), "cycles")


def test_a_command_that_cannot_start_says_so() -> None:
    with pytest.raises(CommandError), _sample(Command(("/no/such/program",))) as sampler:
        sampler.start()


def test_a_process_that_is_not_there_says_so() -> None:
    with pytest.raises(GnomonError, match="there is no process"):
        _sample(Process(2**22 + 1))


def test_a_refused_sampler_leaves_no_descriptor() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        with pytest.raises(GnomonError):
            _sample(Process(2**22 + 1))
        _sample(BRIEF).close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
