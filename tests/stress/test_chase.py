"""Chases go round once over every line; latencies come out of them, alone and beside load."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon import _native
from gnomon.errors import UsageError
from gnomon.stress.chase import Chase, core_clock, core_to_core, page_size
from gnomon.stress.memory import Buffer
from gnomon.stress.nodes import usable_cpus
from gnomon.stress.streams import Lane, Stream

CPUS = sorted(usable_cpus())


def followed(buffer: Buffer, start: int, line: int, most: int) -> list[int]:
    """Return the numbers of lines in the order of their links, until a line comes again."""
    links = np.frombuffer(buffer.view, np.uint64)
    order: list[int] = []
    at = start
    while len(order) <= most:
        place, rest = divmod(at - buffer.address, line)
        assert rest == 0
        order.append(place)
        at = int(links[place * line // 8])
        if at == start:
            break
    return order


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 700),
    st.sampled_from([8, 64, 128]),
    st.integers(1, 90),
    st.integers(1, 5),
    st.integers(0, 2**32),
)
def test_every_line_is_visited_once_in_one_cycle(
    lines: int, line: int, group: int, colours: int, seed: int
) -> None:
    with Buffer(lines * line, huge=False) as buffer:
        start = _native.link_chase(buffer.address, lines, line, group, colours, seed)
        order = followed(buffer, start, line, lines)
    assert sorted(order) == list(range(lines))
    # A colour is done with before the next, and within it a group before the next.
    visits = [(place % group % colours, place // group) for place in order]
    stays = [key for key, _ in itertools.groupby(visits)]
    assert len(stays) == len(set(stays))
    assert len(list(itertools.groupby(stays, key=lambda key: key[0]))) == len(
        {colour for colour, _ in stays}
    )


def test_the_same_seed_gives_the_same_way_and_another_a_different_one() -> None:
    with Buffer(1 << 16, huge=False) as buffer:
        ways = [
            followed(buffer, _native.link_chase(buffer.address, 1024, 64, 256, 4, seed), 64, 1024)
            for seed in (1, 1, 2)
        ]
    assert ways[0] == ways[1] != ways[2]


def test_samples_are_latencies_of_loads() -> None:
    with Buffer(1 << 14, huge=False) as buffer:
        samples = Chase(buffer).samples(CPUS[0], 3)
    assert len(samples.values) == 3
    # No load takes less than a tenth of a nanosecond, and the best one from a cache no microsecond;
    # the others may, where the thread had to wait for its CPU.
    assert 0.1 < samples.least < 1000
    assert samples.least <= samples.median


def test_latency_beside_load_comes_with_what_was_moved() -> None:
    with Buffer(1 << 20) as buffer, Buffer(1 << 20) as other:
        lanes = [Lane(other, cpu=CPUS[-1])]
        for duty in (0.5, 1.0):
            # On a busy machine the other thread may not get its turn at once.
            deadline = time.monotonic() + 120
            moved = 0.0
            while not moved and time.monotonic() < deadline:
                found = Chase(buffer).loaded(lanes, Stream.READ, duty=duty, cpu=CPUS[0], count=5)
                assert found.latency.least > 0
                moved = found.bandwidth
            assert moved > 0


@pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")
def test_a_line_goes_between_two_cpus() -> None:
    assert core_to_core(CPUS[0], CPUS[1], rounds=50, samples=3).least > 0


def test_what_makes_no_sense_is_refused() -> None:
    with Buffer(4096, huge=False) as buffer:
        with pytest.raises(UsageError, match="chase over 8192 bytes"):
            Chase(buffer, 8192)
        with pytest.raises(UsageError, match="chase over 64 bytes"):
            Chase(buffer, 64)
        with pytest.raises(OSError, match="sched_setaffinity"):
            Chase(buffer).sample(1023)
    with pytest.raises(UsageError, match="two CPUs"):
        core_to_core(0, 0)
    with pytest.raises(OSError, match="sched_setaffinity"):
        core_to_core(CPUS[0], 1023)


def test_a_core_has_a_clock() -> None:
    assert 0.01 < core_clock(CPUS[0], 0.005) < 20


def test_pages_are_of_one_of_two_sizes() -> None:
    with Buffer(4 << 20, huge=False) as small:
        assert page_size(small) < 2 << 20
    with Buffer(4 << 20) as huge:
        assert page_size(huge) == 2 << 20 or huge.note
