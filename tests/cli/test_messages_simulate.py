"""`gnomon messages simulate`: clusters beside each other, reports, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from .running import ENVELOPE, Run, one_sentence

_CLUSTER = """
title = "Two nodes over a slow wire"
waiting = "poll"
latency = 5000.0
"""


def test_without_a_program_all_are_listed(gnomon: Run) -> None:
    outcome = gnomon("messages", "simulate")
    assert outcome.code == 0
    for word in ("ping-pong", "key-value", "parameter-server", "dirt", "uln", "kernel-nic"):
        assert word in outcome.out
    listed = gnomon("messages", "simulate", "--json").json["results"]
    [ping] = [each for each in listed["programs"] if each["name"] == "ping-pong"]
    assert ping["parameters"] == {"rounds": 1000, "size": 38, "waiting": "sleep"}
    assert {each["name"] for each in listed["clusters"]} >= {"uln", "polling"}


def test_clusters_stand_beside_each_other(gnomon: Run) -> None:
    outcome = gnomon("messages", "simulate", "ping-pong", "rounds=10", "--json")
    content = outcome.json
    assert set(content) == ENVELOPE
    assert content["simulated"] is True
    trips = {
        each["name"]: each["timed"]["round trip"]["mean"] for each in content["results"]["clusters"]
    }
    assert trips == {"kernel-nic": 6896, "user-nic": 2896, "polling": 901, "uln": 916}


def test_the_same_seed_gives_the_same_bytes(gnomon: Run) -> None:
    words = ("messages", "simulate", "key-value", "requests=20", "--on", "uln", "--json")
    assert gnomon(*words).out == gnomon(*words).out
    assert gnomon(*words).out != gnomon(*words, "--seed", "2").out


def test_a_timeline_names_messages_and_nodes(gnomon: Run) -> None:
    words = ("messages", "simulate", "ping-pong", "rounds=1", "--on", "uln", "--timeline", "5")
    assert "SIMULATED" in gnomon(*words).out
    [cluster] = gnomon(*words, "--json").json["results"]["clusters"]
    marks = cluster["timeline"]["marks"]
    assert len(marks) == 5
    steps = [(s["time"], s["what"], s["node"], s["message"]) for s in marks]
    assert steps[:3] == [(26, "sent", 0, 1), (345, "arrives", 1, 1), (423, "delivered", 1, 1)]


def test_a_report_has_bars_and_messages(gnomon: Run, tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    words = ("messages", "simulate", "ping-pong", "rounds=2", "--html", str(page))
    outcome = gnomon(*words)
    assert outcome.code == 0
    assert "arrives" not in outcome.out  # it is drawn, not listed
    text = page.read_text()
    for cluster in ("kernel-nic", "user-nic", "polling", "uln"):
        assert f"The first messages on {cluster}" in text
    assert "How many times as fast as on kernel-nic the program runs" in text
    assert "SIMULATED" in text
    again = gnomon(*words)
    assert again.code == 2
    assert "already exists" in again.err


def test_a_cluster_of_ones_own(gnomon: Run, tmp_path: Path) -> None:
    file = tmp_path / "slow.toml"
    file.write_text(_CLUSTER)
    words = ("messages", "simulate", "ping-pong", "rounds=1", "size=1", "--on", str(file), "--json")
    [cluster] = gnomon(*words).json["results"]["clusters"]
    assert cluster["title"] == "Two nodes over a slow wire"
    assert cluster["duration"] == pytest.approx(10_000, abs=1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ping-pnog"], "no message program 'ping-pnog'"),
        (["ping-pong", "rounds"], "is not a parameter of ping-pong"),
        (["ping-pong", "rounds=0"], "is out of range: 1 to"),
        (["ping-pong", "size=-1"], "give a whole number, as in size=38"),
        (["key-value", "think_ns=soon"], "give a number, as in think_ns="),
        (["ping-pong", "size=2000000000000"], "is out of range: 0 to"),
        (["ping-pong", "--on", "ulm"], "no cluster 'ulm'"),
        (["ping-pong", "--timeline", "-1"], "out of range"),
        (["ping-pong", "--seed", "-1"], "seed"),
        (["dirt", "nodes=1000000"], "1 to 65,536"),
        (["dirt", "nodes=60000", "renderers=100000000"], "262,144 threads"),
        (["key-value", "think_ns=-5"], "is out of range: 0 to"),
        (["parameter-server", "steps=100000", "compute_ns=1e12", "--on", "uln"], "53 days"),
    ],
)
def test_mistakes_are_told_in_a_sentence(gnomon: Run, words: list[str], said: str) -> None:
    outcome = gnomon("messages", "simulate", *words)
    assert outcome.code in (1, 2)
    assert said in outcome.err
    assert one_sentence(outcome.err)
