"""The benchmark itself, brief: rows, what is left out, and a recording that gives it again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gnomon.analysis.messages import Bench, Regime, bench, bench_of, interfere
from gnomon.errors import GnomonError, NotSupportedError, RecordingError, UsageError
from gnomon.messaging.sessions import MECHANISMS
from gnomon.recording import Recording
from gnomon.views.show import blocks, page
from gnomon.views.terminal import lines

RECORDINGS = Path(__file__).parents[2] / "recordings"
TWO = len(os.sched_getaffinity(0)) > 1


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bench, Path]:
    path = tmp_path_factory.mktemp("bench") / "bench.gnomon"
    found = bench(
        mechanisms=["futex", "pipe", "mqueue", "uintr"],
        regimes=["same-core"],
        sizes=[0, 64, 512, 2048, 8192, 32768],
        duration="300ms",
        output=path,
    )
    return found, path


def test_rows_have_times_and_counts(recorded: tuple[Bench, Path]) -> None:
    found, _ = recorded
    assert [row.mechanism for row in found.rows] == ["futex", "mqueue", "pipe"]
    for row in found.rows:
        assert row.regime is Regime.SAME
        trip = row.round_trip
        assert trip.p50.low <= trip.p50.value <= trip.p50.high
        known = [each for each in (trip.p90, trip.p99, trip.p999) if each is not None]
        assert known  # how many of them depends on how much time the machine had
        assert [trip.p50.value, *known] == sorted([trip.p50.value, *known])
        assert all((row.round_trips, row.sends, row.receives, row.gaps))
        switches = row.counts_per_message.get("context-switches")
        assert switches is None or switches >= 0.5  # each message wakes somebody
    assert found.null_call is not None
    assert {curve.mechanism for curve in found.curves} == {"futex", "pipe"} | (
        {"mqueue"} if MECHANISMS["mqueue"].limit >= 8192 else set()
    )


def test_what_is_left_out_has_a_reason(recorded: tuple[Bench, Path]) -> None:
    found, _ = recorded
    reasons = {each.what: each.reason for each in found.left_out}
    assert "uintr" in reasons
    if MECHANISMS["mqueue"].limit < 32768:
        assert any(what.startswith("mqueue over") for what in reasons)


def test_the_recording_gives_the_same_again(recorded: tuple[Bench, Path]) -> None:
    found, path = recorded
    again = bench_of(path)
    assert again.left_out == found.left_out
    assert again.warnings == found.warnings
    for old, new in zip(found.rows, again.rows, strict=True):
        assert (new.mechanism, new.regime, new.messages) == (
            old.mechanism,
            old.regime,
            old.messages,
        )
        assert new.counts_per_message == pytest.approx(old.counts_per_message, rel=0.02, abs=1e-3)
        for name in ("round_trips", "sends", "receives", "gaps"):
            for one, same in zip(getattr(old, name), getattr(new, name), strict=True):
                assert (same.size, same.samples, same.p50) == (one.size, one.samples, one.p50)
    assert [c.hockney.error for c in again.curves] == pytest.approx(
        [c.hockney.error for c in found.curves]
    )


def test_a_recording_made_before_is_shown_and_is_a_page() -> None:
    found = bench_of(RECORDINGS / "messages-bench.gnomon")
    assert {row.mechanism for row in found.rows} == {"poll", "futex", "tcp"}
    assert len(found.curves) == 3
    text = "\n".join(lines(blocks(found)))
    assert "24.42 to 25.89 µs" in text
    assert "poll < futex < tcp" in text
    assert "Hockney" in page(found)


def test_a_notebook_shows_it(recorded: tuple[Bench, Path]) -> None:
    html = recorded[0]._repr_html_()
    assert "futex" in html
    assert "Not measured" in html


def test_another_recording_is_refused(tmp_path: Path) -> None:
    import gnomon

    gnomon.count(["true"], "task-clock", output=tmp_path / "run.gnomon")
    with pytest.raises(RecordingError, match="holds no times of messages"):
        bench_of(tmp_path / "run.gnomon")
    with Recording.open(tmp_path / "run.gnomon") as recording, pytest.raises(RecordingError):
        bench_of(recording)


def test_one_cpu_is_enough() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        found = bench(mechanisms=["futex"], sizes=[], duration="50ms", events=[])
        beside = interfere(mechanisms=["futex", "spin-block"], pauses=["50us"], duration="100ms")
    finally:
        os.sched_setaffinity(0, allowed)
    assert found.regimes == (Regime.SAME,)
    assert {each.what for each in found.left_out} >= {"regime idle", "regime awake"}
    assert beside.shares == "the only CPU, with the client"


@pytest.mark.skipif(not TWO, reason="needs two CPUs")
def test_all_regimes_of_a_poller() -> None:
    found = bench(mechanisms=["poll-pause"], sizes=[], duration="200ms", events=[])
    assert {Regime.AWAKE, Regime.SAME} <= set(found.regimes)
    same = found.row("poll-pause", Regime.SAME)
    assert same is not None
    assert not same.sends  # a poller waits for its slice: calls mean nothing
    assert not found.curves


def test_compute_beside_communicators() -> None:
    steps = []
    found = interfere(
        mechanisms=["poll-pause", "futex"],
        pauses=["20us", "1ms"],
        duration="300ms",
        rounds=3,
        on_step=lambda done, total, _: steps.append((done, total)),
    )
    assert found.pauses == (20_000, 1_000_000)
    assert [row.mechanism for row in found.at(20_000)] == ["poll-pause", "futex"]
    for row in found.rows:
        assert row.messages > 0
        assert row.latency.low <= row.latency.value <= row.latency.high
    assert found.recommendation
    assert steps[-1] == (15, 15)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mechanisms": ["futx"]}, "did you mean futex"),
        ({"regimes": ["lazy"]}, "not a regime"),
        ({"sizes": [1 << 21]}, "sizes go from 0 to 1048576"),
        ({"sizes": [-1]}, "sizes go from 0"),
        ({"sizes": [1 << 20], "mechanisms": ["mqueue"]}, "too large for mqueue"),
        ({"cpus": [4095]}, "CPU 4095 cannot be used"),
        ({"duration": "soon"}, "not a duration"),
        ({"spin": "-1us"}, "not a duration"),
        ({"events": ["no-such-event"]}, "no-such-event"),
    ],
)
def test_wrong_questions_of_the_benchmark(options: dict[str, object], said: str) -> None:
    if "1048576" not in said and MECHANISMS["mqueue"].limit == 1 << 20 and "mqueue" in said:
        pytest.skip("message queues take the largest messages here")
    with pytest.raises((UsageError, GnomonError), match=said):
        bench(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pauses": []}, "no pause"),
        ({"pauses": ["-3us"]}, "not a duration"),
        ({"threads": 0}, "1 to 64"),
        ({"rounds": 1}, "3 to 1000"),
        ({"cpus": [0, 0]}, "each CPU once"),
        ({"mechanisms": ["uintr"]}, "nothing is left"),
    ],
)
def test_wrong_questions_of_interference(options: dict[str, object], said: str) -> None:
    if "uintr" in str(options) and not MECHANISMS["uintr"].why_not():
        pytest.skip("user interrupts are there")
    with pytest.raises((UsageError, GnomonError), match=said):
        interfere(**options)  # type: ignore[arg-type]


def test_nothing_left_to_measure_is_an_error() -> None:
    with pytest.raises(NotSupportedError, match="nothing is left to measure"):
        bench(mechanisms=["uintr"], duration="50ms")
