"""Surveys in one run: totals of simulated programs beside the truth and beside linear scaling."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gnomon as gn
from gnomon.analysis.survey import survey
from gnomon.recording.model import Status
from gnomon.sources.base import Command
from gnomon.sources.machine import MachineSource

PHASES = (
    ("laptop", "20us", ["workload:ramp-compute"]),
    ("laptop", "8us", ["workload:bfs", "size=32768"]),
    ("laptop", "50us", ["workload:parallel-sort"]),
    ("pentium3-smp", "200us", ["workload:assignment"]),
)


def _truth(machine: str, command: list[str], events: list[str]) -> dict[str, float]:
    """Count everything on the same machine with counters enough."""
    source = MachineSource(machine)
    pmu = replace(source.pmu, general=63, uncore=63, same_modes=False)
    wide = MachineSource(machine, pmu=pmu)
    counted = gn.count(Command(tuple(command)), ",".join(events), source=wide)
    return {line.event: float(line.value or 0.0) for line in counted.counts}


def _linear(machine: str, interval: str, command: list[str]) -> dict[str, float]:
    """Let sets take turns of one length, and let readings stand for the whole run."""
    source = MachineSource(machine)
    state = gn.observe(
        command,
        "all",
        source=source,
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
    branches = result["branches"].indicator
    assert branches.status is Status.ESTIMATED
    assert len(branches.values) == 2
    assert branches.interval is not None
    low, high = branches.interval
    truth = _truth("laptop", command, ["branches"])["branches"]
    assert low <= truth <= high
    assert result["instructions"].indicator.status is Status.COUNTED
    assert any("took turns on the counters" in text for text in result.warnings)


@pytest.mark.slow
def test_totals_of_one_run_are_nearer_than_linear_scaling_and_intervals_hold_them(
    tmp_path: Path,
) -> None:
    ratios, held = [], []
    for number, (machine, interval, command) in enumerate(PHASES):
        result = survey(
            command,
            output=tmp_path / str(number),
            repeat=1,
            on=machine,
            one_run=True,
            interval=interval,
        )
        estimated = [e for e in result.events if e.indicator.status is Status.ESTIMATED]
        truth = _truth(machine, command, [each.event for each in estimated])
        linear = _linear(machine, interval, command)
        ours, scaled = [], []
        for each in estimated:
            actual, indicator = truth[each.event], each.indicator
            if actual == 0 or indicator.mean is None or indicator.interval is None:
                continue
            ours.append(abs(indicator.mean - actual) / actual)
            scaled.append(abs(linear[each.event] - actual) / actual)
            held.append(indicator.interval[0] <= actual <= indicator.interval[1])
        ratios.append(float(np.median(ours) / np.median(scaled)))
    assert np.mean(ratios) < 0.9, ratios
    assert np.mean(held) >= 0.75
