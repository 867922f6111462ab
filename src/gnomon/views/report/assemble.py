"""From recordings and results to a page: which sections there are, and what stands above them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gnomon.errors import GnomonError
from gnomon.recording.contents import Provenance
from gnomon.units import format_duration
from gnomon.views.report.counts import FOOTPRINT
from gnomon.views.report.page import Figure, Page, Section

if TYPE_CHECKING:
    from gnomon.analysis.estimate.state import State
    from gnomon.analysis.locality.model import LocalityResult
    from gnomon.recording import Recording
    from gnomon.result import Result


def locality_page(result: LocalityResult) -> Page:
    """Return the report of which memory was accessed from where."""
    from gnomon.views.report.locality import locality_sections

    origins = () if result.provenance is None else (result.provenance,)
    title = f"Locality of {result.origin.what}"
    return page_of(title, locality_sections(result), origins, result.warnings)


def state_page(result: State) -> Page:
    """Return the report of the state of a run."""
    from gnomon.views.report.state import state_sections

    title = f"State of {command_text(result.provenance)}"
    return page_of(title, state_sections(result), (result.provenance,), result.warnings)


def page_of(
    title: str,
    sections: Sequence[Section],
    origins: Sequence[Provenance],
    warnings: Iterable[str] = (),
    *,
    live: bool = False,
) -> Page:
    """Return a page with the facts about where its numbers come from."""
    return Page(
        title=title,
        subtitle=_subtitle(origins),
        sections=(*sections, *_machines(origins)),
        facts=_joined(origins),
        warnings=tuple(warnings),
        simulated=any(origin.simulated for origin in origins),
        live=live,
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
    if len(paths) == 2:
        made, remarks = _comparison(paths[0], paths[1])
        sections, warnings = [*made, *sections], [*remarks, *warnings]
    title = " and ".join(dict.fromkeys(command_text(origin) for origin in origins))
    return page_of(title, sections, origins, dict.fromkeys(warnings), live=live)


def _comparison(a: str, b: str) -> tuple[tuple[Section, ...], tuple[str, ...]]:
    """Return what changed between two recordings, or in words why that cannot be said."""
    from gnomon.analysis.compare import compare
    from gnomon.analysis.runs import ELAPSED

    try:
        result = compare(a, b, anyway=True)
    except GnomonError as error:
        return (), (f"the two are not compared: {error}",)
    if all(row.event == ELAPSED.name for row in result.rows):
        return (), ("the two are not compared: they have no event in common",)
    # What is said of each recording by itself stands there already.
    notes = tuple(text for text in result.warnings if not text.startswith(("A: ", "B: ")))
    return (_described("What changed", result),), notes


def _sections_of(recording: Recording) -> tuple[list[Section], list[str]]:
    if recording.provenance.plan:
        from gnomon.analysis.survey import survey_of

        result = survey_of(recording)
        return [_described("What the program did", result)], list(result.warnings)
    if any(run.parameters for run in recording.runs):
        return _scaled_sections(recording)
    from gnomon.analysis.latency.recorded import has_latencies

    if has_latencies(recording):
        return _latency_sections(recording)
    if recording.provenance.sets:
        from gnomon.analysis.estimate.recorded import state_of
        from gnomon.views.report.state import state_sections

        state = state_of(recording)
        return list(state_sections(state)), list(state.warnings)
    from gnomon.views.report.counts import count_sections

    first, notes = _phased_sections(recording)
    return [*first, *count_sections(recording)], [*recording.warnings, *notes]


def _scaled_sections(recording: Recording) -> tuple[list[Section], list[str]]:
    """Return how events grow in a recording over parameters: totals of all points mean nothing."""
    from gnomon.analysis.scaling import scale

    try:
        result = scale(recording)
    except GnomonError as error:
        return [], [*recording.warnings, f"growth is not shown: {error}"]
    return [_described("What grows", result)], list(result.warnings)


def _latency_sections(recording: Recording) -> tuple[list[Section], list[str]]:
    """Return how long loads took, in a recording of that."""
    from gnomon.analysis.latency import latency_of

    try:
        result = latency_of(recording)
    except GnomonError as error:
        return [], [*recording.warnings, f"latencies are not shown: {error}"]
    return [_described("Latency of loads", result)], list(result.warnings)


def _phased_sections(recording: Recording) -> tuple[list[Section], list[str]]:
    """Return the phases of a recording that has a footprint."""
    if not any(info.name.startswith(FOOTPRINT) for info in recording.events):
        return [], []
    from gnomon.analysis.phases import phases

    try:
        result = phases(recording)
    except GnomonError as error:
        return [], [f"phases are not shown: {error}"]
    return [_described("Phases", result)], list(result.warnings)


def _named(section: Section, name: str) -> Section:
    return replace(section, title=f"{name}: {section.title}")


def _machines(origins: Sequence[Provenance]) -> tuple[Section, ...]:
    """Return the section with the simulated machines that counts come from."""
    from gnomon.views.blocks import Graph
    from gnomon.views.describe.machine import machines_of
    from gnomon.views.html import fragment

    drawn = [block for block in machines_of(origins) if isinstance(block, Graph)]
    figures = (Figure("", svg=fragment(drawn)),)
    return (Section("The simulated machine", (), figures),) if drawn else ()


def _described(title: str, result: Result) -> Section:
    """Return the section of a result that is described in blocks."""
    from gnomon.views.html import fragment
    from gnomon.views.show import blocks

    return Section(title, (), (Figure("", svg=fragment(blocks(result))),))
