"""Latencies of several runs of a program, as a campaign that goes on where it was interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gnomon.analysis.latency.measure import MakeTaker, Measured
from gnomon.analysis.latency.recorded import joined, samples_in, slices_in
from gnomon.errors import GnomonError
from gnomon.measure.campaign import Campaign, Plan, Task, warmups
from gnomon.measure.identity import identify
from gnomon.measure.run import Measurement
from gnomon.recording.contents import Reading, RunInfo, Sample

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gnomon.measure.campaign import Terms
    from gnomon.recording.contents import Provenance
    from gnomon.sources.base import Source, Target

MakeRun = Callable[[MakeTaker, int, float | None], Measured]
"""Measures one run: what takes its readings, the number of the run, and its longest time in s."""


@dataclass(slots=True)
class _Held:
    """Takes what a run gives, to be kept when it is over."""

    readings: list[Reading] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)

    def append(self, readings: Iterable[Reading]) -> None:
        self.readings += readings

    def append_samples(self, samples: Iterable[Sample]) -> None:
        self.samples += samples

    def add_run(self, run: RunInfo) -> None:
        """Leave it: a run of a campaign is kept with its own number."""


def measure_runs(
    make_run: MakeRun,
    terms: Terms,
    subject: tuple[Source, Target, Provenance],
    options: Mapping[str, object],
) -> Measured:
    """Make the runs, and return what all of them gave together."""
    source, target, origin = subject
    tasks = [Task(0, run) for run in range(terms.repeat)]
    plan = Plan(
        "latency",
        tasks,
        identify([target], [(source, origin)], options),
        [(path, origin) for path in terms.outputs],
        warmups(tasks, terms.warmup),
        simulated=source.capabilities.simulated,
    )
    together = Measured()
    runs: list[RunInfo] = []

    def make(task: Task) -> Measurement:
        held = _Held()
        measured = make_run(lambda _: held, task.run, terms.timeout)
        made = Measurement(
            events=measured.events,
            readings=[reading._replace(run=task.run) for reading in held.readings],
            samples=[sample._replace(run=task.run) for sample in held.samples],
            runs=[replace(measured.run, run=task.run)],
            warnings=measured.warnings,
            exit_status=measured.run.exit_status or 0,
            interrupted=measured.interrupted,
        )
        made.check_time(terms.timeout)
        return made

    def take(_: Task, made: Measurement) -> None:
        together.events = made.events
        together.slices += slices_in(made.readings)
        together.samples += samples_in(made.samples)
        runs.extend(made.runs)

    with Campaign(plan, terms) as campaign:
        outcome = campaign.carry_out(make, take)
    if not runs:
        raise GnomonError("it was interrupted before the first run had ended: nothing to show.")
    together.run = joined(runs)
    together.warnings = [*outcome.warnings, *outcome.stopped(terms.timeout)]
    together.interrupted = outcome.interrupted
    return together
