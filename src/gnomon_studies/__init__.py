"""Studies: experiments of published documents carried out again, with a verdict on each value.

Each document is a package here with a `STUDY`; an experiment is a function that yields rows.
Studies use `gnomon` as any user can: only names that its packages export.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from gnomon.analysis.study import Experiment, Findings, Row, Study, Verdict
from gnomon.errors import UsageError
from gnomon.events import suggestion

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
"""The studies there are; each is a package here with a `STUDY`."""


def load_study(name: str) -> Study:
    """Return a study by its name; its experiments are loaded when they are carried out."""
    if name not in STUDIES:
        hint = suggestion(name, STUDIES) or ": `gnomon study list` names them."
        raise UsageError(f"there is no study '{name}'{hint}")
    study: Study = import_module(f"{__name__}.{name}").STUDY
    return study


def carry_out(
    study: Study,
    ids: Sequence[str] | None = None,
    *,
    seed: int = 0,
    on_experiment: Callable[[], None] | None = None,
) -> Findings:
    """Carry out a study, or some of its experiments; the callback is told of each that is done."""
    rows: list[Row] = []
    for experiment in study.choose(ids):
        rows += experiment.run(seed)
        if on_experiment is not None:
            on_experiment()
    return Findings(study, seed, tuple(rows))
