"""What a run is recorded as, to account for its wall time: moments, waits and stacks.

Times are nanoseconds of CLOCK_MONOTONIC. `native/account/record.hh` has the same layouts, and
tells what each field means for each kind of moment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Moment(IntEnum):
    """What happened; `a`, `b`, `what` and `flags` depend on it."""

    IN = 1  # got a CPU
    OUT = 2  # gave it up to wait
    PREEMPTED = 3  # lost it, and could run on
    FORK = 4  # began; a, b: pid and tid of who made it
    EXIT = 5
    COMM = 6  # what: text; flags & 1: by exec
    EXE = 7  # what: text, the file that the process runs
    SAMPLE = 8  # what: stack, a: address, b: period in ns; flags: SampleFlag, ending << 4
    FAULT = 9  # page-in, recorded after its wait; what: stack, a: address
    WAIT = 10  # what: row of waits, -1: it was running or runnable; flags & 1: it moved meanwhile
    SCHED = 11  # so far; what: slices, a: ns on a CPU, b: ns waited for one
    IDLE = 12  # so far, of the CPUs allowed; a: idle ns, b: ns stolen by the hypervisor
    QUOTA = 13  # so far; a: throttled ns, b: throttled periods
    PEER = 14  # what: text of a link; pid: holds the other end, 0 nobody known; a: inode, b: text
    LOST = 15  # a: records that the kernel dropped
    IO = 16  # of the process so far; a: bytes read, b: bytes written, to and from devices
    PEAK = 17  # of the process so far; a: most bytes resident
    UNSWITCHED = 18  # from here on IN, OUT and PREEMPTED are not recorded
    END = 19  # of the process; a: exit status as a shell has it, -1 unknown


class SampleFlag(IntFlag):
    """Flags of SAMPLE and FAULT, below the ending of the stack."""

    KERNEL = 1
    SECOND_CLOCK = 2


class Timed(IntEnum):
    """How a wait can end by itself."""

    NEVER = 0
    AT = 1  # `timeout` is a moment
    LENGTH = 2  # `timeout` is how long it lasts at most, from its start


PYTHON_OBJECT = -2
"""Object of a Python frame: its address is the number of the function << 32 | line."""
KERNEL_OBJECT = -3
"""Object of a frame in the kernel."""
NO_FUNCTION = 2**64 - 1
"""A frame's `function` where nobody knows where it begins."""
NO_LINE = 2**32 - 1
"""Line of a Python frame that has none."""

MOMENT_FIELDS = (
    ("time", "<i8"),
    ("kind", "u1"),
    ("flags", "u1"),
    ("cpu", "<u2"),
    ("pid", "<i4"),
    ("tid", "<i4"),
    ("what", "<i4"),
    ("a", "<i8"),
    ("b", "<i8"),
)
WAIT_FIELDS = (
    ("args", "<u8", (4,)),
    ("pc", "<u8"),
    ("sp", "<u8"),
    ("timeout", "<i8"),
    ("words", "<u4", (4,)),  # at the address that a futex waits at
    ("nr", "<i4"),  # system call; -1: none, as in a page fault
    ("wchan", "<i4"),  # text; -1 where it is not told
    ("links", "<i4"),  # text: what its descriptors are, escaped, a space between; -1 none
    ("place", "<i4"),  # text: file+0xaddress where a futex lies, [heap], [stack]; -1 elsewhere
    ("stack", "<i4"),
    ("holder", "<i4"),  # tid: has the lock, or is waited for; 0: nobody knows
    ("holder_stack", "<i4"),  # where that thread waits itself; -1: it runs, or could not be read
    ("took", "<i4"),  # ns
    ("timed", "u1"),
    ("ending", "u1"),  # of the stack: gnomon.sources.stacks.Ending
    ("unused", "u1", (6,)),
)
FRAME_FIELDS = (
    ("address", "<u8"),  # in the file's own addresses
    ("function", "<u8"),
    ("object", "<i4"),
    ("name", "<i4"),  # text; -1: none
    ("quality", "u1"),  # gnomon.sources.stacks.Quality
    ("exact", "u1"),
    ("unused", "u1", (6,)),
)


def dtypes() -> tuple[np.dtype[Any], np.dtype[Any], np.dtype[Any]]:
    """Return the dtypes of moments, waits and frames."""
    import numpy as np

    return np.dtype(list(MOMENT_FIELDS)), np.dtype(list(WAIT_FIELDS)), np.dtype(list(FRAME_FIELDS))


@dataclass(frozen=True, slots=True)
class WallFacts:
    """How a run was recorded, and what could not be seen, in words for users."""

    start: int  # ns: the program was let go, or the recorder had attached
    end: int
    root: int = 0  # pid; 0: whole CPUs
    command: tuple[str, ...] = ()
    cpus: tuple[int, ...] = ()  # allowed: by affinity, or asked for
    quota: float | None = None  # CPUs that a cgroup allows
    rung: str = ""  # "switches", "clocks", "timer", "proc", "totals": see `WallRecord`
    limits: tuple[str, ...] = ()  # what this run cannot tell, each a sentence
    clock_periods: tuple[int, ...] = ()  # ns of CPU time between samples
    stack_bytes: int = 0
    lost: int = 0
    truncated: float = 0.0  # share of samples whose copied stack was too short
    exit_status: int | None = None
    user_ns: int = 0  # of the program and its children that were waited for
    system_ns: int = 0
    major_faults: int = 0
    recorder_ns: int = 0  # CPU time of the recorder itself
    spilled_to: str = ""  # where records went that did not fit into memory


@dataclass(frozen=True, slots=True, eq=False)
class WallRecord:
    """One run. `what` and other columns are numbers of rows here; -1 is none.

    The rungs of `facts.rung`: "switches" has every change of a CPU's thread; "clocks" has samples
    and looks but no changes; "timer" is without perf, with stacks by a timer in the program; "proc"
    has what /proc tells and no stacks of running threads; "totals" is without causes, too.
    """

    moments: NDArray[np.void]  # dtype of MOMENT_FIELDS, by time
    waits: NDArray[np.void]  # dtype of WAIT_FIELDS
    texts: tuple[str, ...]
    stack_ends: NDArray[np.int64]  # frames of stack i are before stack_ends[i], leaf first
    stack_frames: NDArray[np.int32]  # numbers of frames
    frames: NDArray[np.void]  # dtype of FRAME_FIELDS
    objects: tuple[tuple[str, str], ...]  # path and build-id of each
    functions: tuple[tuple[str, str, int], ...]  # of Python: name, file, first line
    facts: WallFacts = field(default_factory=lambda: WallFacts(0, 0))

    def stack(self, number: int) -> NDArray[np.int32]:
        """Return the frames of a stack, leaf first."""
        first = int(self.stack_ends[number - 1]) if number else 0
        return self.stack_frames[first : int(self.stack_ends[number])]
