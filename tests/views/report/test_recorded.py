"""Reports of recordings that more can be said of than totals."""

from __future__ import annotations

from pathlib import Path

import pytest

import gnomon as gn
from gnomon.sources.machine.source import MachineSource
from gnomon.views.report.assemble import report_page


def _titles(path: Path) -> list[str]:
    return [section.title for section in report_page([str(path)]).sections]


def test_a_recording_over_a_parameter_shows_growth_and_no_totals(tmp_path: Path) -> None:
    place = tmp_path / "grid.gnomon"
    command = ["workload:strided-sum", "size={n}"]
    sizes = {"n": [16, 32, 64, 128, 256]}
    gn.scale(command, sizes, "cycles", repeat=1, output=place, on=MachineSource("smt-4"))
    titles = _titles(place)
    assert titles[0] == "What grows"
    assert "Totals" not in titles


def test_growth_that_cannot_be_modelled_is_explained(tmp_path: Path) -> None:
    place = tmp_path / "grid.gnomon"
    with pytest.raises(gn.GnomonError):
        gn.scale(["sh", "-c", "exit {n}"], {"n": [1, 2, 3]}, repeat=1, output=place)
    page = report_page([str(place)])
    assert not page.sections
    assert any(text.startswith("growth is not shown") for text in page.warnings)


def test_a_recording_with_a_footprint_shows_phases_and_counts_beside_it(tmp_path: Path) -> None:
    place = tmp_path / "run.gnomon"
    try:
        gn.phases(["sleep", "0.2"], events="page-faults", interval="5ms", output=place)
    except gn.GnomonError as error:
        pytest.skip(f"nothing is counted here: {error}")
    assert _titles(place)[:2] == ["Phases", "Totals"]
    text = repr(report_page([str(place)]).sections[1])
    assert "page-faults" in text
    assert "footprint:" not in text
