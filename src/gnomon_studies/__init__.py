"""Studies: experiments of published documents carried out again, with a verdict on each value.

Each document is a package here with a `STUDY`; an experiment is a function that yields rows.
Studies use `gnomon` as any user can: only names that its packages export.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon import __version__
from gnomon.analysis.study import (
    Bars,
    Curves,
    Drawings,
    Experiment,
    Findings,
    Listed,
    Row,
    Scene,
    Studies,
    Study,
    StudyEntry,
    Surface,
    Verdict,
)
from gnomon.errors import UsageError
from gnomon.events import suggestion
from gnomon.measure import Campaign, Measurement, Noticed, Plan, Task, Terms, folder_digest
from gnomon.recording import Provenance

if TYPE_CHECKING:
    from gnomon.measure import OnProgress

__all__ = [
    "STUDIES",
    "Experiment",
    "Findings",
    "Row",
    "Study",
    "Verdict",
    "carry_out",
    "list_studies",
    "load_study",
]

STUDIES = ("gorsler", "manzke", "parker", "smile", "sterz")
"""The studies there are; each is a package here with a `STUDY`."""


def load_study(name: str) -> Study:
    """Return a study by its name; its experiments are loaded when they are carried out."""
    if name not in STUDIES:
        hint = suggestion(name, STUDIES) or ": `gnomon lab study list` names them."
        raise UsageError(f"there is no study '{name}'{hint}")
    study: Study = import_module(f"{__name__}.{name}").STUDY
    return study


def list_studies() -> Studies:
    """Return all studies that can be carried out."""
    studies = map(load_study, STUDIES)
    return Studies(
        tuple(
            StudyEntry(
                each.name,
                each.title,
                each.document,
                each.simulated,
                tuple(Listed(one.id, one.title) for one in each.experiments),
            )
            for each in studies
        )
    )


def carry_out(
    study: Study,
    ids: Sequence[str] | None = None,
    *,
    seed: int = 0,
    resume: bool = False,
    overwrite: bool = False,
    on_progress: OnProgress | None = None,
) -> Findings:
    """Carry out a study, or some of its experiments.

    What was interrupted goes on when the call is repeated, with the experiments that were not
    carried out; `resume` makes it an error that there is nothing to go on with, and `overwrite`
    starts anew.
    """
    chosen = study.choose(ids)
    tasks = [Task(0, number, label=each.id) for number, each in enumerate(chosen)]
    plan = Plan(
        "study",
        tasks,
        _identity(study, chosen, seed),
        simulated=study.simulated,
        noun="experiments",
    )
    rows: list[Row] = []

    def make(task: Task) -> Measurement:
        with Noticed() as noticed:
            found = chosen[task.run].run(seed)
        if noticed.interrupted:
            return Measurement(interrupted=True)
        return Measurement(rows=[asdict(row) for row in found])

    def take(_: Task, made: Measurement) -> None:
        rows.extend(Row(**each | {"verdict": Verdict(each["verdict"])}) for each in made.rows)

    terms = Terms(seed=seed, resume=resume, overwrite=overwrite, on_progress=on_progress)
    with Campaign(plan, terms) as campaign:
        outcome = campaign.carry_out(make, take)
    return Findings(
        study.name,
        study.title,
        study.document,
        seed,
        tuple(rows),
        outcome.interrupted,
        tuple(_drawings(each, seed) for each in chosen) if not outcome.interrupted else (),
        provenance=Provenance(
            "machine" if study.simulated else "host",
            simulated=study.simulated,
            seed=seed,
            gnomon=__version__,
        ),
    )


def _drawings(experiment: Experiment, seed: int) -> Drawings:
    pictures = experiment.pictures(seed)
    return Drawings(
        experiment.id,
        experiment.title,
        tuple(each for each in pictures if isinstance(each, Surface)),
        tuple(each for each in pictures if isinstance(each, Curves)),
        tuple(each for each in pictures if isinstance(each, Bars)),
        tuple(each for each in pictures if isinstance(each, Scene)),
    )


def _identity(study: Study, chosen: Sequence[Experiment], seed: int) -> dict[str, str]:
    """Return what must be the same for a study to go on."""
    homes = {Path(file).parent for each in chosen if (file := _source_file(each.module))}
    return {
        "command": study.name,
        "folder": "",
        f"program {study.name}": " ".join(folder_digest(home) for home in sorted(homes)),
        "machine": "simulated" if study.simulated else " ".join(os.uname()[1:3]),
        "--only": ",".join(each.id for each in chosen),
        "--seed": str(seed),
        "gnomon": __version__,
    }


def _source_file(module: str) -> str | None:
    try:
        spec = find_spec(module)
    except ValueError:  # a module that was made by hand
        return None
    return None if spec is None else spec.origin
