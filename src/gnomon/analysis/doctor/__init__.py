"""What this machine can measure, and why not the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.doctor.diagnosis import doctor
    from gnomon.analysis.doctor.result import Diagnosis, Finding, State

__all__ = ["Diagnosis", "Finding", "State", "doctor"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {"Diagnosis": "result", "Finding": "result", "State": "result", "doctor": "diagnosis"},
)
