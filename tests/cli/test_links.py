"""`gnomon links`: topologies, experiments and load, on simulated machines and on this host."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from tests.stress.processes import children, gone

from gnomon.stress.nodes import read_nodes

from .running import (
    ENVELOPE,
    Run,
    as_program,
    command_line,
    environment,
    one_sentence,
)

ON = ("--on", "haswell-ex-4s")
NODE = read_nodes().with_memory[0].number
LOCAL = f"{NODE}-{NODE}"
QUICK = ("--size", "8MiB", "--time", "10ms")


def test_nodes_of_this_host_are_shown(gnomon: Run) -> None:
    outcome = gnomon("links")
    assert outcome.code == 0
    assert f"node {NODE}" in outcome.out
    content = gnomon("links", "--json").json
    assert set(content) == ENVELOPE
    assert content["simulated"] is False
    assert content["results"]["nodes"][0]["number"] == NODE
    assert content["results"]["measured"] is None


def test_one_node_says_what_still_works(gnomon: Run) -> None:
    shown = gnomon("links", "--on", "laptop").out
    assert "One node has no links" in shown
    assert "`gnomon links --on laptop saturate 0-0`" in shown
    assert gnomon("links", "--on", "laptop", "saturate", "0-0", "--most", "2").code == 0
    for words in (("crosstalk",), ("idle-busy",), ("emulate", "ring")):
        outcome = gnomon("links", "--on", "laptop", *words)
        assert outcome.code == 2
        assert one_sentence(outcome.err)
        assert f"laptop has one NUMA node, and {words[0]} needs two" in outcome.err


def test_this_host_is_measured(gnomon: Run) -> None:
    measured = gnomon("links", "--measure", "--json", *QUICK).json["results"]["measured"]
    assert all(value > 0 for row in measured["latency_ns"] for value in row if value is not None)
    assert all(value > 0 for row in measured["gb_per_s"] for value in row if value is not None)


def test_a_simulated_topology_is_drawn_and_labelled(gnomon: Run) -> None:
    outcome = gnomon("links", "--on", "ring-4", "--measure")
    assert outcome.out.startswith("SIMULATED ring-4: 4 nodes, ring\n")
    assert "✓ Reported and measured values agree." in outcome.out
    content = gnomon("links", "--on", "ring-4", "--json").json
    assert content["simulated"] is True
    ends = [link["ends"] for link in content["results"]["reported_links"]]
    assert sorted(map(sorted, ends)) == [[0, 1], [0, 3], [1, 2], [2, 3]]
    adjacency = content["results"]["adjacency"]
    assert adjacency["latency_ns"][0] == [30, 70, None, 70]
    assert adjacency["gb_per_s"][0] == [45, 15, None, 15]


def test_experiments_speak_json(gnomon: Run) -> None:
    reads = ("--stream", "read", "--json")
    found = gnomon("links", *ON, "saturate", "0-1", "--most", "4", *reads).json["results"]
    assert found["kind"] == "links-experiment"
    found = found["saturation"]
    assert found["channel"] == [0, 1]
    assert found["at"] == 3
    assert [step["count"] for step in found["steps"]] == [1, 2, 3, 4]
    found = gnomon("links", *ON, "crosstalk", "0-1", "--most", "4", *reads).json["results"]
    found = found["crosstalk"]
    assert found["monotone"] is True
    assert found["drop"]["interval"][1] < 0
    found = gnomon("links", *ON, "idle-busy", "0-1", "--repeat", "2", *reads).json["results"]
    assert len(found["idle_busy"]["idle"]) == len(found["idle_busy"]["busy"]) == 2


def test_the_same_seed_gives_the_same_output(gnomon: Run) -> None:
    words = ("links", *ON, "saturate", "1-2", "--most", "2", "--seed", "7")
    assert gnomon(*words).out == gnomon(*words).out


def test_a_workload_runs_on_what_emulation_leaves(gnomon: Run) -> None:
    words = ("emulate", "ring", "--most", "2", "--json", "--")
    workload = ("workload:triad", "size=64KiB", "placement=bind:2")
    results = gnomon("links", *ON, *words, *workload).json["results"]
    channels = results["emulation"]["channels"]
    missing = [row["channel"] for row in channels if not row["linked"]]
    assert missing == [[0, 2], [1, 3], [2, 0], [3, 1]]
    assert [load["channel"] for load in results["loads"]] == missing
    assert all(load["reached"] > 0 for load in results["loads"])
    assert results["run"]["seconds"] > results["run"]["alone"]


def test_a_program_runs_beside_load_and_its_status_is_kept(gnomon: Run) -> None:
    words = ("--", "sh", "-c", "echo from the program; exit 7")
    outcome = gnomon("links", "--load", f"{LOCAL}:50%", *QUICK, *words)
    assert outcome.code == 7
    assert "share of capacity" in outcome.out
    assert "from the program" in outcome.out
    outcome = gnomon("links", "--json", "--load", f"{LOCAL}:1", *QUICK, *words)
    assert outcome.json["results"]["run"]["exit_status"] == 7
    assert outcome.json["results"]["loads"][0]["plateau"] is None
    assert "from the program" in outcome.err


def test_a_program_that_cannot_start_is_refused_before_any_load(gnomon: Run) -> None:
    # The size could not be had: that it is not complained of shows that nothing was loaded.
    outcome = gnomon("links", "--load", LOCAL, "--size", "64TiB", "--", "./absent")
    assert outcome.code == 127
    assert one_sentence(outcome.err)
    assert "cannot run './absent'" in outcome.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--load", "0-0:0%", "--", "true"), "a share is above 0 and at most 100 %"),
        (("--load", "0-0:many", "--", "true"), "neither a share such as 80% nor a number"),
        (("--load", "0-0:21", "--", "true"), "a channel takes 0 to 20"),
        (("--load", "north", "--", "true"), "'north' is not a channel"),
        (("--load", "0-0"), "give one after --"),
        (("--", "true"), "say which, as in --load 0-1:80%"),
        (("saturate", "0-999"), "there is no NUMA node 999"),
        (("saturate", "0-0", "--most", "0"), "a channel takes 1 to 20"),
        (("--measure", "--most", "21"), "a channel takes 1 to 20"),
        (("saturate", "0-0", "--repeat", "0"), "--repeat must be at least 1"),
        (("saturate", "0-0", "--size", "1KiB"), "too short to measure"),
        (("saturate", "0-0", "--time", "soon"), "is not a duration"),
        (("saturate", "0-0", "--measure"), "--measure is for showing the topology"),
        (("emulate",), "name the topology to emulate"),
        (("--seed", "3"), "name one with --on"),
        (("--most", "3"), "--most is for --measure"),
        (("idle-busy", "--most", "3"), "no --most"),
        (("--measure", "--repeat", "3"), "--repeat is for saturate"),
        (("--stream", "read"), "add --measure"),
        (("--on", "ring-4", "--load", "0-1", "--", "ls"), "a workload is written workload:NAME"),
        (("live", "0-0"), "live takes no channel"),
        (("live", "--on", "nowhere"), "no source or machine 'nowhere'"),
        (("--on", "ring-4", "emulate", "rink"), "'rink' is not a topology"),
        (("--on", "ring-4", "emulate", "full"), "it has no link 0-2, 1-3"),
    ],
)
def test_bad_requests_get_one_sentence(gnomon: Run, words: tuple[str, ...], complaint: str) -> None:
    outcome = gnomon("links", *words)
    assert outcome.code == 2
    assert complaint in outcome.err
    assert one_sentence(outcome.err)


def test_a_report_is_written_once(gnomon: Run, folder: Path) -> None:
    words = ("links", "--on", "ring-4", "--measure", "--html", "links.html")
    assert gnomon(*words).code == 0
    page = (folder / "links.html").read_text()
    assert "ring-4: 4 nodes, ring" in page
    assert "SIMULATED" in page
    assert 'class="graph"' in page
    assert one_sentence(gnomon(*words).err)
    assert gnomon(*words, "--force").code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("saturate", "0-1", "--most", "2", "--repeat", "1"), "0-&gt;1 is not saturated by 2"),
        (("crosstalk", "0-1", "--most", "1", "--repeat", "1"), "while 1-&gt;0 is loaded"),
        (("idle-busy", "0-1", "--repeat", "1"), "0-&gt;1 with"),
        (("emulate", "ring", "--most", "1"), "Bandwidth of one more generator on each channel"),
        (
            ("--load", "0-1:1", "--", "workload:triad", "size=64KiB", "placement=bind:1"),
            "during the run",
        ),
    ],
)
def test_experiments_are_reported_with_a_drawing(
    gnomon: Run, folder: Path, words: tuple[str, ...], sentence: str
) -> None:
    outcome = gnomon("links", *ON, "--html", "page.html", *words)
    assert outcome.code == 0
    page = (folder / "page.html").read_text()
    assert "SIMULATED" in page
    assert sentence in page
    assert ('class="plot"' in page) is (words[0] != "--load")


def test_a_report_says_where_its_numbers_come_from(gnomon: Run, folder: Path) -> None:
    words = ("links", "--on", "ring-4", "--seed", "7", "saturate", "--most", "2", "--repeat", "1")
    shown = gnomon(*words, "--stream", "copy", "--html", "page.html")
    assert shown.out.startswith("SIMULATED ring-4: saturating 0->1; generators: copy\n")
    page = (folder / "page.html").read_text()
    facts = dict(re.findall(r"<dt>([^<]*)</dt><dd[^>]*>([^<]*)</dd>", page))
    assert (facts["machine"], facts["source"]) == ("ring-4", "ring-4 (simulated)")
    assert (facts["settings"], facts["seed"]) == ("generators=copy", "7")
    assert "recorded" in facts


@pytest.mark.parametrize(
    "words",
    [("--html", "page.html"), ("--json",), ("--csv",), ("--most", "3"), ("--load", "0-1")],
)
def test_a_screen_is_no_report(gnomon: Run, words: tuple[str, ...]) -> None:
    outcome = gnomon("links", "live", *words)
    assert outcome.code == 2
    assert one_sentence(outcome.err)
    assert f"interactive screen and takes no such option: omit {words[0]}" in outcome.err


def test_tables_are_files_for_other_programs(gnomon: Run) -> None:
    out = gnomon("links", "--on", "ring-4", "--measure", "--csv").out
    latency = out.partition("# latency\n")[2].splitlines()
    assert latency[:2] == ["node,0 [ns],1 [ns],2 [ns],3 [ns]", "0,50.0,120.0,190.0,120.0"]


def test_what_was_saved_is_shown_as_the_command_shows_it(gnomon: Run, folder: Path) -> None:
    words = ("links", "--on", "ring-4", "--measure")
    (folder / "links.json").write_text(gnomon(*words, "--json").out)
    assert gnomon("show", "links.json").out == gnomon(*words).out


def test_a_reader_that_goes_away_is_no_error() -> None:
    words = " ".join(command_line("links", "--on", "ring-4"))
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {words} | head -1"],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert "Traceback" not in done.stderr


def test_a_screen_needs_a_terminal_or_says_so() -> None:
    outcome = as_program("links", "live", "--on", "ring-4", stdin=subprocess.DEVNULL)
    assert outcome.code == 2
    assert outcome.err == ("gnomon: live needs a terminal: run it in one.\n")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGKILL, -9), (signal.SIGTERM, None), (signal.SIGINT, 130)]
)
def test_no_generator_outlives_the_command(number: signal.Signals, code: int | None) -> None:
    words = ("links", "--load", f"{LOCAL}:2", *QUICK, "--", "sh", "-c", "echo ready; sleep 600")
    with subprocess.Popen(
        command_line(*words),
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        while process.stdout.readline() not in ("ready\n", ""):
            pass
        every = children(process.pid)
        load = {pid for pid in every if "gnomon.stress.generator" in _command(pid)}
        assert len(load) == 2
        process.send_signal(number)
        process.stdout.close()
        process.wait(120)
        assert gone(load)
        for pid in every - load:  # the program, which nobody may end with kill -9 but we
            _end(pid)
    if code is not None:
        assert process.returncode == code


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def _end(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
