"""The process that a measurement is about: started by us and held, or already running."""

from __future__ import annotations

import os
import time

from gnomon.launch import Launch, has_ended, watch
from gnomon.sources.base import Command, Cpus, Process, Target


class Subject:
    """A command that waits for its release, a process that is watched, or nothing at all."""

    def __init__(self, target: Target) -> None:
        self._launch: Launch | None = None
        self._pidfd = -1
        command = target.command if isinstance(target, Cpus) else None
        if isinstance(target, Command):
            command = target
        if command is not None:
            self._launch = Launch(command)
        elif isinstance(target, Process):
            self._pidfd = watch(target.pid)

    @property
    def is_command(self) -> bool:
        """Whether it was started by us."""
        return self._launch is not None

    @property
    def pid(self) -> int | None:
        """The process number of a command."""
        return self._launch.pid if self._launch is not None else None

    @property
    def exit_status(self) -> int | None:
        """How a command ended; None while it runs."""
        return self._launch.exit_status if self._launch is not None else None

    def release(self) -> None:
        """Let a command run its first instruction; raises CommandError when it cannot start."""
        if self._launch is not None:
            self._launch.release()

    def wait(self, timeout: float | None) -> bool:
        """Wait for its end; False when the time was over first or there is nothing to end."""
        if self._launch is not None:
            return self._launch.wait(timeout)
        if self._pidfd >= 0:
            return has_ended(self._pidfd, timeout)
        if timeout is not None:
            time.sleep(timeout)
        return False

    def signal(self, number: int) -> None:
        """Pass a signal on to a command that still runs."""
        if self._launch is not None:
            self._launch.signal(number)

    def close(self) -> None:
        """Let go; a command that still runs is ended."""
        if self._launch is not None:
            self._launch.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    def __del__(self) -> None:
        self.close()
