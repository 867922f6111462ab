"""Statistics, places, costs and break-evens on made data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gnomon.analysis.messages import measured_ways, predict_with
from gnomon.analysis.messages.conditions import places, watching
from gnomon.analysis.messages.costs import bench_of_rows, message_costs
from gnomon.analysis.messages.fits import fit_hockney
from gnomon.analysis.messages.interference import Costs, break_even_of, pays, recommend
from gnomon.analysis.messages.interference import _rows as rows_of
from gnomon.analysis.messages.result import (
    Bench,
    Beside,
    Bins,
    Curve,
    LeftOut,
    Passes,
    Regime,
    Row,
    Timing,
)
from gnomon.analysis.messages.statistics import difference, median_interval, timing_of
from gnomon.errors import GnomonError, NotSupportedError, UsageError
from gnomon.messaging import Quantity
from gnomon.messaging.result import Application
from gnomon.messaging.sessions import Histogram
from gnomon.messaging.sessions import Interference as Round
from gnomon.views.describe.messages_bench import _steps
from gnomon.views.show import blocks
from gnomon.views.terminal import lines

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
    found = difference(Quantity(100, 97, 103), Quantity(40, 36, 44))
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


def timing(value: float) -> Timing:
    within = Quantity.exactly(value)
    return Timing(0, 1000, within, value, value, value, value, Bins((value,), (value,), (1000,)))


def row(name: str, trip: float, send: float, receive: float, regime: Regime) -> Row:
    return Row(name, regime, (0, 1), (timing(trip),), (timing(send),), (timing(receive),))


def made_bench(*rows: Row) -> Bench:
    return bench_of_rows(rows, spin=5000)


def shown(bench: Bench) -> str:
    return "\n".join(lines(blocks(bench)))


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
    one = replace(timing(value), p50=Quantity(value, low, high))
    return Row(name, regime, (0, 1), (one,))


def test_groups_are_in_order_where_intervals_are_apart() -> None:
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
    awake, same = known.orders
    assert [place.mechanism for place in awake.places] == ["poll", "futex", "unix-stream", "tcp"]
    assert awake.signs == ("<", "~", "<")
    assert not awake.shown
    assert [place.mechanism for place in same.places] == ["futex", "unix-datagram"]
    assert same.shown
    text = shown(known)
    assert "waking the other CPU adds 43 µs to a round trip" in text
    assert "a futex is 3 µs faster than a UNIX socket" in text
    assert made_bench(*(each for each in known.rows if each.regime is Regime.SAME)).hidden is None
    assert "poll < futex ~ unix-stream < tcp" in text
    assert "49.0 to 53.0 µs" in text
    assert "same-core: each group is faster than the next" in text
    assert known.to_json()["orders"][0]["signs"] == ["<", "~", "<"]


def test_percentiles_need_as_many_times_and_calls_a_clock_that_sees_them() -> None:
    few = timing_of(0, Histogram(np.array([400.0]), np.array([410.0]), np.array([[150]])))
    assert few.p99 is not None
    assert few.p999 is None
    known = made_bench(Row("poll", Regime.AWAKE, (0, 1), (few,), (timing(0.09),)))
    heading, cells = shown(known).splitlines()[4:6]
    assert "p99" in heading
    assert "p99.9" not in heading
    assert "gap" not in heading
    assert "< 1 ns" in cells
    assert " 150 " in cells


def test_a_drawn_histogram_is_zero_between_its_bins() -> None:
    bins = Bins((1000.0, 2000.0, 9000.0), (2000.0, 3000.0, 9500.0), (1, 2, 1))
    some = replace(timing(2500.0), samples=4, histogram=bins)
    drawn = _steps(Row("poll", Regime.AWAKE, (0, 1), (some,)))
    assert list(zip(drawn.x, drawn.y, strict=True)) == [
        (1000, 0), (1000, 0.25), (2000, 0.5), (3000, 0), (9000, 0), (9000, 0.25), (9500, 0),
    ]  # fmt: skip


def test_one_group_has_no_order() -> None:
    assert made_bench(spread("futex", Regime.SAME, 1, 2, 3)).orders == ()


def test_a_few_times_have_neither_interval_nor_order() -> None:
    futex = spread("futex", Regime.SAME, 1, 2, 3)
    tcp = Row("tcp", Regime.SAME, (0, 0), (replace(futex.round_trip, samples=5),))
    assert made_bench(futex, tcp).orders == ()
    assert "1.0 to 3.0 ns" in shown(made_bench(futex))
    assert "95 % interval" not in shown(made_bench(tcp))


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
    found = predict_with(
        Application("a", Quantity.exactly(1000)), known.ways, polling=known.polling, draws=5
    )
    assert found.now.speedup.value > 2


def test_a_benchmark_without_what_is_needed() -> None:
    with pytest.raises(UsageError, match="no regime 'idle': it has awake, same-core"):
        measured_ways(made_bench(*AWAKE), "idle")
    bare = Row("poll", Regime.SAME, (0, 0), (timing(1e6),))
    with pytest.raises(UsageError, match="no times of sending"):
        measured_ways(made_bench(bare))


def test_a_benchmark_on_a_busy_machine_is_doubted() -> None:
    slow = (row("poll", 90_000, 20, 30, Regime.AWAKE), AWAKE[1])
    known = measured_ways(made_bench(*slow))
    assert "polling was slower" in known.warnings[0]
    asked = Application("a", Quantity.exactly(1000), mechanism="futex")
    found = predict_with(asked, known.ways, warnings=known.warnings, draws=5)
    assert found.warnings == known.warnings
    hybrid = (*AWAKE, row("spin-block", 300, 20, 30, Regime.AWAKE))  # which polls at first
    assert measured_ways(made_bench(*hybrid)).warnings == ()


def test_messages_larger_than_any_that_was_measured_are_doubted() -> None:
    known = measured_ways(made_bench(*AWAKE))
    ways = [replace(way, sizes=((1024, 100.0), (1 << 20, 90_000.0))) for way in known.ways]
    for size, doubts in ((1 << 20, 0), (1 << 21, 1)):
        asked = Application("a", Quantity.exactly(1000), response=size, mechanism="futex")
        assert len(predict_with(asked, ways, draws=5).warnings) == doubts
    beyond = predict_with(asked, ways, draws=5)
    assert "messages of 2 MiB are larger" in beyond.warnings[0]
    assert "times as fast" not in beyond.sentence  # no headline outside what was measured
    assert "messages of 2 MiB are larger than any that was measured (1 MiB)" in beyond.sentence


def test_one_size_that_was_disturbed_moves_no_prediction() -> None:
    """Of eight sizes one was measured beside something else: larger messages are not slower."""
    sizes = (0, 64, 256, 1024, 4096, 16384, 65536, 262144)
    x = np.array(sizes, dtype=np.float64)
    taken = []
    for factor in (1.0, 1000.0):
        y = 4200 + 0.25 * x
        y[3] *= factor
        times = tuple(Quantity.exactly(float(time)) for time in y)
        fitted = fit_hockney(x, y)
        curve = Curve("futex", Regime.AWAKE, sizes, times, fitted, None, None, Passes(5, 5))
        ways = measured_ways(replace(made_bench(*AWAKE), curves=(curve,))).ways
        taken.append(next(way for way in ways if way.name == "futex").transfer(65536))
    assert taken[0] == pytest.approx(0.25 * 65536)
    assert taken[1] == pytest.approx(taken[0], rel=0.01)


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


def beside(name: str, edge: Quantity | None, lost: float = 0.3) -> Beside:
    some = Quantity.exactly(lost)
    found = pays(edge, reference=name == "futex")
    return Beside(name, 10_000, some, some, 1, 1, some, *found, 1)


def test_recommendations() -> None:
    futex = beside("futex", None, 0.1)
    edge = Quantity(60_000, 50_000, 70_000)
    assert recommend([beside("poll", edge), futex]).startswith(
        "wait with poll where there is less than 60 µs (50 µs to 70 µs) of compute per message"
    )
    assert recommend([beside("poll", None, 0.5), futex]) == (
        "block with futex: poll never paid off, and poll took up to 50% of the compute."
    )
    unsure = Quantity(60_000, 0.0, 70_000)
    assert recommend([beside("poll", unsure), futex]).startswith("block with futex")
    always = Quantity(float("inf"), float("inf"), float("inf"))
    assert recommend([beside("spin-block", always), futex]).startswith("wait with spin-block:")
    assert "one kind alone cannot be compared" in recommend([beside("poll", None)])
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
    assert all("busy" in text for text in warnings)
