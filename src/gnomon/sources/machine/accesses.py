"""The accesses of a program on a simulated machine, one by one."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon import _native
from gnomon.errors import UsageError
from gnomon.sources.machine.runs import ExecutionRun
from gnomon.sources.simulated.run import Run
from gnomon.sources.simulated.simulator import Seen

_PIECE_SECONDS = 0.05


class Accesses:
    """Pieces of a run with what a monitor saw meanwhile; to be iterated over once."""

    def __init__(self, run: Run, *, local: bool) -> None:
        self._run = run
        self._local = local
        self.exit_status: int | None = None
        self.warnings: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Seen]:
        with self._run as run:
            if not isinstance(run, ExecutionRun):
                raise UsageError("a signal accesses no memory: name a workload or a program.")
            monitor = _native.StreamMonitor(self._local)
            run.begin()
            run.execution.memory.watch_remote(monitor)
            ended = False
            while not ended:
                ended = run.advance(seconds=_PIECE_SECONDS)
                yield Seen(monitor.take(), run.execution.now_ns)
            self.exit_status = run.exit_status
            self.warnings = run.warnings
