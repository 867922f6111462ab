"""Experiments on links as reports: how bandwidth changes with load, drawn and as figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, singledispatch
from typing import TYPE_CHECKING

from gnomon.analysis.links.results import CrossTalk, Emulation, IdleBusy, Level, Saturation, Step
from gnomon.views.links_experiments import (
    Experiment,
    experiment_table,
    experiment_text,
    levels_table,
    run_lines,
)
from gnomon.views.report.page import DataTable, Figure, Page, Section
from gnomon.views.report.plots import COLOURS, figure, from_zero, style_legend

if TYPE_CHECKING:
    from bokeh.model import Model
    from bokeh.plotting import figure as BokehFigure  # noqa: N812

    from gnomon.analysis.links.running import LoadedRun

_GB = 1e9


def experiment_page(machine: str, title: str, result: Experiment, *, simulated: bool) -> Page:
    """Return the report of one experiment on a machine."""
    return Page(
        f"Links of {machine}", title, (experiment_section(title, result),), simulated=simulated
    )


def loaded_page(
    machine: str,
    levels: Sequence[Level],
    run: LoadedRun,
    before: Sequence[Section] = (),
    *,
    simulated: bool,
) -> Page:
    """Return the report of a program beside load; `before` is what the load came from."""
    lead = tuple(f"{line}." for line in run_lines(run))
    section = Section("A program beside load", lead, (DataTable.of_table(levels_table(levels)),))
    return Page(
        f"Links of {machine}",
        "a program beside load",
        (*before, section),
        simulated=simulated,
    )


def experiment_section(title: str, result: Experiment) -> Section:
    """Return what an experiment says, its drawing and its table."""
    text = experiment_text(result)
    return Section(
        f"{title[0].upper()}{title[1:]}",
        (f"{text[0].upper()}{text[1:]}.",),
        (_figure(result), DataTable.of_table(experiment_table(result))),
    )


@singledispatch
def _figure(result: Experiment) -> Figure:
    raise TypeError(f"{type(result).__name__} is no experiment on links")


@_figure.register
def _(result: Saturation) -> Figure:
    return Figure(
        f"What generators on {result.channel} read together: a line through medians, a dot a "
        "repetition. Dashed: what the channel carries.",
        partial(_saturation_plot, result),
    )


@_figure.register
def _(result: CrossTalk) -> Figure:
    return Figure(
        f"What {result.channel} still gets: a line through medians, a dot a repetition.",
        partial(_crosstalk_plot, result),
    )


@_figure.register
def _(result: IdleBusy) -> Figure:
    return Figure("A dot is a turn, a bar the mean of all.", partial(_idle_busy_plot, result))


@_figure.register
def _(result: Emulation) -> Figure:
    return Figure(
        "What one more generator gets on each channel, before and after the load.",
        partial(_emulation_plot, result),
    )


def _saturation_plot(result: Saturation) -> Model:
    from bokeh.models.annotations import Span

    plot = _steps_plot(f"generators on {result.channel}", result.steps, f"on {result.channel}")
    plot.add_layout(
        Span(
            location=result.plateau / _GB,
            dimension="width",
            line_color=COLOURS[5],
            line_dash="dashed",
        )
    )
    return plot


def _crosstalk_plot(result: CrossTalk) -> Model:
    channel = result.channel
    return _steps_plot(f"generators on {channel.reverse}", result.steps, f"on {channel}")


def _steps_plot(x_label: str, steps: Sequence[Step], where: str) -> BokehFigure:
    from bokeh.models import ColumnDataSource, SingleIntervalTicker

    plot = figure(
        x_label,
        f"GB/s {where}",
        tooltips=[("generators", "@x"), ("GB/s", "@y{0.00}")],
        y_range=from_zero(),
    )
    median = ColumnDataSource(
        {"x": [step.count for step in steps], "y": [step.total / _GB for step in steps]}
    )
    every = ColumnDataSource(
        {
            "x": [step.count for step in steps for _ in step.totals],
            "y": [total / _GB for step in steps for total in step.totals],
        }
    )
    plot.scatter(
        "x", "y", source=every, size=5, color=COLOURS[1], alpha=0.6, legend_label="a repetition"
    )
    plot.line("x", "y", source=median, line_width=2, color=COLOURS[0], legend_label="median")
    dots = plot.scatter("x", "y", source=median, size=7, color=COLOURS[0], legend_label="median")
    plot.hover.renderers = [dots]
    plot.xaxis.ticker = SingleIntervalTicker(interval=1, num_minor_ticks=0)
    style_legend(plot)
    return plot


def _idle_busy_plot(result: IdleBusy) -> Model:
    sides = {"idle": result.idle, "busy": result.busy}
    plot = figure(
        f"GB/s on {result.channel}",
        f"node {result.channel.home}",
        height=200,
        tooltips=[("GB/s", "@x{0.000}")],
        y_range=["busy", "idle"],
    )
    for number, (name, values) in enumerate(sides.items()):
        mean = sum(values) / len(values) / _GB
        plot.hbar(y=[name], left=0, right=[mean], height=0.6, color=COLOURS[number], alpha=0.35)
    rates = [rate / _GB for values in sides.values() for rate in values]
    names = [name for name, values in sides.items() for _ in values]
    dots = plot.scatter(x=rates, y=names, size=7, color=COLOURS[5])
    plot.hover.renderers = [dots]
    plot.x_range.update(start=0)
    plot.ygrid.grid_line_color = None
    return plot


def _emulation_plot(result: Emulation) -> Model:
    from bokeh.models import ColumnDataSource, FactorRange

    names = [str(channel) for channel in result.before]
    factors = [(name, when) for name in names for when in ("before", "left")]
    rates = [
        rate / _GB
        for channel, before in result.before.items()
        for rate in (before, result.after[channel])
    ]
    # What the topology lacks should be left with little: it has a colour of its own.
    left = [COLOURS[1] if channel in result.missing else COLOURS[0] for channel in result.before]
    colours = [colour for each in left for colour in (COLOURS[5], each)]
    plot = figure(
        "channel",
        "GB/s",
        height=340,
        tooltips=[("channel", "@x"), ("GB/s", "@y{0.00}")],
        x_range=FactorRange(factors=factors, group_padding=0.6),
        y_range=from_zero(),
    )
    for label, colour in (
        ("before", COLOURS[5]),
        (f"left, linked in the {result.topology}", COLOURS[0]),
        (f"left, not linked in the {result.topology}", COLOURS[1]),
    ):
        rows = [i for i, each in enumerate(colours) if each == colour]
        source = ColumnDataSource({"x": [factors[i] for i in rows], "y": [rates[i] for i in rows]})
        plot.vbar(
            x="x", top="y", width=0.9, source=source, color=colour, alpha=0.85, legend_label=label
        )
    # The legend tells what is before and what is left; names twice would not fit.
    plot.xaxis.update(
        major_label_text_font_size="0px", major_tick_line_color=None, group_text_color=COLOURS[5]
    )
    plot.xgrid.grid_line_color = None
    style_legend(plot)
    return plot
