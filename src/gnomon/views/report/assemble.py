"""From recordings and results to a page: which sections there are, and what stands above them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gnomon.recording.contents import Provenance
from gnomon.units import format_duration
from gnomon.views.report.page import Figure, Page, Section


def page_of(
    title: str,
    sections: Sequence[Section],
    origins: Sequence[Provenance],
    warnings: Iterable[str] = (),
) -> Page:
    """Return a page with the facts about where its numbers come from."""
    return Page(
        title=title,
        subtitle=_subtitle(origins),
        sections=(*sections, *_machines(origins)),
        facts=_joined(origins),
        warnings=tuple(warnings),
        simulated=any(origin.simulated for origin in origins),
    )


def command_text(provenance: Provenance) -> str:
    """Return what was measured, as a user typed it."""
    return " ".join(provenance.command) or provenance.target or "a recording"


def _subtitle(origins: Sequence[Provenance]) -> str:
    """Return where and when it was measured; what several share is said once."""
    words = []
    for one in origins:
        cpus = f"{one.cpus} CPU{'s' * (one.cpus != 1)}" if one.cpus else ""
        words.append(
            (one.host, ", ".join(filter(None, (one.machine or one.cpu, cpus))), one.created)
        )
    columns = (
        " / ".join(dict.fromkeys(filter(None, column))) for column in zip(*words, strict=True)
    )
    return " · ".join(filter(None, columns))


def facts(provenance: Provenance) -> tuple[tuple[str, str], ...]:
    """Return where numbers come from, as names and texts."""
    interval = format_duration(provenance.interval) if provenance.interval else ""
    found = (
        ("command", " ".join(provenance.command)),
        ("counted", provenance.target),
        ("source", provenance.source + (" (simulated)" if provenance.simulated else "")),
        ("machine", provenance.machine),
        ("host", provenance.host),
        ("CPU", f"{provenance.cpu}, {provenance.cpus} CPUs" if provenance.cpu else ""),
        ("kernel", provenance.kernel),
        ("recorded", provenance.created),
        ("interval", interval),
        ("always counted", ", ".join(provenance.always)),
        ("sets", str(len(provenance.sets) or "")),
        ("estimated by", provenance.model),
        ("seed", "" if provenance.seed is None else str(provenance.seed)),
        ("settings", " ".join(f"{k}={v}" for k, v in provenance.environment.items())),
        ("gnomon", provenance.gnomon),
        ("Python", provenance.python),
        ("imported from", provenance.imported_from),
    )
    return tuple((name, text) for name, text in found if text)


def _joined(origins: Sequence[Provenance]) -> tuple[tuple[str, str], ...]:
    """Return the facts of several origins, once where they agree."""
    found: dict[str, list[str]] = {}
    for origin in origins:
        for name, text in facts(origin):
            found.setdefault(name, []).append(text)
    return tuple((name, "  /  ".join(dict.fromkeys(texts))) for name, texts in found.items())


def _machines(origins: Sequence[Provenance]) -> tuple[Section, ...]:
    """Return the section with the simulated machines that counts come from."""
    from gnomon.views.blocks import Graph
    from gnomon.views.describe.machine import machines_of
    from gnomon.views.html import fragment

    drawn = [block for block in machines_of(origins) if isinstance(block, Graph)]
    figures = (Figure("", svg=fragment(drawn)),)
    return (Section("The simulated machine", (), figures),) if drawn else ()
