"""Results as a piece of HTML without scripts, for notebooks: the words and tables of a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from gnomon.analysis.estimate.state import State
from gnomon.views.report.assemble import state_page
from gnomon.views.report.page import DataTable, Page, Section

_ROWS = 25

_PAGES: dict[type, Callable[[Any], Page]] = {
    State: state_page,
}


def fragment_of(result: object) -> str:
    """Return what a notebook shows of a result."""
    page = _PAGES[type(result)](result)
    label = "<p><strong>Simulated</strong></p>" if page.simulated else ""
    warnings = "".join(f"<li>{escape(text)}</li>" for text in page.warnings)
    return (
        f"<div><p><strong>{escape(page.title)}</strong></p>{label}"
        f"{f'<ul>{warnings}</ul>' if warnings else ''}"
        f"{''.join(_section(section) for section in page.sections)}</div>"
    )


def _section(section: Section) -> str:
    tables = [part for part in section.parts if isinstance(part, DataTable)]
    if not tables and not section.lead:
        return ""  # only a drawing, which needs a page
    words = "".join(f"<p>{escape(text)}</p>" for text in section.lead)
    return f"<h4>{escape(section.title)}</h4>{words}{''.join(map(_table, tables))}"


def _table(table: DataTable) -> str:
    head = _row("th", table.headings, table.right)
    body = "".join(
        _row("td", [cell.text for cell in row], table.right) for row in table.rows[:_ROWS]
    )
    left = len(table.rows) - _ROWS
    more = f"<p>… and {left} more rows</p>" if left > 0 else ""
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{more}"


def _row(tag: str, texts: Sequence[str], right: frozenset[int]) -> str:
    cells = "".join(
        f'<{tag} style="text-align: {"right" if place in right else "left"}">{escape(text)}</{tag}>'
        for place, text in enumerate(texts)
    )
    return f"<tr>{cells}</tr>"
