"""The figures of the house, counted over a small one."""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts/house"


@pytest.fixture(scope="module")
def house() -> ModuleType:
    loader = SourceFileLoader("house", str(SCRIPT))
    spec = spec_from_loader("house", loader)
    assert spec
    module = module_from_spec(spec)
    sys.modules["house"] = module  # dataclasses look their module up
    loader.exec_module(module)
    return module


@pytest.fixture
def small(tmp_path: Path) -> Path:
    files = {
        "gnomon/__init__.py": "",
        "gnomon/errors.py": "class Wrong(Exception): ...\n" * 60,
        "gnomon/views/__init__.py": "from .table import draw\n",
        "gnomon/views/table.py": "def draw():\n    from gnomon import errors\n",
        "gnomon/cli/__init__.py": "from gnomon.views import draw\nimport gnomon.errors\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_importers_are_found_wherever_and_however_an_import_is_written(
    house: ModuleType, small: Path
) -> None:
    by = house.importers(house.modules(small))
    assert by["gnomon.errors"] == {"gnomon.views.table", "gnomon.cli"}
    assert by["gnomon.views.table"] == {"gnomon.views"}
    assert by["gnomon.views"] == {"gnomon.cli"}


def test_the_page_gets_the_figures_of_now_and_keeps_those_of_before(house: ModuleType) -> None:
    page = "| figure | before | now |\n| brief modules | 94 | 3 |\n| files | 181 | 28 |\n"
    assert house.filled(page, {"brief modules": 29, "modules": 1}) == page.replace(
        "| 3 |", "| 29 |"
    )
    rows = house.PAGE.read_text()
    assert all(f"\n| {row} | " in rows for row in house.ROWS)


def test_figures_count_modules_brief_ones_and_those_with_one_importer(
    house: ModuleType, small: Path
) -> None:
    start = house.Start(("gnomon", "gnomon.analysis.estimate.kalman"), ("scipy",), True)
    figures = house.figures(house.modules(small), {"count": start})
    assert figures["modules"] == 5
    assert figures["brief modules"] == 1  # errors.py is long enough, packages do not count
    assert figures["modules with one importer"] == 1
    assert figures["lines of views, cli and result.py"] == 5
    assert figures["imported by count"] == 2
    assert figures["estimators and scipy imported by count"] == 2


def test_only_a_limit_in_force_fails_the_check(
    house: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = (house.Limit("modules", 4, False), house.Limit("lines", 7, True))
    monkeypatch.setattr(house, "LIMITS", limits)
    assert house._print_limits({"modules": 5, "lines": 7}, only_in_force=True) == 0
    assert house._print_limits({"modules": 5, "lines": 8}, only_in_force=True) == 1
    assert "exceeded" in capsys.readouterr().out


def test_a_command_is_stopped_where_its_program_would_start(house: ModuleType) -> None:
    [(name, start)] = house.starts(["count"])
    assert name == "count"
    assert start.begun
    assert "gnomon.analysis.count" in start.ours
    assert "scipy" not in start.others
