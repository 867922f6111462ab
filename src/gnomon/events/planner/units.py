"""Which unit counts an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.events.model import Kind
from gnomon.events.planner.pmu import BREAKPOINT, SOFTWARE, Pmu

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnomon.events.model import Event, Request

_CORE = frozenset({Kind.HARDWARE, Kind.CACHE, Kind.RAW})
_UNCOUNTED = frozenset({Kind.SOFTWARE, Kind.TRACEPOINT, Kind.SYNTHETIC})

# Units of the kernel whose events each have a counter or a variable of their own.
_FREE_RUNNING = ("software", "tracepoint", "kprobe", "uprobe", "msr", "power", "cstate_")


@dataclass(frozen=True, slots=True)
class Routed:
    """Requests by unit, and those that belong to no unit known here, with the reason."""

    units: tuple[tuple[Pmu, tuple[Request, ...]], ...]
    lost: tuple[tuple[Request, str], ...]


def route(requests: Sequence[Request], pmus: Sequence[Pmu]) -> Routed:
    """Sort requests by the unit that counts them, in the order of the units."""
    if not pmus:
        raise UsageError("there is no performance monitoring unit to plan for")
    known = {pmu.name: pmu for pmu in pmus}
    if len(known) < len(pmus):
        raise UsageError("two performance monitoring units have the same name")
    found: dict[Pmu, list[Request]] = {pmu: [] for pmu in pmus}
    lost = []
    for request in requests:
        pmu = _unit_of(request.event, known, pmus[0])
        if pmu is None:
            name = request.event.encoding.pmu if request.event.encoding else "its unit"
            lost.append((request, f"nothing is known of the counters of {name}"))
        else:
            found.setdefault(pmu, []).append(request)
    return Routed(tuple((pmu, tuple(rs)) for pmu, rs in found.items() if rs), tuple(lost))


def _unit_of(event: Event, known: dict[str, Pmu], core: Pmu) -> Pmu | None:
    name = event.encoding.pmu if event.encoding else ""
    if name in known:
        return known[name]
    if event.kind in _UNCOUNTED or name.startswith(_FREE_RUNNING) or "free_running" in name:
        return known.get(SOFTWARE.name, SOFTWARE)
    if event.kind is Kind.BREAKPOINT:
        return known.get(BREAKPOINT.name, BREAKPOINT)
    return core if event.kind in _CORE or not name else None
