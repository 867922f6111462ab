"""What a waiting thread waits for, by the system call that it was seen in.

Locks are told from conditions by frames, else by the operation of the futex and the words at its
address: glibc's mutex holds 2 and its owner, a join the thread that is waited for.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gnomon.analysis.time.result import Cause
from gnomon.analysis.time.stacks import Stacks
from gnomon.analysis.time.timeline import Timeline
from gnomon.recording.wall import Moment, Timed

# Number of each call on x86-64, and on aarch64 (None: it has none).
_CALLS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "futex": ((202,), (98,)),
    "futex_wait": ((449, 455), (449, 455)),
    "sleep": ((35, 230), (101, 115)),
    "child": ((61, 247), (260, 95)),
    "clone": ((56, 57, 58, 435), (220, 435)),
    "sync": ((74, 75, 26, 277, 162, 306), (82, 83, 227, 84, 81, 267)),
    "transfer": (
        (0, 1, 17, 18, 19, 20, 295, 296, 40, 275, 326),
        (63, 64, 67, 68, 65, 66, 69, 70, 71, 76, 285),
    ),
    "accept": ((43, 288), (202, 242)),
    "network": ((42, 44, 45, 46, 47, 299, 307), (203, 206, 207, 211, 212, 243, 269)),
    "poll": ((7, 271, 23, 270), (73, 72)),
    "epoll": ((232, 281, 441), (22, 441)),
    "signal": ((34, 130, 128), (133, 137)),
    "async": ((426, 208, 333), (426, 4, 292)),
    "control": ((16,), (29,)),
    "file lock": ((72, 73), (25, 32)),
    "semaphore": ((65, 220), (193, 192)),
}
_DISK = re.compile(r"folio_wait|io_schedule|jbd2|wait_on_bit|submit_bio|blk_|filemap|sync_dirty")
_STOPPED = re.compile(r"do_signal_stop|ptrace_stop|freezer|refrigerator|do_notify_parent_cldstop")
_FRAMES: tuple[tuple[re.Pattern[str], Cause], ...] = (
    (re.compile(r"^take_gil|^_?PyMutex_Lock|^drop_gil"), Cause.GIL),
    (re.compile(r"pthread_cond_|condition_variable|Condvar|cnd_(timed)?wait"), Cause.CONDITION),
    (re.compile(r"notesleep|notetsleep|gopark"), Cause.CONDITION),
    (re.compile(r"(^|_)sem_(timed|clock)?wait|counting_semaphore|Semaphore"), Cause.SEMAPHORE),
    (re.compile(r"pthread_(timed|clock)?join|thrd_join"), Cause.JOIN),
    (re.compile(r"barrier", re.IGNORECASE), Cause.BARRIER),
    (
        re.compile(
            r"pthread_mutex_|pthread_rwlock_|pthread_spin_lock|lll_lock|mtx_lock|lock_contended"
            r"|lock_slow|runtime\.lock|RwLock|Mutex"
        ),
        Cause.LOCK,
    ),
)
_BARRIERS = re.compile(r"(^|/)lib(gomp|omp|iomp5)\b")
_LATE_AT = 50_000
_LATE_LENGTH = 200_000
_DEPTH = 6  # frames that are looked through


class Wait(NamedTuple):
    """What a look at a waiting thread tells."""

    cause: Cause
    object: str = ""
    other: int = 0  # thread that holds the lock or is joined
    stack: int = -1
    serves: bool = False  # waits for whoever comes: accept, or a loop over descriptors


def by_number(machine: str) -> dict[int, str]:
    """Return what each system call is, by its number on a machine."""
    column = 1 if machine == "aarch64" else 0
    return {number: name for name, both in _CALLS.items() for number in both[column]}


class Causes:
    """Reads looks at waiting threads, each once."""

    def __init__(self, timeline: Timeline, stacks: Stacks, machine: str) -> None:
        self._timeline, self._stacks = timeline, stacks
        self._waits, self._texts = timeline.record.waits, timeline.record.texts
        self._calls = by_number(machine)
        self._known: dict[int, Wait] = {}
        self._tids = {(each.pid, each.tid) for each in timeline.threads}
        self._ends: dict[str, set[int]] = {}
        self._addresses: dict[str, str] = {}
        moments = timeline.record.moments
        for row in moments[moments["kind"] == Moment.PEER]:
            link = self._texts[row["what"]]
            ends = self._ends.setdefault(link, set())
            if row["pid"] > 0:
                ends.add(int(row["pid"]))
            if row["b"] > 0 and int(row["b"]) < len(self._texts):
                self._addresses[link] = self._texts[int(row["b"])]
        self._locks = self._seen_locks()

    def _seen_locks(self) -> set[tuple[int, int]]:
        """Return the addresses at which a mutex with an owner was seen."""
        found = set()
        for each in self._timeline.threads:
            for look in each.looks:
                row = self._waits[look["what"]]
                if self._calls.get(int(row["nr"])) == "futex" and self._owner(row, each.pid):
                    found.add((each.pid, int(row["args"][0])))
        return found

    def _owner(self, row: object, pid: int) -> int:
        """Return the thread that holds a mutex of glibc."""
        words, operation = row["words"], int(row["args"][1]) & 0x7F  # type: ignore[index]
        if operation in (6, 13):  # with priority inheritance: the word is the owner
            owner = int(words[0]) & 0x3FFFFFFF
        elif operation == 0 and int(words[0]) == 2:
            owner = int(words[2])
        else:
            return 0
        return owner if (pid, owner) in self._tids else 0

    def of(self, look: int, pid: int) -> Wait:
        """Return what a row of waits tells."""
        if look not in self._known:
            row = self._waits[look]
            found = self._read(row, pid)
            self._known[look] = found._replace(stack=int(row["stack"]))
        return self._known[look]

    def timed_out(self, look: int, begin: int, end: int) -> bool:
        """Whether the wait ended because its time was over: then it was a sleep."""
        row = self._waits[look]
        if row["timed"] == Timed.AT:
            return bool(end >= row["timeout"] - _LATE_AT)
        return bool(
            row["timed"] == Timed.LENGTH and end - begin >= int(row["timeout"]) - _LATE_LENGTH
        )

    def _text(self, number: int) -> str:
        return self._texts[number] if number >= 0 else ""

    def _read(self, row: object, pid: int) -> Wait:
        number = int(row["nr"])  # type: ignore[index]
        wchan = self._text(int(row["wchan"]))  # type: ignore[index]
        links = self._text(int(row["links"])).split()  # type: ignore[index]
        call = self._calls.get(number, "")
        if _STOPPED.search(wchan):
            return Wait(Cause.STOPPED)
        if _DISK.search(wchan) and call != "async":
            return Wait(Cause.DISK if number >= 0 else Cause.PAGE_IN, _first(links))
        if number == -1:
            return Wait(Cause.PAGE_IN)
        match call:
            case "futex":
                return self._futex(row, pid)
            case "futex_wait":
                return Wait(self._by_frames(row) or Cause.CONDITION)
            case "sleep":
                return Wait(Cause.SLEEP)
            case "child" | "clone":
                return Wait(Cause.CHILD)
            case "sync":
                return Wait(Cause.DISK, _first(links))
            case "transfer" | "control":
                return self._descriptor(_first(links), pid)
            case "accept":
                return Wait(Cause.NETWORK, self._address(_first(links)), serves=True)
            case "network":
                return self._descriptor(_first(links) or "socket:", pid)
            case "poll" | "epoll":
                return self._several(links, pid, call == "epoll")
            case "signal":
                return Wait(Cause.SIGNAL, serves=True)
            case "async":
                return self._asynchronous(links, pid)
            case "file lock":
                return Wait(Cause.LOCK, _first(links))
            case "semaphore":
                return Wait(Cause.SEMAPHORE)
        return Wait(Cause.OTHER, f"system call {number}")

    def _by_frames(self, row: object) -> Cause | None:
        for frame in self._stacks.frames(int(row["stack"]))[:_DEPTH]:  # type: ignore[index]
            if _BARRIERS.search(frame.object):
                return Cause.BARRIER
            if frame.named:
                for pattern, cause in _FRAMES:
                    if pattern.search(frame.name):
                        return cause
        return None

    def _futex(self, row: object, pid: int) -> Wait:
        operation = int(row["args"][1])  # type: ignore[index]
        address = int(row["args"][0])  # type: ignore[index]
        place = self._text(int(row["place"]))  # type: ignore[index]
        words = row["words"]  # type: ignore[index]
        named = self._by_frames(row)
        name = place or f"{address:#x}"
        if named is Cause.GIL:
            return Wait(named, name)
        if named is Cause.BARRIER:
            return Wait(named)
        if owner := self._owner(row, pid):
            return Wait(Cause.LOCK, name, owner)
        bitset = operation & 0x7F == 9
        if bitset and not operation & 0x80 and (pid, int(words[0])) in self._tids:
            return Wait(Cause.JOIN, "", int(words[0]))
        if "python" in place.rpartition("+")[0].rpartition("/")[2]:
            return Wait(Cause.GIL, name)
        if named is not None:
            return Wait(named, name, int(row["holder"]))  # type: ignore[index]
        if (pid, address) in self._locks:
            return Wait(Cause.LOCK, name)
        return Wait(Cause.CONDITION if bitset else Cause.FUTEX, name)

    def _address(self, link: str) -> str:
        return self._addresses.get(link, link)

    def _descriptor(self, link: str, pid: int) -> Wait:
        if link.startswith("pipe:"):
            others = self._ends.get(link, set())
            own = bool(others - {pid})
            return Wait(Cause.OWN_PIPE if own else Cause.PIPE, self._end(link, others - {pid}))
        if link.startswith("socket:"):
            others = self._ends.get(link, set())
            if others:
                return Wait(Cause.OWN_SOCKET, self._end(link, others))
            return Wait(Cause.NETWORK, self._address(link))
        return Wait(_kind_of(link), "" if link.startswith("anon_inode:") else link)

    def _end(self, link: str, others: set[int]) -> str:
        """Return who holds the other end."""
        for each in self._timeline.threads:
            if each.pid in others and each.tid == each.pid:
                return each.name
        return self._address(link)

    def _several(self, links: list[str], pid: int, loop: bool) -> Wait:
        if not links:
            return Wait(Cause.POLL, serves=True) if loop else Wait(Cause.SLEEP)
        waits = [self._descriptor(link, pid) for link in links]
        causes = {wait.cause for wait in waits}
        if len(causes) == 1:
            return waits[0]._replace(serves=loop or len(links) > 1)
        outside = [wait for wait in waits if wait.cause in (Cause.NETWORK, Cause.PIPE)]
        if outside and all(w.cause in _WITH_NETWORK for w in waits):
            return outside[0]._replace(serves=True)
        return Wait(Cause.POLL, " ".join(links[:4]), serves=True)

    def _asynchronous(self, links: list[str], pid: int) -> Wait:
        causes = {self._descriptor(link, pid).cause for link in links if "io_uring" not in link}
        if len(causes) == 1 and (only := causes.pop()) in (Cause.DISK, Cause.NETWORK):
            return Wait(only, _first([link for link in links if "io_uring" not in link]))
        return Wait(Cause.ASYNC_IO)


_WITH_NETWORK = {Cause.NETWORK, Cause.PIPE, Cause.POLL, Cause.SIGNAL, Cause.SLEEP, Cause.OWN_PIPE}
_GPU = re.compile(r"^/dev/(nvidia|kfd|dri/)")


def _kind_of(link: str) -> Cause:
    """Return what a descriptor that is neither a pipe nor a socket waits for."""
    if "timerfd" in link:
        return Cause.SLEEP
    if "signalfd" in link:
        return Cause.SIGNAL
    if "io_uring" in link:
        return Cause.ASYNC_IO
    if _GPU.match(link):
        return Cause.GPU
    if link.startswith(("/dev/pts", "/dev/tty", "/dev/console")):
        return Cause.TERMINAL
    if link.startswith("anon_inode:"):
        return Cause.POLL
    return Cause.DISK if link.startswith("/") else Cause.OTHER


def _first(links: list[str]) -> str:
    return links[0] if links else ""
