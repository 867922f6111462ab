"""Surveys: every event that can be counted, by repeating the program once per batch.

    result = survey(["./program", "arg"], repeat=5)
    for row in result.ranked:
        print(row.event, row.mean)

No event is multiplexed: the program is run as often as it takes to have each event on a
counter for a whole run (Sterz 3.1). Every finished run is in the recording, so that a survey
that was interrupted goes on where it stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.survey.batches import Batch
    from gnomon.analysis.survey.making import resume, survey
    from gnomon.analysis.survey.recorded import survey_of
    from gnomon.analysis.survey.result import Fold, SurveyResult, SurveyRow

__all__ = [
    "Batch",
    "Fold",
    "SurveyResult",
    "SurveyRow",
    "resume",
    "survey",
    "survey_of",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Batch": "batches",
        "Fold": "result",
        "SurveyResult": "result",
        "SurveyRow": "result",
        "resume": "making",
        "survey": "making",
        "survey_of": "recorded",
    },
)
