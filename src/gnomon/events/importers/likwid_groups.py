"""likwid's performance groups, read as metrics.

A group file names the events of one measurement and the formulas over them:

    SHORT  one line of what it measures
    EVENTSET
    PMC0   SOME_EVENT
    METRICS
    Name of the metric [unit]  1.0E-06*PMC0/time
    LONG   prose

Formulas name counters; here each becomes the event on it. Core counters are all alike, so
their events keep their plain names; an event on a counter elsewhere (MBOX0C1, PWR0) keeps
its counter, as in likwid's own `EVENT:COUNTER`, because there it says what is counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.events.formula import Formula, FormulaError
from gnomon.events.formula.dimensions import Unit, parse_unit
from gnomon.events.importers.papi_table import LineWarning
from gnomon.events.metrics import Metric, MetricTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_CORE_COUNTER = re.compile(r"(FIXC|PMC|CPMC)\d+")
_UNIT = re.compile(r"(?P<name>.*?)\s*\[(?P<unit>[^\]]*)\]\s*(?P<formula>.*)")
_CONSTANTS = {
    "time": Formula.of_name("time"),
    "inverseClock": Formula.parse("1 / clock"),
    "num_sockets": Formula.of_name("sockets"),
    "num_numadomains": Formula.of_name("numa_nodes"),
}


@dataclass(frozen=True, slots=True)
class LikwidGroup:
    """A group: its events in order, its metrics, and warnings about lines left out."""

    name: str
    short: str
    long: str
    events: Mapping[str, str]
    """The event on each counter, under the name that the formulas here use."""
    metrics: MetricTable
    warnings: tuple[LineWarning, ...] = ()


def import_likwid_group(path: Path | str) -> LikwidGroup:
    """Read a group file."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}.") from None
    return parse_likwid_group(text, path.stem, str(path))


def parse_likwid_group(text: str, name: str, file: str = "") -> LikwidGroup:
    """Read the text of a group file; `file` is what warnings call it."""
    sections = _sections(text, file or name)
    warnings: list[LineWarning] = []
    caveats: list[str] = []
    events: dict[str, str] = {}
    names = dict(_CONSTANTS)
    for number, line in sections["EVENTSET"]:
        if line == "REQUIRE_NOHT":
            caveats.append("needs simultaneous multithreading switched off")
            continue
        counter, *rest = line.split()
        if len(rest) != 1:
            warnings.append(LineWarning(file, number, f"'{line}' is no counter and event"))
            continue
        event = _event_name(counter, rest[0])
        events[counter] = event
        # Formulas may name a counter with or without its options.
        names[counter] = names[counter.partition(":")[0]] = Formula.of_name(event)
    if not events:
        raise UsageError(f"{file or name}: has no event: there is nothing under EVENTSET.")
    metrics: dict[str, Metric] = {}
    for number, line in sections["METRICS"]:
        try:
            metric = _metric(line, names, name, tuple(caveats), file)
        except UsageError as error:
            warnings.append(LineWarning(file, number, str(error).removesuffix(".")))
            continue
        if metric.name in metrics and metrics[metric.name].unit.text != metric.unit.text:
            # The same name in another unit is another metric: MFLOP/s beside MUOPS/s.
            metric = replace(metric, name=f"{metric.name} [{metric.unit.text}]")
        if metric.name in metrics:
            reason = f"'{metric.name}' is there twice: the first one holds"
            warnings.append(LineWarning(file, number, reason))
        metrics.setdefault(metric.name, metric)
    short = " ".join(line for _, line in sections["SHORT"])
    long = "\n".join(line for _, line in sections["LONG"])
    return LikwidGroup(name, short, long, events, MetricTable(metrics), tuple(warnings))


def _sections(text: str, file: str) -> dict[str, list[tuple[int, str]]]:
    sections: dict[str, list[tuple[int, str]]] = {
        heading: [] for heading in ("SHORT", "EVENTSET", "METRICS", "LONG")
    }
    current: list[tuple[int, str]] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        heading, _, rest = line.strip().partition(" ")
        # What follows LONG is prose, in which any word may begin a line.
        if heading in sections and current is not sections["LONG"]:
            current = sections[heading]
            line = rest  # noqa: PLW2901
        if not line.strip() or (line.startswith("#") and current is not sections["LONG"]):
            continue
        if current is None:
            raise UsageError(f"{file}:{number}: is no group file: it begins with '{line.strip()}'.")
        current.append((number, line.strip()))
    return sections


def _event_name(counter: str, event: str) -> str:
    base, colon, options = counter.partition(":")
    return f"{event}{colon}{options}" if _CORE_COUNTER.fullmatch(base) else f"{event}:{counter}"


def _metric(
    line: str, names: Mapping[str, Formula], group: str, caveats: tuple[str, ...], file: str
) -> Metric:
    name, unit, formula = _split_metric(line, names)
    return Metric(
        name,
        formula.substitute(names),
        unit,
        title=name,
        group=group,
        caveats=caveats,
        converted=False,
        file=file,
    )


def _split_metric(line: str, names: Mapping[str, Formula]) -> tuple[str, Unit, Formula]:
    match = _UNIT.fullmatch(line)
    name, unit, rest = (
        (match["name"], _unit(match["unit"]), match["formula"]) if match else ("", Unit(), line)
    )
    failure: UsageError | None = None
    for words, text in _splits(rest):
        full_name = f"{name} {words}".strip() or unit.text  # some lines name only the unit
        if full_name:
            try:
                return full_name, unit, _formula(text, names)
            except UsageError as error:
                failure = error
    raise failure or UsageError(f"'{line}' has no name or no formula")


def _splits(line: str) -> Iterator[tuple[str, str]]:
    """Give each way to cut a line into words and a formula, the longest formula first."""
    yield "", line
    for space in re.finditer(r"\s+", line):
        if line[space.end()] not in "-+*/":
            yield line[: space.start()], line[space.end() :]


def _formula(text: str, names: Mapping[str, Formula]) -> Formula:
    formula = Formula.parse(text, tight_minus=True)
    for name in formula.names:
        if name not in names:
            raise FormulaError(f"formula '{text}': counter '{name}' is not in the EVENTSET.")
    return formula


def _unit(text: str) -> Unit:
    """Return a unit to show: one that is not understood stays as it is written."""
    try:
        return parse_unit(text)
    except UsageError:
        return Unit(counted=None, text=text)
