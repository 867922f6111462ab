"""A simulated machine as a source: names, targets, ticks, samples, and what it refuses."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from gnomon.errors import (
    CommandError,
    NotSupportedError,
    StateError,
    UnknownEventError,
    UsageError,
)
from gnomon.events.event import Request
from gnomon.events.syntax import parse_events
from gnomon.machines.machine import Machine
from gnomon.machines.operations import Code
from gnomon.machines.signals import SignalRun, load_signal
from gnomon.measure.run import measure
from gnomon.recording.contents import Status
from gnomon.sources.base import Command, Cpus, Process, Target, Thread, Verdict
from gnomon.sources.machine.source import MachineSource
from gnomon.sources.sampling import CanSample, Sampling

from .simulated import counted, finish, program, request, totals

NIAGARA = MachineSource("niagara2")
LAPTOP = MachineSource("laptop")
PENTIUM = MachineSource("pentium3-smp")
CHASE = Command(("workload:chase", "size=256KiB", "iterations=2"))


def test_a_machine_comes_by_name_by_file_or_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text((Path(__file__).parents[1] / "machines" / "small_machine.toml").read_text())
    source = MachineSource(file, seed=7)
    assert isinstance(source.machine, Machine)
    assert MachineSource(source.machine).machine is source.machine
    assert MachineSource(str(file)).pmu.name == "generic"
    provenance = source.provenance(CHASE)
    assert (provenance.machine, provenance.seed, provenance.simulated) == ("mine", 7, True)
    assert provenance.clock == "simulated"


@pytest.mark.parametrize("seed", [-1, 1 << 63])
def test_a_seed_that_makes_no_sense_is_refused(seed: int) -> None:
    with pytest.raises(UsageError, match="the seed must be"):
        MachineSource("laptop", seed=seed)


def test_events_are_found_in_every_spelling() -> None:
    for name in ("CPU-CYCLES", "cpu/cycles/", "cycles"):
        assert LAPTOP.resolve(name)[0].name == "cycles"
    for name in ("mem-loads:ldlat=64", "mem-loads/ldlat=64/", "cpu/mem-loads,ldlat=0x40/"):
        assert LAPTOP.resolve(name)[0].name == "mem-loads:ldlat=64"
    assert NIAGARA.resolve("insts")[0].name == "Instr_cnt"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Instr_cnt:ldlat=5", "has no latency threshold"),
        ("Instr_ld:emask=x", "has no number in it"),
        ("Instr_ld:emask=0x100", "has 8 bits"),
        ("IC_miss:emask=0x80", "no event of its group"),
        ("_syn_return_one:emask=1", "cannot be changed"),
    ],
)
def test_attributes_that_make_no_sense_are_refused(name: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        NIAGARA.resolve(name)
    with pytest.raises(UsageError, match="from 1 to"):
        LAPTOP.resolve("mem-loads:ldlat=0")


def test_a_near_miss_is_told() -> None:
    with pytest.raises(UnknownEventError, match="'Instr_cmt' on UltraSPARC") as caught:
        NIAGARA.resolve("Instr_cmt")
    assert "Instr_cnt" in caught.value.suggestions


def test_42_events_of_the_niagara_2_are_listed_and_tried() -> None:
    events = list(NIAGARA.events())
    assert len(events) == 42
    verdicts = {v.event.name: v for v in NIAGARA.availability([Request(e) for e in events])}
    assert verdicts["Instr_FGU_arithmetic"].value == 2 * 3 * 3 * 100
    assert {v.verdict for v in verdicts.values()} == {Verdict.COUNTS, Verdict.OPENS}
    for kind in ("ITLB", "DTLB"):
        walks, missed = (verdicts[f"{kind}_HWTW_{what}_L2"].value for what in ("ref", "miss"))
        assert walks is not None
        assert missed is not None
        assert 0 < missed < walks
    opens = {name for name, v in verdicts.items() if v.verdict is Verdict.OPENS}
    assert len(opens) == 14
    assert all("nothing on the simulated machine" in verdicts[name].reason for name in opens)


def test_events_of_the_pentium_3_without_counterpart_are_refused_with_a_reason() -> None:
    [verdict] = PENTIUM.availability([request(PENTIUM, "BTB_MISSES")])
    assert verdict.verdict is Verdict.NOT_SUPPORTED
    assert verdict.reason == "the simulated machine has no counterpart"


@pytest.mark.parametrize("target", [Process(1), Thread(), Cpus()])
def test_only_commands_run_on_a_simulated_machine(target: Target) -> None:
    with pytest.raises(UsageError, match="laptop is simulated"):
        LAPTOP.open(LAPTOP.default_events(), target)


@pytest.mark.parametrize(
    ("argv", "error", "reason"),
    [
        (("workload:chaise",), UsageError, "no workload 'chaise': choose from chase"),
        (("workload:chase", "sise=1"), UsageError, "no parameter 'sise'"),
        (("signal:celestia",), UsageError, "is of the PMU 'pentium3', and laptop has 'generic'"),
        (("signal:nothing",), UsageError, "no signal 'nothing'"),
        (("signal:celestia", "size=3"), UsageError, "is not an argument of a signal"),
        (("./no-such-program",), CommandError, "no-such-program"),
    ],
)
def test_commands_that_make_no_sense_are_refused(
    argv: tuple[str, ...], error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        LAPTOP.open(LAPTOP.default_events(), Command(argv))


def test_ticks_come_in_simulated_time() -> None:
    groups = parse_events("instructions", LAPTOP.resolve)
    command = Command(("workload:random", "accesses=20k", "dependent=yes"))
    with LAPTOP.open(groups, command) as counting:
        snapshots = list(counting.ticks(200_000, lambda: False))
    whole = snapshots[:-1]
    assert len(whole) >= 5
    assert all(abs(s.time - 200_000 * (n + 1)) <= 1000 for n, s in enumerate(whole))
    again = counted_ticks(command)
    assert again == [totals(s)["instructions"] for s in snapshots]


@pytest.mark.parametrize("interval", [1, 333, 77_777])
def test_odd_intervals_are_reached_as_well(interval: int) -> None:
    groups = parse_events("Instr_cnt", NIAGARA.resolve)
    with NIAGARA.open(groups, CHASE) as counting:
        ticks = counting.ticks(interval, lambda: False)
        assert [next(ticks).time for _ in range(5)] == [interval * n for n in range(1, 6)]


def counted_ticks(command: Command) -> list[int]:
    groups = parse_events("instructions", LAPTOP.resolve)
    with LAPTOP.open(groups, command) as counting:
        return [totals(s)["instructions"] for s in counting.ticks(200_000, lambda: False)]


def test_an_interrupt_ends_a_simulated_program() -> None:
    command = Command(("workload:chase", "iterations=1000000000"))
    with LAPTOP.open(LAPTOP.default_events(), command) as counting:
        counting.start()
        assert not counting.wait(0.01)
        counting.interrupt(15)
        assert counting.wait()
        assert counting.exit_status == 143


# Samples


def _samples(source: MachineSource, name: str, period: int, threads: int = 2) -> list[int]:
    thread = [(Code.FP_ADD, 700), (Code.LOAD, 1 << 30)] * 20
    thread.append((Code.INTEGER, 60))  # what skids past the end of a thread is never seen
    sampling = Sampling(request(source, name), period=period)
    with source.sample_program([sampling], program(*[thread] * threads)) as sampler:
        sampler.start()
        assert sampler.wait()
        sampler.stop()
        batch = sampler.drain()
        enabled, running, count = sampler.totals(0)
    assert enabled == running > 0
    assert set(batch.period) <= {period}
    return [count, len(batch), *sorted(set(batch.tid))]


def test_an_overflow_is_reported_for_every_period_of_each_thread() -> None:
    assert _samples(NIAGARA, "Instr_FGU_arithmetic", 1000) == [28_000, 28, 0, 1]
    assert _samples(NIAGARA, "Instr_FGU_arithmetic", 999) == [28_000, 28, 0, 1]
    assert _samples(LAPTOP, "instructions", 14_000) == [28_160, 2, 0, 1]
    assert _samples(LAPTOP, "instructions", 14_081) == [28_160, 0]


def test_samples_of_slow_loads_tell_where_and_how_long() -> None:
    loads = [(Code.LOAD, (1 << 30) + 4096 * n) for n in range(50)] + [(Code.LOAD, 1 << 30)] * 50
    sampling = Sampling(request(LAPTOP, "mem-loads:ldlat=1"), period=1)
    with LAPTOP.sample_program([sampling], program(loads)) as sampler:
        sampler.start()
        sampler.wait()
        sampler.stop()
        batch = sampler.drain()
    assert list(batch.address) == [address for _, address in loads]
    for threshold in (6, 20, 200, 400):
        name = f"mem-loads:ldlat={threshold}"
        slow = sum(weight >= threshold for weight in batch.weight)
        assert counted(LAPTOP, name, program(loads)) == {name: slow}
    first_level, memory = 0x02 | 0x02 << 5 | 0x08 << 5, 0x02 | 0x02 << 5 | 0x80 << 5
    assert set(batch.data_source[-40:]) == {first_level}
    assert memory in set(batch.data_source)


@pytest.mark.parametrize(
    ("source", "name", "reason"),
    [
        (NIAGARA, "L2_dmiss_ld", "erratum 108"),
        (NIAGARA, "Idle_strands", "whole core"),
        (NIAGARA, "_syn_return_one", "whole system"),
        (LAPTOP, "mem-loads", "needs a threshold"),
    ],
)
def test_what_cannot_interrupt_is_refused(source: MachineSource, name: str, reason: str) -> None:
    with pytest.raises(NotSupportedError, match=reason):
        source.sample([Sampling(request(source, name), period=100)], CHASE)


def test_a_period_must_fit_the_counter() -> None:
    sampling = Sampling(request(PENTIUM, "INST_RETIRED"), period=1 << 31)
    with pytest.raises(UsageError, match="does not fit its counter"):
        PENTIUM.sample([sampling], CHASE)
    with pytest.raises(UsageError, match="by period"):
        PENTIUM.sample([Sampling(request(PENTIUM, "INST_RETIRED"), frequency=100)], CHASE)


def test_a_sampler_is_used_in_order() -> None:
    assert isinstance(LAPTOP, CanSample)
    sampler = LAPTOP.sample([Sampling(request(LAPTOP, "cycles"), period=1000)], CHASE)
    with pytest.raises(StateError):
        sampler.drain()
    sampler.start()
    with pytest.raises(StateError):
        sampler.start()
    sampler.close()
    with pytest.raises(StateError):
        sampler.wait(0)


# Signals


def test_a_signal_is_counted_through_two_registers() -> None:
    events = "INST_RETIRED,CPU_CLK_UNHALTED,DATA_MEM_REFS,FLOPS,MUL"
    groups = parse_events(events, PENTIUM.resolve)
    command = Command(("signal:celestia", "duration=8s"))
    with PENTIUM.open(groups, command) as counting:
        final = finish(counting)
    run = SignalRun(load_signal("celestia"), 8_000_000_000, PENTIUM.seed)
    run.advance()
    truth = dict(zip(run.series, run.counts(), strict=True))
    for reading in final.readings:
        if reading.event == "MUL":
            assert reading.status is Status.NOT_SUPPORTED
            continue
        assert reading.value is not None
        assert 0 < reading.running < reading.enabled == 8_000_000_000
        cpu = int(reading.scope.removeprefix("core/"))
        assert reading.value < truth[reading.event, cpu]
        estimate = reading.value * reading.enabled / reading.running
        assert estimate == pytest.approx(truth[reading.event, cpu], rel=0.5)


def test_two_events_of_a_signal_are_counted_exactly() -> None:
    groups = parse_events("INST_RETIRED,CPU_CLK_UNHALTED", PENTIUM.resolve)
    command = Command(("signal:celestia", "duration=1s"))
    with PENTIUM.open(groups, command, exact=True) as counting:
        final = finish(counting)
        with pytest.raises(UsageError, match="has no simulated machine"):
            counting.truth()
    run = SignalRun(load_signal("celestia"), 1_000_000_000, PENTIUM.seed)
    run.advance()
    truth = dict(zip(run.series, run.counts(), strict=True))
    for reading in final.readings:
        cpu = int(reading.scope.removeprefix("core/"))
        assert reading.value == truth[reading.event, cpu]


# Plans


def test_a_plan_needs_as_few_runs_as_the_counters_allow() -> None:
    names = ("DC_miss", "IC_miss", "Instr_cnt", "Instr_ld", "_syn_cycles_elapsed")
    plan = NIAGARA.plan([request(NIAGARA, name) for name in names])
    assert len(plan.batches) == plan.lower_bound == 2
    thresholds = [request(LAPTOP, f"mem-loads:ldlat={n}") for n in (8, 64, 512)]
    uncore = [request(LAPTOP, name) for name in ("memory-reads", "memory-writes")]
    plan = LAPTOP.plan([*thresholds, *uncore])
    assert len(plan.batches) == 3
    assert not plan.unplaceable
    for batch in plan.batches:
        with LAPTOP.open([(each,) for each in batch.requests], CHASE, exact=True) as counting:
            assert all(value is not None for value in totals(finish(counting)).values())
    assert LAPTOP.anchors() == ()


# Time


def test_runs_last_as_long_as_they_do_in_simulated_time() -> None:
    command = Command(("workload:random", "accesses=20k", "dependent=yes"))
    groups = parse_events("cycles", LAPTOP.resolve)
    whole = measure(LAPTOP, groups, command)
    [run], [reading] = whole.runs, whole.readings
    assert (run.start, run.end) == (0, reading.time)
    assert reading.value == pytest.approx(run.end * LAPTOP.machine.core.clock_ghz, rel=1e-4)
    for interval in (None, 100_000):
        short = measure(LAPTOP, groups, command, duration=0.0005, interval=interval)
        assert short.runs[0].end == pytest.approx(500_000, abs=1000)
        assert short.runs[0].exit_status is None


def test_the_first_ctrl_c_ends_a_simulated_program() -> None:
    command = Command(("workload:chase", "iterations=1000000000"))
    groups = parse_events("cycles", LAPTOP.resolve)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        found = measure(LAPTOP, groups, command)
    finally:
        timer.cancel()
        timer.join()
    assert found.interrupted
    assert found.exit_status == 128 + signal.SIGINT
    assert found.readings[0].value


@pytest.mark.parametrize(
    ("name", "reason"), [("cycles:G", "no guests"), ("cycles:e", "for itself")]
)
def test_modifiers_that_mean_nothing_here_are_refused(name: str, reason: str) -> None:
    with LAPTOP.open(parse_events(name, LAPTOP.resolve), CHASE) as counting:
        assert len(counting.refused) == 1
        assert reason in counting.warnings[0]
