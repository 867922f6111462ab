"""The header survives being written and read, and says what is wrong with a damaged one."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.errors import RecordingError
from gnomon.recording.contents import EventInfo, Provenance, RunInfo
from gnomon.recording.header import Header, Part, read_header

from .helpers import EVENTS, PROVENANCE, texts

odd = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
integers = st.integers(-(2**63), 2**63 - 1)
events = st.builds(
    EventInfo,
    name=odd,
    description=odd,
    unit=odd,
    scale=st.floats(allow_nan=False),
    scope=odd,
    caveats=st.lists(odd, max_size=3).map(tuple),
)
runs = st.builds(
    RunInfo,
    run=integers,
    batch=integers,
    start=integers,
    end=integers,
    exit_status=st.none() | integers,
    started_at=odd,
)
provenances = st.builds(
    Provenance,
    source=odd,
    simulated=st.booleans(),
    command=st.lists(odd, max_size=3).map(tuple),
    cpus=integers,
    interval=st.none() | integers,
    seed=st.none() | st.integers(0, 2**64 - 1),
    environment=st.dictionaries(odd, odd, max_size=3),
)


@settings(max_examples=50, deadline=None)
@given(
    provenances,
    st.lists(events, max_size=3),
    st.lists(runs, max_size=3),
    st.lists(texts),
    st.booleans(),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    provenance: Provenance,
    events: list[EventInfo],
    runs: list[RunInfo],
    warnings: list[str],
    complete: bool,
) -> None:
    header = Header(
        provenance,
        {event.name: event for event in events},
        {(run.run, run.batch): run for run in runs},
        warnings,
        {"readings": [Part("readings-000001.parquet", 5, 100, 7)], "samples": []},
        complete,
    )
    folder = tmp_path_factory.mktemp("header")
    header.write(folder)
    assert read_header(folder) == header
    assert [entry.name for entry in folder.iterdir()] == ["header.toml"]


def test_bytes_that_are_not_utf8_become_escapes(tmp_path: Path) -> None:
    Header(Provenance("test", command=("caf\udce9",))).write(tmp_path)
    assert read_header(tmp_path).provenance.command == (r"caf\udce9",)


def damage(folder: Path, old: str, new: str) -> None:
    header = Header(
        PROVENANCE,
        {event.name: event for event in EVENTS},
        {(0, 0): RunInfo(0)},
        tables={"readings": [Part("readings-000000.parquet", 1, 2, 3)]},
    )
    header.write(folder)
    path = folder / "header.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("complete = false", "", "lacks the key 'complete'"),
        ("complete = false", 'complete = "no"', "'complete' should be true or false"),
        ("format = 1", "", "lacks the key 'format'"),
        ("format = 1", "format = true", "'format' should be an integer"),
        ("format = 1", "format = 2", "format 2, which is newer than the format 1"),
        ('source = "test"', "", "lacks the key 'provenance.source'"),
        ('name = "task-clock"', "title = 1", r"lacks the key 'events[1].name'"),
        ("scale = 1.0", 'scale = "1"', r"'events[0].scale' should be a number"),
        ("{ run = 0,", "{", r"lacks the key 'runs[0].run'"),
        ("rows = 1", "rows = 1.5", r"'tables.readings[0].rows' should be an integer"),
        ("readings-000000.parquet", "../x.parquet", "'../x.parquet' is not the name of a part"),
        ("[provenance]", "[provenance", "is not valid TOML"),
        (
            'command = [\n    "./solve"',
            "command = [\n    1",
            "'provenance.command' should be a text",
        ),
        ('LANG = "C"', "LANG = 1", "'provenance.environment' should be a text"),
        ("[tables]", "[stables]", "lacks the key 'tables'"),
    ],
)
def test_errors_name_file_and_key(tmp_path: Path, old: str, new: str, words: str) -> None:
    damage(tmp_path, old, new)
    with pytest.raises(RecordingError) as caught:
        read_header(tmp_path)
    assert words in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_keys_of_later_versions_are_ignored(tmp_path: Path) -> None:
    damage(tmp_path, "[provenance]", "[provenance]\nmood = 'good'")
    assert read_header(tmp_path).provenance == PROVENANCE


def test_an_integer_will_do_for_a_number(tmp_path: Path) -> None:
    damage(tmp_path, "scale = 1.0", "scale = 2")
    assert read_header(tmp_path).events["cycles"].scale == 2.0


def test_bytes_that_are_no_text_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "header.toml").write_bytes(b"format = 1\n# \xff")
    with pytest.raises(RecordingError, match="is not valid TOML"):
        read_header(tmp_path)


def test_the_header_is_plain_toml(tmp_path: Path) -> None:
    Header(PROVENANCE, {event.name: event for event in EVENTS}).write(tmp_path)
    document = tomllib.loads((tmp_path / "header.toml").read_text())
    assert document["format"] == 1
    assert document["provenance"]["command"] == list(PROVENANCE.command)
