"""What user-level notification would bring: files of applications, ways, and the answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gnomon.analysis.messages import (
    Application,
    Prediction,
    Way,
    predict_with,
    read_application,
)
from gnomon.analysis.messages.prediction import solve_for
from gnomon.errors import UsageError
from gnomon.messaging import Quantity
from gnomon.messaging.result import Sharing

EXACT = Quantity.exactly


def way(name: str, wake: float, *, send: float = 200, polls: bool = False) -> Way:
    return Way(
        name,
        send=Quantity(send, 0.95 * send, 1.05 * send),
        receive=EXACT(100),
        wire=EXACT(100),
        wake=Quantity(wake, 0.9 * wake, 1.1 * wake),
        wake_call=EXACT(send),
        wake_latency=EXACT(wake),
        sizes=((64, 10.0), (1024, 100.0)),
        wake_is_work=True,
        polls=polls,
    )


WAYS = (way("poll", 0, send=50, polls=True), way("futex", 3000), way("tcp", 9000, send=4000))
APPLICATION = Application("store", EXACT(10_000), handler=EXACT(500), threads=2)


def asked(application: Application = APPLICATION, **options: object) -> Prediction:
    return predict_with(application, WAYS, draws=30, **options)  # type: ignore[arg-type]


def test_the_answer() -> None:
    found = asked(mechanism="futex")
    assert found.now.mechanism == "futex"
    assert found.now.speedup.value > 1.2
    assert found.now.speedup.low < found.now.speedup.value < found.now.speedup.high
    assert found.now.cycle.value > found.user_level.cycle.value
    assert "times as fast as with futex" in found.sentence
    assert found.break_even is not None
    assert found.saved is None


def test_worse_ways_gain_more() -> None:
    rows = {row.mechanism: row.speedup.value for row in asked().rows}
    assert rows["poll"] == pytest.approx(1, abs=0.01)  # on a core of its own it is as good
    assert rows["poll"] < rows["futex"] < rows["tcp"]


def test_without_waiting_there_is_nothing_to_gain() -> None:
    idle = replace(APPLICATION, compute=EXACT(1e9))
    assert asked(idle, mechanism="tcp").now.speedup.value == pytest.approx(1, abs=1e-3)


def test_the_break_even_is_where_a_twentieth_is_left() -> None:
    found = asked(mechanism="futex")
    assert found.break_even is not None
    there = replace(APPLICATION, compute=EXACT(found.break_even))
    assert asked(there, mechanism="futex").now.speedup.value == pytest.approx(1.05, abs=1e-3)


def test_wider_inputs_give_wider_answers() -> None:
    def width(compute: Quantity) -> float:
        gain = asked(replace(APPLICATION, compute=compute), mechanism="futex").now.speedup
        return gain.high - gain.low

    assert width(Quantity(10_000, 5_000, 15_000)) > 1.5 * width(EXACT(10_000))


def test_polling_beside_compute_threads_of_a_core_costs_them() -> None:
    shared = replace(APPLICATION, communicator=True, sharing=Sharing(3.2, 2.67))
    gain = {row.mechanism: row.speedup.value for row in asked(shared).rows}["poll"]
    assert gain > 1.05


def test_a_network_takes_the_place_of_memory(tmp_path: Path) -> None:
    file = tmp_path / "app.toml"
    file.write_text(
        '[application]\ncompute = "10us"\nrequest = 1000\nresponse = "1kB"\n'
        '[network]\nlatency = "5us"\nbandwidth = "1GB/s"\n'
    )
    found = read_application(file)
    exchange = solve_for(found, WAYS[0]).exchange
    assert exchange.latency == 2 * 5000 + 2000
    assert exchange.occupancy == 2000


def test_sizes_between_those_measured() -> None:
    one = WAYS[0]
    assert [one.transfer(size) for size in (0, 32, 64, 544, 1024, 2048)] == [0, 5, 10, 55, 100, 200]


def test_missing_sizes_are_told() -> None:
    bare = [replace(each, sizes=()) for each in WAYS]
    found = predict_with(replace(APPLICATION, request=64), bare, draws=10)
    assert any("no sizes" in text for text in found.warnings)


def test_what_is_used_now_is_a_way_that_blocks_and_said_to_be_assumed() -> None:
    hybrid = replace(WAYS[-1], name="spin-block")
    found = predict_with(replace(APPLICATION, mechanism=None), [hybrid, *WAYS], draws=5)
    assert found.now.mechanism not in ("spin-block", "poll", "poll-pause")
    [text] = [each for each in found.warnings if "nothing says what the application uses" in each]
    assert f"{found.now.mechanism} is taken" in text
    named = predict_with(replace(APPLICATION, mechanism=found.now.mechanism), WAYS, draws=5)
    assert not any("nothing says" in each for each in named.warnings)


def test_an_application_file(tmp_path: Path) -> None:
    file = tmp_path / "app.toml"
    file.write_text(
        '[application]\nname = "kv"\ncompute = ["8us", "12us"]\nhandler = "800ns"\nthreads = 3\n'
        'request = 64\nresponse = "4KiB"\nexchanges = 1000\nmechanism = "futex"\n'
        "communicator = true\n[sharing]\nheight = 3.2\nknee = 2.67\n"
    )
    found = read_application(file)
    assert found.name == "kv"
    assert found.compute == Quantity(10_000, 8_000, 12_000)
    assert (found.threads, found.request, found.response) == (3, 64, 4096)
    saved = asked(found).saved
    assert saved is not None
    assert saved > 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", r"application.compute: is missing"),
        ('[application]\ncompute = "-3us"', r"app.toml:2: .*cannot be negative"),
        ("[application]\ncompute = -3", "must be a time"),
        ('[application]\ncompute = "3 parsecs"', "not a duration"),
        ('[application]\ncompute = "0us"', "longer than zero"),
        ('[application]\ncompute = ["9us", "3us"]', "upper bound first"),
        ('[application]\ncompute = "1us"\nhandler = "-1ns"', "cannot be negative"),
        ('[application]\ncompute = "1us"\nthreads = 0', "from 1 to"),
        ('[application]\ncompute = "1us"\nthreads = "two"', "whole number"),
        ('[application]\ncompute = "1us"\nrequest = -5', "zero or more"),
        ('[application]\ncompute = "1us"\nrequest = "-5B"', "not a size"),
        ('[application]\ncompute = "1us"\nexchanges = 0', "1 or more"),
        ('[application]\ncompute = "1us"\ncommunicator = 1', "true or false"),
        ('[application]\ncompute = "1us"\nhandlr = "1us"', "did you mean handler"),
        ('[application]\ncompute = "1us"\n[network]\nlatency = "1us"', "is missing"),
        ('[application]\ncompute = "1us"\n[network]\nbandwidth = "1GB"', "not a rate"),
        ('[application]\ncompute = "1us"\n[sharing]\nheight = 3\nknee = 9', "speed of"),
        ('[application]\ncompute = "1us"\n[sharing]\nheight = -3\nknee = 9', "above zero"),
        ('[application]\ncompute = "1us"\n[sharin]\nknee = 9', "did you mean sharing"),
        ("compute = ", "not valid TOML"),
    ],
)
def test_files_with_mistakes(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "app.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_application(file)


def test_without_polling_or_mechanism() -> None:
    with pytest.raises(UsageError, match="no polling"):
        predict_with(APPLICATION, WAYS[1:])
    with pytest.raises(UsageError, match="did you mean futex"):
        asked(mechanism="futx")
