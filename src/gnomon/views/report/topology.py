"""A simulated machine as a part of a report: how its nodes and links lie."""

from __future__ import annotations

from collections.abc import Iterable

from gnomon.errors import GnomonError
from gnomon.recording.contents import Provenance
from gnomon.sources.registry import capabilities
from gnomon.views.report.page import Figure, Section


def topology_sections(origins: Iterable[Provenance]) -> tuple[Section, ...]:
    """Return a drawing of each simulated machine that counts come from."""
    names = dict.fromkeys(name for origin in origins for name in simulated_machines(origin))
    figures = tuple(figure for name in names if (figure := _figure(name)) is not None)
    return (Section("The simulated machine", (), figures),) if figures else ()


def simulated_machines(origin: Provenance) -> tuple[str, ...]:
    """Return the names of the simulated machines that took part."""
    simulated = any(capabilities(each).own_time for each in origin.source.split(", "))
    return tuple(origin.machine.split(", ")) if simulated and origin.machine else ()


def _figure(name: str) -> Figure | None:
    from gnomon.machines.description import load_machine
    from gnomon.views.topology_svg import topology_svg

    try:
        machine = load_machine(name)
    except GnomonError:  # a description of somebody's own, which is not here
        return None
    return Figure(
        f"The topology of {machine.title}, as it is simulated.", svg=topology_svg(machine)
    )
