"""`--on MACHINE`: counting, recording, sampling and listing on simulated machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon import machines as descriptions
from gnomon.machines.description import machine_names
from gnomon.machines.workloads import build, workload_names
from gnomon.recording import Recording

from .running import ENVELOPE, Run, one_sentence

INSTRUCTIONS = ("instructions", "Instr_cnt", "INST_RETIRED", "Ir")
SMALL = {
    **dict.fromkeys(("copy", "triad", "chase", "string-sort"), ("size=8KB",)),
    **dict.fromkeys(("random", "zipf"), ("size=64KB", "accesses=300")),
    "assignment": ("size=6",),
    "bfs": ("size=64",),
    "false-sharing": ("iterations=50",),
    "fft": ("size=64",),
    "hot-table": ("size=8KB", "accesses=50"),
    "matmul": ("size=16", "block=8"),
    "matrix-update": ("size=10",),
    "parallel-sort": ("size=200",),
    "producer-consumer": ("iterations=5",),
    "pyramid": ("size=8", "width=32", "features=2"),
    "radix": ("size=256",),
    "ramp-compute": ("size=64KB", "iterations=200"),
    "relay": ("size=8KB",),
    "spmv": ("size=60",),
    "strided-sum": ("size=32",),
    "vector-update": ("size=50",),
}
UPDATE = ("workload:matrix-update", "size=20")
FP = 20 * 20 * 3


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_counts_are_exact_and_labelled_simulated(gnomon: Run) -> None:
    words = ("count", "--on", "niagara2", "-e", "Instr_FGU_arithmetic")
    outcome = gnomon(*words, "--", *UPDATE)
    assert outcome.code == 0
    assert outcome.out.startswith("SIMULATED workload:matrix-update size=20: counted by niagara2")
    assert f"{FP:,}" in outcome.out
    assert "of simulated time elapsed" in outcome.out
    content = gnomon(*words, "--json", "--", *UPDATE).json
    assert set(content) == ENVELOPE
    assert (content["source"], content["simulated"]) == ("niagara2", True)
    assert content["results"]["counts"][0]["value"] == FP


def test_the_same_seed_counts_the_same_and_times_are_the_machines(gnomon: Run) -> None:
    words = ("count", "--on", "laptop", "--seed", "5", "--", "workload:random", "size=64KiB")
    assert gnomon(*words).out == gnomon(*words).out


def test_each_thread_has_a_line_where_it_is_bound(gnomon: Run) -> None:
    outcome = gnomon(
        *("count", "--on", "niagara2", "-e", "Instr_FGU_arithmetic", "--per-scope", "--json"),
        *("--", *UPDATE, "threads=2", "cpus=0,8"),
    )
    rows = outcome.json["results"]["counts"]
    assert [(row["scope"], row["value"]) for row in rows] == [("thread/0", FP), ("thread/1", FP)]


def test_portable_names_have_the_profile_that_is_asked_for(gnomon: Run) -> None:
    def branches(profile: str) -> int:
        outcome = gnomon(
            *("count", "--on", "niagara2", "-e", "PAPI_BR_CN", "--preset-profile", profile),
            *("--json", "--", *UPDATE),
        )
        value = outcome.json["results"]["counts"][0]["value"]
        assert isinstance(value, int)
        return value

    # The published table adds taken branches to all branches.
    assert branches("thesis") > branches("corrected")


def test_events_that_never_had_their_turn_are_named(gnomon: Run) -> None:
    outcome = gnomon("count", "--on", "niagara2", "-e", "Instr_ld,Instr_st,DC_miss", "--", *UPDATE)
    assert "warning: DC_miss never got a counter: events take turns of 10 ms" in outcome.err
    assert "not-counted" in outcome.out
    enough = gnomon("count", "--on", "niagara2", "-e", "Instr_ld,Instr_st", "--", *UPDATE)
    assert "turn" not in enough.err


def test_metrics_know_the_machine_and_are_shown_only_with_a_value(gnomon: Run) -> None:
    events = "instructions,cycles,L1-dcache-loads,LLC-loads,LLC-stores,l2-load-misses,cache-misses"
    words = ("count", "--on", "laptop", "-e", events)
    outcome = gnomon(*words, "--", "workload:triad", "size=64KB")
    assert "cache-misses never got a counter" in outcome.err
    assert "Instructions per cycle" in outcome.out
    assert "was not counted" not in outcome.out
    few = gnomon("count", "--on", "laptop", "-e", "instructions,cache-misses", "-m", "all",
                 "--json", "--", "workload:triad", "size=64KB")  # fmt: skip
    rows = {row["name"]: row["value"] for row in few.json["results"]["metrics"]} | {
        row["event"]: row["value"] for row in few.json["results"]["counts"]
    }
    [bytes_read] = [
        value for name, value in rows.items() if "volume" in name or "Data from" in name
    ]
    assert bytes_read == pytest.approx(rows["cache-misses"] * 64 / 1e6)


def test_a_recording_is_labelled_simulated(gnomon: Run) -> None:
    outcome = gnomon("count", "--on", "niagara2", "-i", "1us", "-o", "--", *UPDATE)
    assert outcome.code == 0
    with Recording.open("matrix-update.gnomon") as recording:
        origin = recording.provenance
        assert (origin.simulated, origin.machine, origin.seed) == (True, "niagara2", 1)
        assert (origin.clock, origin.interval) == ("simulated", 1000)
    assert "SIMULATED" in gnomon("show", "matrix-update.gnomon").out


def test_a_profile_names_statements_and_says_simulated(gnomon: Run) -> None:
    words = ("profile", "--on", "niagara2", "-e", "Instr_FGU_arithmetic", "-c", "100")
    outcome = gnomon(*words, "--", *UPDATE)
    assert outcome.out.startswith("SIMULATED ")
    assert "on niagara2" in outcome.out
    assert "update element" in outcome.out
    content = gnomon(*words, "--json", "--", *UPDATE).json
    assert (content["source"], content["simulated"]) == ("niagara2", True)


def test_events_of_a_machine_are_listed_and_looked_up(gnomon: Run) -> None:
    listing = gnomon("events", "--on", "niagara2")
    assert listing.out.startswith("SIMULATED 42 events of niagara2")
    content = gnomon("events", "--on", "niagara2", "--json").json
    assert content["simulated"] is True
    assert len(content["results"]["rows"]) == 42
    assert "read " in gnomon("events", "--on", "niagara2", "DC_miss").out
    presets = gnomon("events", "--on", "niagara2", "--presets", "--available")
    assert "24 of 24" in presets.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("count", "--on", "laptpo", "--", *UPDATE), "laptop"),
        (("count", "--on", "laptop", "--", "workload:traid"), "triad"),
        (("count", "--on", "laptop", "--", *UPDATE, "sise=3"), "size"),
        (("count", "--on", "laptop", "--", *UPDATE, "cpus=99"), "16 threads"),
        (("count", "--on", "laptop", "--", *UPDATE, "cpus=0-3"), "names 4"),
        (("count", "--on", "laptop", "--seed", "-1", "--", *UPDATE), "not -1"),
        (("count", "--seed", "3", "--", "true"), "--on"),
        (("count", "-o", "--preset-profile", "x", "--", "true"), "--on"),
        (("count", "--on", "laptop,host", "--", *UPDATE), "one can be measured"),
        (("count", "--source", "perf", "--", *UPDATE), "--on"),
        (("survey", "--no-valgrind", "--", *UPDATE), "--on host"),
        (("latency", "--remote", "x:1", "--", *UPDATE), "--on probe:HOST:PORT"),
        (("count", "--on", "perf", "--", *UPDATE), "--on host"),
        (("count", "--on", "laptop", "-p", "1"), "give it a command"),
        (("count", "--on", "laptop", "-a", "-d", "1s"), "give it a command"),
        (("count", "--on", "niagara2", "-e", "DC_mis", "--", *UPDATE), "DC_miss"),
        (("profile", "--on", "nigara2", "--", *UPDATE), "niagara2"),
        (("events", "--on", "niagara2", "--cpu", "ICX"), "--cpu"),
        (("events", "--on", "niagara2", "--from", "x"), "--from"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    gnomon: Run, words: tuple[str, ...], said: str
) -> None:
    outcome = gnomon(*words)
    assert outcome.code == 2
    assert one_sentence(outcome.err), outcome.err
    assert said in outcome.err
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("machine", machine_names())
def test_every_machine_runs_workloads_and_counts_their_instructions(
    gnomon: Run, machine: str
) -> None:
    for name, *words in (
        ("triad", "size=8KB", "threads=1"),
        ("matmul", "size=16", "block=8"),
        ("fft", "size=64", "threads=2"),
    ):
        exact = build(name, dict(word.split("=") for word in words)).exact["instructions"]
        outcome = gnomon("count", "--on", machine, "--json", "--", f"workload:{name}", *words)
        assert outcome.json["warnings"] == []
        assert outcome.json["simulated"] is True
        values = {row["event"]: row["value"] for row in outcome.json["results"]["counts"]}
        assert None not in values.values()
        counted = [values[name] for name in INSTRUCTIONS if name in values]
        assert counted == [exact]
    assert gnomon("sim", "show", machine).out.startswith(f"SIMULATED machine {machine}: ")


@pytest.mark.parametrize("name", workload_names())
@pytest.mark.parametrize("machine", ["laptop", "niagara2"])
def test_every_workload_runs_with_small_parameters(gnomon: Run, machine: str, name: str) -> None:
    outcome = gnomon("count", "--on", machine, "--", f"workload:{name}", *SMALL.get(name, ()))
    assert outcome.code == 0
    assert outcome.out.startswith(f"SIMULATED workload:{name}")
    assert outcome.err == ""


RING = Path(descriptions.__file__).parent / "descriptions" / "ring-4.toml"
PMU = """title = "few"
default_events = ["cycles"]
[counters]
general = 2
width = 32
[events.cycles]
description = "cycles"
counts = ["cyclse"]
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("ways = 8", "ways = 7", "own.toml:20: l1d.ways: 7 ways of 64-byte lines do not divide"),
        ("line = 64", "line = 48", "own.toml:21: l1d.line: must be a power of two"),
        ('topology = "ring"', "pairs = [[0, 1], [2, 3]]", "links: node 2 cannot be reached"),
        ('title = "', 'pmu = "few.toml"\ntitle = "', "few.toml:8: events.cycles.counts: a thread"),
        (
            "[core]",
            "[core]\nclok_ghz = 2",
            "own.toml:11: core.clok_ghz: is not a known key: did you",
        ),
        ("[core]", "[core", "own.toml:10: is not valid TOML"),
    ],
)
def test_a_mistake_in_a_machine_file_is_named_by_file_line_and_key(
    gnomon: Run, old: str, new: str, said: str
) -> None:
    text = RING.read_text()
    assert old in text
    Path("own.toml").write_text(text.replace(old, new, 1))
    Path("few.toml").write_text(PMU)
    for words in (("count", "--on", "own.toml", "--", *UPDATE), ("sim", "show", "own.toml")):
        outcome = gnomon(*words)
        assert (outcome.code, outcome.out) == (2, "")
        assert one_sentence(outcome.err), outcome.err
        assert said in outcome.err


def test_programs_that_cannot_be_traced_are_named(gnomon: Run) -> None:
    foreign = bytearray(Path("/bin/true").resolve().read_bytes())
    foreign[18:20] = (8).to_bytes(2, "little")  # MIPS
    for name, content, code, said in (
        ("script", b"#!/bin/sh\ntrue\n", 2, "'script' is a script"),
        ("text", b"true\n", 2, "'text' is not a program in the ELF format"),
        ("nothing", b"", 2, "'nothing' is not a program in the ELF format"),
        ("foreign", bytes(foreign), 2, "'foreign' is a program for another architecture"),
        ("missing", None, 127, "there is no such file"),
    ):
        if content is not None:
            Path(name).write_bytes(content)
            Path(name).chmod(0o755)
        outcome = gnomon("count", "--on", "laptop", "--", f"./{name}")
        assert (outcome.code, outcome.out) == (code, ""), name
        assert one_sentence(outcome.err), outcome.err
        assert said in outcome.err


def test_no_event_that_fits_a_pattern_has_the_nearest_one(gnomon: Run) -> None:
    outcome = gnomon("events", "--on", "niagara2", "DC_mizz")
    assert outcome.code == 1
    assert "DC_miss" in outcome.err


def test_two_workloads_are_compared(gnomon: Run) -> None:
    rows = ("workload:strided-sum", "size=128")
    content = gnomon(
        *("compare", "--on", "laptop", "-r", "5", "-e", "cycles,instructions", "--json"),
        *("--", *rows, "--", *rows, "order=column"),
    ).json
    assert content["simulated"]
    found = {row["event"]: row for row in content["results"]["rows"]}
    assert found["instructions"]["ratio"] == 1
    assert found["cycles"]["ratio"] > 1


def test_growth_with_a_parameter_of_a_workload_is_found(gnomon: Run) -> None:
    content = gnomon(
        *(
            "scale",
            "--on",
            "laptop",
            "--param",
            "n=16,32,64,96,128",
            "-e",
            "instructions",
            "--json",
        ),
        *("--", "workload:strided-sum", "size={n}"),
    ).json
    assert content["simulated"]
    assert content["results"]["rows"][0]["growth"] == "quadratic"


def test_phases_of_a_workload_are_found_in_simulated_time(gnomon: Run) -> None:
    content = gnomon("phases", "--on", "laptop", "--json", "--", "workload:ramp-compute").json
    assert content["simulated"]
    assert len(content["results"]["phases"]) == 2


@pytest.mark.parametrize("command", ["compare", "scale", "phases"])
def test_a_machine_is_for_something_to_run(gnomon: Run, command: str) -> None:
    outcome = gnomon(command, "--on", "laptop", "a.gnomon", *["b.gnomon"] * (command == "compare"))
    assert outcome.code == 2
    assert one_sentence(outcome.err)
    assert "--on" in outcome.err
