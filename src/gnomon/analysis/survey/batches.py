"""The batches of a survey: what is counted together in one run, of which source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gnomon.errors import RecordingError, UsageError
from gnomon.events.event import Group, Request
from gnomon.events.syntax import parse_events
from gnomon.sources.base import Source

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
                f"the survey cannot go on as it was planned, because {error}"
            ) from None
        batches.append(Batch(number, origin, groups))
    return tuple(batches)
