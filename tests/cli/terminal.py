"""A program on a pseudo-terminal of any size, and what it has written there."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable

from .running import command_line, environment

SHOWN = "\x1b[?25h"  # the cursor is there again


class Terminal:
    """A program on a terminal of so many rows and columns."""

    def __init__(self, *arguments: str, rows: int = 24, columns: int = 80) -> None:
        words, variables = command_line(*arguments), environment() | {"TERM": "xterm"}
        for name in ("COLUMNS", "LINES"):
            variables.pop(name, None)
        self.pid, self._file = pty.fork()
        if self.pid == 0:  # pragma: no cover - the program
            time.sleep(0.2)  # until the window has its size
            os.execvpe(words[0], words, variables)
        self.resize(rows, columns)
        self.text = ""
        self._over = False

    def resize(self, rows: int, columns: int) -> None:
        """Give the window another size."""
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self._file, termios.TIOCSWINSZ, size)

    def press(self, keys: str) -> None:
        """Type something."""
        os.write(self._file, keys.encode())

    def read(self, until: Callable[[], bool] = lambda: False, seconds: float = 90) -> None:
        """Take what is written, until something holds or the program has ended."""
        deadline = time.monotonic() + seconds
        while not until() and not self._over and time.monotonic() < deadline:
            if select.select([self._file], [], [], 0.1)[0]:
                try:
                    found = os.read(self._file, 65536)
                except OSError:  # it has ended
                    found = b""
                self._over = not found
                self.text += found.decode(errors="replace")

    def end(self) -> int:
        """Wait for the end and return the exit status."""
        try:
            self.read()
            assert self._over, "it goes on"
        finally:
            if not self._over:
                os.kill(self.pid, signal.SIGKILL)
            status = os.waitpid(self.pid, 0)[1]
            os.close(self._file)
        return os.waitstatus_to_exitcode(status)

    def pictures(self) -> list[list[str]]:
        """Return the lines of each picture, without what moves and colours."""
        drawn = self.text.split("\x1b[J")[:-1]
        plain = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\^C", "", each) for each in drawn]
        return [each.removesuffix("\n").split("\n") for each in plain]
