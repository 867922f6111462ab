"""Lists of simulated machines."""

from __future__ import annotations

from gnomon.machines.sim import MachineRow, MachinesResult
from gnomon.recording.contents import Provenance


def _of(number: int, text: str = "") -> MachinesResult:
    rows = tuple(
        MachineRow(
            text or f"machine-{each}",
            text or "Four nodes in a ring",
            1 + each % 4,
            8,
            16,
            2.4,
            (1 << 15, 1 << 20),
            1 + each % 4,
            45.0,
            30.0,
            each % 4,
            15.0 if each % 4 else None,
            70.0 if each % 4 else None,
        )
        for each in range(number)
    )
    return MachinesResult(rows, provenance=Provenance(text or "machine", simulated=True))


def small() -> MachinesResult:
    return _of(10)


def empty() -> MachinesResult:
    return MachinesResult(())


def hostile(text: str) -> MachinesResult:
    return _of(3, text)


def huge(rows: int) -> MachinesResult:
    return _of(rows)
