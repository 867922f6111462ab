"""Reading a group of four software events: from Python, in C, and through PAPI."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.harness.result import (
    Benchmark,
    Effort,
    FailedError,
    MissingError,
    Note,
    Result,
    Row,
    Target,
)
from benchmarks.harness.statistics import paired_ratio, quartiles
from benchmarks.harness.timing import Timed, interleaved, per_call
from benchmarks.harness.tools import compiled
from gnomon import _native

_SOFTWARE = 1  # PERF_TYPE_SOFTWARE
_EVENTS = (  # the kernel's number, PAPI's name
    (1, "perf::TASK-CLOCK"),
    (2, "perf::PAGE-FAULTS"),
    (3, "perf::CONTEXT-SWITCHES"),
    (4, "perf::CPU-MIGRATIONS"),
)
_HARDWARE = (0, 1)  # cycles, instructions
_CALLS = 2000
_ROUNDS = 300


def run(effort: Effort) -> Iterator[Result]:
    """Time the same reading on all sides in turn."""
    rounds = effort.rounds(_ROUNDS)
    group = _group(_SOFTWARE, [number for number, _ in _EVENTS])
    with compiled("group_read.c", "-shared", "-fPIC") as library:
        sides = {"gnomon": per_call(group.read, _CALLS), "C": _in_c(library, group)}
        papi: MissingError | None = None
        try:
            sides["PAPI"] = per_call(_papi_reader(), _CALLS)
        except MissingError as error:
            papi = error
        times = interleaved(sides, rounds)
    group.close()
    ours = quartiles(times["gnomon"])
    for name, words, target in (
        ("C", "read() in C", Target(1.7)),
        ("PAPI", "PAPI_read through ctypes", Target(1.0, strict=True)),
    ):
        if name in times:
            ratio = paired_ratio(times["gnomon"], times[name])
            yield Row("group read of 4 events", ours, words, quartiles(times[name]), ratio, target)
    if papi is not None:
        yield Note(f"not compared with PAPI: {papi}")
    yield from _without_system_call(rounds)


def _group(kind: int, numbers: list[int] | tuple[int, ...]) -> _native.Group:
    specs = []
    for number in numbers:
        spec = _native.EventSpec()
        spec.type = kind
        spec.config = number
        specs.append(spec)
    group = _native.Group(specs, 0, -1)
    group.enable()
    return group


def _in_c(library: Path, group: _native.Group) -> Timed:
    """Read the very same group in C: same attributes, same kernel objects."""
    function = ctypes.CDLL(str(library)).read_group
    function.restype = ctypes.c_double
    function.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_long)
    fd, events = group.fileno(), len(group)

    def timed() -> float:
        seconds = float(function(fd, events, _CALLS))
        if seconds < 0:
            raise FailedError("the group could not be read in C")
        return seconds

    return timed


def _papi_reader() -> Callable[[], object]:
    """Return PAPI_read of the same four events, its values left in a C array.

    That favours PAPI: a caller who wants Python numbers has yet to fetch them. It counts in
    user mode only, which is its default.
    """
    name = ctypes.util.find_library("papi")
    if name is None:
        raise MissingError("there is no libpapi here: install libpapi-dev or libpapi7.0")
    papi = ctypes.CDLL(name)
    papi.PAPI_strerror.restype = ctypes.c_char_p

    def checked(what: str, code: int) -> None:
        if code != 0:
            reason = papi.PAPI_strerror(code) or b"unknown error"
            raise MissingError(f"{what} failed: {reason.decode()} ({code})")

    _start_papi(papi)
    chosen = ctypes.c_int(-1)  # PAPI_NULL
    checked("PAPI_create_eventset", papi.PAPI_create_eventset(ctypes.byref(chosen)))
    for _, event in _EVENTS:
        checked(f"adding {event}", papi.PAPI_add_named_event(chosen, event.encode()))
    checked("PAPI_start", papi.PAPI_start(chosen))
    values = (ctypes.c_longlong * len(_EVENTS))()
    read = papi.PAPI_read
    read.argtypes = (ctypes.c_int, ctypes.c_void_p)
    number, address = chosen.value, ctypes.addressof(values)
    checked("PAPI_read", read(number, address))
    if values[0] == 0:
        raise MissingError("PAPI opens the events but its task clock stays at zero")

    def reader(_keep: object = values) -> object:
        return read(number, address)

    return reader


def _start_papi(papi: ctypes.CDLL) -> None:
    # The library accepts only the version it is, which it does not tell beforehand.
    versions = [major << 24 | minor << 16 for major in (7, 6, 5) for minor in range(8)]
    if not any(papi.PAPI_library_init(version) == version for version in versions):
        raise MissingError("PAPI_library_init refuses every version from 5.0 to 7.7")


def _without_system_call(rounds: int) -> Iterator[Result]:
    """Compare reading in user mode with the system call, where there is a PMU for it."""
    try:
        group = _group(0, _HARDWARE)
    except OSError as error:
        yield Note(
            "not measured: read_user (rdpmc) needs a hardware event, and opening cycles and "
            f"instructions failed here: {error.strerror}"
        )
        return
    try:
        if not group.map_user_pages():
            yield Note("not measured: the kernel does not allow rdpmc for these events")
            return
        times = interleaved(
            {"user": per_call(group.read_user, _CALLS), "call": per_call(group.read, _CALLS)},
            rounds,
        )
    finally:
        group.close()
    yield Row(
        "read_user (rdpmc) of 2 hardware events",
        quartiles(times["user"]),
        "read of the same",
        quartiles(times["call"]),
        paired_ratio(times["user"], times["call"]),
    )


BENCHMARK = Benchmark("group-read", "Reading a group of counters from Python", run)
