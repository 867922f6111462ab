"""Surveys in one run: totals of simulated programs beside the truth and beside linear scaling."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gnomon as gn
from gnomon.analysis.survey import survey
from gnomon.recording.contents import Status
from gnomon.sources.base import Command
from gnomon.sources.machine.source import MachineSource

CASES = (
    pytest.param("laptop", "20us", ["workload:ramp-compute"], id="ramp-compute"),
    pytest.param("laptop", "8us", ["workload:bfs", "size=32768"], id="bfs"),
    # It ends with a copy that takes less than a hundredth of the run.
    pytest.param("laptop", "50us", ["workload:parallel-sort"], id="parallel-sort"),
    pytest.param("pentium3-smp", "200us", ["workload:assignment"], id="assignment"),
)


def _truth(machine: str, command: list[str], events: list[str]) -> dict[str, float]:
    """Count everything on the same machine with counters enough."""
    source = MachineSource(machine)
    pmu = replace(source.pmu, general=63, uncore=63, same_modes=False)
    wide = MachineSource(machine, pmu=pmu)
    counted = gn.count(Command(tuple(command)), ",".join(events), on=wide)
    return {line.event: float(line.value or 0.0) for line in counted.counts}


def _linear(machine: str, interval: str, command: list[str]) -> dict[str, float]:
    """Let sets take turns of one length, and let readings stand for the whole run."""
    source = MachineSource(machine)
    state = gn.estimate(
        command,
        "all",
        on=source,
        interval=interval,
        order="shuffled",
        model="linear-scaling",
    )
    readings = state.readings
    found = {}
    for place, name in enumerate(readings.layout.events):
        read = np.isfinite(readings.counts[:, place])
        if read.any():
            share = readings.seconds[read].sum() / readings.seconds.sum()
            found[name] = float(np.nansum(readings.counts[:, place]) / share)
    return found


def test_a_survey_in_one_run_labels_what_it_estimates(tmp_path: Path) -> None:
    command = ["workload:bfs", "size=2048"]
    result = survey(
        command, output=tmp_path / "s", repeat=2, on="laptop", one_run=True, interval="2us"
    )
    assert result.one_run
    branches = result["branches"]
    assert branches.status is Status.ESTIMATED
    assert len(branches.values) == 2
    assert branches.interval is not None
    low, high = branches.interval
    truth = _truth("laptop", command, ["branches"])["branches"]
    assert low <= truth <= high
    assert result["instructions"].status is Status.COUNTED
    assert any("took turns on the counters" in text for text in result.warnings)


def _errors(
    machine: str, interval: str, command: list[str], output: Path
) -> tuple[list[float], list[float], list[bool]]:
    """Return relative errors of totals, those of linear scaling, and which intervals hold."""
    result = survey(command, output=output, repeat=1, on=machine, one_run=True, interval=interval)
    estimated = [e for e in result.rows if e.status is Status.ESTIMATED]
    truth = _truth(machine, command, [each.event for each in estimated])
    linear = _linear(machine, interval, command)
    ours, scaled, held = [], [], []
    for each in estimated:
        actual, indicator = truth[each.event], each
        if actual == 0 or indicator.mean is None or indicator.interval is None:
            continue
        ours.append(abs(indicator.mean - actual) / actual)
        scaled.append(abs(linear.get(each.event, 0.0) - actual) / actual)
        held.append(indicator.interval[0] <= actual <= indicator.interval[1])
    return ours, scaled, held


@pytest.mark.slow
@pytest.mark.parametrize(("machine", "interval", "command"), CASES)
def test_totals_of_one_run_have_less_than_half_the_error_of_linear_scaling(
    machine: str, interval: str, command: list[str], tmp_path: Path
) -> None:
    ours, scaled, held = _errors(machine, interval, command, tmp_path / "survey")
    assert np.median(ours) < 0.5 * np.median(scaled)
    assert np.mean(held) >= 0.8
