"""Tracking the pages of a program that is started, or of one that runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Self

from gnomon import _native
from gnomon.errors import GnomonError
from gnomon.launch import Command, Launch, watch
from gnomon.sources.pages.facts import check_kernel, failure
from gnomon.sources.pages.mappings import Mapping, ReferencedBits, read_mappings
from gnomon.sources.pages.record import PageRecord, PageTick

AtStart = Callable[[int], None]
_NAP = 0.05
_CHANGED = (_native.HeldEvent.EXIT, _native.HeldEvent.GONE)


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
            raise failure(launch.pid, error) from None
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
            os.close(pidfd)
            raise failure(pid, error) from None
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
