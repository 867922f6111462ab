"""Peaks and their names, on made-up bins and on simulated machines."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from gnomon.analysis.latency import Mode, latency, latency_of
from gnomon.analysis.latency.bins import sample_histogram
from gnomon.analysis.latency.peaks import chased, find_peaks, read_references, references_of
from gnomon.analysis.latency.result import LatencyBin, LatencyResult, Peak, Reference
from gnomon.analysis.latency.run import LoadSample
from gnomon.errors import GnomonError, UsageError
from gnomon.machines.description import load_machine
from gnomon.sources.base import Command
from gnomon.sources.machine.source import MachineSource
from gnomon.sources.sampling import Sampling

FAR = (
    "workload:random",
    "dependent=yes",
    "accesses=40000",
    "size=64MiB",
    "placement=interleave",
    "cpus=0",
)
EDGES = "3,10:500:10"


def bins(counts: dict[int, float], width: int = 10) -> list[LatencyBin]:
    return [
        LatencyBin(low, low + width, count, count * 0.9, count * 1.1, count)
        for low, count in counts.items()
    ]


def highest(result: LatencyResult) -> dict[str, Peak]:
    """Return the highest peak of each name."""
    return {peak.name: peak for peak in sorted(result.peaks, key=lambda peak: peak.count)}


def test_a_reference_names_every_peak_near_it() -> None:
    counts: dict[int, float] = {150: 0, 170: 60, 180: 0, 190: 190, 200: 0, 210: 50, 220: 0}
    found = find_peaks(bins(counts), [Reference("memory", 179)])
    assert [(peak.low, peak.name) for peak in found] == [
        (170, "memory"),
        (190, "memory"),
        (210, ""),
    ]


def test_a_peak_between_two_references_has_the_name_of_the_nearer_one() -> None:
    between = [Reference("near", 100), Reference("far", 118)]
    assert [peak.name for peak in find_peaks(bins({100: 0, 110: 5, 120: 0}), between)] == ["far"]


def test_beyond_the_last_edge_one_reference_is_a_name_and_two_are_none() -> None:
    beyond = [*bins({10: 50, 20: 0}), LatencyBin(30, None, 80, 70, 90, 80)]
    one = [Reference("near", 12), Reference("far", 90)]
    assert [peak.name for peak in find_peaks(beyond, one)] == ["near", "far"]
    two = [*one, Reference("farther", 200)]
    assert [peak.name for peak in find_peaks(beyond, two)] == ["near", ""]


def test_peaks_have_the_names_of_references() -> None:
    found = find_peaks(
        bins({10: 0, 20: 100, 30: 5, 40: 0, 50: 30, 60: 0}),
        [Reference("near", 24), Reference("far", 53), Reference("nowhere", 90)],
    )
    assert [(peak.low, peak.name) for peak in found] == [(20, "near"), (50, "far")]
    assert found[0].share == pytest.approx(105 / 135)
    assert (found[0].begins, found[0].ends) == (20, 40)  # its valleys are empty


def test_shoulders_are_no_peaks_and_bins_that_may_be_empty_are_none() -> None:
    assert [peak.low for peak in find_peaks(bins({10: 0, 20: 90, 30: 80, 40: 85, 50: 0}))] == [20]
    unsure = [LatencyBin(10, 20, 5, -5, 15, 5), *bins({20: 0, 30: 100})]
    assert [peak.low for peak in find_peaks(unsure)] == [30]
    assert find_peaks(bins({10: 0, 20: 0})) == ()


def test_a_peak_without_references_has_no_name() -> None:
    assert find_peaks(bins({10: 1, 20: 5, 30: 1}))[0].name == ""


def test_samples_are_sorted_into_bins_by_latency_and_source() -> None:
    samples = [LoadSample(2, 7, "L1"), LoadSample(3, 7, "L1"), LoadSample(12, 7, "L2")]
    samples += [LoadSample(900, 7, "local memory"), LoadSample(12, 7, "L3")]
    found = sample_histogram(samples, (3, 10, 100))
    assert [each.count for each in found] == [7, 14, 7]
    assert found[1].sources == {"L2": 7, "L3": 7}
    assert found[1].least < 14 < found[1].most


def test_latencies_of_a_host_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "latencies.json"
    for content in (
        {"L1": 4, "local memory": 230.5},
        {"latencies": {"L1": 4, "local memory": 230.5}},
        {"command": "x", "results": {"latencies": {"L1": 4, "local memory": 230.5}}},
        {
            "kind": "latencies",
            "latencies": [
                {"name": "L1", "ns": 1.6, "cycles": 4.0},
                {"name": "local memory", "ns": 92.2, "cycles": 230.5},
            ],
        },
    ):
        file.write_text(json.dumps(content))
        assert read_references(str(file))[1] == Reference("local memory", 230.5)
    for wrong in ("[1]", '[{"name": "L1", "ns": 2}]', "[]", "{}", '{"L1": 0}', '{"L1": "4"}', "no"):
        file.write_text(wrong)
        with pytest.raises(UsageError, match="names with cycles"):
            read_references(str(file))
    with pytest.raises(UsageError):
        references_of({"L1": True})


def test_following_pointers_shows_levels_and_hops_of_a_ring() -> None:
    found = {each.name: each.cycles for each in chased(load_machine("ring-4"))}
    assert list(found) == [
        "L1",
        "L2",
        "L3",
        "local memory",
        "memory one hop away",
        "memory two hops away",
    ]
    assert sorted(found.values()) == list(found.values())
    # A link of 70 ns at 2 GHz is 140 cycles.
    assert found["memory one hop away"] - found["local memory"] == pytest.approx(140, abs=2)
    assert found["memory two hops away"] - found["memory one hop away"] == pytest.approx(140, abs=2)


def truth(machine: str, words: tuple[str, ...]) -> Counter[int]:
    """Return how many loads of each latency there really were."""
    source = MachineSource(machine)
    request = source.latency_facility().counted(3)[0]
    with source.sample([Sampling(request, period=1, weight=True)], Command(words)) as sampler:
        sampler.start()
        sampler.wait()
        sampler.stop()
        return Counter(sampler.drain().weight)


def shares(result: LatencyResult) -> list[float]:
    return [each.monotone / result.total for each in result.bins]


def true_shares(result: LatencyResult, loads: Counter[int]) -> list[float]:
    total = sum(count for cycles, count in loads.items() if cycles >= result.edges[0])
    return [
        sum(count for cycles, count in loads.items() if each.low <= cycles < (each.high or 1 << 62))
        / total
        for each in result.bins
    ]


@pytest.mark.parametrize("samples", [False, True])
def test_local_and_remote_memory_are_found_on_a_ring(samples: bool) -> None:
    words = tuple(word.replace("=40000", "=120000") if samples else word for word in FAR)
    result = latency(words, EDGES, on=MachineSource("ring-4"), samples=samples)
    named = highest(result)
    local, one, two = (
        named[name] for name in ("local memory", "memory one hop away", "memory two hops away")
    )
    assert (local.low, one.low, two.low) == (110, 250, 390)  # as the machine's samples show
    # A quarter of the pages are local, half of them one hop away, a quarter two.
    assert one.count == pytest.approx(2 * local.count, rel=0.25)
    assert one.count == pytest.approx(2 * two.count, rel=0.25)
    assert all(each.monotone >= 0 for each in result.bins)
    if samples:
        assert result.bins[result.edges.index(390)].sources.keys() == {"memory two hops away"}
        off = zip(shares(result), true_shares(result, truth("ring-4", words)), strict=True)
        assert sum(abs(a - b) for a, b in off) <= 0.03


def test_remote_memory_is_one_hop_away_on_a_fully_connected_machine() -> None:
    result = latency(FAR, EDGES, on=MachineSource("haswell-ex-4s"))
    named = highest(result)
    assert (named["local memory"].low, named["memory one hop away"].low) == (190, 290)
    assert not any("two hops" in each.name for each in result.latencies)
    # Three of four pages are remote.
    three = 3 * named["local memory"].count
    assert named["memory one hop away"].count == pytest.approx(three, rel=0.25)


def test_a_recording_gives_the_same_histogram_again(tmp_path: Path) -> None:
    source = MachineSource("ring-4")
    path = tmp_path / "run"
    words = ["signal:loads", "duration=2s", "phases=fast"]
    first = latency(words, "3,10,50,200,300", on=source, output=path)
    again = latency_of(path)
    assert again.bins == first.bins
    assert again.edges == first.edges
    assert again.sweeps == first.sweeps
    fewer = latency_of(path, "10,200")
    assert fewer.seconds == first.seconds
    assert fewer.bins[1].count == pytest.approx(first.bins[3].count + first.bins[4].count)
    with pytest.raises(UsageError, match="no counts above 11"):
        latency_of(path, "10,11")


def test_samples_are_recorded_too(tmp_path: Path) -> None:
    path = tmp_path / "run"
    first = latency(
        ["workload:chase"], "3,10,100", on=MachineSource("ring-4"), samples=True, output=path
    )
    again = latency_of(path, "3,10,100")
    assert again.mode is Mode.SAMPLES
    assert again.bins == first.bins


def test_loads_beyond_the_last_edge_are_warned_of() -> None:
    target = Command(("signal:loads", "rate=1M", "duration=1s"))
    short = latency(target, "3,10,100", on=MachineSource("ring-4"))
    assert any("beyond the last edge" in text for text in short.warnings)
    long = latency(target, "3,10,100,500", on=MachineSource("ring-4"))
    assert not any("beyond the last edge" in text for text in long.warnings)


def test_the_same_seed_gives_the_same_histogram() -> None:
    words = ["workload:random", "accesses=3000"]
    one, two = (latency(words, "3,50,200", on=MachineSource("ring-4", seed=3)) for _ in "ab")
    assert one.bins == two.bins


def test_a_program_that_ends_too_soon_is_an_error() -> None:
    with pytest.raises(GnomonError, match="let it run longer"):
        latency(["workload:chase", "size=128"], on=MachineSource("ring-4"))
