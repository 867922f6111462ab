"""Estimating a run: sets take turns, readings are kept, and every event is estimated at once.

    state = estimate(["./program"], "cache-misses,branch-misses,...", interval="20ms")
    print(state["cache-misses"].total)

What is read goes into the recording as it is, what is estimated beside it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from gnomon.analysis.estimate.gather import Gatherer, Keeper
from gnomon.analysis.estimate.models import find_model, with_parameters
from gnomon.analysis.estimate.result import (
    Estimates,
    Now,
    Readings,
    State,
    ValueNow,
    Why,
    rate_unit,
)
from gnomon.analysis.estimate.schedule import ORDER, find_order
from gnomon.analysis.estimate.sets import Sets, plan_sets
from gnomon.errors import NotSupportedError, UsageError
from gnomon.events.event import Request
from gnomon.events.syntax import parse_events
from gnomon.measure.run import event_infos
from gnomon.measure.turns import steady, take_turns
from gnomon.recording.contents import EventInfo
from gnomon.sources.base import Rotates, as_target
from gnomon.sources.registry import source as chosen_source
from gnomon.units import parse_duration

if TYPE_CHECKING:
    from gnomon.analysis.estimate.kalman.blocks import Parameters
    from gnomon.analysis.estimate.model import Layout, Model, Tick
    from gnomon.analysis.estimate.schedule import Order
    from gnomon.events.metrics import BoundMetric
    from gnomon.recording import Recording
    from gnomon.recording.contents import Provenance, RunInfo
    from gnomon.sources.base import Rotation, Source, Target, Turn

INTERVAL = "20ms"
SIMULATED_INTERVAL = "20us"  # simulated programs take milliseconds


@dataclass(frozen=True, slots=True)
class Scene:
    """What stays the same while a run is watched."""

    provenance: Provenance
    events: tuple[EventInfo, ...]
    metrics: tuple[BoundMetric, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """A tick that was just over, for those who watch."""

    turn: Turn
    tick: Tick
    gathered: Gatherer
    scene: Scene
    why: Why

    def now(self, *, metrics: bool = True) -> Now:
        """Return the tick as numbers, for those who show it."""
        gathered, tick = self.gathered, self.tick
        now, layout = gathered.now(), gathered.layout
        infos = {info.name: info for info in self.scene.events}

        def value(name: str, mean: float, low: float, high: float, status: str) -> ValueNow:
            info = infos.get(name, EventInfo(name))
            rates = [each * info.scale / tick.seconds for each in (mean, low, high)]
            return ValueNow(rates[0], rates[1], rates[2], rate_unit(info.unit), status)

        events = {
            name: value(name, count, count, count, "")
            for name, count in zip(layout.fixed, tick.fixed.tolist(), strict=True)
        }
        for place, name in enumerate(layout.events):
            if not gathered.seen[place]:
                events[name] = ValueNow(None, None, None, "", "not read yet")
                continue
            mean, low, high = (float(each[-1, place]) for each in (now.mean, now.low, now.high))
            status = "" if tick.counts[place] == tick.counts[place] else "estimated"
            events[name] = value(name, mean, low, high, status)
        return Now(
            time=self.turn.time - (gathered.start or 0),
            seconds=tick.seconds,
            tick=gathered.intake.ticks,
            set=self.turn.chosen,
            why=self.why,
            simulated=self.scene.provenance.simulated,
            events=events,
            metrics=self._metrics(now) if metrics else {},
        )

    def _metrics(self, now: Estimates) -> dict[str, ValueNow]:
        from gnomon.analysis.estimate.metrics import metrics_now

        scene, gathered = self.scene, self.gathered
        found = metrics_now(
            scene.metrics, gathered.layout, self.tick, now, gathered.seen, scene.provenance
        )
        return {
            each.name: ValueNow(
                each.value, each.low, each.high, each.unit, "estimated" * (each.low != each.high)
            )
            for each in found
            if each.value is not None
        }


OnTick = Callable[[Moment], None]
Watcher = Callable[["Turn", "Tick"], None]


def estimate(
    subject: Sequence[str] | Target | Readings | str | os.PathLike[str] | Recording,
    events: str | None = None,
    *,
    interval: str | int | None = None,
    duration: str | float | None = None,
    always: str | None = None,
    registers: int | None = None,
    order: str | None = None,
    weights: Mapping[str, float] | None = None,
    model: str | Model | None = None,
    calibration: Sequence[str | os.PathLike[str]] = (),
    parameters: str | os.PathLike[str] | None = None,
    smooth: bool = False,
    ahead: str | int | None = None,
    run: int | None = None,
    seed: int = 1,
    output: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    on: Source | str | None = None,
    on_tick: OnTick | None = None,
    keep: bool = True,
) -> State:
    """Read many events with few counters in one run, and estimate each of them in every tick.

    The subject is a command or another target, a recording that this made, or readings as
    arrays. `events` is a list as on the command line, or `all`; without it, what the source counts
    by default. Sets of events take turns, one per `interval` of 20 ms (on a simulated machine 20 us
    of its time). `always` names the events that are counted all the time; without it they are
    chosen. `registers` limits how many others are counted at a time. `order` says which set comes
    next, and `weights` how much events matter to it. `calibration` names recordings of earlier
    runs, read over time, for the model to begin with, and `parameters` processes that
    `gnomon estimate identify` stored: a file, a workload, or machine/workload. With `output`
    readings and estimates are recorded there. `on_tick` is called with every tick; without `keep`
    that is all there is, and what is returned has no ticks: a run may last for days.

    A recording is returned with the estimates that are stored in it, unless `model` or
    `parameters` ask for others, or `smooth` for estimates of each tick from the whole run; `run`
    chooses one of several runs. Every one of these can be asked for readings as well. With
    `ahead`, a time, the ticks that would follow are predicted.

    >>> state = gn.estimate(["sleep", "0.2"], "page-faults,context-switches", registers=1)
    >>> all(line.low <= line.total <= line.high for line in state.events)
    True
    """
    from gnomon.analysis.estimate.prediction import with_prediction

    if isinstance(subject, Readings):
        from gnomon.analysis.estimate.recorded import of_readings

        state = of_readings(subject, model=model or "default", smooth=smooth)
        return state if ahead is None else with_prediction(state, ahead, model)
    if isinstance(subject, str | os.PathLike) or is_recording(subject):
        from gnomon.analysis.estimate.recorded import estimated_again

        opened = cast("str | Recording", subject)
        state = estimated_again(opened, model=model, smooth=smooth, run=run, parameters=parameters)
        return state if ahead is None else with_prediction(state, ahead, model)
    if smooth or run is not None:
        raise UsageError("--smooth and --run are for a recording: give one in place of a program.")
    if ahead is not None and not keep:
        raise UsageError("--ahead needs all ticks of the run, which --watch does not keep.")
    model = model or ("default" if parameters is None else "choice")
    order = order or ORDER
    target = as_target(cast("Sequence[str] | Target", subject))
    source = chosen_source(on)
    step = tick_length(interval, source)
    limit = parse_duration(duration, "duration") / 1e9 if isinstance(duration, str) else duration
    sets = countable_sets(source, _plan(source, events, always, registers), target, registers)
    weighed = weights_of_events(weights or {}, source, target, sets)
    chooser = find_order(order, sets.layout, seed=seed, weights=weighed)
    chosen = find_model(model) if isinstance(model, str) else model
    origin = source.provenance(target)
    unknown: tuple[str, ...] = ()
    if parameters is not None:
        from gnomon.analysis.estimate.identify.store import find_parameters, machine_of

        processes = find_parameters(parameters, machine_of(origin))
        chosen = with_parameters(chosen, processes)
        unknown = _without_process(sets.layout, processes)
    known = None
    if calibration:
        from gnomon.analysis.estimate.recorded import calibration_of

        known = calibration_of(calibration, sets.layout, step / 1e9)
    provenance = replace(
        origin,
        interval=step,
        always=sets.layout.fixed,
        sets=sets.texts,
        model=chosen.name,
    )
    with ExitStack() as stack:
        rotation = stack.enter_context(open_rotation(source, sets, target, chooser.choose()))
        infos = event_infos(rotation.requests)
        writer = None
        if output is not None:
            from gnomon.recording import RecordingWriter

            writer = stack.enter_context(
                RecordingWriter(output, provenance, infos, overwrite=overwrite)
            )
        real_time = not source.capabilities.own_time and on_tick is None
        gathered = Gatherer(
            sets.layout,
            chosen,
            writer,
            usual=step / 1e9,
            apart=real_time,
            calibration=known,
            keep=keep,
        )
        watcher = None
        if on_tick is not None:
            watcher = _watcher(on_tick, provenance, infos, gathered, chooser)
        outcome = follow(rotation, gathered, chooser, target, steady(step), limit, watcher)
        warnings = (*sets.warnings, *unknown, *outcome.warnings)
        if writer is not None:
            writer.add_run(outcome.run)
            for text in warnings:
                writer.warn(text)
    if writer is not None and gathered.last is not None:
        from gnomon.analysis.estimate.recorded import estimated_again

        found = estimated_again(writer.path)
    else:
        from gnomon.analysis.estimate.metrics import with_metrics

        found = State(
            infos=infos,
            ends=tuple(end - outcome.run.start for end in gathered.ends),
            readings=gathered.readings,
            estimates=gathered.estimates,
            totals=gathered.totals(),
            run=outcome.run,
            provenance=provenance,
        )
        found = with_metrics(found) if len(found) else found
    if ahead is not None and len(found):
        found = with_prediction(found, ahead, chosen)
    return replace(
        found,
        warnings=warnings,
        interrupted=outcome.interrupted,
        failed=outcome.failed,
        cost=_cost(gathered, outcome.run, source),
    )


def _without_process(layout: Layout, processes: Mapping[str, Parameters]) -> tuple[str, ...]:
    missing = [name for name in layout.events if name not in processes]
    if len(missing) == len(layout):
        raise UsageError(
            f"no process is known of any of these events: there are {', '.join(processes)}."
        )
    if not missing:
        return ()
    return (f"no process is known of {', '.join(missing)}: theirs are learned",)


def _plan(source: Source, events: str | None, always: str | None, registers: int | None) -> Sets:
    requests = _requests(source, events)
    if not requests:
        raise NotSupportedError(
            "nothing can be counted here: `gnomon doctor` tells why; "
            "--on MACHINE counts on a simulated machine."
        )
    held: list[Request] | None = None
    if always is not None:
        found = parse_events(always, source.resolve) if always != "none" else ()
        held = [request for group in found for request in group]
    return plan_sets(source, requests, always=held, registers=registers)


def _watcher(
    on_tick: OnTick,
    provenance: Provenance,
    infos: tuple[EventInfo, ...],
    gathered: Gatherer,
    order: Order,
) -> Watcher:
    from gnomon.analysis.estimate.metrics import bound_metrics

    layout = gathered.layout
    metrics = bound_metrics(provenance, infos, (*layout.fixed, *layout.events))
    scene = Scene(provenance, infos, metrics)
    return lambda turn, tick: on_tick(Moment(turn, tick, gathered, scene, order.why(turn.chosen)))


def weights_of_events(
    weights: Mapping[str, float], source: Source, target: Target, sets: Sets
) -> dict[str, float]:
    """Return weights of events; that of a metric is that of all events it is made of."""
    layout = sets.layout
    if set(weights) <= set(layout.events):
        return dict(weights)
    from gnomon.analysis.estimate.metrics import bound_metrics

    names = (*layout.fixed, *layout.events)
    metrics = bound_metrics(source.provenance(target), event_infos(sets.requests), names)
    known = {bound.metric.name: bound.events for bound in metrics}
    found: dict[str, float] = {}
    for name, weight in weights.items():
        for event in known.get(name, (name,)):
            if name not in known or event not in layout.fixed:  # those are counted anyway
                found[event] = max(weight, found.get(event, 0.0))
    return found


def _requests(source: Source, events: str | None) -> list[Request]:
    if events == "all":
        proved = source.availability([Request(event) for event in source.events()])
        return [Request(each.event) for each in proved if each.countable]
    groups = source.default_events() if events is None else parse_events(events, source.resolve)
    return [request for group in groups for request in group]


def countable_sets(
    source: Source, sets: Sets, target: Target, registers: int | None = None
) -> Sets:
    """Return the sets without the events that this target has no counts of."""
    with open_rotation(source, sets, target) as rotation:
        refused = {reading.event for reading in rotation.refused}
        warnings = tuple(rotation.warnings)
    if not refused:
        return sets
    rest = [r for r in sets.requests if r.label not in refused]
    fixed = [r for r in sets.fixed if r.label not in refused]
    again = plan_sets(source, rest, always=fixed, registers=registers)
    return replace(again, warnings=(*sets.warnings, *warnings))


def open_rotation(source: Source, sets: Sets, target: Target, first: int = 0) -> Rotation:
    """Set up the sets on a source."""
    if not isinstance(source, Rotates):
        raise UsageError(f"{source.name} counts whole runs only: sets cannot take turns on it.")
    always = (*sets.fixed, *sets.free)
    rotation = source.open_sets(always, sets.sets, target, first=first)
    if len(rotation.refused) == len(rotation.requests):
        reasons = "; ".join(rotation.warnings)
        rotation.close()
        raise NotSupportedError(f"none of the events can be counted: {reasons}.")
    return rotation


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run went: when, how it ended, and what is to be said about it."""

    run: RunInfo
    warnings: tuple[str, ...]
    interrupted: bool
    failed: bool


def follow(
    rotation: Rotation,
    keeper: Keeper,
    order: Order,
    target: Target,
    lengths: Iterator[int],
    duration: float | None = None,
    watcher: Watcher | None = None,
) -> Outcome:
    """Carry a rotation out to its end; what stops it early is a warning, if anything was read."""

    def take(turn: Turn) -> bool:
        tick = keeper.take(turn)
        if tick is not None:
            order.note(tick)
            if watcher is not None:
                watcher(turn, tick)
        return keeper.last is not None

    turned = take_turns(
        rotation, target, lengths, order.choose, take, duration=duration, finish=keeper.finish
    )
    began = turned.run.start if keeper.start is None else keeper.start
    failure = [f"the source stopped early: {turned.failure}"] if turned.failure else []
    warnings = dict.fromkeys([*turned.warnings, *keeper.intake.warnings, *failure])
    return Outcome(
        replace(turned.run, start=began), tuple(warnings), turned.interrupted, bool(failure)
    )


def _cost(gathered: Gatherer, run: RunInfo, source: Source) -> float | None:
    """Return the share of a CPU that we took; simulated time is not ours to compare with."""
    if source.capabilities.own_time or run.end <= run.start:
        return None
    return gathered.taken / ((run.end - run.start) / 1e9)


def tick_length(interval: str | int | None, source: Source) -> int:
    """Return the length of a tick in ns."""
    if interval is None:
        interval = SIMULATED_INTERVAL if source.capabilities.own_time else INTERVAL
    return parse_duration(interval) if isinstance(interval, str) else interval


def is_recording(subject: object) -> bool:
    """Whether it is an open recording; their class is loaded only where there is one."""
    module = sys.modules.get("gnomon.recording.reader")
    return module is not None and isinstance(subject, module.Recording)
