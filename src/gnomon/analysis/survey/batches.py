"""What a survey counts: of which sources which events, and in which batches, a run each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gnomon.errors import NotSupportedError, RecordingError, UnknownEventError, UsageError
from gnomon.events.event import Group, Request
from gnomon.events.syntax import parse_events, split_items
from gnomon.sources.base import Command, Cpus, Source, Target
from gnomon.sources.registry import On, event_prefix, local, sources

Chosen = tuple[Source, Sequence[Request]]
"""A source and what is to be counted of it."""

PLAIN = "plain run"
"""What the identity of a survey calls the source of its plain run, which counts nothing."""

_SIMULATED_ONLY = ("workload:", "signal:", "program:")


def choose_sources(target: Target, on: On, seed: int) -> tuple[Source, ...]:
    """Return the sources to count on: those that were chosen, or all that count something here.

    The seed is that of simulations.
    """
    if on is not None:
        return sources(on, usual_seed=seed)
    command = target.command if isinstance(target, Cpus) else target
    argv = command.argv if isinstance(command, Command) else ()
    if argv and argv[0].startswith(_SIMULATED_ONLY):
        raise UsageError(
            f"'{argv[0]}' runs on simulated machines only: "
            "name one with --on; `gnomon sim list` lists them."
        )
    first, *others = local()
    kind = type(target).__name__.lower()
    able = (source for source in others if kind in source.capabilities.scopes)
    return (first, *filter(_works, able))


def _works(source: Source) -> bool:
    """Whether a source counts anything here: what is installed may be of no use."""
    requests = [request for group in source.default_events() for request in group]
    return bool(requests) and all(a.countable for a in source.availability(requests[:1]))


def choose_events(found: Sequence[Source], events: str | None) -> tuple[Chosen, ...]:
    """Return what to count of each source: what was asked for, or all that proves countable."""
    chosen = [
        (source, requests)
        for source in found
        if (requests := _all_of(source) if events is None else _asked(source, found, events))
    ]
    if not chosen:
        raise NotSupportedError(
            "nothing can be counted here: `gnomon doctor` tells why; "
            "--on MACHINE counts on a simulated machine."
        )
    return tuple(chosen)


def _all_of(source: Source) -> list[Request]:
    proved = source.availability([Request(event) for event in source.events()])
    return [Request(each.event) for each in proved if each.countable]


def _asked(own: Source, everybody: Sequence[Source], events: str) -> list[Request]:
    """Return the requests of an event list that this source is the first to know.

    An event may name the simulated machine that it is meant for, as in `laptop::cycles`.
    """
    found: list[Request] = []
    for item in split_items(events):
        named = [source for source in everybody if _is_for(item, source)]
        for source in named or everybody:
            prefix = event_prefix(source.name) if named else ""
            try:
                groups = parse_events(item.removeprefix(prefix), source.resolve)
            except UnknownEventError:
                if source is (named or everybody)[-1]:
                    raise
                continue
            if source is own:
                found += [request for group in groups for request in group]
            break
    return found


def _is_for(item: str, source: Source) -> bool:
    prefix = event_prefix(source.name)
    return bool(prefix) and item.startswith(prefix)


FindSource = Callable[[str], Source]
"""Returns a source by its origin: the name that it has in the recording."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Events that are counted together in one run of the program."""

    number: int
    origin: str
    groups: tuple[Group, ...]

    @property
    def text(self) -> str:
        """The batch as a line of a plan, from which it can be made again."""
        return f"{self.origin} {','.join(map(_group_text, self.groups))}"


def _group_text(group: Group) -> str:
    labels = ",".join(request.label for request in group)
    return labels if len(group) == 1 else f"{{{labels}}}"


def plan_batches(
    chosen: Iterable[tuple[Source, Sequence[Request]]],
) -> tuple[tuple[Batch, ...], tuple[str, ...]]:
    """Return the batches that count every request of every source, and what fits into none."""
    batches: list[Batch] = []
    misfits: list[str] = []
    for source, requests in chosen:
        plan = source.plan(requests, anchors=source.anchors())
        misfits += [f"{miss.request.label}: {miss.reason}" for miss in plan.unplaceable]
        for planned in plan.batches:
            groups = tuple((request,) for request in planned.requests)
            batches.append(Batch(len(batches), source.name, groups))
    return tuple(batches), tuple(misfits)


def read_batches(lines: Sequence[str], find: FindSource) -> tuple[Batch, ...]:
    """Return the batches that a recording was planned with."""
    batches = []
    for number, line in enumerate(lines):
        origin, _, events = line.partition(" ")
        try:
            groups = parse_events(events, find(origin).resolve)
        except UsageError as error:
            raise RecordingError(
                f"the survey cannot continue as planned, because {error}"
            ) from None
        batches.append(Batch(number, origin, groups))
    return tuple(batches)
