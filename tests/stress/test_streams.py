"""Streams do to memory what their Python twins do, at every width of instructions."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gnomon import _native
from gnomon.errors import UsageError
from gnomon.stress.memory import Buffer
from gnomon.stress.nodes import usable_cpus
from gnomon.stress.streams import Lane, Stream, stream_load, stream_rounds

CPU = min(usable_cpus())


def twin(stream: Stream, b: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a stream writes."""
    return b + 3 * c if stream.arrays == 3 else b


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(list(Stream)),
    st.sampled_from(_native.stream_widths()),
    # Long arrays are gone over in several places at once, with a rest at their end.
    st.one_of(st.integers(1, 300), st.integers((1 << 15) - 9, (1 << 15) + 300)),
    st.integers(0, 2**32 - 1),
)
def test_streams_equal_their_twins(stream: Stream, width: str, count: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    buffers = [Buffer(count * 8 + 64, huge=False) for _ in range(3)]
    a, b, c = (np.frombuffer(buffer.view, np.float64, count + 8) for buffer in buffers)
    a[:], b[:], c[:] = -1, random.integers(-1000, 1000, count + 8), random.integers(0, 9, count + 8)
    one, two, three = (buffer.address for buffer in buffers)
    total = _native.stream_once(stream.number, width, (one, two, three, count, -1))
    if stream is Stream.READ:
        assert total == b[:count].sum()
        assert np.all(a == -1)
    else:
        np.testing.assert_array_equal(a[:count], twin(stream, b, c)[:count])
        assert np.all(a[count:] == -1)
    del a, b, c
    for buffer in buffers:
        buffer.close()


@pytest.mark.parametrize("stream", list(Stream))
def test_staggered_arrays_are_streamed_from_where_they_begin(stream: Stream) -> None:
    size = 4096
    with Buffer(size + 256) as a, Buffer(size + 256) as b, Buffer(size + 256) as c:
        for number, buffer in enumerate((a, b, c)):
            np.frombuffer(buffer.view, np.float64)[:] = np.arange(544) * 10**number
        stream_rounds(stream, [Lane(b, a, c, size, 0, CPU, 128)], rounds=1)
        written = np.frombuffer(a.view, np.float64)
        expected = np.arange(544.0)
        if stream is not Stream.READ:
            expected[:512] = twin(stream, 10 * np.arange(16.0, 528.0), 100 * np.arange(32.0, 544.0))
        np.testing.assert_array_equal(written, expected)
        with pytest.raises(UsageError, match="longer than its buffer"):
            Lane(b, a, c, size + 256, 0, CPU, 128).place(stream)
        del written


@pytest.mark.parametrize("stream", list(Stream))
def test_rounds_go_over_all_lanes(stream: Stream) -> None:
    size = 1 << 16
    with Buffer(size) as a, Buffer(size) as b, Buffer(size) as c:
        source = np.frombuffer(b.view, np.float64)
        source[:] = np.arange(source.size)
        half = size // 2
        lanes = [Lane(b, a, c, half, at * half, CPU) for at in (0, 1)]
        rates = stream_rounds(stream, lanes, rounds=3, repeats=2, seconds=5)
        assert rates.shape == (3,)
        assert np.all(rates > 0)
        if stream is not Stream.READ:
            np.testing.assert_array_equal(np.frombuffer(a.view, np.float64), source)
        del source


def test_rounds_end_when_the_time_is_over() -> None:
    with Buffer(1 << 20) as b:
        assert stream_rounds(Stream.READ, [Lane(b)], rounds=10**6, seconds=0.01).size < 10**6


def test_a_load_counts_what_it_moves() -> None:
    with Buffer(1 << 20) as a, Buffer(1 << 20) as b, Buffer(1 << 20) as c:
        moved = stream_load(Stream.TRIAD, Lane(b, a, c, cpu=CPU), seconds=0.02)
        assert moved.seconds >= 0.02
        assert moved.bytes * 2 == moved.read_bytes * 3
        assert moved.bandwidth > moved.read_bandwidth > 0


def test_a_low_duty_rests_for_most_of_the_time() -> None:
    """Blocks are so long that it sleeps between them, and time on the CPU tells how long."""
    with Buffer(8 << 20) as b:
        busy = time.thread_time()
        moved = stream_load(Stream.READ, Lane(b), seconds=0.1, duty=0.1, block=8 << 20)
        busy = time.thread_time() - busy
    assert moved.bytes > 0
    assert busy < 0.5 * moved.seconds


@pytest.mark.parametrize("duty", [0, -1, 1.5])
def test_a_duty_is_a_share(duty: float) -> None:
    with Buffer(4096) as b, pytest.raises(UsageError, match="duty"):
        stream_load(Stream.READ, Lane(b), seconds=0.01, duty=duty)


def test_lanes_are_checked() -> None:
    with Buffer(4096) as a, Buffer(8192) as b:
        with pytest.raises(UsageError, match="longer than its buffer"):
            Lane(b, a).place(Stream.COPY)
        with pytest.raises(UsageError, match="needs 3 arrays"):
            Lane(b, a, size=64).place(Stream.TRIAD)
        with pytest.raises(UsageError, match="multiple of 64"):
            Lane(b, offset=8).place(Stream.READ)


def test_unknown_widths_and_cpus_are_refused() -> None:
    with Buffer(4096) as b:
        with pytest.raises(ValueError, match="no instructions 'mmx'"):
            stream_rounds(Stream.READ, [Lane(b)], width="mmx")
        with pytest.raises(OSError, match="sched_setaffinity"):
            stream_rounds(Stream.READ, [Lane(b, cpu=1023)])
