"""Which events a simulated PMU counts together, so that a survey need not let them take turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gnomon.events import planner
from gnomon.events.model import PerfEncoding, Request
from gnomon.machines.pmu.model import Unit
from gnomon.sources.machine.naming import find_event

if TYPE_CHECKING:
    from gnomon.events.planner import Plan
    from gnomon.machines.pmu.model import Pmu

_CORE, _UNCORE = "cpu", "uncore"


def plan_runs(pmu: Pmu, requests: Sequence[Request], anchors: Sequence[Request]) -> Plan:
    """Return in how few runs the counters of a hardware thread and of a node take them all."""
    units = [
        planner.Pmu(
            _CORE, pmu.general, len(pmu.fixed), pmu.width, cycles=0, same_modes=pmu.same_modes
        ),
        planner.Pmu(_UNCORE, pmu.uncore, width=pmu.width),
    ]
    placed = {_on_its_unit(pmu, request): request for request in (*anchors, *requests)}
    back = {request: mine for mine, request in placed.items()}
    found = planner.plan(
        [back[request] for request in requests],
        *units,
        anchors=[back[request] for request in anchors],
    )
    batches = tuple(
        replace(
            batch,
            seats=tuple(replace(seat, request=placed[seat.request]) for seat in batch.seats),
        )
        for batch in found.batches
    )
    return replace(
        found,
        batches=batches,
        anchors=tuple(anchors),
        unplaceable=tuple(
            replace(miss, request=placed[miss.request]) for miss in found.unplaceable
        ),
    )


def _on_its_unit(pmu: Pmu, request: Request) -> Request:
    """Return the request with the name of its unit, by which the planner sorts."""
    if find_event(pmu, request.event.name).unit is not Unit.UNCORE:
        return request
    return replace(request, event=replace(request.event, encoding=PerfEncoding(_UNCORE, 0, 0)))
