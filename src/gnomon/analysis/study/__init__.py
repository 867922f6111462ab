"""Studies: experiments of published documents, with a verdict on each published value."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(import_module(f"{__name__}.result"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
