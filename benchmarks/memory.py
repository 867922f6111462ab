"""Probes of this host's memory: chases beside a reference in C, streams beside likwid-bench.

Both sides go over as much memory, on the same CPUs, as often. Where pages happen to lie decides
how well a cache holds them: both chases of a round go over the very same lines in turns, those of
the next round over others, and streams get new memory each time on either side. Rates count what
a loop loads and stores, as likwid does; what a store fetches first is not counted. Of likwid's
kernels for one stream, the one that is fastest here is the peer.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness.result import (
    Benchmark,
    Effort,
    FailedError,
    Judged,
    MissingError,
    Note,
    Result,
    Row,
    Target,
    Unit,
)
from benchmarks.harness.statistics import paired_ratio, quartiles
from benchmarks.harness.timing import in_turn, process
from benchmarks.harness.tools import compiled, gnomon_program, program
from gnomon.stress.chase import LEAST_SECONDS, LINE, MOST_SECONDS, SAMPLES, Chase
from gnomon.stress.memory import Buffer
from gnomon.stress.nodes import usable_cpus
from gnomon.stress.streams import STAGGER, Lane, Stream, stream_rounds
from gnomon.units import format_bytes

_ROUNDS, _LEAST_ROUNDS = 60, 30
_LONG_ROUNDS = 12  # of chases that take a second to link
_STREAM_ROUNDS, _LEAST_STREAM_ROUNDS = 11, 7  # likwid-bench sleeps for two seconds each time
_ROUNDS_WITHOUT_TARGET = 2
_CHASES = (16 << 10, 256 << 10, 128 << 20)  # within L1, within L2, memory
_LONG = 16 << 20
_WITHIN = 0.05
_MEMORY = 256_000_000  # bytes of all arrays of a stream together
_PASSES = 12  # over it, in each measurement of either side
_TRIALS = 1  # of each of likwid's kernels, to find the fastest
_CURVE_ROUNDS = 3
_CURVE_SECONDS = 10.0

_KERNELS: Mapping[Stream, str] = {
    Stream.READ: "load",
    Stream.COPY: "copy",
    Stream.TRIAD: "stream",  # likwid's "triad" is of four arrays
    Stream.COPY_NT: "copy_mem",
    Stream.TRIAD_NT: "stream_mem",
}
_WIDTHS = {"_sse": "sse2", "_avx": "avx", "_avx512": "avx512f"}  # suffix: flag of the CPU
_FUSED = ("", "_fma")


def run(effort: Effort) -> Iterator[Result]:
    """Chase, stream, draw a whole curve."""
    cpus = sorted(usable_cpus())
    yield from _chases(effort.rounds(_ROUNDS, least=_LEAST_ROUNDS), cpus[0])
    try:
        yield from _streams(effort.rounds(_STREAM_ROUNDS, least=_LEAST_STREAM_ROUNDS), cpus)
    except MissingError as error:
        yield Note(f"not compared with likwid-bench: {error}")
    yield from _curve(effort.rounds(_CURVE_ROUNDS, least=1))


def _chases(rounds: int, cpu: int) -> Iterator[Result]:
    try:
        with compiled("chase.c", "-shared", "-fPIC") as path:
            library = ctypes.CDLL(str(path))
            for size in _CHASES:
                enough = rounds if size < _LONG else _LONG_ROUNDS
                pairs = [_chase_both(library, size, cpu, number) for number in range(enough)]
                ours, peer = zip(*pairs, strict=True)
                ratio = paired_ratio(ours, peer)
                name = f"chase over {format_bytes(size)}, best of {SAMPLES}, a load"
                target = Target(1 + _WITHIN)
                yield Row(name, quartiles(ours), "C", quartiles(peer), ratio, target)
                if ratio.high < 1 - _WITHIN:
                    yield Note(f"{name}: less than the reference by over 5 %", failed=True)
    except MissingError as error:
        yield Note(f"chases not compared: {error}")


def _chase_both(library: ctypes.CDLL, size: int, cpu: int, number: int) -> tuple[float, float]:
    """Return the seconds a load, the least of samples in turn, of ours and of the reference."""
    with Buffer(size) as buffer:
        ours = Chase(buffer)
        reference = _Reference(library, buffer)
        sides = (ours.sample, reference.sample) if number % 2 else (reference.sample, ours.sample)
        samples: dict[object, list[float]] = {side: [] for side in sides}
        for _ in range(1 + SAMPLES):
            for side in sides:
                samples[side].append(side(cpu))
    # The first of each warms up.
    return min(samples[ours.sample][1:]) / 1e9, min(samples[reference.sample][1:]) / 1e9


class _Reference:
    """The chase in C, over the same lines: its links are in the second word of each."""

    def __init__(self, library: ctypes.CDLL, buffer: Buffer) -> None:
        self._chase = library.chase
        self._chase.restype = ctypes.c_double
        library.link_lines.restype = ctypes.c_void_p
        self._lines = ctypes.c_size_t(buffer.size // LINE)
        begin = ctypes.c_void_p(buffer.address + ctypes.sizeof(ctypes.c_void_p))
        self._at = ctypes.c_void_p(library.link_lines(begin, self._lines))

    def sample(self, cpu: int) -> float:
        """Return the ns a load of a sample as long as ours."""
        limits = (ctypes.c_double(LEAST_SECONDS * 1e9), ctypes.c_double(MOST_SECONDS * 1e9))
        latency = self._chase(ctypes.byref(self._at), self._lines, cpu, *limits)
        if latency <= 0:
            raise FailedError("the reference chase failed")
        return float(latency)


def _streams(rounds: int, cpus: Sequence[int]) -> Iterator[Result]:
    likwid = program("likwid-bench", "install likwid")
    there = set(_printed([str(likwid), "-a"]).split())
    flags = _cpu_flags()
    for stream, kernel in _KERNELS.items():
        widths = [width for width, flag in _WIDTHS.items() if flag in flags][-2:] or [""]
        names = [f"{kernel}{width}{fused}" for width in widths for fused in _FUSED]
        fastest = _fastest(likwid, [name for name in names if name in there])
        if fastest is None:
            yield Note(f"{stream} not compared: no kernel {kernel} of likwid-bench works here")
            continue
        enough = rounds if _has_target(stream) else min(rounds, _ROUNDS_WITHOUT_TARGET)
        for threads in (1, 2):
            if threads <= len(cpus):
                yield _stream(stream, cpus[:threads], likwid, fastest, enough)
    if len(cpus) == 1:
        yield Note("two threads not compared: there is one CPU to use")


def _has_target(stream: Stream) -> bool:
    return not stream.endswith("-nt")


def _fastest(likwid: Path, kernels: Sequence[str]) -> str | None:
    """Return the fastest of likwid's kernels; some crash on some machines."""
    tried = {}
    for kernel in kernels:
        try:
            tried[kernel] = max(_likwid_rate(likwid, kernel, 1) for _ in range(_TRIALS))
        except MissingError:
            continue
    return max(tried, key=lambda kernel: tried[kernel], default=None)


def _cpu_flags() -> set[str]:
    found = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return set() if found is None else set(found[1].split())


def _stream(stream: Stream, cpus: Sequence[int], likwid: Path, kernel: str, rounds: int) -> Result:
    sides = {
        "ours": partial(_our_rate, stream, cpus),
        "likwid": partial(_likwid_rate, likwid, kernel, len(cpus)),
    }
    rates = {name: np.asarray(values) for name, values in in_turn(sides, rounds).items()}
    ratio = paired_ratio(rates["ours"], rates["likwid"])
    target = Target(1.0, at_least=True) if _has_target(stream) else None
    name = f"{stream}, {len(cpus)} thread{'s' * (len(cpus) > 1)}"
    ours, peer = quartiles(rates["ours"]), quartiles(rates["likwid"])
    return Row(name, ours, f"likwid {kernel}", peer, ratio, target, Unit.RATE)


def _our_rate(stream: Stream, cpus: Sequence[int]) -> float:
    with ExitStack() as stack:
        each = _MEMORY // stream.arrays // len(cpus) // 64 * 64
        room = each * len(cpus) + stream.arrays * STAGGER
        buffers = [stack.enter_context(Buffer(room)) for _ in range(stream.arrays)]
        b, a, c = (*buffers, None, None)[:3]
        assert b is not None
        lanes = [Lane(b, a, c, each, at * each, cpu, STAGGER) for at, cpu in enumerate(cpus)]
        return float(stream_rounds(stream, lanes, rounds=1, repeats=_PASSES)[0])


def _likwid_rate(likwid: Path, kernel: str, threads: int) -> float:
    size = f"N:{_MEMORY // 1000}kB:{threads}"
    text = _printed([str(likwid), "-t", kernel, "-w", size, "-i", str(_PASSES)])
    found = re.search(r"^MByte/s:\s*([0-9.]+)", text, re.MULTILINE)
    if found is None:
        raise MissingError(f"likwid-bench -t {kernel} did not print a rate")
    return float(found[1]) * 1e6


def _printed(argv: Sequence[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MissingError(f"`{' '.join(argv)}` ended with status {done.returncode}")
    return done.stdout


def _curve(rounds: int) -> Iterator[Result]:
    side = process([gnomon_program(), "memory", "curve", "--json"])
    times = [side() for _ in range(rounds)]
    target = Target(_CURVE_SECONDS, Judged.VALUE)
    yield Row("curve of 16 KiB to 256 MiB, pages of both sizes", quartiles(times), target=target)


BENCHMARK = Benchmark("memory", "Probes of this host's memory", run)
