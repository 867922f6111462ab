"""From recordings and results to a page: which sections there are, and what stands above them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gnomon.recording.model import Provenance
from gnomon.units import format_duration
from gnomon.views.report.page import Page, Section

if TYPE_CHECKING:
    from gnomon.analysis.survey.result import SurveyResult
    from gnomon.recording import Recording


def survey_page(result: SurveyResult, *, live: bool = False) -> Page:
    """Return the report of a survey."""
    from gnomon.views.report.survey import survey_sections

    return page_of(
        f"Survey of {command_text(result.provenance)}",
        survey_sections(result),
        result.provenance,
        result.warnings,
        live=live,
    )


def page_of(
    title: str,
    sections: Sequence[Section],
    provenance: Provenance,
    warnings: Sequence[str] = (),
    *,
    live: bool = False,
) -> Page:
    """Return a page with the facts about where its numbers come from."""
    return Page(
        title=title,
        subtitle=_subtitle(provenance),
        sections=tuple(sections),
        facts=facts(provenance),
        warnings=tuple(warnings),
        simulated=provenance.simulated,
        live=live,
    )


def command_text(provenance: Provenance) -> str:
    """Return what was measured, as a user typed it."""
    return " ".join(provenance.command) or provenance.target or "a recording"


def _subtitle(provenance: Provenance) -> str:
    place = provenance.machine or provenance.cpu
    cpus = f"{provenance.cpus} CPU{'s' * (provenance.cpus != 1)}" if provenance.cpus else ""
    words = [provenance.host, ", ".join(filter(None, (place, cpus))), provenance.created]
    return " · ".join(filter(None, words))


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
        ("seed", "" if provenance.seed is None else str(provenance.seed)),
        ("settings", " ".join(f"{k}={v}" for k, v in provenance.environment.items())),
        ("gnomon", provenance.gnomon),
        ("Python", provenance.python),
        ("imported from", provenance.imported_from),
    )
    return tuple((name, text) for name, text in found if text)


def report_page(paths: Sequence[str], *, live: bool = False) -> Page:
    """Return the report of one or more recordings."""
    from gnomon.recording import Recording

    sections: list[Section] = []
    warnings: list[str] = []
    origins: list[Provenance] = []
    for path in paths:
        with Recording.open(path) as recording:
            found, notes = _sections_of(recording)
            name = recording.path.name
            origins.append(recording.provenance)
        several = len(paths) > 1
        sections += [_named(section, name) for section in found] if several else found
        warnings += [f"{name}: {note}" for note in notes] if several else notes
    title = " and ".join(dict.fromkeys(command_text(origin) for origin in origins))
    page = page_of(title, sections, origins[0], warnings, live=live)
    return replace(page, simulated=any(origin.simulated for origin in origins))


def _sections_of(recording: Recording) -> tuple[list[Section], list[str]]:
    if recording.provenance.plan:
        from gnomon.analysis.survey.result import survey_of
        from gnomon.views.report.survey import survey_sections

        result = survey_of(recording)
        return list(survey_sections(result)), list(result.warnings)
    from gnomon.views.report.counts import count_sections

    return list(count_sections(recording)), list(recording.warnings)


def _named(section: Section, name: str) -> Section:
    return replace(section, title=f"{name}: {section.title}")
