"""Streams of accesses: of a simulated machine, of a traced program, of address samples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from gnomon import _native
from gnomon.analysis.locality.result import UNKNOWN, MappingUse, Origin, StaticCount

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.launch import Command
    from gnomon.machines.execution import RunOptions
    from gnomon.sources.simulated.simulator import Simulator

_REFERENCE = np.dtype(
    [
        ("address", np.uint64),
        ("size", np.uint32),
        ("thread", np.uint32),
        ("write", np.uint8),
        ("spare", np.uint8, 7),
    ]
)
_PIECE_REFERENCES = 1 << 20


class Scope(StrEnum):
    """Which accesses a monitor is told of.

    REMOTE: those that another node answers, as on the link between the nodes. MEMORY: those
    that the memory of the same node answers, too.
    """

    REMOTE = "remote"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True, eq=False)
class Accesses:
    """A piece of a stream of accesses, in order of time; all arrays are of one length.

    `source` is the node that asks, `home` that which has the page; UNKNOWN where nobody told.
    """

    time_ns: NDArray[np.int64]
    address: NDArray[np.uint64]
    size: NDArray[np.uint32]  # bytes
    write: NDArray[np.bool_]
    source: NDArray[np.int16]
    home: NDArray[np.int16]
    thread: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.time_ns)


class Stream:
    """Pieces of a stream, to be iterated over once; what `origin` says is complete then."""

    origin: Origin
    duration_ns: float = 0.0
    exit_status: int | None = None
    warnings: tuple[str, ...] = ()
    interrupted: bool = False
    may_end_early: bool = False
    """Whether pieces come often enough to wait for the next one after Ctrl-C."""
    mappings: tuple[MappingUse, ...] = ()
    static: tuple[StaticCount, ...] = ()
    """What was counted apart from the stream."""

    @abstractmethod
    def __iter__(self) -> Iterator[Accesses]:
        """Run what is to be run and give its accesses as they come."""


class MachineStream(Stream):
    """Accesses that leave their node while a command runs on a simulated machine."""

    may_end_early = True

    def __init__(
        self,
        source: Simulator,
        command: Command,
        scope: Scope = Scope.REMOTE,
        *,
        options: RunOptions | None = None,
    ) -> None:
        machine = source.machine
        nodes = len(machine.nodes)
        self._source, self._command, self._options = source, command, options
        notes: list[str] = []
        if nodes == 1 and scope is Scope.REMOTE:
            scope = Scope.MEMORY
            notes.append(
                f"{machine.name} has one node, so no access is remote: these are the accesses "
                "that its memory answers; pages, regions and records are as on any machine."
            )
        self._scope = scope
        cached = "" if machine.cache_remote else ", none of them cached"
        seen = {
            Scope.REMOTE: f"loads and stores that another node answers{cached}",
            Scope.MEMORY: "loads and stores that memory answers",
        }[scope]
        self.origin = Origin(
            kind="simulated",
            what=" ".join(command.argv),
            machine=machine.name,
            seen=seen,
            nodes=nodes,
            page_bytes=machine.translation.page,
            simulated=True,
        )
        self.warnings = tuple(notes)

    def __iter__(self) -> Iterator[Accesses]:
        local = self._scope is Scope.MEMORY
        run = self._source.accesses(self._command, local=local, options=self._options)
        for piece in run:
            self.duration_ns = piece.now_ns
            yield self._accesses(piece.rows)
        self.exit_status = run.exit_status
        self.warnings += tuple(f"{text}." for text in run.warnings)

    def _accesses(self, kept: bytes) -> Accesses:
        from gnomon.machines.lowering import TICKS_PER_CYCLE
        from gnomon.machines.memory import MONITORED

        rows = np.frombuffer(kept, dtype=MONITORED)
        per_ns = self._source.machine.core.clock_ghz * TICKS_PER_CYCLE
        return Accesses(
            time_ns=(rows["time"] / per_ns).astype(np.int64),
            address=rows["address"],
            size=rows["size"],
            write=rows["write"] != 0,
            source=rows["node"].astype(np.int16),
            home=rows["home"].astype(np.int16),
            thread=rows["task"].astype(np.int32),
        )


class TracedStream(Stream):
    """All loads and stores of a real program, with no machine in between.

    Nobody tells times or nodes: an access takes one unit of time, and threads are who asks.
    """

    may_end_early = True

    def __init__(self, command: Command, page_bytes: int = 4096) -> None:
        self._command = command
        self.origin = Origin(
            kind="traced",
            what=" ".join(command.argv),
            machine="",
            seen="all loads and stores that were traced",
            nodes=_native.TRACE_SLOTS,
            page_bytes=page_bytes,
            asker="thread",
            time_is_order=True,
        )

    def __iter__(self) -> Iterator[Accesses]:
        from gnomon.machines.tracing import trace

        with trace(self._command) as traced:
            reader = _native.ReferenceReader(traced.program.feeds)
            traced.release()
            now = 0
            while not reader.ended:
                rows = np.frombuffer(reader.take(_PIECE_REFERENCES), dtype=_REFERENCE)
                self.duration_ns = float(now + len(rows))
                yield _ordered(rows, now)
                now += len(rows)
            traced.wait()
            self.exit_status = traced.exit_status
            self.warnings = traced.warnings
            if traced.method == "lackey":
                name = traced.program.name
                self.warnings += (
                    f"{name} was traced by valgrind, which is slow and sees one thread: compile "
                    "it with `gnomon sim compile`.",
                )


def _ordered(rows: NDArray[np.void], now: int) -> Accesses:
    unknown = np.full(len(rows), UNKNOWN, np.int16)
    return Accesses(
        time_ns=np.arange(now, now + len(rows), dtype=np.int64),
        address=rows["address"],
        size=rows["size"],
        write=rows["write"] != 0,
        source=rows["thread"].astype(np.int16),
        home=unknown,
        thread=rows["thread"].astype(np.int32),
    )
