"""Studies: experiments of published documents, with a verdict on each published value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.study.result import (
        Bar,
        Bars,
        Curve,
        Curves,
        Experiment,
        Findings,
        Picture,
        Row,
        Scene,
        Study,
        Surface,
        Value,
        Verdict,
    )

__all__ = [
    "Bar",
    "Bars",
    "Curve",
    "Curves",
    "Experiment",
    "Findings",
    "Picture",
    "Row",
    "Scene",
    "Study",
    "Surface",
    "Value",
    "Verdict",
]

__getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(__all__, "result"))
