"""What the account of a run found: elapsed time divided by cause, so that it sums to the run.

All times are ns. Two wholes are kept apart: `account` divides *elapsed* time, and sums to it;
rows of threads divide *thread time*, the sum of all lives of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from gnomon.result import Interval, Result, derived


class Family(StrEnum):
    """States of one colour; the names are those of the style sheet."""

    USER = "user"
    SYSTEM = "system"
    RUNNABLE = "runnable"
    DISK = "disk"
    NETWORK = "network"
    PAGEFAULT = "pagefault"
    LOCK = "lock"
    THREAD = "thread"
    CHILD = "child"
    PIPE = "pipe"
    SLEEP = "sleep"
    OTHER = "other"


class Cause(StrEnum):
    """Why time went by: what ran, or what everything waited for."""

    COMPUTING = "computing"
    SYSTEM = "computing in the kernel"
    SPINNING = "spinning"
    NO_CPU = "no CPU free"
    WAKING = "waking"
    DISK = "disk"
    PAGE_IN = "page-in"
    NETWORK = "network"
    LOCK = "lock"
    GIL = "GIL"
    CONDITION = "condition"
    JOIN = "join"
    SEMAPHORE = "semaphore"
    BARRIER = "barrier"
    FUTEX = "futex"
    CHILD = "child"
    OWN_PIPE = "own pipe"
    OWN_SOCKET = "own socket"
    PIPE = "pipe"
    SLEEP = "sleep"
    POLL = "poll"
    ASYNC_IO = "asynchronous I/O"
    GPU = "GPU"
    TERMINAL = "terminal"
    SIGNAL = "signal"
    STOPPED = "stopped"
    EDGE = "start and end"
    OTHER = "other"
    UNKNOWN = "unknown"

    @property
    def family(self) -> Family:
        """The state whose colour it has."""
        return _FAMILIES.get(self, Family.OTHER)

    @property
    def internal(self) -> bool:
        """Whether a thread or process of the program ends such a wait, not the world outside."""
        return self in _INTERNAL

    @property
    def running(self) -> bool:
        """Whether a CPU is used meanwhile."""
        return self in (Cause.COMPUTING, Cause.SYSTEM, Cause.SPINNING)


_FAMILIES = {
    Cause.COMPUTING: Family.USER,
    Cause.SPINNING: Family.USER,
    Cause.SYSTEM: Family.SYSTEM,
    Cause.NO_CPU: Family.RUNNABLE,
    Cause.WAKING: Family.RUNNABLE,
    Cause.DISK: Family.DISK,
    Cause.PAGE_IN: Family.PAGEFAULT,
    Cause.NETWORK: Family.NETWORK,
    Cause.LOCK: Family.LOCK,
    Cause.GIL: Family.LOCK,
    Cause.CONDITION: Family.THREAD,
    Cause.JOIN: Family.THREAD,
    Cause.SEMAPHORE: Family.THREAD,
    Cause.BARRIER: Family.THREAD,
    Cause.FUTEX: Family.THREAD,
    Cause.CHILD: Family.CHILD,
    Cause.OWN_PIPE: Family.PIPE,
    Cause.OWN_SOCKET: Family.PIPE,
    Cause.PIPE: Family.PIPE,
    Cause.SLEEP: Family.SLEEP,
}
_INTERNAL = frozenset(
    {
        Cause.LOCK,
        Cause.GIL,
        Cause.CONDITION,
        Cause.JOIN,
        Cause.SEMAPHORE,
        Cause.BARRIER,
        Cause.FUTEX,
        Cause.CHILD,
        Cause.OWN_PIPE,
        Cause.OWN_SOCKET,
    }
)


class Meanwhile(StrEnum):
    """What others of the process waited for while a thread computed."""

    NOTHING = ""
    LOCK = "lock"
    GIL = "GIL"
    BARRIER = "barrier"
    SPIN = "spin"
    JOIN = "join"


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the code. `guess` marks one that a weaker reading of the stack found."""

    function: str
    file: str = ""
    line: int | None = None
    object: str = ""
    guess: bool = False

    @property
    def label(self) -> str:
        """Its function, and its line where that is known."""
        where = self.file.rpartition("/")[2] or self.file
        if not where:
            return self.function
        return (
            f"{self.function} ({where}:{self.line})" if self.line else f"{self.function} ({where})"
        )


@dataclass(frozen=True, slots=True)
class PlaceTime:
    """How much of a row went by at one place; `path` is its stack, the innermost call first."""

    place: Place
    time: float
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AccountRow:
    """A part of elapsed time: its cause, and which threads it was the cause for.

    `object` is what was waited for: a file, a peer, a lock, the process at the other end of a
    pipe, whose CPUs they were. Rows of one `tied` number cannot be told apart by this run.
    `at_most` is what the row would be if all that overlapped with it elsewhere were its own.
    """

    cause: Cause
    who: str
    time: float
    share: float
    interval: Interval | None = None  # of `time`, 90 %
    meanwhile: Meanwhile = Meanwhile.NOTHING
    object: str = ""
    idle: bool = False
    places: tuple[PlaceTime, ...] = ()
    tied: int | None = None
    at_most: float | None = None


@dataclass(frozen=True, slots=True)
class CausePart:
    """All rows of a cause together; with `tied` it cannot be told from the next part."""

    cause: Cause
    time: float
    share: float
    interval: Interval | None = None
    idle: float = 0.0  # of `time`
    tied: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """Thread time that went by for one cause."""

    cause: Cause
    time: float
    object: str = ""
    idle: bool = False
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """The life of a thread: what it ran, was ready to run and waited sums to it.

    `waking` is the part of `runnable` that passed after wake-ups rather than after losing a CPU.
    `system` is None where nobody told it from `user`, which then holds both.
    """

    pid: int
    tid: int
    name: str
    start: int
    life: float
    user: float
    system: float | None
    spinning: float
    runnable: float
    waking: float
    waits: tuple[Waiting, ...]
    slices: int = 0
    parent: int = 0
    counts: bool = True  # computes: it is among the threads of the efficiencies

    @property
    def running(self) -> float:
        """Time on a CPU."""
        return self.user + (self.system or 0.0) + self.spinning

    @property
    def waiting(self) -> float:
        """Time blocked, whatever for."""
        return sum(wait.time for wait in self.waits)


@dataclass(frozen=True, slots=True)
class ProcessRow:
    """A process: thread time of its threads, and what it read and wrote; None where not told."""

    pid: int
    parent: int
    name: str
    command: str
    threads: int
    start: int
    life: float
    cpu: float
    elapsed: float  # its part of the elapsed time of the run
    peak_memory: int | None = None
    read: int | None = None
    written: int | None = None


class Culprit(StrEnum):
    """Who had the CPU while a thread of the program was ready to run."""

    OWN = "own threads"
    OTHERS = "other programs"
    QUOTA = "quota"
    HYPERVISOR = "hypervisor"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Ready:
    """Thread time that was ready to run, by who had the CPU; part of it cost elapsed time."""

    culprit: Culprit
    time: float
    elapsed: float


@dataclass(frozen=True, slots=True)
class Holder:
    """A thread that was seen holding a lock; `state` is what it did meanwhile."""

    tid: int
    name: str
    looks: int
    state: str = ""
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LockRow:
    """A lock: how threads waited for it, in thread time, and who held it when we looked."""

    name: str
    address: int
    pid: int
    cause: Cause
    waits: int
    total: float
    longest: float
    looks: int
    holders: tuple[Holder, ...] = ()
    places: tuple[PlaceTime, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """A function that ran: thread time on a CPU, and its part of elapsed time."""

    name: str
    object: str
    cpu: float
    wall: float
    saves_at_most: float  # of elapsed time, if it cost nothing
    interval: Interval | None  # of `cpu`, 90 %
    samples: int
    spinning: bool = False
    guess: bool = False


@dataclass(frozen=True, slots=True)
class Parallelism:
    """How long exactly so many threads ran at once, and what ran then."""

    running: int
    time: float
    functions: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Moment:
    """An equal part of the run: mean CPUs in use, and mean threads that were ready to run."""

    start: float
    running: float
    spinning: float
    ready: float


@dataclass(frozen=True, slots=True)
class Efficiency:
    """POP's efficiencies of the threads that compute; parallel is the product of the two."""

    threads: int
    load_balance: float
    serial_waiting: float
    parallel: float
    slowest: str
    useful: float


class Claim(StrEnum):
    """What a finding says; `describe` has the words."""

    BUSY_MACHINE = "busy machine"  # a doubt
    STOLEN = "stolen"  # a doubt
    QUOTA = "quota"
    LOST_RECORDS = "lost records"  # a doubt
    FEW_LOOKS = "few looks"  # a doubt
    WAITS = "waits"  # everything waits for something outside
    SERIAL = "serial"  # one thread computes while others wait for it
    LOCK = "lock"  # others wait for what a thread holds
    SPINNING = "spinning"
    IMBALANCE = "imbalance"
    SLOW_STAGE = "slow stage"
    COLD = "cold"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a reader should conclude: how long, one cause, a place, what it would save at most."""

    claim: Claim
    cause: Cause
    time: float
    interval: Interval | None
    saves_at_most: float | None
    who: str = ""
    object: str = ""
    place: Place | None = None
    holder: Holder | None = None
    others: tuple[str, ...] = ()
    value: float | None = None  # the ratio, share or count that the claim speaks of
    doubt: bool = False
    command: tuple[str, ...] = ()  # what to run next


@dataclass(frozen=True, slots=True)
class Unnamed:
    """Samples without a name in one file, and what would name them."""

    object: str
    samples: int
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Trust:
    """How far the numbers can be trusted, and what could not be seen."""

    samples: int = 0
    unnamed: tuple[Unnamed, ...] = ()
    looks: int = 0  # at waiting threads
    looked: float | None = None  # share of waiting time whose cause was seen, not estimated
    lost: int = 0
    rung: str = ""  # how the run was seen
    runs: int = 1
    others: float | None = None  # CPU time of other programs meanwhile
    stolen: float | None = None  # CPU time taken by the hypervisor
    throttled: float | None = None
    switches: int = 0
    too_short: float = 0.0  # CPU time of threads that no reading saw
    unseen: tuple[str, ...] = ()

    @property
    def unnamed_share(self) -> float:
        """The share of samples without a name."""
        return sum(each.samples for each in self.unnamed) / self.samples if self.samples else 0.0


@dataclass(frozen=True, slots=True)
class TimeResult(Result):
    """Where the elapsed time of a program went: an account by cause that sums to it."""

    kind: ClassVar[str] = "time"

    elapsed: float
    user: float
    system: float | None  # None: not told from user, which then holds both
    cpus_allowed: float
    account: tuple[AccountRow, ...] = ()
    parts: tuple[CausePart, ...] = ()
    findings: tuple[Finding, ...] = ()
    threads: tuple[ThreadRow, ...] = ()
    processes: tuple[ProcessRow, ...] = ()
    ready: tuple[Ready, ...] = ()
    locks: tuple[LockRow, ...] = ()
    functions: tuple[FunctionRow, ...] = ()
    parallelism: tuple[Parallelism, ...] = ()
    course: tuple[Moment, ...] = ()
    efficiency: Efficiency | None = None
    trust: Trust = Trust()
    peak_memory: int | None = None
    read: int | None = None
    written: int | None = None
    exit_status: int | None = None
    healthy: tuple[str, ...] = ()  # what was looked at and is well

    @derived
    def cpu(self) -> float:
        """CPU time of the program."""
        return self.user + (self.system or 0.0)

    @derived
    def cpus_used(self) -> float:
        """How many CPUs were in use on average."""
        return self.cpu / self.elapsed if self.elapsed else 0.0

    @derived
    def on_cpu(self) -> float:
        """The share of elapsed time that goes to what ran."""
        total = sum(part.time for part in self.parts if part.cause.running)
        return total / self.elapsed if self.elapsed else 0.0

    @derived
    def headline(self) -> str:
        """The answer in one sentence."""
        from gnomon.analysis.time.words import headline

        return headline(self)

    @derived
    def unused(self) -> dict[str, float]:
        """Why allowed CPUs were not used, as shares of what was left of them."""
        from gnomon.analysis.time.words import unused

        return unused(self)

    @derived
    def families(self) -> dict[str, float]:
        """The account by state, as the bar shows it."""
        sums: dict[str, float] = {}
        for part in self.parts:
            family = part.cause.family.value
            sums[family] = sums.get(family, 0.0) + part.time
        return sums

    @property
    def first(self) -> AccountRow | None:
        """The largest row."""
        return self.account[0] if self.account else None
