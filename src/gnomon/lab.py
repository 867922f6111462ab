"""The laboratory: published experiments carried out again, and estimators scored.

import gnomon as gn

print(gn.lab.study("gorsler", ["E7"]).verdicts)
scores = gn.lab.bench("counters", ["default", "hold"])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnomon.analysis.estimate.scoring.run import bench

if TYPE_CHECKING:
    from gnomon.analysis.study.result import Findings, Studies
    from gnomon.measure import OnProgress

__all__ = ["bench", "studies", "study"]


def study(
    name: str,
    only: Sequence[str] | None = None,
    *,
    seed: int = 0,
    resume: bool = False,
    overwrite: bool = False,
    on_progress: OnProgress | None = None,
) -> Findings:
    """Carry out a study again, or `only` some of its experiments, and compare.

    What was interrupted goes on when the call is repeated; `resume` makes it an error that there
    is nothing to go on with, and `overwrite` starts anew.

    >>> found = gn.lab.study("smile", ["E1"])
    >>> {row.id.partition(".")[0] for row in found.rows}
    {'E1'}
    """
    from gnomon_studies import carry_out, load_study

    return carry_out(
        load_study(name),
        only,
        seed=seed,
        resume=resume,
        overwrite=overwrite,
        on_progress=on_progress,
    )


def studies() -> Studies:
    """Return all studies that can be carried out.

    >>> "smile" in [row.name for row in gn.lab.studies().studies]
    True
    """
    from gnomon_studies import list_studies

    return list_studies()
