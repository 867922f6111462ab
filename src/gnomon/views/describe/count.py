"""How counts look: a line for each event with its rate, and the metrics that they make."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.analysis.count.result import CountResult, MetricValue
from gnomon.views import blocks as b
from gnomon.views.counts import headline, totals


def describe(result: CountResult) -> Iterator[b.Block]:
    """Yield what there is to see of counts, from the result alone."""
    yield headline(result.provenance, result.duration, len(result.runs))
    yield from totals(result.counts, result.duration, per_scope=result.per_scope)
    if result.metrics:
        yield b.Table.of(
            result.metrics,
            b.Column("metric", lambda each: each.title or each.name),
            b.Column("value", _value, digits=4),
            b.Column("unit"),
            b.Column("", _note, flex=True),
            name="metrics",
        )


def _value(metric: MetricValue) -> b.Cell:
    return b.Cell(metric.value, status="not-counted" if metric.value is None else "")


def _note(metric: MetricValue) -> str:
    return metric.reason or (metric.caveats[0] if metric.caveats else "")
