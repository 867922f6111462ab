"""What a survey counts: the sources that can count something of a command, and their events."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.errors import NotSupportedError, UnknownEventError, UsageError
from gnomon.events.event import Request
from gnomon.events.syntax import parse_events, split_items
from gnomon.sources.base import Command, Source
from gnomon.sources.registry import On, event_prefix, local, sources

Chosen = tuple[Source, Sequence[Request]]
"""A source and what is to be counted of it."""

_SIMULATED_ONLY = ("workload:", "signal:", "program:")


def choose_sources(command: Command, on: On, seed: int) -> tuple[Source, ...]:
    """Return the sources to count on: those that were chosen, or all that count something here.

    The seed is that of simulations.
    """
    if on is not None:
        return sources(on, usual_seed=seed)
    if command.argv and command.argv[0].startswith(_SIMULATED_ONLY):
        raise UsageError(
            f"'{command.argv[0]}' runs on simulated machines only: "
            "name one with --on; `gnomon sim list` lists them."
        )
    first, *others = local()
    return (first, *filter(_works, others))


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
