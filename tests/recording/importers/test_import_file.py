"""Choosing a format, saving what was imported, and files that are of no use."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.errors import GnomonError, RecordingError, UsageError
from gnomon.recording.importers import FORMATS, import_file
from gnomon.recording.reader import Recording

DATA = Path(__file__).parent / "data"
FIXTURES = sorted(path.name for path in DATA.iterdir())


def format_of(name: str) -> str:
    if name.startswith("perf"):
        return {".txt": "perf-text", ".csv": "perf-csv", ".json": "perf-json"}[Path(name).suffix]
    return "papi-json" if name.startswith("papi") else "likwid-csv"


@pytest.mark.parametrize("name", FIXTURES)
def test_the_format_is_found_or_taken_as_named(name: str) -> None:
    found = import_file(DATA / name)
    assert found == import_file(DATA / name, format_of(name))
    assert found.readings


@pytest.mark.parametrize("name", FIXTURES[::5])
def test_what_was_imported_can_be_saved(tmp_path: Path, name: str) -> None:
    data = import_file(DATA / name)
    recording = data.save(tmp_path / "r")
    assert tuple(recording.readings()) == data.readings
    assert (recording.events, recording.runs) == (data.events, data.runs)
    assert (recording.provenance, recording.warnings) == (data.provenance, data.warnings)
    assert Recording.open(tmp_path / "r").complete


@pytest.mark.parametrize(
    "content", ["", "hello\nworld\n", "{}", "a,b,c\n1,2,3\n", "\0\1\2", "1 2\n"]
)
@pytest.mark.parametrize("named", [None, *FORMATS])
def test_a_file_without_readings_names_the_formats(
    tmp_path: Path, content: str, named: str | None
) -> None:
    path = tmp_path / "odd"
    path.write_text(content)
    with pytest.raises(RecordingError) as caught:
        import_file(path, named)
    message = str(caught.value)
    assert message.startswith(f"'{path}' holds no reading")
    assert all(name in message for name in ([named] if named else FORMATS))
    assert "\n" not in message


def test_an_unknown_format() -> None:
    with pytest.raises(UsageError, match="unknown format 'vtune': choose from gnomon-jsonl"):
        import_file(DATA / "perf6.json", "vtune")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="there is no such file"):
        import_file(tmp_path / "none")
    with pytest.raises(RecordingError, match="it is a folder"):
        import_file(tmp_path)


def test_a_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    for name in ("perf6-comma.csv", "perf6-text.txt", "perf6.json", "likwid5-group.csv"):
        path = tmp_path / name
        text = (DATA / name).read_text().replace("\n", "\r\n")
        path.write_bytes(b"\xef\xbb\xbf" + text.encode())
        assert import_file(path) == import_file(DATA / name)


HUGE = ["1e999999999", "1e-999999999", "9" * 5_000, "0." + "1" * 5_000, "-1e50", "nan", "inf"]


@pytest.mark.parametrize("number", HUGE, ids=lambda text: text[:12])
def test_numbers_of_senseless_size_are_left_out(tmp_path: Path, number: str) -> None:
    """They must neither be taken for counts nor fill the memory."""
    replaced = {
        "perf6-comma.csv": ["75", "835791", "100.00"],
        "perf6.json": ["75.000000", "808631", "100.00"],
        "perf6-text.txt": ["75", "0.010237826"],
        "papi6.json": ['"17"', '"450"', '"3"'],
        "likwid5-group.csv": ["1204518", "0.2501", "Group 1"],
        "perf6-repeat.txt": ["(3 runs)"],
    }
    for name, places in replaced.items():
        for place in places:
            text = (DATA / name).read_text()
            assert place in text
            new = f'"{number}"' if place.startswith('"') else number
            new = {"G": f"Group {number}", "(": f"({number} runs)"}.get(place[0], new)
            path = tmp_path / name
            path.write_text(text.replace(place, new))
            try:
                data = import_file(path)
            except GnomonError as error:
                assert "\n" not in str(error)
            else:
                assert all(-(2**63) <= (reading.value or 0) < 2**63 for reading in data.readings)


def test_values_far_apart_are_rounded_rather_than_lost(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "5000000000,J,power/energy-pkg/,1,100.00,,\n0.00000000000000000001,J,power/energy-pkg/,1,100.00,,\n"
        "0.1234567891,J,power/energy-pkg/,1,100.00,,\n"
    )
    data = import_file(path)
    assert [reading.value for reading in data.readings] == [5 * 10**17, 0, 12_345_679]
    assert data.events[0].scale == 1e-8
    assert data.warnings == ("power/energy-pkg/: values were rounded to 8 decimal places",)


TEXTS = [(DATA / name).read_text() for name in FIXTURES]


@settings(max_examples=100, deadline=None)
@given(
    text=st.sampled_from(TEXTS),
    cut=st.floats(0, 1),
    junk=st.text(max_size=8)
    | st.sampled_from(['"', ",", "{", "}", "<not counted>", "%)", "1e999"]),
    named=st.none() | st.sampled_from(list(FORMATS)),
)
def test_no_file_leads_to_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, text: str, cut: float, junk: str, named: str | None
) -> None:
    """Files that were cut off or spoilt give readings or an error of ours, nothing else."""
    place = int(len(text) * cut)
    path = tmp_path_factory.mktemp("junk") / "f"
    for content in (text[:place] + junk, text[:place] + junk + text[place:]):
        path.write_text(content)
        try:
            data = import_file(path, named)
        except GnomonError:
            continue
        assert all(
            reading.status.has_value == (reading.value is not None) for reading in data.readings
        )
