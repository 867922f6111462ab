"""Valgrind's cachegrind: its events, the command line that starts it, and the files that it leaves.

Every process leaves a log when it begins and its counts when it ends, each in a file that
ends with its number. `try_out` finds out whether the one that is installed can be used.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from gnomon.errors import UsageError
from gnomon.events.event import Event, Kind, Request
from gnomon.sources.valgrind import SOURCE

_SHAPE = re.compile(r"desc: (I1|D1|LL) cache:\s*(\d+) B, (\d+) B, (?:(\d+)-way|direct-mapped)")
# Only a program that was started has its valgrind read symbols of its own; after a fork
# there is a new log and no such line.
_STARTED = re.compile(r"Reading syms from \S*/cachegrind-")
_UNKNOWN_INSTRUCTION = re.compile(r"Unrecognised instruction at address (0x[0-9a-f]+)")
_TAIL = 4096  # bytes at the end of a file of counts that surely hold its last line
_SMALLEST_LINE = 16


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a simulated cache: its size, its ways, and the size of its lines in bytes."""

    size: int
    ways: int
    line: int

    @classmethod
    def parse(cls, text: str, cache: str) -> Shape:
        """Read `SIZE,WAYS,LINE`, as in `32768,8,64`."""
        words = [word.strip() for word in text.split(",")]
        if len(words) != 3 or not all(w.isascii() and w.isdigit() for w in words):
            raise UsageError(
                f"'{text}' is not a shape for {cache}: give size, ways and line size in bytes, "
                "as in 32768,8,64."
            )
        shape = cls(*map(int, words))
        if why := shape._flaw():
            raise UsageError(f"'{text}' is not a shape for {cache}: {why}.")
        return shape

    def _flaw(self) -> str:
        if not _power_of_two(self.line) or self.line < _SMALLEST_LINE:
            return f"a line of {self.line} bytes is no power of two from {_SMALLEST_LINE} up"
        if self.ways < 1 or self.size <= self.line:
            return "a cache has at least one way and more than one line"
        sets, rest = divmod(self.size, self.line * self.ways)
        if rest or not _power_of_two(sets):
            return f"{self.ways} ways of {self.line}-byte lines do not make a power of two of sets"
        return ""

    @property
    def option(self) -> str:
        """The shape as valgrind's options have it."""
        return f"{self.size},{self.ways},{self.line}"

    @property
    def text(self) -> str:
        """The shape as people write it."""
        size, unit = self.size, "B"
        for larger in ("KiB", "MiB"):
            if size % 1024 == 0:
                size, unit = size // 1024, larger
        return f"{size} {unit} {self.ways}-way {self.line} B lines"


def _power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


@dataclass(frozen=True, slots=True)
class Simulation:
    """What cachegrind is to simulate beside counting instructions; less is faster.

    A cache without a shape is like the host's, as far as valgrind can tell.
    """

    caches: bool = True
    branches: bool = True
    i1: Shape | None = None
    d1: Shape | None = None
    ll: Shape | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """The options that say so."""
        shapes = (("I1", self.i1), ("D1", self.d1), ("LL", self.ll))
        return (
            f"--cache-sim={'yes' if self.caches else 'no'}",
            f"--branch-sim={'yes' if self.branches else 'no'}",
            *(f"--{name}={shape.option}" for name, shape in shapes if shape is not None),
        )


def command_line(
    valgrind: tuple[str, ...], folder: Path, simulation: Simulation, argv: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the words that run a program and its children and leave their files in a folder.

    `valgrind` is its path, with options that its version needs.
    """
    place = str(folder).replace("%", "%%")
    return (
        *valgrind,
        "--tool=cachegrind",
        # Neither VALGRIND_OPTS nor a .valgrindrc may change what is counted.
        "--command-line-only=yes",
        "--vgdb=no",  # it would leave pipes in the folder for temporary files
        "--trace-children=yes",
        "-v",  # the only way to tell from a log how a process began
        f"--log-file={place}/log.%p",
        f"--cachegrind-out-file={place}/counts.%p",
        *simulation.options,
        "--",
        *argv,
    )


@dataclass(frozen=True, slots=True)
class ProcessCounts:
    """What one process left: its counts by valgrind's names, None when there are none.

    A `forked` one began as a copy of its parent, whose counts so far are among its own.
    `unknown_instruction` is the address of one that valgrind does not know.
    """

    pid: int
    counts: dict[str, int] | None
    forked: bool
    unknown_instruction: str


def processes(folder: Path) -> Iterator[ProcessCounts]:
    """Yield what each process left in a folder, in the order of their numbers."""
    numbers = [int(path.suffix[1:]) for path in folder.glob("log.*")]
    for pid in sorted(numbers):
        log = (folder / f"log.{pid}").read_text(errors="replace")
        unknown = _UNKNOWN_INSTRUCTION.search(log)
        yield ProcessCounts(
            pid,
            read_counts(folder / f"counts.{pid}"),
            forked=_STARTED.search(log) is None,
            unknown_instruction=unknown[1] if unknown else "",
        )


def read_counts(path: Path) -> dict[str, int] | None:
    """Return the totals in a file of counts, None when it is not there or not complete."""
    try:
        with path.open("rb") as file:
            names = next((line for line in file if line.startswith(b"events:")), b"")
            size = file.seek(0, 2)
            file.seek(max(size - _TAIL, 0))
            last = file.read().splitlines()[-1:]
    except OSError:
        return None
    if not last or not last[0].startswith(b"summary:"):
        return None
    events = names.decode().split()[1:]
    return dict(zip(events, map(int, last[0].split()[1:]), strict=True))


def read_shapes(path: Path) -> dict[str, Shape]:
    """Return the caches that a file of counts says were simulated."""
    return {
        found[1]: Shape(int(found[2]), int(found[4] or 1), int(found[3]))
        for found in _SHAPE.finditer(path.read_text(errors="replace"))
    }


PREFIX = SOURCE.capabilities.event_prefix
CACHE_EVENTS = frozenset({"I1mr", "ILmr", "Dr", "D1mr", "DLmr", "Dw", "D1mw", "DLmw"})
BRANCH_EVENTS = frozenset({"Bc", "Bcm", "Bi", "Bim"})

_USER = "user space only: what the kernel does for the program is not seen"
_EXEC = "what a process did before it replaced itself by another program is lost"
_CACHE = "misses of a simulated cache without prefetching, not of this machine's own"
_PREDICTOR = "mispredictions of a simulated predictor, not of this machine's own"
_MODIFY = "an instruction that changes a place in memory counts as a read of it alone"


def _event(name: str, description: str, *more_caveats: str, aliases: tuple[str, ...] = ()) -> Event:
    # The aliases are spellings of the same thing, never a claim to be what a PMU counts:
    # without the prefix, only valgrind's own name is understood.
    return Event(
        PREFIX + name,
        description,
        Kind.VALGRIND,
        aliases=(*(PREFIX + alias for alias in aliases), name),
        caveats=(*more_caveats, _USER, _EXEC),
    )


EVENTS = (
    _event("Ir", "instructions executed in user space, exact", aliases=("instructions",)),
    _event(
        "I1mr",
        "instruction fetches that miss the simulated L1 instruction cache",
        _CACHE,
        aliases=("L1-icache-load-misses",),
    ),
    _event("ILmr", "instruction fetches that miss the simulated last-level cache", _CACHE),
    _event("Dr", "reads of data, exact", aliases=("L1-dcache-loads",)),
    _event(
        "D1mr",
        "reads of data that miss the simulated L1 data cache",
        _CACHE,
        aliases=("L1-dcache-load-misses",),
    ),
    _event(
        "DLmr",
        "reads of data that miss the simulated last-level cache",
        _CACHE,
        aliases=("LLC-load-misses",),
    ),
    _event("Dw", "writes of data, exact", _MODIFY),
    _event("D1mw", "writes of data that miss the simulated L1 data cache", _CACHE, _MODIFY),
    _event("DLmw", "writes of data that miss the simulated last-level cache", _CACHE, _MODIFY),
    _event("Bc", "conditional branches executed, exact", aliases=("conditional-branches",)),
    _event("Bcm", "conditional branches that the simulated predictor gets wrong", _PREDICTOR),
    _event("Bi", "indirect branches executed, exact", aliases=("indirect-branches",)),
    _event("Bim", "indirect branches whose target the simulated predictor misses", _PREDICTOR),
)


def own_name(event: Event) -> str:
    """Return what valgrind's files call an event."""
    return event.name.removeprefix(PREFIX)


_VERSION = re.compile(r"(\d+)\.(\d+)")
_PATIENCE = 60  # seconds; the program takes a fraction of one


@dataclass(frozen=True)
class Installation:
    """A valgrind, or why there is none to use.

    `launcher` is its path, with the options that its version needs to count exactly;
    `counted` is what the small program counted, by valgrind's names for events, and
    `caches` are the shapes of the caches that were simulated for it.
    """

    version: str = ""
    launcher: tuple[str, ...] = ()
    reason: str = ""
    remedy: str = ""
    counted: dict[str, int] = field(default_factory=dict)
    caches: dict[str, Shape] = field(default_factory=dict)

    @property
    def works(self) -> bool:
        """Whether programs can be counted with it."""
        return not self.reason

    @property
    def text(self) -> str:
        """The version and the simulated caches in one line."""
        shapes = ", ".join(f"{name} {shape.text}" for name, shape in self.caches.items())
        return f"{self.version} with {shapes}" if shapes else self.version


def installed() -> str:
    """Return the path of valgrind, empty when it is not installed."""
    return shutil.which("valgrind") or ""


@cache
def try_out(path: str, simulation: Simulation) -> Installation:
    """Run a program that does nothing under a valgrind, and see whether it was counted."""
    if not path:
        return Installation(
            reason="valgrind is not installed",
            remedy="install valgrind (Debian, Fedora and others: package valgrind)",
        )
    try:
        return _try_out(path, simulation)
    except (OSError, subprocess.SubprocessError) as error:
        return _useless(str(error))


def _try_out(path: str, simulation: Simulation) -> Installation:
    version = subprocess.run(
        [path, "--version"], capture_output=True, text=True, timeout=_PATIENCE, check=True
    ).stdout.strip()
    launcher = _launcher(path, version)
    with tempfile.TemporaryDirectory(prefix="gnomon-valgrind-") as name:
        folder = Path(name)
        done = subprocess.run(
            command_line(launcher, folder, simulation, ("true",)),
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
        found = [process for process in processes(folder) if process.counts]
        if done.returncode or len(found) != 1 or found[0].counts is None:
            return _useless(" ".join(done.stderr.split()) or f"exit code {done.returncode}")
        caches = read_shapes(folder / f"counts.{found[0].pid}")
        return Installation(
            version.replace("-", " "), launcher, counted=found[0].counts, caches=caches
        )


def _launcher(path: str, version: str) -> tuple[str, ...]:
    # Translating beyond a branch makes of two branches one: a loop of two instructions has
    # only half of its branches counted then. Before 3.17 this was never done.
    found = _VERSION.search(version)
    chases = found is not None and (int(found[1]), int(found[2])) >= (3, 17)
    return (path, "--vex-guest-chase=no") if chases else (path,)


def _useless(why: str) -> Installation:
    return Installation(
        reason=f"valgrind cannot run even a program that does nothing: {why}",
        remedy="run `valgrind --tool=cachegrind true` to see what is wrong",
    )


def why_refused(request: Request, installation: Installation) -> tuple[str, str] | None:
    """Return reason and remedy where a request cannot be counted, None where it can."""
    if request.event.kind is not Kind.VALGRIND:
        return request.event.description or "it is no event of valgrind", ""
    if not installation.works:
        return installation.reason, installation.remedy
    # Everything is in user space and always counted: `u`, `D` and `e` ask for what is so.
    if set(request.modifiers.text) - set("uDe"):
        return "valgrind counts what a program does in user space", "omit the modifier"
    return None
