"""The kernel that divides elapsed time: equal to its twin, exact, and blind to numbers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.analysis.time import twin
from tests.analysis.time.twin import HELD, RUNNING, WAITING, Slice

from gnomon._native import divide_time

Divided = tuple[twin.Sums, twin.Gaps, int]


def kernel(
    slices: list[Slice], process: list[int], start: int, stop: int, begun: int, cpus: float
) -> Divided:
    """Divide by the kernel, and return it as the twin does."""
    order = sorted(range(len(slices)), key=lambda n: (slices[n].thread, slices[n].begin))
    rows = [slices[n] for n in order]
    pieces, gaps, _, full = divide_time(
        np.array([s.thread for s in rows], np.int32),
        np.array([s.begin for s in rows], np.int64),
        np.array([s.end for s in rows], np.int64),
        np.array([s.state for s in rows], np.uint8),
        np.array([s.ender for s in rows], np.uint8),
        np.array([s.relation for s in rows], np.uint8),
        np.array([s.target for s in rows], np.int32),
        np.array(process, np.int32),
        max(process, default=-1) + 1,
        start,
        stop,
        begun,
        cpus,
    )
    sums: twin.Sums = {}
    for place, meanwhile, amount, lost in zip(
        np.frombuffer(pieces[0], "<i4"),
        np.frombuffer(pieces[1], "u1"),
        np.frombuffer(pieces[2]),
        np.frombuffer(pieces[3]),
        strict=True,
    ):
        cell = sums.setdefault((order[place], int(meanwhile)), [0.0, 0.0])
        cell[0] += amount
        cell[1] += lost
    owned: twin.Gaps = {}
    for begin, end, place, woken in zip(
        np.frombuffer(gaps[0], "<i8"),
        np.frombuffer(gaps[1], "<i8"),
        np.frombuffer(gaps[2], "<i4"),
        np.frombuffer(gaps[3], "u1"),
        strict=True,
    ):
        owner = -2 if woken else order[place] if place >= 0 else -1
        owned[owner] = owned.get(owner, 0) + int(end - begin)
    return sums, owned, full


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[Slice], list[int], int, int, int, float]:
    """Threads of a few slices each, with edges at moments of their own."""
    threads = draw(st.integers(1, 5))
    counts = [draw(st.integers(1, 6)) for _ in range(threads)]
    total = sum(counts) + threads
    scale = draw(st.sampled_from([1, 20_000, 1_000_000]))
    moments = draw(
        st.lists(st.integers(1, 10 * total), min_size=total, max_size=total, unique=True)
    )
    slices = []
    for thread, count in enumerate(counts):
        edges = sorted(moments.pop() for _ in range(count + 1))
        for a, b in pairwise(edges):
            state = draw(st.integers(0, 3))
            slices.append(
                Slice(
                    thread,
                    a * scale,
                    b * scale,
                    state,
                    draw(st.integers(0, 3)),
                    draw(st.integers(0, 4)) if state == WAITING else 0,
                    draw(st.integers(-1, threads - 1)),
                )
            )
    process = [draw(st.integers(0, 1)) for _ in range(threads)]
    stop = draw(st.integers(1, 10 * total + 5)) * scale
    begun = draw(st.sampled_from([0, stop // 5]))
    return slices, process, 0, stop, begun, draw(st.sampled_from([0.5, 1.0, 2.0, 4.0]))


def _total(found: Divided) -> float:
    return sum(a + b for a, b in found[0].values()) + sum(found[1].values())


def _near(a: Divided, b: Divided) -> None:
    keys = a[0].keys() | b[0].keys()
    for key in keys:
        assert a[0].get(key, [0, 0]) == pytest.approx(b[0].get(key, [0, 0]), abs=1e-3), key
    assert {k: v for k, v in a[1].items() if v} == {k: v for k, v in b[1].items() if v}
    assert a[2] == b[2]


@given(runs())
def test_kernel_divides_as_its_twin_and_sums_to_elapsed(
    run: tuple[list[Slice], list[int], int, int, int, float],
) -> None:
    found = kernel(*run)
    _near(found, twin.divide(*run))
    assert _total(found) == pytest.approx(run[3] - run[2], rel=1e-9)


@given(runs(), st.randoms(use_true_random=False))
def test_numbers_of_threads_change_nothing(
    run: tuple[list[Slice], list[int], int, int, int, float], random: object
) -> None:
    slices, process, start, stop, begun, cpus = run
    names = list(range(len(process)))
    random.shuffle(names)  # type: ignore[attr-defined]
    other = [
        Slice(
            names[s.thread], s.begin, s.end, s.state, s.ender, s.relation,
            names[s.target] if s.target >= 0 else -1,
        )
        for s in slices
    ]  # fmt: skip
    moved = [process[names.index(n)] for n in range(len(process))]
    rest = (start, stop, begun, cpus)
    _near(kernel(slices, process, *rest), kernel(other, moved, *rest))


@given(runs(), st.integers(0, 3))
def test_a_thread_that_only_waits_changes_nothing(
    run: tuple[list[Slice], list[int], int, int, int, float], ender: int
) -> None:
    slices, process, start, stop, begun, cpus = run
    rest = (start, stop, begun, cpus)
    idle = Slice(len(process), start, stop, WAITING, ender)
    more = kernel([*slices, idle], [*process, 0], *rest)
    _near(kernel(slices, process, *rest), more)


def test_bad_slices_are_refused() -> None:
    good = Slice(0, 0, 10, RUNNING)
    for bad, message in (
        ([Slice(0, 5, 5, RUNNING)], "before it begins"),
        ([good, Slice(0, 5, 20, WAITING)], "overlap"),
        ([Slice(3, 0, 10, RUNNING)], "no thread"),
        ([Slice(0, 0, 10, HELD + 1)], "does not exist"),
        ([Slice(0, 0, 10, WAITING, target=9)], "joins"),
    ):
        with pytest.raises(ValueError, match=message):
            kernel(bad, [0], 0, 100, 0, 2.0)
    with pytest.raises(ValueError, match="no CPU"):
        kernel([good], [0], 0, 100, 0, 0.0)
