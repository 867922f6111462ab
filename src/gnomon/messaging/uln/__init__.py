"""A machine with user-level notification in simulated time, and two that lack it.

    from gnomon.messaging.uln import KERNEL_NIC, ULN, Descriptor, Doorbell, run_programs

    outcome = run_programs(ping, pong, machine=ULN)
    print(outcome.results[0])

Programs are `async def` functions that take a `Thread`.
"""

from gnomon.messaging.protocol import Descriptor, Doorbell
from gnomon.messaging.result import Timeline
from gnomon.messaging.uln.engine import (
    MEMORY_BASE,
    MEMORY_BYTES,
    DeadlockError,
    ProgramRun,
    TimeLimitError,
    run_programs,
)
from gnomon.messaging.uln.machine_kinds import (
    KERNEL_NIC,
    MACHINES,
    ULN,
    USER_LEVEL_NIC,
    Costs,
    Fallback,
    MachineKind,
    machine_kind,
)
from gnomon.messaging.uln.network import Note, Placement
from gnomon.messaging.uln.programming import Thread, ThreadHandle

__all__ = [
    "KERNEL_NIC",
    "MACHINES",
    "MEMORY_BASE",
    "MEMORY_BYTES",
    "ULN",
    "USER_LEVEL_NIC",
    "Costs",
    "DeadlockError",
    "Descriptor",
    "Doorbell",
    "Fallback",
    "MachineKind",
    "Note",
    "Placement",
    "ProgramRun",
    "Thread",
    "ThreadHandle",
    "TimeLimitError",
    "Timeline",
    "machine_kind",
    "run_programs",
]
