"""The kernel's own tracking of pages: which ones a program writes and reads, without a PMU."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from gnomon import _native
from gnomon.errors import GnomonError, NotPermittedError, NotSupportedError
from gnomon.launch import Command, Launch, has_ended, watch
from gnomon.sources.mappings import Mapping, ReferencedBits, read_mappings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AtStart = Callable[[int], None]
_NAP = 0.05
_CHANGED = (_native.HeldEvent.EXIT, _native.HeldEvent.GONE)
_CLEAR_REFS = Path("/proc/self/clear_refs")
_SOFT_DIRTY = 1 << 55


@dataclass(frozen=True, slots=True, eq=False)
class PageTick:
    """One look at a program: pages written since the one before, as runs of addresses.

    `referenced` are bytes read or written, of each mapping as a whole: the kernel tells no more.
    """

    time_ns: int  # since the first look
    written: NDArray[np.uint64]  # (run, start and end)
    referenced: dict[tuple[int, int], int]

    def pages(self, page_bytes: int) -> NDArray[np.uint64]:
        """Return the address of each page that was written."""
        import numpy as np

        # numpy would count from one uint64 to another in floating point.
        runs, shift = self.written, np.uint64(page_bytes.bit_length() - 1)
        counts = ((runs[:, 1] - runs[:, 0]) >> shift).astype(np.int64)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        found: NDArray[np.uint64] = np.repeat(runs[:, 0], counts)
        return found + (within.astype(np.uint64) << shift)


@dataclass(frozen=True, slots=True, eq=False)
class PageRecord:
    """All looks at a program, and what it had mapped."""

    page_bytes: int
    ticks: tuple[PageTick, ...]
    mappings: tuple[Mapping, ...]  # the latest at an address that was seen
    untracked_bytes: int
    notes: tuple[str, ...]

    def times_written(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the addresses of all written pages, and in how many ticks each was."""
        import numpy as np

        pages = [tick.pages(self.page_bytes) for tick in self.ticks]
        if not pages:
            return np.empty(0, np.uint64), np.empty(0, np.int64)
        found, counts = np.unique(np.concatenate(pages), return_counts=True)
        return found, counts.astype(np.int64)

    def course(self) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Return the addresses of all written pages, and which were written in which tick."""
        import numpy as np

        found, _ = self.times_written()
        written = np.zeros((len(self.ticks), len(found)), np.bool_)
        for row, tick in zip(written, self.ticks, strict=True):
            row[np.searchsorted(found, tick.pages(self.page_bytes))] = True
        return found, written


class PageTracking:
    """The pages that a program writes, from its first instruction or from now on, to its end.

    A debugger cannot be attached meanwhile: the program is held by ptrace, so that it stops for
    a last look before its memory goes. Programs that replace it by exec are tracked in its
    place; children that it forks are not. To be used from one thread.
    """

    def __init__(
        self,
        pid: int,
        held: _native.HeldProcess,
        *,
        launch: Launch | None = None,
        pidfd: int = -1,
        reads: bool = True,
        at_start: AtStart | None = None,
    ) -> None:
        """Begin to track a process that is stopped, and let it run."""
        self.pid = pid
        self._held: _native.HeldProcess | None = held
        self._launch = launch
        self._pidfd = pidfd
        self._referenced = ReferencedBits(pid) if reads else None
        self._at_start = at_start
        self._mappings: dict[int, Mapping] = {}
        self._ticks: list[PageTick] = []
        self._untracked = 0
        self._replaced = 0
        self._stop = False
        self._tracker: _native.PageTracker | None = None
        self._begin(held)
        self._start = time.monotonic_ns()

    @classmethod
    def of_command(
        cls,
        command: Command,
        *,
        reads: bool = True,
        at_start: AtStart | None = None,
        kept: tuple[int, ...] = (),
    ) -> PageTracking:
        """Start a program and track it from its beginning.

        `at_start` is called with its pid when it is loaded and has not run yet, and again when
        another program replaces it. Huge pages are refused to it, because they would be found
        as a whole.
        """
        check_kernel()
        launch = Launch(command, kept=kept)
        try:
            held = _native.HeldProcess.before_exec(launch.pid)
            launch.release()
            held.await_exec()
            held.refuse_huge_pages()
            return cls(launch.pid, held, launch=launch, reads=reads, at_start=at_start)
        except OSError as error:
            launch.close()
            raise _failure(launch.pid, error) from None
        except GnomonError:
            launch.close()
            raise

    @classmethod
    def of_process(
        cls, pid: int, *, reads: bool = True, at_start: AtStart | None = None
    ) -> PageTracking:
        """Track a process that runs, from now on; it is stopped for less than a millisecond."""
        check_kernel()
        pidfd = watch(pid)
        try:
            held = _native.HeldProcess.running(pid)
            tracking = cls(pid, held, pidfd=pidfd, reads=reads, at_start=at_start)
        except OSError as error:
            # A zombie can be watched, and refuses to be held as if it were not ours.
            gone = has_ended(pidfd, 0)
            os.close(pidfd)
            raise _failure(pid, OSError(errno.ESRCH, "") if gone else error) from None
        except GnomonError:
            os.close(pidfd)
            raise
        tracking.forget()
        return tracking

    def _begin(self, held: _native.HeldProcess) -> None:
        self._tracker = _native.PageTracker(held, self.pid)
        if self._at_start is not None:
            self._at_start(self.pid)
        held.go_on()

    def forget(self) -> None:
        """Take what was written so far as known."""
        assert self._tracker is not None
        self._tracker.scan()
        if self._referenced is not None:
            self._referenced.take()

    def tick(self) -> bool:
        """Look once; False when the program has ended or was let go."""
        import numpy as np

        # One that was let go may take a while to die: what it does then is no longer ours to see.
        if self._held is None:
            return False
        assert self._tracker is not None
        found = self._tracker.scan()
        if found is None:
            return False
        self._untracked = max(self._untracked, self._tracker.untracked_bytes)
        for mapping in read_mappings(self.pid):
            self._mappings[mapping.start] = mapping
        referenced = self._referenced.take() if self._referenced is not None else {}
        runs = np.frombuffer(found, np.uint64).reshape(-1, 2)
        self._ticks.append(PageTick(time.monotonic_ns() - self._start, runs, referenced))
        return True

    def ticks(self, interval_ns: int, *, duration_ns: int | None = None) -> Iterator[PageTick]:
        """Look at each interval until the program ends, the time is over or it is interrupted.

        The last look is at the end, when the program has stopped and its memory is still there.
        """
        deadline = None if duration_ns is None else self._start + duration_ns
        ended = over = False
        while not (ended or over or self._stop):
            until = time.monotonic_ns() + interval_ns
            over = deadline is not None and deadline <= until
            ended = self._wait(min(until, deadline or until))
            if self.tick():
                yield self._ticks[-1]
            else:
                ended = True
        if ended:
            self._let_go()
            if self._launch is not None:
                self._launch.wait(None)

    def run(self, interval_ns: int, *, duration_ns: int | None = None) -> PageRecord:
        """Look at each interval until the program ends or the time is over."""
        for _ in self.ticks(interval_ns, duration_ns=duration_ns):
            pass
        return self.record()

    def interrupt(self, signal: int) -> None:
        """Pass a signal on to a program that was started; one that ran before is let go."""
        if self._launch is None:
            self._stop = True
        else:
            self._launch.signal(signal)

    def record(self) -> PageRecord:
        """Return everything so far."""
        notes = []
        if self._untracked:
            notes.append(
                f"{self._untracked:,} bytes could not be tracked: the kernel refuses them."
            )
        if self._replaced:
            notes.append(
                f"another program took the place of the first {self._replaced:,} times: what was "
                "written between the last look and that is not in it."
            )
        return PageRecord(
            os.sysconf("SC_PAGE_SIZE"),
            tuple(self._ticks),
            tuple(sorted(self._mappings.values(), key=lambda each: each.start)),
            self._untracked,
            tuple(notes),
        )

    @property
    def exit_status(self) -> int | None:
        """How a program that was started has ended, None while it runs."""
        return None if self._launch is None else self._launch.exit_status

    def close(self) -> None:
        """Let go; a program that was started is ended, another one runs on."""
        self._tracker = None
        if self._launch is not None:
            self._launch.close()
        self._let_go()
        if self._pidfd >= 0:
            with suppress(OSError):
                os.close(self._pidfd)
            self._pidfd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _wait(self, until_ns: int) -> bool:
        """Wait for the end of the program, which is stopped then; False at the given time."""
        assert self._held is not None
        while not self._stop:
            left = (until_ns - time.monotonic_ns()) / 1e9
            if left <= 0:
                return False
            # In pieces, so that Ctrl-C is heard.
            event = self._held.wait(min(left, _NAP))
            if event in _CHANGED:
                return True
            if event is _native.HeldEvent.EXEC:
                self._replaced += 1
                self._mappings.clear()
                self._begin(self._held)
        return False

    def _let_go(self) -> None:
        """Let the program end, or run on by itself."""
        if self._held is not None:
            with suppress(OSError):
                self._held.let_go()
            self._held = None


# ---- what this kernel offers -------------------------------------------------------------------


def page_tracking_facts() -> dict[str, str]:
    """Return what this kernel offers for tracking pages, each facility with yes or a reason."""
    error = _native.page_tracking_error()
    written = "yes" if error == 0 else _why_not(error)
    reads = (
        "yes, of each mapping as a whole"
        if _CLEAR_REFS.exists()
        else "the kernel was built without CONFIG_PROC_PAGE_MONITOR"
    )
    idle = Path("/sys/kernel/mm/page_idle/bitmap")
    return {
        "written pages (userfaultfd, PAGEMAP_SCAN)": written,
        "referenced mappings (clear_refs, smaps)": reads,
        "soft-dirty pages": "not needed" if error == 0 else _soft_dirty(),
        "idle pages": "yes, for root"
        if idle.exists()
        else "the kernel was built without CONFIG_IDLE_PAGE_TRACKING",
    }


def _soft_dirty() -> str:
    try:
        with Path("/proc/self/pagemap").open("rb") as pagemap:
            pagemap.seek(id(_SOFT_DIRTY) // os.sysconf("SC_PAGE_SIZE") * 8)
            word = int.from_bytes(pagemap.read(8), "little")
    except OSError:
        return "pagemap cannot be read"
    return "yes" if word & _SOFT_DIRTY else "the kernel was built without CONFIG_MEM_SOFT_DIRTY"


def _why_not(error: int) -> str:
    match error:
        case errno.EINVAL | errno.ENOTTY:
            return "the kernel has no PAGEMAP_SCAN with asynchronous protection (needs Linux 6.7)"
        case errno.ENOSYS:
            return "the kernel was built without CONFIG_USERFAULTFD"
        case errno.EPERM:
            return "userfaultfd is forbidden here, as it is in some containers"
        case _:
            return os.strerror(error)


def check_kernel() -> None:
    """Raise NotSupportedError where pages cannot be tracked, with the reason."""
    if error := _native.page_tracking_error():
        raise NotSupportedError(
            f"pages cannot be tracked: {_why_not(error)}. Trace the program with --by trace, or "
            "use a simulated machine with --on."
        )


def _failure(pid: int, error: OSError) -> GnomonError:
    """Return what to tell a user when a process cannot be tracked."""
    if error.errno in (errno.ESRCH, errno.ECHILD):
        return GnomonError(f"process {pid} ended before its pages could be tracked.")
    if error.errno in (errno.EPERM, errno.EACCES):
        return NotPermittedError(
            f"the pages of process {pid} may not be tracked: run as its owner or as root, and "
            "with no debugger attached to it."
        )
    if error.errno == errno.EBUSY:
        return GnomonError(
            f"process {pid} is stopped, so its pages cannot be tracked: let it run on with "
            f"`kill -CONT {pid}`."
        )
    return NotSupportedError(
        f"the pages of process {pid} cannot be tracked: {os.strerror(error.errno or 0)}."
    )
