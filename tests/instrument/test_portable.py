"""Event sets of portable names, on a machine whose events are counted by the kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon import _native
from gnomon.errors import NotSupportedError, UsageError
from gnomon.instrument.eventset import EventSet

PRESETS = """
[table]
name = "mine"

[presets.PAPI_L1_DCM]
events = ["minor-faults"]

[presets.PAPI_L1_TCM]
events = ["minor-faults", "major-faults"]
operator = "+"

[presets.PAPI_L2_DCM]
events = ["no-such-event"]
"""


@pytest.fixture(autouse=True)
def own_presets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gnomon"
    folder.mkdir()
    (folder / "presets.toml").write_text(PRESETS)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def test_a_portable_name_is_counted_from_the_events_it_is_made_of() -> None:
    with EventSet("PAPI_L1_TCM,page-faults") as counters:
        assert counters.events == ("PAPI_L1_TCM", "page-faults")
        counters.start()
        _native.known_faults(40)
        values = counters.stop()
    assert values["PAPI_L1_TCM"] == values["page-faults"]
    assert values["PAPI_L1_TCM"] is not None
    assert values["PAPI_L1_TCM"] >= 40
    assert set(values) == {"PAPI_L1_TCM", "page-faults"}


def test_presets_that_share_an_event_count_it_once() -> None:
    with EventSet("PAPI_L1_DCM,PAPI_L1_TCM,minor-faults") as counters:
        counters.start()
        _native.known_faults(10)
        values = counters.stop()
    assert values["PAPI_L1_DCM"] == values["PAPI_L1_TCM"] == values["minor-faults"]


def test_removing_one_preset_leaves_what_another_needs() -> None:
    with EventSet("PAPI_L1_DCM,PAPI_L1_TCM") as counters:
        counters.remove("PAPI_L1_DCM")
        counters.start()
        _native.known_faults(10)
        assert (counters.stop()["PAPI_L1_TCM"] or 0) >= 10


def test_a_preset_that_cannot_be_counted_here_is_refused_with_the_reason() -> None:
    with EventSet() as counters:
        with pytest.raises(NotSupportedError, match="no-such-event"):
            counters.add("page-faults,PAPI_L2_DCM")
        assert counters.events == ()


def test_the_same_preset_twice_is_refused() -> None:
    with EventSet("PAPI_L1_TCM") as counters, pytest.raises(UsageError, match="already"):
        counters.add("PAPI_L1_TCM")


@pytest.mark.parametrize(
    "twice", ["PAPI_L1_TCM,PAPI_L1_TCM", "page-faults,PAPI_L1_TCM,page-faults"]
)
def test_the_same_name_twice_in_one_list_is_refused(twice: str) -> None:
    with EventSet() as counters:
        with pytest.raises(UsageError, match="twice"):
            counters.add(twice)
        assert counters.events == ()


def test_overflow_of_a_computed_name_points_to_its_events() -> None:
    with (
        EventSet("PAPI_L1_TCM") as counters,
        pytest.raises(UsageError, match="minor-faults and major-faults"),
    ):
        counters.on_overflow("PAPI_L1_TCM", 10)
