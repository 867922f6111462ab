"""How the doctor's findings look."""

from __future__ import annotations

import os
from typing import Any, TextIO

from gnomon.analysis.diagnosis import Diagnosis, State

_MARKS = {State.OK: "✓", State.LIMITED: "~", State.MISSING: "✗"}
_COLOURS = {State.OK: "32", State.LIMITED: "33", State.MISSING: "31"}


def print_diagnosis(diagnosis: Diagnosis, stream: TextIO) -> None:
    """Write the findings area by area, each with its remedy below it."""
    colour = stream.isatty() and "NO_COLOR" not in os.environ
    widest = max(len(finding.subject) for finding in diagnosis.findings)
    area = ""
    for finding in diagnosis.findings:
        if finding.area != area:
            area = finding.area
            stream.write(f"{area}\n")
        mark = _MARKS[finding.state]
        if colour:
            mark = f"\x1b[{_COLOURS[finding.state]}m{mark}\x1b[0m"
        stream.write(f"  {mark} {finding.subject:<{widest}}  {finding.detail}\n")
        if finding.remedy:
            stream.write(f"    {'':<{widest}}  → {finding.remedy}\n")
    stream.write(f"\n{diagnosis.summary}\n")


def diagnosis_as_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the findings in the form that scripts read."""
    return {
        "countable": diagnosis.countable,
        "known": diagnosis.known,
        "findings": [
            {
                "area": finding.area,
                "subject": finding.subject,
                "state": str(finding.state),
                "detail": finding.detail,
                "remedy": finding.remedy,
            }
            for finding in diagnosis.findings
        ],
    }
