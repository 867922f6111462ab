"""What the doctor found: what can be measured here, what cannot, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from gnomon.result import Result, derived


class State(StrEnum):
    """How good the news is."""

    OK = "ok"
    LIMITED = "limited"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that matters for measuring, and what to do when it is not as it should be."""

    area: str
    subject: str
    state: State
    detail: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis(Result):
    """All findings about a machine, with the number of events that can be counted on it."""

    kind: ClassVar[str] = "doctor"

    findings: tuple[Finding, ...]
    countable: int
    known: int

    @derived
    def summary(self) -> str:
        """The findings in one sentence."""
        missing = sum(finding.state is State.MISSING for finding in self.findings)
        return (
            f"{self.countable} of {self.known} named events can be counted here; "
            f"{missing} {'thing is' if missing == 1 else 'things are'} missing"
        )
