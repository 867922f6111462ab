"""Unwinding copied stacks of real programs: ours and libdw of elfutils, on the same samples."""

from __future__ import annotations

import ctypes
import ctypes.util
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.sources.stacks.recorder import RefusedError, Sample, record
from tests.sources.stacks.test_python_frames import at_rest, interpreters
from tests.sources.stacks.test_walks import CODE, QUICK, SLOW, compared

from benchmarks.harness.result import (
    Benchmark,
    Effort,
    Judged,
    MissingError,
    Note,
    Result,
    Row,
    Target,
    Unit,
)
from benchmarks.harness.statistics import paired_ratio, quartiles, share
from benchmarks.harness.timing import Timed, interleaved
from benchmarks.harness.tools import compiled, program
from gnomon._native import FrameLibrary, FrameSpace

_PYTHON = "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nwhile 1: f(18)"
_SQL = (
    "with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000000)"
    " select sum(x * x) from c"
)
_PROGRAMS = {
    "python3": ("python3", "-c", _PYTHON),
    "sqlite3": ("sqlite3", ":memory:", _SQL),
    "bash": ("bash", "-c", "i=0; while :; do i=$((i + 1)); a[$((i % 9))]=$i; done"),
}
_ROUNDS = 30
_SECONDS = 1.5
_SAMPLES = 40


def run(effort: Effort) -> Iterator[Result]:
    """Record each program once, and walk its samples on both sides in turn."""
    for name, command in _PROGRAMS.items():
        try:
            program(command[0], f"install {name}")
            samples = _samples(command)
        except (MissingError, RefusedError) as error:
            yield Note(f"{name}: {error}")
            continue
        yield from _compared(name, samples, effort.rounds(_ROUNDS))
    if ctypes.util.find_library("dw"):
        yield from _equal(_SECONDS if effort.quick else 3 * _SECONDS)
    yield from _python()


def _python() -> Iterator[Result]:
    """Compare frames of Python with those that the interpreters tell of themselves."""
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="gnomon-bench-") as folder:
        for interpreter in interpreters():
            found = at_rest(interpreter, Path(folder, "said"))
            total += found
            yield Note(f"{interpreter}: " + ", ".join(f"{n} {what}" for what, n in found.items()))
    target = Target(0.99, Judged.VALUE, at_least=True)
    same = share(total["right"], total["frames"])
    yield Row("Python frames equal to faulthandler's", same, target=target, unit=Unit.SHARE)


def _equal(seconds: float) -> Iterator[Result]:
    """Compare our lists of addresses with libdw's, of ten programs."""
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="gnomon-bench-") as folder:
        code = Path(folder, "code.cc")
        code.write_text(CODE)
        for name, command in {**QUICK, **SLOW}.items():
            words = [str(code) if word == "CODE" else word for word in command]
            try:
                found = compared(record(words, seconds))
            except (RefusedError, OSError) as error:
                yield Note(f"{name}: {error}")
                continue
            total += found
            yield Note(f"{name}: " + ", ".join(f"{n} {what}" for what, n in found.items()))
    if count := sum(total.values()):
        target = Target(0.99, Judged.VALUE, at_least=True)
        equal = share(total["equal"], count)
        yield Row("stacks equal to libdw's", equal, target=target, unit=Unit.SHARE)


def _samples(command: tuple[str, ...]) -> list[Sample]:
    """Return the samples of one program whose mappings did not change, stacks of 16 KB."""
    samples = record(command, _SECONDS, stack_bytes=16384)
    if len(samples) < 50:
        raise MissingError(f"the machine gave {len(samples)} samples")
    last = samples[-1]
    same = [each for each in samples if (each.pid, each.maps) == (last.pid, last.maps)]
    # A recorder walks a stack that it has just copied: so few that they stay in the caches.
    return same[-_SAMPLES:]


def _compared(name: str, samples: list[Sample], rounds: int) -> Iterator[Result]:
    library = FrameLibrary()
    space = FrameSpace(library, samples[0].pid)
    space.read(samples[0].maps)
    registers, stacks = [each.registers for each in samples], [each.stack for each in samples]
    numbers, _ = space.unwind_all(registers, stacks)
    depth = sum(len(library.stack(number)) for number in numbers) / len(numbers)

    def ours() -> float:
        return space.unwind_all(registers, stacks)[1] / 1e9 / len(samples)

    with compiled("libdw_walk.c", "-shared", "-fPIC", "-ldl") as path:
        sides: dict[str, Timed] = {"gnomon": ours}
        missing: MissingError | None = None
        try:
            sides["libdw"] = _libdw(path, samples)
        except MissingError as error:
            missing = error
        times = interleaved(sides, rounds)
    quantity = f"a warm sample of {name}"
    target = Target(1e-6, Judged.VALUE)
    yield Row(quantity, quartiles(times["gnomon"]), target=target)
    if missing is not None:
        yield Note(f"not compared with libdw: {missing}")
    else:
        ratio = paired_ratio(times["gnomon"], times["libdw"])
        peer = quartiles(times["libdw"])
        yield Row(quantity, quartiles(times["gnomon"]), "libdw", peer, ratio, Target(0.2))
    yield Note(f"{name}: {len(samples)} samples of {depth:.1f} frames, {library.stacks} stacks")


def _libdw(path: Path, samples: list[Sample]) -> Timed:
    peer = ctypes.CDLL(str(path))
    peer.walk.restype = ctypes.c_double
    peer.walk.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_long)
    maps = samples[0].maps.encode()
    if not peer.prepare(maps, ctypes.c_uint64(len(maps)), samples[0].pid):
        raise MissingError("libdw1 of elfutils is not installed")
    registers = b"".join(each.registers for each in samples)
    stacks = b"".join(each.stack for each in samples)
    sizes = (ctypes.c_uint64 * len(samples))(*(len(each.stack) for each in samples))

    def walk() -> float:
        return float(peer.walk(registers, stacks, sizes, len(samples))) / len(samples)

    return walk


BENCHMARK = Benchmark("frames", "Call stacks out of copied stacks", run)
