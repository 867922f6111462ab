"""What a survey is about: a command, and the sources that can count something of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.analysis.survey.batches import FindSource
from gnomon.analysis.survey.origins import event_prefix
from gnomon.errors import NotSupportedError, UnknownEventError, UsageError
from gnomon.events.event import Request
from gnomon.events.syntax import parse_events, split_items
from gnomon.sources.base import Command, Source

Chosen = tuple[str, Source, Sequence[Request]]
"""An origin, its source, and what is to be counted of it."""

_SIMULATED_ONLY = ("workload:", "signal:")


@dataclass(frozen=True, slots=True)
class Subject:
    """A command, the simulated machine it also runs on, if any, and whether valgrind may."""

    command: Command
    machine: str | None = None
    valgrind: bool = True
    seed: int = 1

    @property
    def simulated_only(self) -> bool:
        """Whether only a simulated machine can run it."""
        return bool(self.command.argv) and self.command.argv[0].startswith(_SIMULATED_ONLY)


def choose_origins(subject: Subject, find: FindSource) -> tuple[tuple[str, Source], ...]:
    """Return the sources that can count something of a command here."""
    machine = [f"machine:{subject.machine}"] if subject.machine else []
    if subject.simulated_only:
        if not machine:
            raise UsageError(
                f"'{subject.command.argv[0]}' runs on simulated machines only: "
                "name one with --on; `gnomon machine list` lists them."
            )
        names = machine
    else:
        names = ["perf", *(["valgrind"] if subject.valgrind else []), *machine]
    found = [(name, find(name)) for name in names]
    return tuple((name, source) for name, source in found if name != "valgrind" or _works(source))


def _works(source: Source) -> bool:
    """Whether a source counts anything here; valgrind may not be installed."""
    requests = [request for group in source.default_events() for request in group]
    return bool(requests) and all(a.countable for a in source.availability(requests[:1]))


def choose_events(origins: Sequence[tuple[str, Source]], events: str | None) -> tuple[Chosen, ...]:
    """Return what to count of each source: what was asked for, or all that proves countable."""
    chosen = [
        (origin, source, requests)
        for origin, source in origins
        if (requests := _all_of(source) if events is None else _asked(origin, origins, events))
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


def _asked(origin: str, origins: Sequence[tuple[str, Source]], events: str) -> list[Request]:
    """Return the requests of an event list that this source is the first to know.

    An event may name the simulated machine that it is meant for, as in `laptop::cycles`.
    """
    found: list[Request] = []
    for item in split_items(events):
        named = [pair for pair in origins if _is_for(item, pair[0])]
        for name, source in named or origins:
            prefix = event_prefix(name) if named else ""
            try:
                groups = parse_events(item.removeprefix(prefix), source.resolve)
            except UnknownEventError:
                if name == (named or origins)[-1][0]:
                    raise
                continue
            if name == origin:
                found += [request for group in groups for request in group]
            break
    return found


def _is_for(item: str, origin: str) -> bool:
    prefix = event_prefix(origin)
    return bool(prefix) and item.startswith(prefix)
