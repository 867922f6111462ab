"""Counter processes have the statistics that are published, and their truth is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnomon.errors import UsageError
from gnomon.events.tomlfile import DefinitionError
from gnomon.machines.pmu.description import load_pmu
from gnomon.machines.signals import Process, Signal, SignalRun, load_signal, signal_names

SLICE = 40_000_000


def _one(process: Process, slice_ns: int = SLICE) -> Signal:
    return Signal("one", "", "pentium3", slice_ns, 1, {"MUL": {0: process}})


def test_92_events_of_the_pentium_3_have_processes() -> None:
    signal = load_signal("celestia")
    assert signal_names() == ("celestia",)
    assert len(signal.processes) == 92
    assert set(signal.processes) <= set(load_pmu(signal.pmu).events)
    assert signal.processes["INST_RETIRED"][0] == Process(8.71e6, 7.25e6, 40.0)
    only_second = [event for event, on in signal.processes.items() if 0 not in on]
    assert only_second == ["DCU_MISS_OUTSTANDING", "L2_IFETCH_I_STATE"]


def test_a_long_run_has_the_mean_the_spread_and_the_memory_it_should() -> None:
    process, slices = Process(1e6, 1e5, 20.0), 40_000
    run = SignalRun(_one(process), slices * SLICE, seed=7)
    assert run.advance()
    values = run.values()[:slices, 0]
    phi = np.exp(-20.0 * 0.04)
    # The effective number of independent samples is smaller by (1 + phi) / (1 - phi).
    error = 1e5 * np.sqrt((1 + phi) / (1 - phi) / slices)
    assert abs(values.mean() - 1e6) < 4 * error
    assert values.std() == pytest.approx(1e5, rel=0.05)
    assert np.corrcoef(values[:-1], values[1:])[0, 1] == pytest.approx(phi, abs=0.03)


def test_shorter_slices_of_the_same_process_forget_in_the_same_time() -> None:
    slices = 40_000
    run = SignalRun(_one(Process(1e6, 1e5, 20.0), SLICE // 4), slices * SLICE // 4, seed=7)
    run.advance()
    values = run.values()[:slices, 0]
    assert np.corrcoef(values[:-4], values[4:])[0, 1] == pytest.approx(np.exp(-0.8), abs=0.05)


def test_counts_are_the_truth_clipped_at_zero() -> None:
    run = SignalRun(_one(Process(10.0, 1000.0, 40.0)), 50 * SLICE, seed=2)
    run.advance()
    truth = run.values()[:50, 0]
    assert (truth < 0).any()
    assert run.counts()[0] == np.rint(np.maximum(truth, 0)).sum()


def test_counts_do_not_depend_on_where_one_stops() -> None:
    whole, pieces = (SignalRun(load_signal("celestia"), 10 * SLICE, seed=3) for _ in range(2))
    whole.advance()
    before = pieces.counts()
    for moment in range(0, 10 * SLICE, 7_777_777):
        assert not pieces.advance(moment)
        assert (pieces.counts() >= before).all()
        before = pieces.counts()
    assert pieces.advance()
    assert (pieces.counts() == whole.counts()).all()
    assert pieces.now_ns == 10 * SLICE


def test_the_seed_decides() -> None:
    first, same, other = (SignalRun(load_signal("celestia"), SLICE, seed) for seed in (1, 1, 2))
    assert (first.values() == same.values()).all()
    assert not (first.values() == other.values()).all()


def test_mistakes_in_a_file_are_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    good = 'pmu = "pentium3"\nslice_ms = 40.0\ncpus = 2\n'
    for text, reason in (
        ("slice_ms = 40.0\n", "pmu: is missing"),
        (good.replace("40.0", "0"), "slice_ms: must be above zero"),
        (good.replace("cpus = 2", "cpus = 0"), "cpus: must be 1 to 1024"),
        (good + "[events.A]\n", "events.A: has no process on any CPU"),
        (good + "[events.A]\ncpu2 = {}\n", "events.A.cpu2: is not a known key"),
        (
            good + "[events.A]\ncpu0 = { mean = 1.0, sigma = 1.0 }\n",
            "events.A.cpu0.beta: is missing",
        ),
        (good + "[events.A]\ncpu0 = { mean = 1.0, sigma = -1.0, beta = 1.0 }\n", "negative"),
    ):
        file.write_text(text)
        with pytest.raises(DefinitionError, match=r"mine\.toml") as caught:
            load_signal(file)
        assert reason in str(caught.value)
    with pytest.raises(UsageError, match="no signal 'celestai': choose from celestia"):
        load_signal("celestai")
