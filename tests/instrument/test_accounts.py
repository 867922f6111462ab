"""Profiles without the cost of the profiler: inclusive is exclusive and what is called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.errors import UsageError
from gnomon.instrument.accounts import Call, Entry, Probe, correct, region_accounts, roll_up
from gnomon.instrument.result import Overhead, RegionCount, RegionReport

GET_DATA = {  # Parker, node 1 of the run with 32 workers
    "get_access": 2.140364,
    "release_access": 0.214406,
    "get_sole_access": 0.080460,
    "release_sole_access": 0.198639,
    "send_msg": 3.481132,
    "cache_down": 132.520182,
    "release_retain": 0.289839,
}


def test_the_published_call_tree_adds_up() -> None:
    calls = [
        Call(("getrhos_many",), 992353, 149.679501),
        Call(("getrhos_many", "get_data"), 2663267, 140.736236),
        Call(("getrhos_many", "release_data"), 2663267, 2.035036),
        *(Call(("getrhos_many", "get_data", name), 1, time) for name, time in GET_DATA.items()),
    ]
    accounts = correct(calls, Probe())
    assert accounts["getrhos_many",].exclusive == pytest.approx(6.908229)
    assert accounts["getrhos_many", "get_data"].exclusive == pytest.approx(1.811214)


def test_what_probes_added_is_taken_out_again() -> None:
    # True times 100 and 40 with 2 calls; each measurement costs 3 inside and 5 outside.
    inner = 40 + 2 * 3
    outer = 60 + inner + 2 * 5 + 3
    found = correct([Call(("a",), 1, outer), Call(("a", "b"), 2, inner)], Probe(3, 5))
    assert (found["a",].exclusive, found["a",].inclusive) == (60, 100)
    assert (found["a", "b"].exclusive, found["a", "b"].inclusive) == (40, 40)
    assert not found.warnings


trees = st.dictionaries(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(tuple),
    st.tuples(st.integers(0, 100), st.floats(0, 1e6)),
    max_size=12,
)


@given(trees, st.floats(0, 50), st.floats(0, 50))
def test_inclusive_is_exclusive_and_children(
    tree: dict[tuple[str, ...], tuple[int, float]], interior: float, exterior: float
) -> None:
    calls = [Call(path, *what) for path, what in tree.items()]
    found = correct(calls, Probe(interior, exterior))
    for row in found.rows:
        below = sum(each.inclusive for each in found.rows if each.path[:-1] == row.path)
        assert row.inclusive == pytest.approx(row.exclusive + below)
        assert row.exclusive >= 0


def test_a_function_shorter_than_its_measurement_is_told() -> None:
    found = correct([Call(("a",), 10, 5.0)], Probe(1.0, 0.0))
    assert found["a",].exclusive == 0
    assert "shorter than" in found.warnings[0]


def test_negative_times_are_refused() -> None:
    with pytest.raises(UsageError, match="negative"):
        correct([Call(("a",), 1, -1.0)], Probe())


def test_regions_agree_with_the_correction_of_the_report() -> None:
    def count(path: tuple[str, ...], instances: int, wall: int) -> RegionCount:
        return RegionCount(path, instances, 1, 1, wall, 1, 1, {}, {})

    report = RegionReport(
        (count(("a",), 1, 1000), count(("a", "b"), 10, 400)),
        (),
        Overhead({"time": 4.0}, {"time": 10.0}),
    )
    found = region_accounts(report)
    assert found["a", "b"].inclusive == 400 - 40
    assert found["a",].exclusive == 600 - 4 - 60
    assert found["a",].inclusive == 1000 - 4 - 10 * 10  # as the report corrects it
    assert region_accounts(report, corrected=False)["a",].exclusive == 600


def test_roll_up() -> None:
    found = roll_up([Entry("a", 1, 1, "c"), Entry("b", 3, 1, "m"), Entry("d", 1, 1, "c")])
    assert (found.times, found.total, found.share("c")) == ({"c": 2, "m": 3}, 5, 0.4)
