"""Showing results of 100,000 rows: what each renderer takes, and JSON both ways, in CPU time.

The results are made up, as the tests of results make them. A page draws the first 5,000 rows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from benchmarks.harness.result import Benchmark, Effort, Judged, Note, Result, Row, Target
from benchmarks.harness.statistics import quartiles
from gnomon.result import KINDS
from gnomon.result import Result as Shown
from gnomon.views import show
from gnomon.views.terminal import Screen, lines

_ROWS = 100_000
_ROUNDS = 3
_KINDS = ("survey", "compare")
_RENDERERS: dict[str, Callable[[Shown], object]] = {
    "a pipe": lambda result: [*lines(show.blocks(result), Screen())],
    "a screen, all of it": lambda result: [*lines(show.blocks(result), Screen(100, True, True))],
    "a page": show.page,
    "a notebook": show.fragment,
}
_MOST = Target(3.0, Judged.VALUE)
_MOST_JSON = Target(12.0, Judged.VALUE)


def run(effort: Effort) -> Iterator[Result]:
    """Show the same results again and again, then write and read them."""
    rows = _ROWS // 10 if effort.quick else _ROWS
    for kind in _KINDS:
        result = _cases(kind).huge(rows)
        for name, action in _RENDERERS.items():
            took = [_seconds(lambda: action(result)) for _ in range(_ROUNDS)]  # noqa: B023
            yield Row(f"{kind}, {rows:,} rows: {name}", quartiles(took), target=_MOST)
        took = [_seconds(lambda: _both_ways(result)) for _ in range(_ROUNDS)]  # noqa: B023
        yield Row(f"{kind}, {rows:,} rows: JSON both ways", quartiles(took), target=_MOST_JSON)
    pages = {kind: len(show.page(_cases(kind).small()).encode()) for kind in KINDS}
    kind = max(pages, key=lambda each: pages[each])
    yield Note(f"the largest page of a small result: {pages[kind] / 1000:.0f} kB ({kind})")


def _cases(kind: str) -> Any:
    return import_module(f"tests.results.cases.{kind.replace('-', '_')}")


def _both_ways(result: Shown) -> Shown:
    return Shown.from_json(json.loads(result.text()))


def _seconds(action: Callable[[], object]) -> float:
    began = time.process_time()
    action()
    return time.process_time() - began


BENCHMARK = Benchmark("looks", "results of 100,000 rows, shown and saved", run)
