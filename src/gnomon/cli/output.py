"""What becomes of output that nobody can take, as when `| head` has read enough."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO, cast


@contextlib.contextmanager
def lasting_output() -> Iterator[None]:
    """Let a command go on to the end when its output cannot be written, as for a report it owes.

    Whatever cannot be written is dropped. A failure other than a reader that has gone is raised
    at the end.
    """
    lasting = _Lasting(sys.stdout)
    with contextlib.redirect_stdout(cast(TextIO, lasting)):
        yield
        lasting.flush()
    if lasting.failure is not None and not isinstance(lasting.failure, BrokenPipeError):
        raise lasting.failure


def drop_output() -> None:
    """Let what is still in the buffer go nowhere instead of failing once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class _Lasting:
    """A stream like another one that never fails to write; it keeps the first failure."""

    def __init__(self, stream: TextIO) -> None:
        self.failure: OSError | None = None
        self._stream = stream

    def write(self, text: str) -> int:
        self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._try(self._stream.flush)

    def writelines(self, lines: Iterator[str]) -> None:
        for line in lines:
            self.write(line)

    def _try(self, action: Callable[[], object]) -> None:
        try:
            action()
        except OSError as error:
            self.failure = self.failure or error
            drop_output()

    def __getattr__(self, name: str) -> Any:  # Any: whatever the stream has
        return getattr(self._stream, name)
