"""The compiled fabric against its twin: every head of a packet at the same symbol time."""

from __future__ import annotations

import pytest

from .helpers import heads, random_case

_QUICK = 24
_ALL = 1000


def _check(seed: int) -> int:
    case = random_case(seed)
    twin = case.twin()
    twin.run(case.until)
    assert heads(case.run(records=True), case.until) == twin.log, f"case {seed}"
    return len(twin.log)


def test_every_head_is_at_the_time_of_the_twin() -> None:
    """Rings, tori and switches with retries, responses, finite queues, limits and sync packets."""
    assert sum(_check(seed) for seed in range(_QUICK)) > 5000


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_a_thousand_random_fabrics_are_those_of_the_twin(part: int) -> None:
    for seed in range(_QUICK + part, _ALL, 8):
        _check(seed)
