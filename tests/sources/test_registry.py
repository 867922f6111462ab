"""The registry: one word for each source, old names in recordings, options checked once."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import UsageError
from gnomon.machines.description import load_machine
from gnomon.recording.contents import Provenance
from gnomon.sources import registry
from gnomon.sources.abilities import HasConstants
from gnomon.sources.base import HasPresets, Rotates, Source
from gnomon.sources.sampling import CanSample

WORDS = ("host", "valgrind", "laptop", "cluster:uln", "fabric:ring-8", "probe:localhost:9999")


@pytest.mark.parametrize("word", WORDS)
def test_a_word_chooses_the_source_of_that_name_with_its_capabilities(word: str) -> None:
    source = gn.source(word)
    assert source.name == word
    assert source.capabilities == registry.capabilities(word)


@pytest.mark.parametrize("word", WORDS)
def test_capabilities_say_what_a_source_has_methods_for(word: str) -> None:
    source = gn.source(word)
    assert source.capabilities.rotates == isinstance(source, Rotates)
    assert source.capabilities.samples == isinstance(source, CanSample)
    assert source.capabilities.presets == isinstance(source, HasPresets)


def test_without_a_word_this_host_is_meant() -> None:
    assert gn.source().name == registry.source_for(None).name == "host"


def test_several_words_and_sources_go_together() -> None:
    own = gn.source("ring-4", seed=2)
    assert [s.name for s in registry.sources(["host,laptop", own])] == ["host", "laptop", "ring-4"]
    with pytest.raises(UsageError, match="one can be measured"):
        gn.source("host,laptop")
    with pytest.raises(UsageError, match="named twice"):
        registry.sources("host,host")


def test_a_file_of_a_machine_is_named_by_its_path(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(UsageError, match=r"own\.toml"):
        gn.source(str(tmp_path_factory.mktemp("m") / "own.toml"))


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("lapotp", "did you mean laptop"),
        ("perf", "--on host"),
        ("cluster", "write cluster:NAME"),
        ("fabric:rign-8", "there is no fabric 'rign-8': choose from ring-8"),
        ("host:3", "no source or machine"),
        ("host,", "empty name"),
    ],
)
def test_a_wrong_word_is_one_sentence(word: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        registry.sources(word)


def test_seeds_and_profiles_are_for_those_who_take_them() -> None:
    assert isinstance(gn.source("laptop", seed=3), HasConstants)
    assert _seed(gn.source("laptop", seed=3)) == 3
    assert _seed(registry.source("laptop", usual_seed=4)) == 4
    for on in ("host", "valgrind"):
        with pytest.raises(UsageError, match="--seed is for simulated machines"):
            gn.source(on, seed=3)
    with pytest.raises(UsageError, match="--preset-profile"):
        gn.source("cluster:uln", profile="thesis")


def _seed(source: Source) -> int:
    seed: int = vars(source)["seed"]
    return seed


@pytest.mark.parametrize(
    ("stored", "machine", "word"),
    [
        ("perf", "", "host"),
        ("perf, valgrind, machine:laptop", "laptop", "host, valgrind, laptop"),
        ("machine", "ring-4", "ring-4"),
        ("cluster", "uln", "cluster:uln"),
        ("cluster:uln", "uln", "cluster:uln"),
        ("host", "", "host"),
        ("papi", "", "papi"),
    ],
)
def test_old_recordings_name_their_sources_in_old_words(
    stored: str, machine: str, word: str
) -> None:
    assert registry.recorded_by(Provenance(stored, machine=machine)) == word


def test_what_old_names_mean_is_still_known() -> None:
    assert registry.capabilities("machine:laptop") == registry.capabilities("laptop")
    assert registry.capabilities("perf") == registry.capabilities("host")
    assert not registry.capabilities("papi").simulated
    assert registry.event_prefix("machine:laptop") == registry.event_prefix("laptop") == "laptop::"
    assert registry.event_prefix("perf") == registry.event_prefix("valgrind") == ""
    assert registry.title("machine:laptop") == "the SIMULATED machine laptop"
    made = registry.source_of(Provenance("machine", simulated=True, machine="ring-4"))
    assert made is not None
    assert made.name == "ring-4"
    assert registry.source_of(Provenance("machine", machine="/not/there.toml")) is None


def test_a_description_is_a_machine_whatever_its_name() -> None:
    from dataclasses import replace

    own = replace(load_machine("laptop"), name="mine")
    assert registry.simulator(own).name == "machine:mine"
    assert registry.capabilities("machine:mine").own_time
    assert registry.simulator(load_machine("laptop")).name == "laptop"
