"""What tells the latency of loads: on hosts as their sysfs has it, and on simulated machines."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.analysis.latency.run import count_sweeps
from gnomon.errors import GnomonError, NotSupportedError, UsageError
from gnomon.events.event import Group, Request
from gnomon.events.sysfs import read_pmus
from gnomon.machines.signals import LoadRun
from gnomon.sources.base import Command, Process
from gnomon.sources.latency import (
    Facility,
    blind_spots,
    decode,
    find_facility,
    host_facility,
    threshold_of,
)
from gnomon.sources.machine.source import MachineSource
from gnomon.sources.perf.source import PerfSource
from gnomon.sources.sampling import Sampling
from gnomon.sources.valgrind.source import ValgrindSource

from .helpers import with_kernel

INTEL = {
    "type": "4",
    "format/event": "config:0-7",
    "format/umask": "config:8-15",
    "format/ldlat": "config1:0-15",
    "events/mem-loads": "event=0xcd,umask=0x1,ldlat=3",
}
AUXILIARY = INTEL | {"events/mem-loads-aux": "event=0x03,umask=0x82"}


def devices(folder: Path, **units: dict[str, str]) -> Path:
    for unit, files in units.items():
        for name, text in files.items():
            path = folder / unit / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
    return folder


def test_intel_counts_above_a_threshold_precisely(tmp_path: Path) -> None:
    facility = host_facility(read_pmus(devices(tmp_path, cpu=INTEL)))
    (request,) = facility.counted(64)
    encoding = request.event.encoding
    assert encoding is not None
    assert (encoding.config, encoding.config1) == (0x1CD, 64)
    assert request.modifiers.precise == 2
    assert threshold_of(request.label) == 64
    (sampling,) = facility.sampled(3, 1000)
    assert (sampling.weight, sampling.data_source, sampling.follows) == (True, True, False)
    assert any("shadow" in text for text in facility.blind)
    assert any("3 cycles" in text for text in facility.blind)


def test_newer_cores_count_loads_beside_an_auxiliary_event(tmp_path: Path) -> None:
    facility = host_facility(read_pmus(devices(tmp_path, cpu=AUXILIARY)))
    leader, loads = facility.counted(30)
    assert leader.event.encoding is not None
    assert leader.event.encoding.config == 0x8203
    assert threshold_of(leader.label) is None
    assert threshold_of(loads.label) == 30
    first, second = facility.sampled(30, 500)
    assert (first.weight, second.weight, second.follows) == (False, True, True)
    assert second.period == 500


def test_both_kinds_of_core_are_counted_on_hybrid_parts(tmp_path: Path) -> None:
    core = AUXILIARY | {"cpus": "0-3"}
    atom = INTEL | {"cpus": "4-7", "type": "10"}
    facility = host_facility(read_pmus(devices(tmp_path, cpu_core=core, cpu_atom=atom)))
    labels = [request.label for request in facility.counted(9)]
    assert labels == [
        "cpu_atom/mem-loads,ldlat=9/:pp",
        "cpu_core/mem-loads-aux/",
        "cpu_core/mem-loads,ldlat=9/:pp",
    ]


def test_amd_samples_and_does_not_count(tmp_path: Path) -> None:
    ibs = {"type": "9", "format/cnt_ctl": "config:19"}
    facility = host_facility(read_pmus(devices(tmp_path, ibs_op=ibs)))
    with pytest.raises(NotSupportedError, match="--samples"):
        facility.counted(64)
    (sampling,) = facility.sampled(64, 100_003)
    assert sampling.period == 100_000  # the lower four bits are chance
    assert sampling.request.event.encoding is not None
    assert sampling.request.event.encoding.config == 1 << 19  # operations, not cycles
    assert any("first cache" in text for text in facility.blind)


NEOVERSE_N1 = 0x410FD0C1
SPE = {
    "type": "11",
    "cpumask": "0-3",
    "caps/min_interval": "1024",
    "format/load_filter": "config:33",
    "format/jitter": "config:16",
    "format/min_latency": "config2:0-11",
}


def test_arm_samples_packets_and_does_not_count(tmp_path: Path) -> None:
    pmus = read_pmus(devices(tmp_path, arm_spe_0=SPE))
    facility = host_facility(pmus, midr=NEOVERSE_N1)
    with pytest.raises(NotSupportedError, match=r"ARM.*--samples"):
        facility.counted(64)
    (sampling,) = facility.sampled(64, 500)
    event = sampling.request.event
    assert event.encoding is not None
    assert (event.encoding.config, event.encoding.config2) == (1 << 33 | 1 << 16, 64)
    assert (event.cores, event.cpus) == ((0, 1, 2, 3), None)  # it follows tasks
    assert (sampling.aux, sampling.weight, sampling.common_sources) == (True, True, True)
    assert sampling.period == 1024  # the core samples no more often
    assert threshold_of(sampling.request.label) == 64
    (highest,) = facility.sampled(60_000, 5000)
    assert threshold_of(highest.request.label) == 4095
    assert any("by chance" in text for text in facility.blind)


def test_other_makers_number_what_answered_otherwise(tmp_path: Path) -> None:
    pmus = read_pmus(devices(tmp_path, arm_spe_0=SPE))
    for midr in (None, 0xC00FAC30, 0x410FD031):
        (sampling,) = host_facility(pmus, midr=midr).sampled(64, 5000)
        assert not sampling.common_sources


@with_kernel
def test_a_unit_without_packets_is_refused_in_a_sentence() -> None:
    (event,) = PerfSource().resolve("page-faults")
    sampling = Sampling(Request(event), period=1, weight=True, aux=True)
    with pytest.raises(GnomonError, match=r"page-faults.* cannot be sampled"):
        PerfSource().sample([sampling], Command(("true",)))
    nowhere = Sampling(Request(replace(event, cores=(9999,))), period=1)
    with pytest.raises(NotSupportedError, match="none of these CPUs"):
        PerfSource().sample([nowhere], Command(("true",)))


@with_kernel
def test_events_of_different_cores_are_told_apart_in_one_batch() -> None:
    """As on hybrid parts, where no CPU has both units; here all CPUs have both."""
    source = PerfSource()
    everywhere = tuple(source.host.online_cpus)
    (faults,), (minor,) = source.resolve("page-faults"), source.resolve("minor-faults")
    samplings = [
        Sampling(Request(faults), period=1),
        Sampling(Request(replace(minor, cores=everywhere)), period=1),
    ]
    with source.sample(samplings, Command((sys.executable, "-c", "pass"))) as sampler:
        sampler.start()
        sampler.wait()
        sampler.stop()
        batch = sampler.drain()
        counts = [sampler.totals(number)[2] for number in range(2)]
    assert set(batch.event) == {0, 1}
    assert min(counts) > 0


def test_what_is_not_seen_is_told_of_recordings_too() -> None:
    assert "dispatch" in " ".join(blind_spots(["arm_spe_0/min_latency=3/"], simulated=False))
    assert "AMD" in " ".join(blind_spots(["ibs_op/cnt_ctl=1/"], simulated=False))
    assert "shadow" in " ".join(blind_spots(["cpu/mem-loads,ldlat=3/"], simulated=False))
    assert "simulated" in " ".join(blind_spots(["mem-loads:ldlat=3"], simulated=True))


def test_a_host_without_any_is_told_what_it_would_take(tmp_path: Path) -> None:
    with pytest.raises(NotSupportedError, match=r"mem-loads.*ibs_op.*arm_spe_0.*--on ring-4"):
        host_facility(read_pmus(devices(tmp_path, software={"type": "1"})))
    with pytest.raises(NotSupportedError, match="--on"):
        find_facility(ValgrindSource())
    with pytest.raises(NotSupportedError, match="ring-4"):
        find_facility(MachineSource("niagara2"))


def stand_in() -> Facility:
    """Return a facility whose loads are page faults, whatever the threshold."""
    (event,) = PerfSource().resolve("page-faults")

    def group(threshold: int) -> Group:
        return (Request(replace(event, name=f"stand-in/ldlat={threshold}/")),)

    return Facility("a stand-in", (), group)


@with_kernel
def test_thresholds_take_turns_on_this_kernel() -> None:
    program = "import mmap\nfor _ in range(400): mmap.mmap(-1, 1 << 20).write(b'x' * (1 << 20))"
    measured = count_sweeps(
        PerfSource(),
        stand_in(),
        (3, 10, 20),
        Command((sys.executable, "-c", program)),
        length=4_000_000,
    )
    assert measured.run.exit_status == 0
    edges = [each.edge for each in measured.slices]
    assert {(3, 10), (10, 20), (20, 3)} >= set(pairwise(edges))
    assert sum(each.loads for each in measured.slices) > 1000
    assert all(each.running >= 0 for each in measured.slices)


@with_kernel
def test_a_process_that_ends_gives_what_was_counted() -> None:
    with subprocess.Popen(["sleep", "600"], env=os.environ) as process:
        measured = count_sweeps(
            PerfSource(),
            stand_in(),
            (3, 10),
            Process(process.pid),
            length=5_000_000,
            duration=300,
            on_slice=lambda _: process.terminate(),
        )
    assert measured.slices


@pytest.mark.parametrize(
    ("word", "operation", "text"),
    [
        (0x02 | (0x02 | 0x08) << 5, "load", "L1"),
        (0x02 | (0x02 | 0x10) << 5, "load", "fill buffer"),
        (0x02 | (0x02 | 0x20) << 5, "load", "L2"),
        (0x02 | (0x02 | 0x40) << 5 | 0x10 << 19, "load", "L3, modified elsewhere"),
        (0x02 | (0x02 | 0x80) << 5, "load", "local memory"),
        (0x02 | (0x02 | 0x100) << 5, "load", "memory one hop away"),
        (0x02 | (0x02 | 0x200) << 5, "load", "memory two hops away"),
        (0x02 | (0x02 | 0x400) << 5 | 0x10 << 19, "load", "cache one hop away, modified elsewhere"),
        (0x02 | (0x04 | 0x40) << 5, "load", "beyond L3"),
        (0x04 | (0x02 | 0x08) << 5, "store", "L1"),
        (0x01 | 0x01 << 5, "unknown", "unknown"),
        (0, "unknown", "unknown"),
        (0x02 | 0xD << 33, "load", "local memory"),
        (0x02 | 0xD << 33 | 1 << 37, "load", "remote memory"),
        (0x02 | 0xD << 33 | 1 << 37 | 3 << 43, "load", "remote memory of another socket"),
        (0x02 | 0x3 << 33 | 1 << 37 | 2 << 38, "load", "remote L3, forwarded by another cache"),
        (0x02 | 0x9 << 33, "load", "CXL memory"),
        (0x02 | (0x04 | 0x08) << 5, "load", "beyond L1"),
        (0x02 | 0xB << 33 | 1 << 43, "load", "cache of another core of the node"),
        (0x02 | 0xB << 33 | 1 << 37, "load", "remote cache"),
        (0x02 | 1 << 37, "load", "another node"),
    ],
)
def test_the_kernels_word_tells_what_answered(word: int, operation: str, text: str) -> None:
    found = decode(word)
    assert (found.operation, found.text) == (operation, text)
    assert found.remote == any(word in text for word in ("away", "remote", "another node"))


def test_locks_and_translations_are_told() -> None:
    found = decode(0x02 | 0x2 << 24 | 0x4 << 26)
    assert found.locked
    assert found.tlb_miss
    assert not decode(0x02 | 0x2 << 26).tlb_miss


@given(st.integers(0, (1 << 64) - 1))
def test_any_word_can_be_decoded(word: int) -> None:
    assert decode(word).text


def test_a_process_of_loads_is_the_same_however_it_is_cut() -> None:
    whole, cut = (LoadRun(50e3, 0.02, 300_000_000, 5) for _ in "ab")
    whole.advance()
    for until in (1, 999_999, 1_000_000, 77_123_456, 250_000_000, 300_000_000):
        cut.advance(until)
    assert (whole.totals() == cut.totals()).all()
    assert whole.at_least(0) == whole.totals().sum()
    assert whole.course(10_000_000).sum() == whole.at_least(0)
    assert whole.at_least(0) == pytest.approx(50e3 * 0.3, rel=0.5)


@pytest.mark.parametrize(
    "words",
    [("rate=0",), ("rate=x",), ("phases=often",), ("duration=1",), ("speed=3",)],
)
def test_a_process_of_loads_refuses_what_makes_no_sense(words: tuple[str, ...]) -> None:
    source = MachineSource("ring-4")
    group = find_facility(source).counted(3)
    with pytest.raises(UsageError):
        source.open([group], Command(("signal:loads", *words)))


def test_a_process_of_loads_has_nothing_else_to_count() -> None:
    source = MachineSource("ring-4")
    (cycles,) = source.resolve("cycles")
    with source.open([(Request(cycles),)], Command(("signal:loads",))) as counting:
        assert len(counting.refused) == 1
        assert "loads above a latency" in counting.warnings[0]
