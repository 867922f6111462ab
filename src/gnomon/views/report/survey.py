"""A survey as a part of a report: what matters, what was folded, how alike the runs were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.analysis.survey.result import SurveyResult
from gnomon.analysis.survey.selection import Judged
from gnomon.recording.contents import Status
from gnomon.sources.registry import capabilities, current_word
from gnomon.units import format_duration
from gnomon.views.compare import runs_text
from gnomon.views.counts import format_spread, format_value
from gnomon.views.report.page import Cell, DataTable, Figure, Section
from gnomon.views.state import interval_text
from gnomon.views.survey import fold_title, origin_text

if TYPE_CHECKING:
    from bokeh.model import Model

_BARS = 15


def survey_sections(result: SurveyResult) -> tuple[Section, ...]:
    """Return the sections that a survey makes of a report."""
    parts: list[DataTable | Figure] = []
    if any(each.share for each in result.ranked):
        parts.append(
            Figure(
                "Estimated share of the program's time, from usual costs of an occurrence: "
                "an order of importance, not a measurement.",
                lambda: _share_plot(result),
            )
        )
    parts.append(_ranked_table(result))
    main = Section(
        "What the program did",
        _lead(result),
        tuple(parts),
        (_folded_table(result),) if result.folded else (),
        f"{len(result.folded)} events that say nothing more",
    )
    if len(result.runs) < 3:
        return (main,)
    return main, _runs_section(result)


def _lead(result: SurveyResult) -> tuple[str, ...]:
    origin = result.provenance
    sources = "; ".join(f"{n} from {origin_text(o)}" for o, n in result.origins().items())
    counted = sum(result.origins().values())
    first = f"{counted} events were counted in {runs_text(len(result.runs))}: {sources}."
    if not result.complete and result.planned:
        first += f" {result.planned - len(result.runs)} of {result.planned} runs are still to come."
    if result.one_run:
        first += " They took turns in one run, so values are estimated from parts of it."
    second = ""
    if result.elapsed:
        second = f"A run takes {format_duration(result.elapsed)} when nothing slows it down."
    third = ""
    costly = [each for each in result.ranked if each.share is not None]
    if costly:
        top = costly[0]
        share = top.share.of_time if top.share is not None else 0.0
        third = (
            f"By usual costs, {top.event} stands for about {share:.0%} of the time"
            f"{' of the simulated run' if origin.simulated else ''}."
        )
    return tuple(text for text in (first, second, third) if text)


def _ranked_table(result: SurveyResult) -> DataTable:
    mixed = len(result.origins()) > 1
    rows = tuple(_row(each, mixed=mixed) for each in result.ranked)
    return DataTable.of(
        (
            "event",
            "mean",
            "90 % interval",
            "spread",
            "share",
            "with time",
            "source",
            "what it counts",
        ),
        rows,
        "Events that matter, the most important first.",
        frozenset({1, 3, 4, 5}),
    )


def _row(each: Judged, *, mixed: bool) -> tuple[Cell, ...]:
    indicator = each.indicator
    share = each.share
    mark = "~ " if indicator.status in (Status.SCALED, Status.ESTIMATED) else ""
    ends = indicator.interval
    caveats = "; ".join(indicator.caveats)
    return (
        Cell(each.event, hint=caveats),
        Cell(mark + format_value(indicator.mean, indicator.unit), indicator.mean),
        Cell("" if ends is None else interval_text(*ends, indicator.unit)),
        Cell(format_spread(indicator.spread), indicator.spread),
        Cell(f"{share.of_time:.1%}", share.of_time, bar=share.of_time, hint=share.basis)
        if share is not None
        else Cell(""),
        Cell("" if each.correlation is None else f"{each.correlation:+.2f}", each.correlation),
        Cell(_source(indicator.origin) if mixed else "", hint=origin_text(indicator.origin)),
        Cell(indicator.description),
    )


def _source(origin: str) -> str:
    word = current_word(origin)
    return f"{word} (simulated)" if capabilities(origin).own_time else word


def _folded_table(result: SurveyResult) -> DataTable:
    rows = tuple(
        (
            Cell(each.event),
            Cell(fold_title(each.fold) if each.fold else ""),
            Cell(each.reason),
            Cell(each.indicator.description),
        )
        for each in result.folded
    )
    return DataTable(("event", "folded because", "in detail", "what it counts"), rows)


def _share_plot(result: SurveyResult) -> Model:
    from gnomon.views.report.plots import COLOURS, figure, from_zero

    costly = [each for each in result.ranked if each.share is not None][:_BARS][::-1]
    names = [each.event for each in costly]
    shares = [100 * each.share.of_time for each in costly if each.share is not None]
    plot = figure(
        "estimated share of time in %",
        "",
        height=60 + 26 * len(names),
        tooltips=[("event", "@y"), ("share", "@right{0.0} %")],
        x_range=from_zero(),
        y_range=names,
    )
    plot.hbar(y=names, right=shares, height=0.7, color=COLOURS[0])
    plot.ygrid.grid_line_color = None
    return plot


def _runs_section(result: SurveyResult) -> Section:
    caption = (
        "How long each run took, in the order in which they were made; a slope means that the "
        "machine changed while the survey went on."
    )
    return Section("How alike the runs were", (), (Figure(caption, lambda: _runs_plot(result)),))


def _runs_plot(result: SurveyResult) -> Model:
    from gnomon.views.report.plots import COLOURS, figure, from_zero, style_legend

    plot = figure(
        "run, in order of time",
        "duration in ms",
        height=300,
        tooltips=[("run", "@x"), ("took", "@y{0,0.0} ms")],
        y_range=from_zero(),
    )
    ordered = sorted(result.runs, key=lambda run: run.start)
    kinds = list(dict.fromkeys(result.origin_of(run) for run in ordered))
    for kind, colour in zip(kinds, COLOURS, strict=False):
        chosen = [(i, run) for i, run in enumerate(ordered) if result.origin_of(run) == kind]
        plot.scatter(
            [i for i, _ in chosen],
            [(run.end - run.start) / 1e6 for _, run in chosen],
            size=8,
            color=colour,
            legend_label=kind or "runs",
        )
    style_legend(plot)
    return plot
