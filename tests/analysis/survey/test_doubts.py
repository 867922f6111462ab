"""What a survey says against itself: drift, odd runs, programs that vary or do not run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

import pytest

from gnomon.analysis.survey.doubts import anchors_of, doubts
from gnomon.analysis.survey.indicators import Indicator
from gnomon.analysis.survey.result import RunKey
from gnomon.recording.contents import Provenance, RunInfo, Status

PERF = ("perf task-clock,a,b", "perf task-clock,c")
MS = 10**6


def _indicator(
    event: str, values: Mapping[RunKey, float], origin: str = "perf", unit: str = ""
) -> Indicator:
    return Indicator(event, "", unit, "thread", origin, False, (), Status.COUNTED, dict(values))


def _runs(
    count: int, batches: int = 2, statuses: Sequence[int | None] = (0,)
) -> tuple[RunInfo, ...]:
    return tuple(
        RunInfo(i // batches, i % batches, i * 100, i * 100 + 50, statuses[i % len(statuses)])
        for i in range(count)
    )


def _texts(
    values: Sequence[float], *, statuses: Sequence[int | None] = (0,), repeat: int = 9
) -> str:
    runs = _runs(len(values), statuses=statuses)
    anchor = _indicator(
        "task-clock",
        {(info.run, info.batch): v for info, v in zip(runs, values, strict=True)},
        unit="ns",
    )
    return "; ".join(doubts([anchor], runs, Provenance("perf", plan=PERF, repeat=repeat)))


def _steady(count: int = 18) -> list[float]:
    random = Random(3)
    return [50 * MS * (1 + random.gauss(0, 0.01)) for _ in range(count)]


def test_anchors_are_what_all_batches_of_a_source_share() -> None:
    assert anchors_of(PERF) == {"perf": "task-clock"}
    mixed = (*PERF, "machine:laptop cycles,x", "machine:laptop cycles,y")
    assert anchors_of(mixed) == {"perf": "task-clock", "machine:laptop": "laptop::cycles"}
    assert anchors_of(("perf a", "perf b")) == {}
    assert anchors_of(()) == {}


def test_a_steady_machine_raises_no_doubt() -> None:
    assert _texts(_steady()) == ""


@pytest.mark.parametrize(("step", "word"), [(0.02, "rises"), (-0.02, "falls")])
def test_a_drift_of_the_anchor_is_told(step: float, word: str) -> None:
    drifting = [value * (1 + step * place) for place, value in enumerate(_steady())]
    text = _texts(drifting)
    assert "the machine drifted" in text
    assert word in text


def test_a_significant_drift_that_is_tiny_is_not_worth_a_warning() -> None:
    assert "drifted" not in _texts([50.0 * MS * (1 + 1e-5 * i) for i in range(18)])


def test_a_run_that_is_far_off_is_named() -> None:
    values = _steady()
    values[7] *= 2
    text = _texts(values)
    assert "in run 3 of batch 1 task-clock is +100% off" in text


def test_false_alarms_are_rare() -> None:
    random = Random(11)
    alarms = 0
    for _ in range(200):
        values = [50 * MS * (1 + random.gauss(0, 0.05)) for _ in range(18)]
        alarms += bool(_texts(values))
    assert alarms <= 12  # two tests at 1 %, with room for chance


def test_exit_statuses_that_differ_are_told() -> None:
    assert (
        "exit status varies between runs: 9 times with status 0, 9 times with status 3"
        in _texts(_steady(), statuses=(0, 3))
    )
    assert "ended with status 3 in every run" in _texts(_steady(), statuses=(3,))


@pytest.mark.parametrize("origin", ["valgrind", "machine:laptop"])
def test_exact_counts_that_differ_mean_a_program_that_varies(origin: str) -> None:
    steady = _indicator("Ir", {(0, 0): 1_000_000, (1, 0): 1_009_000}, origin)
    varying = _indicator("Ir", {(0, 0): 1_000_000, (1, 0): 1_020_000}, origin)
    rare = _indicator("Bim", {(0, 0): 3, (1, 0): 5}, origin)
    provenance = Provenance(origin, plan=(f"{origin} Ir",), repeat=2)
    runs = _runs(2, batches=1)
    assert not doubts([steady, rare], runs, provenance)
    [text] = doubts([varying, rare], runs, provenance)
    assert "not deterministic: Ir differ by up to 2%" in text


def test_counts_that_are_not_exact_may_differ() -> None:
    faults = _indicator("page-faults", {(0, 0): 1_000, (1, 0): 2_000})
    provenance = Provenance("perf", plan=("perf page-faults",), repeat=2)
    assert not doubts([faults], _runs(2, batches=1), provenance)


def test_a_program_that_was_over_before_it_was_counted_is_told() -> None:
    values = _steady()
    values[4] = 0.0
    assert "in 1 of 18 runs the command ended before it could be counted" in _texts(values)
    nothing = Indicator("a", "", "", "thread", "perf", False, (), Status.NOT_COUNTED, {})
    provenance = Provenance("perf", plan=("perf a",), repeat=2)
    assert "before anything was counted" in doubts([nothing], _runs(2), provenance)[0]


def test_a_program_that_is_over_at_once_counts_its_own_start() -> None:
    assert "runs for only 400 µs" in _texts([0.4 * MS] * 4)


def test_a_process_that_ran_before_has_no_start_to_count() -> None:
    anchor = _indicator("task-clock", {(0, 0): 0.4 * MS, (1, 0): 0.4 * MS}, unit="ns")
    origin = Provenance("perf", plan=PERF[:1], repeat=2, target="process 12")
    assert doubts([anchor], _runs(2, batches=1), origin) == ()


def test_one_run_says_nothing_about_spread() -> None:
    assert "are unknown" in _texts(_steady(2), repeat=1)
    assert "are unknown" not in _texts(_steady(2), repeat=2)
