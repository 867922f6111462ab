"""`gnomon sim`: which machines there are, what they look like, and errors that help."""

from __future__ import annotations

from pathlib import Path

import pytest

import gnomon as gn
from gnomon.machines import machine_names
from gnomon.machines.workloads import workload_names

from .running import ENVELOPE, Run, one_sentence


def test_the_listing_has_every_machine_and_says_simulated(gnomon: Run) -> None:
    outcome = gnomon("sim", "list")
    assert outcome.code == 0
    for name in machine_names():
        assert f"\n{name} " in outcome.out
    assert outcome.out.startswith(f"SIMULATED {len(machine_names())} machines")


def test_the_listing_as_json_is_labelled_simulated(gnomon: Run) -> None:
    content = gnomon("sim", "list", "--json").json
    assert set(content) == ENVELOPE
    assert content["simulated"] is True
    rows = {row["name"]: row for row in content["results"]["rows"]}
    assert tuple(rows) == machine_names()
    assert rows["niagara2"]["threads"] == 64
    assert gnomon("sim", "--json", "list").json == content


def test_a_machine_shows_distances_along_the_shortest_way(gnomon: Run) -> None:
    outcome = gnomon("sim", "show", "ring-4")
    assert outcome.out.startswith("SIMULATED machine ring-4: ")
    lines = [line.split() for line in outcome.out.splitlines()]
    assert ["0", "30", "100", "170", "100"] in lines
    assert ["0", "45", "15", "15", "15"] in lines
    results = gnomon("sim", "show", "ring-4", "--json").json["results"]
    assert results["latency_ns"][0] == [30, 100, 170, 100]
    assert results["gb_per_s"][1] == [15, 45, 15, 15]
    assert results["machine"]["l3"]["ways"] == 16
    assert results["counters"]["general"] == 4


def test_a_machine_shows_its_counters(gnomon: Run) -> None:
    out = gnomon("sim", "show", "niagara2").out
    assert "2 general counters of 32 bits per thread; 42 events" in out
    assert "strands in 2 groups" in out


def test_memory_that_is_not_there_has_no_distance(gnomon: Run, tmp_path: Path) -> None:
    file = tmp_path / "partial.toml"
    file.write_text(
        "[core]\nclock_ghz = 1\n[nodes]\ncount = 2\ncores = 1\nwithout_memory = [1]\n"
        '[l1d]\nsize = "8 KiB"\nways = 2\nline = 64\nlatency_cycles = 1\n'
        "[controller]\ngb_per_s = 10\nread_latency_ns = 50\n"
        '[links]\ntopology = "ring"\ngb_per_s = 5\nlatency_ns = 20\n'
    )
    results = gnomon("sim", "show", str(file), "--json").json["results"]
    assert results["latency_ns"] == [[50, None], [70, None]]
    out = gnomon("sim", "show", str(file)).out
    assert "no memory" in out
    assert ["1", "70", "no", "memory"] in [line.split() for line in out.splitlines()]


def test_the_drawing_is_written_as_a_whole_and_never_over_another_file(
    gnomon: Run, tmp_path: Path
) -> None:
    file = tmp_path / "ring.svg"
    outcome = gnomon("sim", "show", "ring-4", "--svg", str(file))
    assert outcome.code == 0
    assert file.read_text().startswith("<svg ")
    refused = gnomon("sim", "show", "laptop", "--svg", str(file))
    assert refused.code == 2
    assert one_sentence(refused.err)
    assert "ring-4" in file.read_text()
    assert gnomon("sim", "show", "laptop", "--svg", str(file), "--force").code == 0
    assert "laptop" in file.read_text()
    assert [each.name for each in tmp_path.iterdir()] == ["ring.svg"]


def test_a_drawing_that_cannot_be_written_is_one_sentence(gnomon: Run, tmp_path: Path) -> None:
    outcome = gnomon("sim", "show", "ring-4", "--svg", str(tmp_path / "no" / "x.svg"))
    assert outcome.code == 2
    assert one_sentence(outcome.err)
    assert outcome.out == ""


def test_a_wrong_name_has_the_nearest_one(gnomon: Run) -> None:
    outcome = gnomon("sim", "show", "nigara2")
    assert outcome.code == 2
    assert one_sentence(outcome.err)
    assert "niagara2" in outcome.err


def test_a_wrong_word_names_those_that_exist(gnomon: Run) -> None:
    outcome = gnomon("sim", "shwo")
    assert outcome.code == 2
    assert "'show'" in outcome.err


def test_every_workload_is_listed_and_explains_its_parameters(gnomon: Run) -> None:
    listing = gnomon("sim", "list", "workloads")
    content = gnomon("sim", "list", "workloads", "--json").json
    assert content["simulated"] is True
    assert [row["name"] for row in content["results"]["rows"]] == list(workload_names())
    for row in content["results"]["rows"]:
        assert f"\n{row['name']} " in listing.out
        one = gnomon("sim", "show", f"workload:{row['name']}")
        assert one.code == 0
        for parameter in row["parameters"]:
            assert f"\n{parameter['name']}" in one.out
            assert parameter["help"] in one.out


def test_a_wrong_workload_has_the_nearest_one(gnomon: Run) -> None:
    outcome = gnomon("sim", "show", "workload:spvm")
    assert outcome.code == 2
    assert one_sentence(outcome.err)
    assert "spmv" in outcome.err


def test_the_words_are_functions_of_python_too(gnomon: Run) -> None:
    listed = gnomon("sim", "list", "--json").json["results"]
    assert gn.sim.list().to_json() == listed
    shown = gnomon("sim", "show", "niagara2", "--json").json["results"]
    assert gn.sim.show("niagara2").to_json() == shown


def test_nothing_to_show_and_a_program_are_refused(gnomon: Run) -> None:
    for words in (("sim", "show"), ("sim", "list", "--", "true"), ("sim", "compile")):
        outcome = gnomon(*words)
        assert (outcome.code, outcome.out) == (2, "")
        assert one_sentence(outcome.err)


@pytest.mark.parametrize(
    ("old", "new"), [("machine", "sim"), ("cc", "sim compile"), ("run", "regions")]
)
def test_an_old_name_answers_with_the_new_one(gnomon: Run, old: str, new: str) -> None:
    outcome = gnomon(old, "list")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"gnomon: `gnomon {old}` is now `gnomon {new}`.\n"
