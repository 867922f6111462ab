"""Studies: experiments of published documents, with a verdict on each published value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.study.experiments import Experiment, Study
    from gnomon.analysis.study.result import (
        Bar,
        Bars,
        Curve,
        Curves,
        Drawings,
        Findings,
        Listed,
        Picture,
        Row,
        Scene,
        Studies,
        StudyEntry,
        Surface,
        Value,
        Verdict,
    )

__all__ = [
    "Bar",
    "Bars",
    "Curve",
    "Curves",
    "Drawings",
    "Experiment",
    "Findings",
    "Listed",
    "Picture",
    "Row",
    "Scene",
    "Studies",
    "Study",
    "StudyEntry",
    "Surface",
    "Value",
    "Verdict",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    dict.fromkeys(__all__, "result") | dict.fromkeys(("Experiment", "Study"), "experiments"),
)
