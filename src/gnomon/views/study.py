"""How studies and their findings look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TextIO

from gnomon.analysis.study.result import Findings, Study, Value, Verdict
from gnomon.views.table import Column, Table


def print_studies(studies: Sequence[Study], stream: TextIO) -> None:
    """Write a line for each study."""
    table = Table((Column("study"), Column("experiments"), Column("title"), Column("document")))
    for study in studies:
        ids = " ".join(each.id for each in study.experiments)
        table.add(study.name, ids, study.title, study.document)
    table.print(stream)


def studies_as_json(studies: Sequence[Study]) -> list[dict[str, Any]]:
    """Return the listing in the form that scripts read."""
    return [
        {
            "name": study.name,
            "title": study.title,
            "document": study.document,
            "simulated": study.simulated,
            "experiments": [{"id": each.id, "title": each.title} for each in study.experiments],
        }
        for study in studies
    ]


def print_findings(findings: Findings, stream: TextIO) -> None:
    """Write a line for each quantity, and how many of them were reproduced."""
    study = findings.study
    label = "SIMULATED " if study.simulated else ""
    stream.write(f"{label}{study.title}, after {study.document}; seed {findings.seed}\n\n")
    table = Table(
        (
            Column("id"),
            Column("quantity"),
            Column("published", right=True),
            Column("ours", right=True),
            Column("tolerance"),
            Column("verdict"),
            Column("note"),
        )
    )
    for row in findings.rows:
        table.add(
            row.id,
            row.quantity,
            value_text(row.published),
            value_text(row.ours),
            row.tolerance,
            str(row.verdict),
            row.note,
        )
    table.print(stream)
    numbers = ", ".join(f"{findings.count(verdict)} {verdict}" for verdict in Verdict)
    stream.write(f"\n  {len(findings.rows)} quantities: {numbers}\n")


def findings_as_json(findings: Findings) -> dict[str, Any]:
    """Return the findings in the form that scripts read."""
    study = findings.study
    return {
        "study": study.name,
        "title": study.title,
        "document": study.document,
        "seed": findings.seed,
        "rows": [asdict(row) for row in findings.rows],
    }


def value_text(value: Value) -> str:
    """Return a value as it stands in a table."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.5g}"
