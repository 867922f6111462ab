"""The three outputs of perf stat: real ones of perf 6.1, and written-down cases of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.errors import RecordingError
from gnomon.recording.contents import EventInfo, Reading, RunInfo, Status
from gnomon.recording.importers import import_file
from gnomon.recording.importers.draft import ImportedData

DATA = Path(__file__).parent / "data"
COUNTED, SCALED = Status.COUNTED, Status.SCALED
NOT_COUNTED, NOT_SUPPORTED = Status.NOT_COUNTED, Status.NOT_SUPPORTED


def load(name: str) -> ImportedData:
    return import_file(DATA / name)


def brief(data: ImportedData) -> list[tuple[str, str, int | None, Status]]:
    return [(r.event, r.scope, r.value, r.status) for r in data.readings]


def scales(data: ImportedData) -> dict[str, tuple[str, float]]:
    return {event.name: (event.unit, event.scale) for event in data.events}


SOFTWARE = {
    "task-clock": ("ns", 1.0),
    "page-faults": ("", 1.0),
    "context-switches": ("", 1.0),
    "cpu-migrations": ("", 1.0),
    "cycles": ("", 1.0),
}


def test_text() -> None:
    data = load("perf6-text.txt")
    elapsed = 10_237_826
    assert data.readings == (
        Reading(elapsed, "task-clock", "process", 840_000, elapsed, elapsed, COUNTED),
        Reading(elapsed, "page-faults", "process", 75, elapsed, elapsed, COUNTED),
        Reading(elapsed, "context-switches", "process", 1, elapsed, elapsed, COUNTED),
        Reading(elapsed, "cpu-migrations", "process", 0, elapsed, elapsed, COUNTED),
        Reading(elapsed, "cycles", "process", None, 0, 0, NOT_SUPPORTED),
    )
    assert scales(data) == SOFTWARE
    assert data.runs == (RunInfo(0, end=elapsed),)
    assert data.warnings == ()
    assert data.provenance.source == "perf"
    assert data.provenance.command == ("sleep", "0.01")
    assert data.provenance.clock == "relative"
    assert data.provenance.created == "2026-11-16T12:19:02"
    assert data.provenance.imported_from == "perf6-text.txt (perf stat)"


def test_text_of_repeated_runs() -> None:
    data = load("perf6-repeat.txt")
    assert brief(data)[:2] == [
        ("task-clock", "process", 780_000, COUNTED),
        ("page-faults", "process", 75, COUNTED),
    ]
    assert data.events[0] == EventInfo(
        "task-clock", unit="ns", caveats=("mean of 3 runs (+- 2.36%)",)
    )
    assert data.events[2].caveats == ("mean of 3 runs",)
    assert data.runs == (RunInfo(0, end=12_136_000),)
    [warning] = data.warnings
    assert "means of 3 runs" in warning


def test_text_of_intervals_leaves_the_summary_out() -> None:
    data = load("perf6-interval-summary.txt")
    first, second, third, last = 10_089_496, 20_285_520, 30_386_654, 31_360_170
    clock = [reading for reading in data.readings if reading.event == "task-clock"]
    assert clock == [
        Reading(first, "task-clock", "process", 720_000, first, first, COUNTED),
        Reading(second, "task-clock", "process", None, second - first, 0, NOT_COUNTED),
        Reading(third, "task-clock", "process", None, third - second, 0, NOT_COUNTED),
        Reading(last, "task-clock", "process", 50_000, last - third, last - third, COUNTED),
    ]
    assert len(data.readings) == 20
    assert data.runs == (RunInfo(0, end=last),)
    assert data.provenance.command == ("sleep", "0.03")


def test_text_by_place() -> None:
    assert brief(load("perf6-cpus.txt"))[:4] == [
        ("task-clock", "cpu/0", 31_120_000, COUNTED),
        ("task-clock", "cpu/1", 31_130_000, COUNTED),
        ("page-faults", "cpu/0", 79, COUNTED),
        ("page-faults", "cpu/1", 2, COUNTED),
    ]
    assert load("perf6-cpus.txt").provenance.target == "system wide"
    assert brief(load("perf6-sockets.txt"))[1] == ("page-faults", "socket/0", 82, COUNTED)
    assert brief(load("perf6-sockets.txt"))[4] == ("cycles", "socket/0", None, NOT_SUPPORTED)
    assert brief(load("perf6-threads.txt")) == [
        ("task-clock", "thread/22534", None, NOT_COUNTED),
        ("page-faults", "thread/22534", None, NOT_COUNTED),
        ("cycles", "thread/22534", None, NOT_SUPPORTED),
    ]
    assert load("perf6-threads.txt").provenance.target == "process id 22534"


def test_text_of_groups_with_modifiers() -> None:
    assert brief(load("perf6-groups.txt")) == [
        ("task-clock", "process", 970_000, COUNTED),
        ("page-faults", "process", 75, COUNTED),
        ("context-switches:u", "process", None, NOT_COUNTED),
        ("cycles", "process", None, NOT_SUPPORTED),
    ]


def test_text_with_multiplexing_and_units() -> None:
    data = load("perf5-multiplexed.txt")
    elapsed = 1_526_900_117
    whole = (elapsed, elapsed)
    assert data.readings == (
        Reading(elapsed, "task-clock", "process", 1_523_480_000, *whole, COUNTED),
        Reading(elapsed, "context-switches", "process", 17, *whole, COUNTED),
        Reading(elapsed, "cycles", "process", 4_871_203_554, elapsed, 572_892_924, SCALED),
        # Its share stands on the line below it, behind a number that perf derived.
        Reading(elapsed, "instructions", "process", 9_004_417_820, elapsed, 764_060_819, SCALED),
        Reading(
            elapsed, "stalled-cycles-frontend", "process", 611_902_118, elapsed, 953_854_503, SCALED
        ),
        Reading(elapsed, "L1-icache-loads", "process", None, 0, 0, NOT_SUPPORTED),
        Reading(elapsed, "LLC-stores", "process", None, elapsed, 0, NOT_COUNTED),
        Reading(elapsed, "power/energy-pkg/", "process", 4_175, *whole, COUNTED),
        Reading(elapsed, "uncore_imc/data_reads/", "process", 31_246, *whole, COUNTED),
    )
    assert scales(data)["power/energy-pkg/"] == ("Joules", 0.01)
    assert scales(data)["uncore_imc/data_reads/"] == ("MiB", 0.01)
    assert data.provenance.command == ("./solve", "--grid", "64")
    assert data.warnings == ()


def test_text_of_perf_4() -> None:
    data = load("perf4-text.txt")
    assert brief(data) == [
        ("task-clock", "process", 842_317_604, COUNTED),
        ("cycles", "process", 2_710_553_019, SCALED),
        ("page-faults", "process", 214, COUNTED),
    ]
    assert data.events[1].caveats == ("mean of 5 runs (+- 0.38%)",)
    assert data.readings[1].running == round(845_012_277 * 0.8330)


def test_texts_in_other_locales() -> None:
    assert brief(load("perf5-german.txt")) == [
        ("cpu-clock", "cpu/0", 2_001_370_000, COUNTED),
        ("cpu-clock", "cpu/1", 2_001_350_000, COUNTED),
        ("cycles", "cpu/0", 1_234_567, SCALED),
        ("cycles", "cpu/1", 987, COUNTED),
    ]
    assert load("perf5-german.txt").runs == (RunInfo(0, end=2_001_402_118),)
    assert load("perf5-german.txt").provenance.created == "2020-03-03T09:07:05"
    assert brief(load("perf6-french.txt")) == [
        ("instructions", "process", 12_345_678, COUNTED),
        ("page-faults", "process", 1_204, COUNTED),
    ]


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("1,234,567", 1_234_567),
        ("1.234.567", 1_234_567),
        ("1 234 567", 1_234_567),
        ("1\u00a0234\u00a0567", 1_234_567),
        ("1\u2009234\u2009567", 1_234_567),
        ("1'234'567", 1_234_567),
        ("12,34,567", 1_234_567),
        ("1234567", 1_234_567),
        ("1,234", 1_234),
        ("1.234", 1_234),
        ("7", 7),
    ],
)
def test_thousands(tmp_path: Path, printed: str, value: int) -> None:
    path = tmp_path / "t.txt"
    path.write_text(f"\n Performance counter stats for 'x':\n\n {printed}      cycles:u      \n")
    assert brief(import_file(path)) == [("cycles:u", "process", value, COUNTED)]


def test_a_thousands_space_of_an_old_locale(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(b" Performance counter stats for 'x':\n\n   1\xa0234      cycles   \n")
    assert brief(import_file(path)) == [("cycles", "process", 1_234, COUNTED)]


def test_a_text_without_the_time_elapsed_knows_ratios_only(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("   1,000      cycles      #   0.5 GHz     (25.00%)\n   5      faults   \n")
    data = import_file(path)
    assert data.readings == (
        Reading(0, "cycles", "process", 1_000, 10_000, 2_500, SCALED),
        Reading(0, "faults", "process", 5, 0, 0, COUNTED),
    )
    [warning] = data.warnings
    assert "only ratios" in warning


def test_text_of_intervals_by_node() -> None:
    first, second = 1_000_510_022, 2_001_100_044
    length = second - first
    assert load("perf6-nodes-interval.txt").readings == (
        Reading(first, "cycles", "node/0", 7_001_002_003, first, 667_040_032, SCALED),
        Reading(first, "cycles", "node/1", None, first, 0, NOT_COUNTED),
        Reading(second, "cycles", "node/0", 7_101_002_003, length, round(length * 0.6666), SCALED),
        Reading(second, "cycles", "node/1", 5, length, length, COUNTED),
    )


def test_appended_texts_are_runs(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text((DATA / "perf6-text.txt").read_text() + (DATA / "perf4-text.txt").read_text())
    data = import_file(path)
    assert [(r.run, r.event) for r in data.readings][4:6] == [(0, "cycles"), (1, "task-clock")]
    assert data.runs == (RunInfo(0, end=10_237_826), RunInfo(1, end=845_012_277))


def test_lines_that_are_not_understood_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    noise = "".join(f"hello number {n}\n" for n in range(30))
    path.write_text(noise + (DATA / "perf6-text.txt").read_text())
    data = import_file(path)
    assert len(data.readings) == 5
    assert data.warnings[0] == "line 1 was not understood: hello number 0"
    assert data.warnings[-1] == "10 more lines were not understood"
    assert len(data.warnings) == 21


def test_csv() -> None:
    data = load("perf6-comma.csv")
    ran = 835_791
    assert data.readings == (
        Reading(0, "task-clock", "process", 840_000, ran, ran, COUNTED),
        Reading(0, "page-faults", "process", 75, ran, ran, COUNTED),
        Reading(0, "context-switches", "process", 1, ran, ran, COUNTED),
        Reading(0, "cpu-migrations", "process", 0, ran, ran, COUNTED),
        Reading(0, "cycles", "process", None, 0, 0, NOT_SUPPORTED),
    )
    assert scales(data) == SOFTWARE
    assert data.warnings == ()
    assert data.provenance.imported_from == "perf6-comma.csv (perf stat -x)"
    assert data.provenance.created == "2026-11-16T12:19:02"


@pytest.mark.parametrize("separator", [";", "|", ":", "::", "\t", " | ", "#", "!", "=>", "~"])
def test_csv_with_any_separator(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text((DATA / "perf6-comma.csv").read_text().replace(",", separator))
    assert import_file(path).readings == load("perf6-comma.csv").readings


def test_csv_separated_by_spaces() -> None:
    assert brief(load("perf6-space.csv")) == [
        ("task-clock", "process", 1_170_000, COUNTED),
        ("page-faults", "process", 75, COUNTED),
        ("context-switches", "process", 1, COUNTED),
        ("cpu-migrations", "process", 0, COUNTED),
        ("cycles", "process", None, NOT_SUPPORTED),
    ]


def test_csv_separated_by_colons_keeps_names_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("5::page-faults:u:900:100.00::\n6::sched:sched_switch:900:100.00::\n")
    assert [r.event for r in import_file(path).readings] == ["page-faults:u", "sched:sched_switch"]


def test_csv_of_repeated_runs() -> None:
    data = load("perf6-repeat.csv")
    assert data.readings[0] == Reading(
        0, "task-clock", "process", 830_000, 827_740, 827_740, COUNTED
    )
    assert data.events[1].caveats == ("mean of several runs (+- 0.89%)",)


def test_csv_of_intervals_by_cpu() -> None:
    data = load("perf6-interval-cpus-summary.csv")
    assert len(data.readings) == 20
    assert data.readings[:3] == (
        Reading(10_119_250, "task-clock", "cpu/0", 10_280_000, 10_282_159, 10_282_159, COUNTED),
        Reading(10_119_250, "task-clock", "cpu/1", 10_310_000, 10_309_199, 10_309_199, COUNTED),
        Reading(10_119_250, "page-faults", "cpu/0", 83, 10_284_683, 10_284_683, COUNTED),
    )
    assert data.warnings == ()


def test_csv_of_intervals_with_an_unmarked_summary(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "     0.010000001,70,,page-faults,800,100.00,,\n"
        "     0.020000002,5,,page-faults,100,100.00,,\n"
        "75,,page-faults,900,100.00,,\n"
    )
    data = import_file(path)
    assert [(r.time, r.value) for r in data.readings] == [(10_000_001, 70), (20_000_002, 5)]
    assert data.warnings == ()


def test_csv_by_core_and_cgroup() -> None:
    assert brief(load("perf6-cores.csv"))[1] == ("page-faults", "core/0-0-0", 195, COUNTED)
    assert brief(load("perf6-cores.csv"))[9] == ("cycles", "core/0-0-1", None, NOT_SUPPORTED)
    assert brief(load("perf6-cgroup.csv")) == [
        ("task-clock", "cgroup//", 23_390_000, COUNTED),
        ("page-faults", "cgroup//", 91, COUNTED),
    ]


def test_csv_with_multiplexing_and_oddities() -> None:
    data = load("perf6-multiplexed.csv")
    ran, energy = 1_523_480_122, 1_526_900_117
    assert data.readings == (
        Reading(0, "task-clock", "process", 1_523_480_000, ran, ran, COUNTED),
        Reading(0, "cycles", "process", 4_871_203_554, 1_523_483, 571_611, SCALED),
        Reading(0, "instructions", "process", 9_004_417_820, 1_523_463, 762_341, SCALED),
        Reading(0, "cpu/event=0x3c,umask=0x1/u", "process", 123, ran, ran, COUNTED),
        Reading(0, "LLC-stores", "process", None, 0, 0, NOT_COUNTED),
        Reading(0, "power/energy-pkg/", "process", 4_175, energy, energy, COUNTED),
        Reading(0, "power/energy-ram/", "process", 5, energy, energy, COUNTED),
        Reading(0, "wrapped", "process", None, ran, ran, NOT_COUNTED),
    )
    assert scales(data)["power/energy-pkg/"] == ("Joules", 0.01)
    assert scales(data)["power/energy-ram/"] == ("Joules", 0.1)
    assert data.warnings == (
        "wrapped: the value 18446744073709551615 is out of range and was dropped",
        "line 12 was not understood: Some message that found its way into the file",
    )


def test_csv_in_another_locale() -> None:
    assert load("perf6-german.csv").readings == (
        Reading(0, "task-clock", "process", 1_523_480_000, 1_523_480_122, 1_523_480_122, COUNTED),
        Reading(0, "page-faults", "process", 77, 3_348_307_960, 1_523_480_122, SCALED),
    )


def test_appended_csv_are_runs() -> None:
    data = load("perf6-append.csv")
    assert [(r.run, r.value) for r in data.readings] == [(0, 10), (1, 12)]
    assert data.runs == (RunInfo(0), RunInfo(1))
    assert data.provenance.created == "2024-06-05T17:30:00"


def test_json() -> None:
    data = load("perf6.json")
    ran = 808_631
    assert data.readings == (
        Reading(0, "task-clock", "process", 808_631, ran, ran, COUNTED),
        Reading(0, "page-faults", "process", 75, ran, ran, COUNTED),
        Reading(0, "context-switches", "process", 1, ran, ran, COUNTED),
        Reading(0, "cpu-migrations", "process", 0, ran, ran, COUNTED),
        Reading(0, "cycles", "process", None, 0, 0, NOT_SUPPORTED),
    )
    assert scales(data) == SOFTWARE
    assert data.provenance.imported_from == "perf6.json (perf stat -j)"
    assert data.warnings == ()


def test_json_of_intervals_by_cpu() -> None:
    data = load("perf6-interval-cpus-summary.json")
    assert len(data.readings) == 20
    assert {reading.scope for reading in data.readings} == {"cpu/0", "cpu/1"}
    assert len({reading.time for reading in data.readings}) == 2
    assert data.warnings == ()


def test_json_that_is_not_quite_json() -> None:
    data = load("perf6-quirks.json")
    assert data.readings == (
        Reading(0, "task-clock", "process", 2_500_000, 2_500_000, 2_500_000, COUNTED),
        Reading(0, "cycles", "process", 600, 2_500_000, 1_250_000, SCALED),
        Reading(0, "page-faults", "process", 7, 2_500_000, 2_500_000, COUNTED),
        Reading(0, "power/energy-pkg/", "socket/1", 314, 9, 9, COUNTED),
        Reading(0, "cycles", "thread/4242", None, 0, 0, NOT_COUNTED),
    )
    assert scales(data)["power/energy-pkg/"] == ("Joules", 0.01)
    assert sorted(data.warnings) == [
        "line 10 was not understood: stray words",
        'line 9 was not understood: {"counter-value" : "lots", "event" : "cycles"}',
    ]


def test_scaled_values_are_what_was_printed() -> None:
    for name in ("perf5-multiplexed.txt", "perf6-multiplexed.csv"):
        data = load(name)
        scale = {event.name: event.scale for event in data.events}
        energy = next(r for r in data.readings if r.event == "power/energy-pkg/")
        assert energy.value is not None
        assert energy.value * scale[energy.event] == 41.75


@pytest.mark.parametrize(
    "text",
    [
        "      299,924,490,108,718 line\n",
        "total 24\n   12 files\n   7 folders\n",
        "1,2,three,100,50.0\n",
        "3;;apples;100;100.00;;\n",
    ],
)
def test_text_without_a_known_event_is_not_imported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.txt"
    path.write_text(text)
    with pytest.raises(RecordingError, match="no reading that could be understood"):
        import_file(path)


def test_what_a_program_printed_between_perfs_lines_is_named_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("1,024 lines\n" + (DATA / "perf6-text.txt").read_text() + "7 done\n")
    data = import_file(path)
    assert [reading.event for reading in data.readings] == [
        reading.event for reading in load("perf6-text.txt").readings
    ]
    assert [text for text in data.warnings if "not understood" in text] == [
        "line 1 was not understood: 1,024 lines",
        f"line {len(path.read_text().splitlines())} was not understood: 7 done",
    ]
