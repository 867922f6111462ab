"""The 23 requirements of PAPI: each is met by something that exists, and shown by a test."""

from __future__ import annotations

import ast
import pkgutil
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from gnomon.events import kernel
from gnomon.events.encoding import term_text
from gnomon.events.event import Constraint, Event, PerfEncoding
from gnomon.events.names import NameIndex
from gnomon.events.planner import Pmu, plan
from gnomon.events.presets import known_presets
from gnomon.sources.perf.source import PerfSource

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "explanation" / "papi-requirements.md"
_CODE = re.compile(r"`([^`]+)`")


class Requirement(NamedTuple):
    """A line of the table."""

    number: int
    text: str
    met_by: str
    shown_by: str


def _requirements() -> list[Requirement]:
    rows = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \|$", PAGE.read_text(), re.MULTILINE)
    return [Requirement(int(number), *rest) for number, *rest in rows]


def _tests_on_the_page() -> list[str]:
    return [code for code in _CODE.findall(PAGE.read_text()) if code.startswith("tests/")]


@cache
def _tests_in(path: Path) -> frozenset[str]:
    """Return the names of a test module: functions, classes, and methods as Class::method."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names.add(node.name)
            methods = (inner for inner in node.body if isinstance(inner, ast.FunctionDef))
            names.update(f"{node.name}::{method.name}" for method in methods)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return frozenset(name for name in names if name.startswith(("test", "Test")))


def test_the_page_has_all_requirements_in_order() -> None:
    assert [requirement.number for requirement in _requirements()] == list(range(1, 24))


@pytest.mark.parametrize("requirement", _requirements(), ids=lambda r: str(r.number))
def test_a_requirement_is_met_and_shown(requirement: Requirement) -> None:
    assert requirement.text.endswith(".")
    shown = _CODE.findall(requirement.shown_by)
    assert shown and all(code.startswith("tests/") for code in shown)


@pytest.mark.parametrize("name", sorted(set(_tests_on_the_page())))
def test_a_test_that_the_page_names_exists(name: str) -> None:
    file, _, test = name.partition("::")
    path = REPOSITORY / file
    assert path.is_file(), file
    assert test in _tests_in(path)


def _parts() -> list[str]:
    codes = [code for requirement in _requirements() for code in _CODE.findall(requirement.met_by)]
    return sorted({code for code in codes if code.startswith("gnomon.")})


@pytest.mark.parametrize("part", _parts())
def test_a_part_of_gnomon_that_the_page_names_exists(part: str) -> None:
    found = pkgutil.resolve_name(part)
    assert found.__doc__ or not callable(found)


# Requirements that no other test shows on its own


def test_every_native_event_has_a_code_of_its_own() -> None:
    events = [*kernel.hardware_events(), *kernel.cache_events(), *kernel.software_events()]
    codes: dict[PerfEncoding, str] = {}
    for event in events:
        assert event.encoding is not None, event.name
        assert event.encoding not in codes, f"{event.name} and {codes[event.encoding]}"
        codes[event.encoding] = event.name
    numbers = [preset.code for preset in known_presets().values() if preset.code is not None]
    assert len(set(numbers)) == len(numbers) > 100


def test_names_lead_to_codes_and_codes_to_names() -> None:
    """By name to the code, by the code back to the name, for the kernel and for a vendor's list."""
    source = PerfSource()
    by_code: dict[PerfEncoding | None, set[str]] = {}
    for event in source.events():
        by_code.setdefault(event.encoding, set()).add(event.name)
    for event in source.events():
        for found in source.resolve(event.name):  # several where there are kinds of cores
            assert event.name in by_code.get(found.encoding, {event.name})
    by_number = {preset.code: name for name, preset in known_presets().items() if preset.code}
    assert by_number[0x80000032] == "PAPI_TOT_INS"
    assert all(known_presets()[name].code == number for number, name in by_number.items())
    codes = range(0x10, 0x50)
    terms = {code: term_text("cpu", {"event": code, "umask": 0x21}) for code in codes}
    index = NameIndex(Event(f"EVENT.{code:X}", aliases=(terms[code],)) for code in codes)
    for code in codes:
        assert index.find(f"cpu/umask=33,event={code}/").name == f"EVENT.{code:X}"
        assert index.find(f"event.{code:x}").aliases == (terms[code],)


@pytest.mark.parametrize("counters", [1, 2, 4, 8])
def test_events_of_a_set_sit_on_counters_of_their_own(counters: int) -> None:
    unit = Pmu("cpu", general=counters, fixed=1)
    free = [Event(f"free{number}") for number in range(20)]
    fixed = Event("cycles", constraint=Constraint(None, fixed=0))
    pinned = [Event(f"pinned{n}", constraint=Constraint(1 << (n % counters))) for n in range(5)]
    found = plan([*free, fixed, *pinned], unit)
    for batch in found.batches:
        seats = [seat.counter for seat in batch.seats]
        assert None not in seats
        assert len(set(seats)) == len(seats) <= counters + 1
    counted = [request.event.name for batch in found.batches for request in batch.requests]
    assert sorted(counted) == sorted(event.name for event in (*free, fixed, *pinned))
