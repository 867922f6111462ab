"""Studies: experiments of published documents carried out again, with a verdict on each value."""

from __future__ import annotations

from importlib import import_module

from gnomon.errors import UsageError
from gnomon.events.tomlfile import suggestion
from gnomon.studies.model import (
    Experiment,
    Findings,
    Row,
    Study,
    Verdict,
    carry_out,
)

__all__ = [
    "STUDIES",
    "Experiment",
    "Findings",
    "Row",
    "Study",
    "Verdict",
    "carry_out",
    "load_study",
]

STUDIES = ("gorsler", "manzke", "parker", "smile", "sterz")
"""The studies there are; each is a module or package here with a `STUDY`."""


def load_study(name: str) -> Study:
    """Return a study by its name; its experiments are loaded when they are carried out."""
    if name not in STUDIES:
        hint = suggestion(name, STUDIES) or ": `gnomon study list` names them."
        raise UsageError(f"there is no study '{name}'{hint}")
    study: Study = import_module(f"{__name__}.{name}").STUDY
    return study
