"""One page of several recordings and saved results, and of what changed between two of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from gnomon.analysis.recorded.opening import results_in
from gnomon.errors import GnomonError, UsageError
from gnomon.recording.files import check_new
from gnomon.result import Result
from gnomon.result_types import is_result


@dataclass(frozen=True, slots=True)
class ReportPage:
    """The results of a page and what each is called there; a comparison comes first."""

    results: tuple[Result, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, files: Sequence[str | os.PathLike[str]]) -> ReportPage:
        """Return the page of files: recordings of any kind, and results saved as JSON."""
        short = len({Path(path).name for path in files}) == len(files)
        results: list[Result] = []
        names: list[str] = []
        for path in files:
            found = results_in(path)
            results += found
            name = Path(path).name if short else os.fspath(path)
            names += [name if len(files) > 1 else ""] * len(found)
        if len(files) == 2 and not any(map(is_result, files)):
            try:
                results.insert(0, _comparison(*files))
                names.insert(0, "")
            except GnomonError as error:
                note = f"the two are not compared: {error}"
                results[0] = replace(results[0], warnings=(note, *results[0].warnings))
        return cls(tuple(results), tuple(names))

    def html(self, *, following: bool = False) -> str:
        """Return the page; one that is `following` asks its server for what is new."""
        text: str = _show().page(*self.results, names=self.names, following=following)
        return text


def report(
    files: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    output: str | os.PathLike[str] = "report.html",
    *,
    overwrite: bool = False,
) -> ReportPage:
    """Write one page of recordings of any kind and of results saved as JSON.

    Two recordings are compared as well. A page that exists is an error without `overwrite`.

    >>> counted = gn.count(["true"], "page-faults", output="there.gnomon")
    >>> written = gn.report("there.gnomon", "there.html")
    >>> Path("there.html").exists()
    True
    """
    path = Path(output)
    check_new(path, "the page", force=overwrite)
    page = ReportPage.of([files] if isinstance(files, str | os.PathLike) else list(files))
    _show().write_page(path, *page.results, names=page.names)
    return page


def _comparison(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> Result:
    from gnomon.analysis.compare import compare
    from gnomon.analysis.runs import ELAPSED

    result = compare(a, b, anyway=True)
    if all(row.event == ELAPSED.name for row in result.rows):
        raise UsageError("they have no event in common")
    # What is said of each recording by itself stands there already.
    notes = tuple(text for text in result.warnings if not text.startswith(("A: ", "B: ")))
    return replace(result, warnings=notes)


def _show() -> Any:  # Any: results work without any view, so none is imported here
    return import_module("gnomon.views.show")
