"""Several countings at once, and one counting used from several threads."""

from __future__ import annotations

import threading

import pytest

from gnomon.sources.base import Snapshot, Thread

from .case import Bench
from .checks import check_never_backwards, totals


def _work_often(bench: Bench) -> None:
    for _ in range(50):
        bench.case.work()


def test_a_second_counting_does_not_disturb_the_first(bench: Bench) -> None:
    with bench.open(bench.case.lengthy) as first:
        first.start()
        snapshots = [first.read()]
        with bench.open(bench.case.brief) as second:
            second.start()
            snapshots.append(first.read())
            second.wait()
            assert all(totals(second.stop()).values())
            snapshots.append(first.read())
        snapshots.append(first.read())
        snapshots.append(first.stop())
    check_never_backwards(snapshots)
    assert len({len(snapshot.readings) for snapshot in snapshots}) == 1


def test_two_countings_of_one_thread_see_the_same_work(bench: Bench) -> None:
    if not bench.case.threads:
        pytest.skip("the source cannot count threads")
    with bench.open(Thread()) as outer, bench.open(Thread()) as inner:
        outer.start()
        inner.start()
        bench.case.work()
        of_inner = totals(inner.stop())
        bench.case.work()
        of_outer = totals(outer.stop())
    for label, value in of_inner.items():
        assert 0 < value < of_outer[label]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_countings_may_be_closed_in_any_order_before_they_start(
    bench: Bench, order: tuple[int, ...]
) -> None:
    countings = [bench.open(bench.case.brief) for _ in order]
    for index in order:
        countings[index].close()


def test_closing_one_leaves_the_other_to_run(bench: Bench) -> None:
    first, second = bench.open(bench.case.brief), bench.open(bench.case.brief)
    first.close()
    with second:
        second.start()
        assert second.wait()
        assert second.exit_status == 0
        assert all(totals(second.stop()).values())


def test_a_counting_can_be_read_from_several_threads(bench: Bench) -> None:
    errors: list[BaseException] = []
    seen: list[list[Snapshot]] = [[], [], []]

    def read_many(into: list[Snapshot]) -> None:
        try:
            into.extend(counting.read() for _ in range(100))
        except BaseException as error:
            errors.append(error)

    with bench.open(bench.case.lengthy) as counting:
        counting.start()
        readers = [threading.Thread(target=read_many, args=(into,)) for into in seen]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        counting.stop()
    assert not errors
    for snapshots in seen:
        assert len(snapshots) == 100
        check_never_backwards(snapshots)


def test_a_counting_of_own_thread_does_not_count_other_threads(bench: Bench) -> None:
    if not bench.case.threads:
        pytest.skip("the source cannot count threads")
    with bench.open(Thread()) as counting:
        counting.start()
        bench.case.work()
        alone = totals(counting.read())
        worker = threading.Thread(target=_work_often, args=(bench,))
        worker.start()
        worker.join()
        after = totals(counting.stop())
    # Starting and joining a thread costs something, fifty times the work costs far more.
    assert any(after[label] < 10 * value for label, value in alone.items())


def test_countings_of_several_threads_run_side_by_side(bench: Bench) -> None:
    if not bench.case.threads:
        pytest.skip("the source cannot count threads")
    results: dict[int, dict[str, int]] = {}

    def count(index: int) -> None:
        with bench.open(Thread()) as counting:
            counting.start()
            for _ in range(20):
                bench.case.work()
            results[index] = totals(counting.stop())

    workers = [threading.Thread(target=count, args=(index,)) for index in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(results) == [0, 1, 2, 3]
    for counted in results.values():
        assert set(counted) == set(bench.case.events)
        assert all(counted.values())
