"""`gnomon latency` and `gnomon latency probe` as users run them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.sources.perf.source import PerfSource

from .running import ENVELOPE, Run, one_sentence

FAR = ("workload:random", "dependent=yes", "accesses=20000", "placement=interleave", "cpus=0")
FEW = ("--edges", "3,10,100,200,300,400")


def test_the_histogram_of_a_simulated_machine(gnomon: Run) -> None:
    shown = gnomon("latency", "--on", "ring-4", *FEW, "--", *FAR)
    assert shown.code == 0
    assert shown.out.startswith("SIMULATED workload:random")
    assert "not measured: loads below 3 cycles" in shown.out
    assert "shadow" in shown.out
    assert "95 % interval" in shown.out


def test_peaks_have_the_names_of_measured_latencies(gnomon: Run) -> None:
    shown = gnomon("latency", "--on", "ring-4", "--samples", "--", *FAR)
    for name in ("local memory", "memory one hop away", "memory two hops away", "served by"):
        assert name in shown.out
    assert "394 cycles" in shown.out


def test_json_has_everything(gnomon: Run) -> None:
    content = gnomon("latency", "--on", "ring-4", "--json", *FEW, "--", *FAR).json
    assert set(content) == ENVELOPE
    assert content["simulated"] is True
    results = content["results"]
    assert results["mode"] == "thresholds"
    assert len(results["bins"]) == len(results["edges"]) == 6
    assert results["bins"][-1]["high"] is None
    one = results["bins"][1]
    assert one["cost"] == pytest.approx(one["monotone"] * 55)
    assert results["kind"] == "latency"
    assert results["latencies"][0] == {"name": "L1", "cycles": pytest.approx(6)}
    assert results["not_seen"]


def test_cost_is_shown_in_cycles(gnomon: Run) -> None:
    shown = gnomon("latency", "--on", "ring-4", "--cost", *FEW, "--", *FAR)
    assert "cycles spent" in shown.out


def test_latencies_of_a_file_name_peaks(gnomon: Run, folder: Path) -> None:
    (folder / "own.json").write_text(json.dumps({"the far end": 395}))
    shown = gnomon("latency", "--on", "ring-4", "--latencies", "own.json", "--", *FAR)
    assert "the far end" in shown.out
    assert "one_sentence" not in shown.out
    (folder / "own.json").write_text("[]")
    refused = gnomon("latency", "--on", "ring-4", "--latencies", "own.json", "--", *FAR)
    assert refused.code == 2
    assert one_sentence(refused.err)


def test_what_gnomon_memory_writes_names_peaks(gnomon: Run, folder: Path) -> None:
    probing = ("curve", "--to", "64KiB", "--points", "1", "--pages", "small")
    assert gnomon("memory", *probing, "-o", "here.json").code == 0
    words = ("--on", "ring-4", "--json", "--latencies", "here.json", *FEW, "--", *FAR)
    named = gnomon("latency", *words).json["results"]["latencies"]
    assert min(each["cycles"] for each in named) > 0
    assert (folder / "here.json").exists()
    bare = ("bandwidth", "--time", "1ms", "--array", "1MiB", "--threads", "1")
    assert gnomon("memory", *bare, "-o", "bare.json").code == 0
    refused = gnomon("latency", "--on", "ring-4", "--latencies", "bare.json", *FEW, "--", *FAR)
    assert refused.code == 2
    assert "'bare.json' has no latencies" in refused.err


def test_a_recording_is_shown_again_and_reported(gnomon: Run, folder: Path) -> None:
    made = gnomon(
        "latency",
        "--on",
        "ring-4",
        *FEW,
        "-o",
        "run",
        "--",
        *FAR,
    )
    assert "gnomon latency run.gnomon" in made.out
    again = gnomon("latency", "run", "--html", "page.html")
    assert again.out.splitlines()[:9] == made.out.splitlines()[:9]
    page = (folder / "page.html").read_text()
    assert "Latency peaks" in page
    assert "SIMULATED" in page
    assert gnomon("report", "run", "--output", "other.html").code == 0
    assert "Latency peaks" in (folder / "other.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--edges", "10,5", "--on", "ring-4", "--", "workload:chase"), "do not ascend"),
        (("--edges", "", "--on", "ring-4", "--", "workload:chase"), "two edges or more"),
        (("--edges", "2,5", "--on", "ring-4", "--", "workload:chase"), "below 3"),
        (("--on", "niagara2", "--", "workload:chase"), "ring-4"),
        (("--period", "0", "--on", "ring-4", "--", "workload:chase"), "period"),
        ((), "nothing to measure"),
        (("-a", "-p", "1"), "choose one"),
        (("--on", "probe:x:y", "-d", "1s"), "not an address"),
        (("--on", "probe:localhost:1", "--samples", "-d", "1s"), "omit --samples"),
        (("--on", "probe:localhost:1", "-p", "3", "-d", "1s"), "the probe decides"),
        (("rec", "--on", "ring-4"), "not measured again"),
        (("--on", "ring-4", "-a", "-d", "1s"), "runs nothing by itself"),
        (("--seed", "-1", "--on", "ring-4", "--", "workload:chase"), "seed"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    gnomon: Run, folder: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    refused = gnomon("latency", *arguments)
    assert refused.code == 2 or "niagara2" in arguments
    assert one_sentence(refused.err)
    assert complaint in refused.err


def test_a_host_without_the_facility_says_what_it_would_take(gnomon: Run) -> None:
    pmus = PerfSource().catalogue.pmus
    if any(name.startswith(("cpu", "ibs", "arm_spe")) for name in pmus):
        pytest.skip("this host may have the facility")
    for arguments in (("--", "true"), ("-p", "1"), ("-a", "-d", "1s"), ("--samples", "--", "true")):
        refused = gnomon("latency", *arguments)
        assert refused.code == 1
        assert one_sentence(refused.err)
        assert "--on ring-4" in refused.err


def test_a_probe_is_listened_to(gnomon: Run, folder: Path) -> None:
    (folder / "token").write_text("a token that nobody guesses")
    (folder / "other").write_text("a token that nobody shares")
    written = gnomon("latency", "probe", "--print")
    (folder / "probe.py").write_text(written.out)
    command = [sys.executable, "probe.py", "--simulate", "--port", "0", "--token-file", "token"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1]
            words = ("latency", "--on", f"probe:{address}", "-d", "3s", "-i", "2ms", *FEW)
            shown = gnomon(*words, "--token-file", "token", "-o", "far")
            assert shown.code == 0
            assert shown.out.startswith("SIMULATED made-up loads")
            wrong = gnomon(*words, "--token-file", "other")
            assert wrong.code == 1
            assert one_sentence(wrong.err)
            assert "the token is wrong" in wrong.err
        finally:
            process.terminate()
    again = gnomon("latency", "far", "--json").json
    assert again["source"] == "probe"
    assert again["simulated"] is True
    gone = gnomon(*words, "--token-file", "token")
    assert gone.code == 1
    assert one_sentence(gone.err)


def test_the_old_name_of_the_probe_answers_with_the_new_one(gnomon: Run) -> None:
    refused = gnomon("probe", "--simulate")
    assert refused.code == 2
    assert "`gnomon probe` is now `gnomon latency probe`" in refused.err


@pytest.mark.parametrize(
    "arguments", [("probe", "--samples"), ("probe", "-d", "1s"), ("--port", "1", "--", "true")]
)
def test_options_of_probe_and_viewer_are_kept_apart(
    gnomon: Run, arguments: tuple[str, ...]
) -> None:
    refused = gnomon("latency", *arguments)
    assert refused.code == 2
    assert "gnomon latency probe" in refused.err
    assert one_sentence(refused.err)


def test_a_probe_needs_a_token(gnomon: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GNOMON_PROBE_TOKEN", raising=False)
    refused = gnomon("latency", "probe", "--simulate")
    assert refused.code == 2
    assert one_sentence(refused.err)
    assert "token" in refused.err


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("--port", "99999", "--simulate"), 2, "no port 99999"),
        (("--simulate", "-p", "1"), 2, "choose one"),
        (("--token-file", "bytes", "--simulate"), 2, "is not text"),
        (("-p", "99999999"), 1, "there is no process 99999999"),
        (("--bind", "192.0.2.1", "--simulate"), 1, "cannot listen on 192.0.2.1"),
    ],
)
def test_a_probe_that_cannot_start_says_why(
    gnomon: Run,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    complaint: str,
) -> None:
    monkeypatch.setenv("GNOMON_PROBE_TOKEN", "a token that nobody guesses")
    (folder / "bytes").write_bytes(bytes(range(256)))
    refused = gnomon("latency", "probe", *arguments)
    assert refused.code == code
    assert one_sentence(refused.err)
    assert complaint in refused.err


def test_peaks_without_a_name_are_named_by_what_answered(gnomon: Run, folder: Path) -> None:
    (folder / "own.json").write_text(json.dumps({"elsewhere": 60_000}))
    words = ("--on", "ring-4", "--samples", "--latencies", "own.json", "--", *FAR)
    assert "loads from memory two hops away" in gnomon("latency", *words).out
