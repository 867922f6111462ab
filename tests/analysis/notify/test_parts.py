"""Statistics, places, costs and break-evens on made data."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from gnomon.analysis.notify.conditions import places, watching
from gnomon.analysis.notify.costs import message_costs
from gnomon.analysis.notify.interference import Beside, Costs, break_even_of, recommend
from gnomon.analysis.notify.interference import _rows as rows_of
from gnomon.analysis.notify.order import hidden_text, orders_of
from gnomon.analysis.notify.result import Bench, LeftOut, Measured, Regime, Row, Timing
from gnomon.analysis.notify.statistics import difference, median_interval
from gnomon.analysis.prediction import measured_ways, predict
from gnomon.analysis.prediction.application import Application
from gnomon.analysis.prediction.ways import Quantity
from gnomon.errors import GnomonError, NotSupportedError, UsageError
from gnomon.messaging.host import Histogram, What
from gnomon.messaging.host import Interference as Round
from gnomon.recording.contents import Provenance
from gnomon.views.notify import HEADINGS, bench_as_json, print_bench, row_cells
from gnomon.views.report.notify import _steps as drawn_steps

DRAWN = np.random.default_rng(1).integers(0, 8, (200, 8))


def made(values: np.ndarray, blocks: int) -> Histogram:
    low = np.arange(500.0, 1500.0)
    counts = np.zeros((blocks, low.size), dtype=np.int64)
    for place, value in enumerate(values):
        counts[place * blocks // values.size, int(value) - 500] += 1
    return Histogram(low, low + 1, counts)


def test_intervals_of_medians_cover() -> None:
    held = 0
    for seed in range(60):
        values = np.random.default_rng(seed).normal(1000, 50, 400)
        found = median_interval(made(values, 10))
        held += found.low <= 1000.5 <= found.high
    assert held >= 50


def test_times_that_drift_widen_the_interval() -> None:
    random = np.random.default_rng(2)
    steady = random.normal(1000, 20, 1000)
    found = [
        median_interval(made(each, 10)) for each in (steady, steady + np.linspace(-200, 200, 1000))
    ]
    assert found[1].high - found[1].low > 5 * (found[0].high - found[0].low)


def test_differences_add_their_errors() -> None:
    found = difference(Measured(100, 97, 103), Measured(40, 36, 44))
    assert (found.value, found.low, found.high) == (60, 55, 65)


def topology(folder: Path, siblings: dict[int, str]) -> Path:
    for cpu, listed in siblings.items():
        (folder / f"cpu{cpu}/topology").mkdir(parents=True)
        (folder / f"cpu{cpu}/topology/thread_siblings_list").write_text(f"{listed}\n")
    return folder


def test_regimes_of_a_machine_with_threads(tmp_path: Path) -> None:
    smt = topology(tmp_path, {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"})
    found, missing = places(None, None, allowed=(0, 1, 2, 3), topology=smt)
    assert found == {
        Regime.IDLE: (0, 1),
        Regime.AWAKE: (0, 1),
        Regime.SIBLINGS: (0, 2),
        Regime.SAME: (0, 0),
    }
    assert not missing
    found, missing = places([0, 2], None, allowed=(0, 1, 2, 3), topology=smt)
    assert set(found) == {Regime.SIBLINGS, Regime.SAME}
    assert {each.what for each in missing} == {"regime idle", "regime awake"}


def test_one_cpu_has_one_regime(tmp_path: Path) -> None:
    alone = topology(tmp_path, {0: "0"})
    found, missing = places(None, None, allowed=(0,), topology=alone)
    assert found == {Regime.SAME: (0, 0)}
    assert len(missing) == 3
    with pytest.raises(NotSupportedError, match="no second core"):
        places(None, ["idle"], allowed=(0,), topology=alone)
    with pytest.raises(UsageError, match="not a regime"):
        places(None, ["busy"], allowed=(0,), topology=alone)
    with pytest.raises(UsageError, match="CPU 7 cannot be used"):
        places([7], None, allowed=(0,), topology=alone)
    with pytest.raises(UsageError, match="two different CPUs"):
        places([0, 0], None, allowed=(0,), topology=alone)


def timing(what: What, value: float) -> Timing:
    one = Histogram(np.array([value]), np.array([value]), np.array([[1000]]))
    return Timing(what, 0, Measured(value, value, value), 0, 0, 0, value, one)


def row(name: str, trip: float, send: float, receive: float, regime: Regime) -> Row:
    what = (What.ROUND_TRIP, What.SEND, What.RECEIVE)
    times = tuple(map(timing, what, (trip, send, receive)))
    return Row(name, regime, 0, 1, times)


def made_bench(*rows: Row) -> Bench:
    return Bench(rows, None, (), (), Provenance("notify"), 5000)


AWAKE = (
    row("poll", 400, 20, 30, Regime.AWAKE),
    row("futex", 8400, 1000, 100, Regime.AWAKE),
    row("futex", 14_000, 5000, 50, Regime.SAME),
)


def test_costs_of_messages() -> None:
    poll, futex, same = message_costs(made_bench(*AWAKE))
    assert (poll.notification.value, poll.wake.value) == (0, 0)
    assert futex.notification.value == 4200 - 200
    assert futex.wake.value == 4200 - 1000 - 100 - 200
    assert same.wake.value == 7000 - 5000 - 50


def spread(name: str, regime: Regime, low: float, value: float, high: float) -> Row:
    one = timing(What.ROUND_TRIP, value)
    return Row(name, regime, 0, 1, (replace(one, p50=Measured(value, low, high)),))


def test_classes_are_in_order_where_intervals_are_apart() -> None:
    known = made_bench(
        spread("poll", Regime.AWAKE, 90, 100, 110),
        spread("poll-pause", Regime.AWAKE, 190, 200, 210),
        spread("futex", Regime.AWAKE, 48_000, 50_000, 52_000),
        spread("unix-stream", Regime.AWAKE, 49_000, 51_000, 53_000),
        spread("tcp", Regime.AWAKE, 80_000, 81_000, 82_000),
        spread("poll", Regime.SAME, 1e6, 2e6, 3e6),
        spread("futex", Regime.SAME, 6000, 7000, 8000),
        spread("unix-stream", Regime.SAME, 11_000, 12_000, 13_000),
        spread("unix-datagram", Regime.SAME, 9000, 10_000, 11_000),
    )
    awake, same = orders_of(known)
    assert [place.mechanism for place in awake.places] == ["poll", "futex", "unix-stream", "tcp"]
    assert awake.signs == ("<", "~", "<")
    assert not awake.shown
    assert [place.mechanism for place in same.places] == ["futex", "unix-datagram"]
    assert same.shown
    text = hidden_text((awake, same))
    assert "waking the other CPU adds 43.0 µs to a round trip" in text
    assert "a futex is 3.0 µs faster than a UNIX socket" in text
    assert hidden_text((same,)) == ""
    shown = StringIO()
    print_bench(known, shown)
    assert "~ unix-stream 51 µs [49, 53 µs]" in shown.getvalue()
    assert "same-core: each class is faster than the next" in shown.getvalue()
    assert bench_as_json(known)["order"][0]["signs"] == ["<", "~", "<"]


def test_percentiles_need_as_many_times_and_calls_a_clock_that_sees_them() -> None:
    few = Histogram(np.array([400.0]), np.array([410.0]), np.array([[150]]))
    trip = Timing(What.ROUND_TRIP, 0, Measured(405, 400, 410), 409, 410, 410, 405, few)
    one = Row("poll", Regime.AWAKE, 0, 1, (trip, timing(What.SEND, 0.09)))
    headings = ("round trip", "95 %", "p90", "p99", "p99.9", "times", "send", "receive", "gap")
    assert headings == HEADINGS
    assert row_cells(one) == [
        "405 ns", "[400, 410 ns]", "409 ns", "410 ns", "", "150", "< 1 ns", "", "",
    ]  # fmt: skip


def test_a_drawn_histogram_is_zero_between_its_bins() -> None:
    bins = Histogram(
        np.array([1000.0, 2000.0, 9000.0]),
        np.array([2000.0, 3000.0, 9500.0]),
        np.array([[1, 2, 1]]),
    )
    edges, shares = drawn_steps(bins)
    assert list(zip(edges, shares, strict=True)) == [
        (1, 0), (1, 25), (2, 50), (3, 0), (9, 0), (9, 25), (9.5, 0),
    ]  # fmt: skip


def test_one_class_has_no_order() -> None:
    assert orders_of(made_bench(spread("futex", Regime.SAME, 1, 2, 3))) == ()


def test_a_few_times_have_neither_interval_nor_order() -> None:
    futex = spread("futex", Regime.SAME, 1, 2, 3)
    few = Histogram(np.array([9.0]), np.array([9.0]), np.array([[5]]))
    tcp = Row("tcp", Regime.SAME, 0, 0, (replace(futex.round_trip, histogram=few),))
    assert orders_of(made_bench(futex, tcp)) == ()
    assert row_cells(futex)[1] == "[1, 3 ns]"
    assert row_cells(tcp)[1] == ""


def test_ways_add_up_to_the_latency_that_was_measured() -> None:
    known = measured_ways(made_bench(*AWAKE))
    assert known.regime is Regime.AWAKE
    assert {way.name: way.latency for way in known.ways} == {"poll": 200, "futex": 4200}
    assert known.polling is known.ways[0]
    assert not known.ways[1].wake_is_work


def test_on_one_core_waking_is_work_and_polling_that_of_two() -> None:
    known = measured_ways(made_bench(*AWAKE), "same-core")
    [futex] = known.ways
    assert futex.wake_is_work
    assert known.polling is not None
    assert known.polling.latency == 200
    found = predict(
        Application("a", Quantity.exactly(1000)), known.ways, polling=known.polling, draws=5
    )
    assert found.now.speedup.value > 2


def test_a_benchmark_without_what_is_needed() -> None:
    with pytest.raises(UsageError, match="no regime 'idle': it has awake, same-core"):
        measured_ways(made_bench(*AWAKE), "idle")
    bare = Row("poll", Regime.SAME, 0, 0, (timing(What.ROUND_TRIP, 1e6),))
    with pytest.raises(UsageError, match="no times of sending"):
        measured_ways(made_bench(bare))


def test_a_benchmark_on_a_busy_machine_is_doubted() -> None:
    slow = (row("poll", 90_000, 20, 30, Regime.AWAKE), AWAKE[1])
    known = measured_ways(made_bench(*slow))
    assert "polling was slower" in known.warnings[0]
    asked = Application("a", Quantity.exactly(1000), mechanism="futex")
    found = predict(asked, known.ways, warnings=known.warnings, draws=5)
    assert found.warnings == known.warnings
    hybrid = (*AWAKE, row("spin-block", 300, 20, 30, Regime.AWAKE))  # which polls at first
    assert measured_ways(made_bench(*hybrid)).warnings == ()


def test_messages_larger_than_any_that_was_measured_are_doubted() -> None:
    known = measured_ways(made_bench(*AWAKE))
    ways = [replace(way, sizes=((1024, 100.0), (1 << 20, 90_000.0))) for way in known.ways]
    for size, doubts in ((1 << 20, 0), (1 << 21, 1)):
        asked = Application("a", Quantity.exactly(1000), response=size, mechanism="futex")
        assert len(predict(asked, ways, draws=5).warnings) == doubts
    assert "messages of 2 MiB are larger" in predict(asked, ways, draws=5).warnings[0]


def costs(lost: float, latency: float, work: float, noise: float = 0.0) -> Costs:
    factor = 1 + noise * np.linspace(-1, 1, 8)
    return Costs(lost * factor, latency * factor, work * factor)


def test_the_break_even_of_polling_is_parkers() -> None:
    # Polling takes a share p and saves latency: alike at saving (1 - p) / p.
    found = break_even_of(costs(0.2, 100, 0), costs(0.0, 120, 5), DRAWN, polls=True)
    assert found is not None
    assert found.value == pytest.approx((5 + 120 - 100) * 0.8 / 0.2)
    compute = found.value
    assert compute / 0.8 + 100 == pytest.approx(compute + 5 + 120)


def test_noise_gives_the_break_even_an_interval() -> None:
    found = break_even_of(costs(0.5, 10, 0, 0.2), costs(0.0, 60, 5, 0.2), DRAWN, polls=True)
    assert found is not None
    assert found.low < found.value < found.high


def test_polling_that_answers_later_never_pays() -> None:
    assert break_even_of(costs(0.5, 900, 0), costs(0.1, 60, 5), DRAWN, polls=True) is None


def test_a_poller_that_takes_nothing_always_pays() -> None:
    found = break_even_of(costs(0.0, 10, 0), costs(0.0, 60, 5), DRAWN, polls=True)
    assert found is not None
    assert np.isinf(found.value)


def test_a_way_that_costs_by_the_message_pays_always_or_never() -> None:
    blocking = costs(0.1, 60, 20)
    better = break_even_of(costs(0.1, 50, 10), blocking, DRAWN, polls=False)
    assert better is not None
    assert np.isinf(better.low)
    assert break_even_of(costs(0.1, 70, 20), blocking, DRAWN, polls=False) is None


def round_of(units: int) -> Round:
    return Round(1, 1000, (units,), Histogram(np.array([1.0]), np.array([2.0]), np.array([[1]])))


def test_rounds_without_processor_time_do_not_count() -> None:
    found = {("futex", 10): [round_of(units) for units in (80, 0, 90, 70)]}
    [row] = rows_of([0.1, 0.0, 0.1, 0.1], found, [0])
    assert row.lost.value == pytest.approx(0.2)
    assert row.messages == 3
    with pytest.raises(GnomonError, match="too busy"):
        rows_of([0.0, 0.0, 0.0, 0.1], found, [0])


def beside(name: str, edge: Measured | None, lost: float = 0.3) -> Beside:
    some = Measured(lost, lost, lost)
    one = Histogram(np.array([1.0]), np.array([2.0]), np.array([[1]]))
    return Beside(name, 10_000, some, some, 1, 1, some, edge, 1, one, reference=name == "futex")


def test_recommendations() -> None:
    futex = beside("futex", None, 0.1)
    edge = Measured(60_000, 50_000, 70_000)
    assert recommend([beside("poll", edge), futex]).startswith(
        "wait with poll where there is less than 60 µs (50 µs to 70 µs) of compute per message"
    )
    assert recommend([beside("poll", None, 0.5), futex]) == (
        "block with futex: poll never paid off, and poll took up to 50% of the compute."
    )
    unsure = Measured(60_000, 0.0, 70_000)
    assert recommend([beside("poll", unsure), futex]).startswith("block with futex")
    always = Measured(float("inf"), float("inf"), float("inf"))
    assert recommend([beside("spin-block", always), futex]).startswith("wait with spin-block:")
    assert "a single kind says nothing" in recommend([beside("poll", None)])
    assert recommend([beside("poll", edge), beside("futex", None, -0.6)]).startswith(
        "no recommendation: compute was faster beside futex than alone"
    )


def test_what_was_left_out_survives_a_recording() -> None:
    one = LeftOut("uintr", "the CPU has no user interrupts (UINTR)")
    assert LeftOut.parse(str(one)) == one
    assert LeftOut.parse("another warning") is None


def test_quiet_time_is_watched() -> None:
    with watching() as warnings:
        assert warnings == []
    assert all("not quiet" in text for text in warnings)
