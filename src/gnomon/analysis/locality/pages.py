"""Pages that a program writes as a stream: one access for each look that finds a page written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gnomon import _native
from gnomon.analysis.locality.model import UNKNOWN, Accesses, MappingUse, Origin
from gnomon.analysis.locality.streams import Stream
from gnomon.analysis.locality.watched import Watched
from gnomon.errors import NotSupportedError
from gnomon.measure.run import Stopper
from gnomon.sources.page_tracking import PageTracking, check_kernel
from gnomon.units import format_duration

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.launch import Command
    from gnomon.sources.page_tracking import PageTick

INTERVAL_NS = 50_000_000
_SEEN = (
    "pages found written, one access for each look; a look every {}, which does not see what the "
    "program has unmapped before"
)


@dataclass(frozen=True, slots=True)
class Looks:
    """How often to look at the pages of a program, and for how long when it does not end."""

    interval_ns: int = INTERVAL_NS
    duration_ns: int | None = None


class PagesStream(Stream):
    """What the kernel's page tables tell of a program: written pages, and mappings referenced.

    `static` ranges are counted exactly by breakpoint registers, apart from the stream.
    """

    def __init__(
        self,
        target: Command | int,
        nodes: int,
        *,
        looks: Looks | None = None,
        static: tuple[str, ...] = (),
    ) -> None:
        check_kernel()
        self._target = target
        self._looks = looks or Looks()
        self._watched = Watched(static)
        what = f"process {target}" if isinstance(target, int) else " ".join(target.argv)
        self._page = os.sysconf("SC_PAGE_SIZE")
        self.origin = Origin(
            kind="tracked",
            what=what,
            machine="",
            seen=_SEEN.format(format_duration(self._looks.interval_ns)),
            nodes=nodes,
            page_bytes=self._page,
            asker="process",
        )

    def __iter__(self) -> Iterator[Accesses]:
        looks = self._looks
        with Stopper().installed() as stopper, self._tracking() as tracking:
            stopper.watch(tracking)
            for tick in tracking.ticks(looks.interval_ns, duration_ns=looks.duration_ns):
                yield self._accesses(tick, tracking.pid)
                self.duration_ns = float(tick.time_ns)
            stopper.watch(None)
            record = tracking.record()
            self.interrupted = stopper.requested
            self.exit_status = tracking.exit_status
            self.static = self._watched.counts(self.origin.nodes)
        self.mappings = used(record.ticks, {m.start: m.name for m in record.mappings}, self._page)
        self.warnings = (*record.notes, *self._watched.notes)

    def _tracking(self) -> PageTracking:
        at_start = self._watched.set if self._watched else None
        if isinstance(self._target, int):
            return PageTracking.of_process(self._target, at_start=at_start)
        return PageTracking.of_command(self._target, at_start=at_start)

    def _accesses(self, tick: PageTick, pid: int) -> Accesses:
        pages = tick.pages(self._page)
        count = len(pages)
        return Accesses(
            time_ns=np.full(count, tick.time_ns, np.int64),
            address=pages,
            size=np.full(count, self._page, np.uint32),
            write=np.ones(count, np.bool_),
            source=np.full(count, UNKNOWN, np.int16),
            home=self._homes_of(pages, pid),
            thread=np.full(count, pid, np.int32),
        )

    def _homes_of(self, pages: NDArray[np.uint64], pid: int) -> NDArray[np.int16]:
        """Return the node of each page; on a host with one there is nothing to ask."""
        if self.origin.nodes < 2:
            return np.zeros(len(pages), np.int16)
        homes = np.full(len(pages), UNKNOWN, np.int16)
        with suppress(OSError):
            told = np.frombuffer(_native.page_nodes(pid, pages), np.int32)
            homes = np.where(told >= 0, told, UNKNOWN).astype(np.int16)
        return homes


def used(
    ticks: tuple[PageTick, ...], names: dict[int, str], page_bytes: int
) -> tuple[MappingUse, ...]:
    """Return what was referenced and written in each mapping, most referenced first."""
    referenced: dict[tuple[int, int], list[int]] = {}
    for tick in ticks:
        for where, size in tick.referenced.items():
            referenced.setdefault(where, []).append(size)
    written = [tick.written for tick in ticks if len(tick.written)]
    runs = np.concatenate(written) if written else np.empty((0, 2), np.uint64)
    found = []
    for (start, end), sizes in referenced.items():
        low = np.clip(runs[:, 0], start, end)
        inside = int((np.clip(runs[:, 1], start, end) - low).sum())
        found.append(
            MappingUse(
                names.get(start, ""),
                start,
                end,
                looks=len(sizes),
                referenced=max(sizes),
                written=inside // page_bytes,
            )
        )
    return tuple(sorted(found, key=lambda use: (-use.referenced, use.start)))


def can_track() -> bool:
    """Whether this kernel tracks pages."""
    try:
        check_kernel()
    except NotSupportedError:
        return False
    return True
