"""Surveys: every event that can be counted, by repeating the program once a batch.

    result = survey(["./program", "arg"], repeat=5)
    for judged in result.ranked:
        print(judged.event, judged.indicator.mean)

No event is multiplexed: the program is run as often as it takes to have each event on a
counter for a whole run (Sterz 3.1). Every finished run is in the recording, so that a survey
that was interrupted goes on where it stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.lazy import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.survey.batches import Batch
    from gnomon.analysis.survey.making import default_output, resume, survey
    from gnomon.analysis.survey.result import SurveyResult, survey_of
    from gnomon.analysis.survey.selection import Fold, Judged

# What a survey is judged by is imported after its runs: the program must not wait for that.
_HOMES = {
    "Batch": "batches",
    "Fold": "selection",
    "Judged": "selection",
    "SurveyResult": "result",
    "default_output": "making",
    "resume": "making",
    "survey": "making",
    "survey_of": "result",
}

__all__ = [
    "Batch",
    "Fold",
    "Judged",
    "SurveyResult",
    "default_output",
    "resume",
    "survey",
    "survey_of",
]


__getattr__, __dir__ = lazy_names(__name__, _HOMES)
