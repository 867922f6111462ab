"""Count events with the bare system call, as a witness that shares no code with the project."""

import ctypes
import mmap
import os
import struct
from dataclasses import dataclass

HARDWARE = 0
INSTRUCTIONS = 1

_SYS_PERF_EVENT_OPEN = 241  # of arm64
_ATTR_SIZE = 128
_DISABLED = 1 << 0
_EXCLUDE_KERNEL = 1 << 5
_TIMES = 1 | 2  # read the time enabled and the time running as well

_CODE = (
    0xAA0003E9,  # mov  x9, x0
    0xD28014E8,  # mov  x8, #167  (prctl)
    0xD2800400,  # mov  x0, #32   (PR_TASK_PERF_EVENTS_ENABLE)
    0xD4000001,  # svc  #0
    0xF1000529,  # subs x9, x9, #1
    0x54FFFFE1,  # b.ne one instruction back
    0xD28003E0,  # mov  x0, #31   (PR_TASK_PERF_EVENTS_DISABLE)
    0xD4000001,  # svc  #0
    0xD65F03C0,  # ret
)

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Reading:
    """One counter's value, with the ns it was enabled and the ns it was on the PMU."""

    value: int
    enabled: int
    running: int


def count_loop(events: list[tuple[int, int]], times: int) -> list[Reading]:
    """Count events, given as type and config, in user mode of a loop of two instructions."""
    counters = [_open(kind, config) for kind, config in events]
    try:
        _run_code(times)
        return [Reading(*struct.unpack("QQQ", os.read(counter, 24))) for counter in counters]
    finally:
        for counter in counters:
            os.close(counter)


def _run_code(times: int) -> None:
    """Enable all counters of this process, run the loop, disable them.

    It is machine code because the interpreter's own instructions differ from call to call.
    """
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(struct.pack(f"<{len(_CODE)}I", *_CODE))
    start = ctypes.c_char.from_buffer(memory)
    ctypes.CFUNCTYPE(None, ctypes.c_uint64)(ctypes.addressof(start))(times)


def _open(kind: int, config: int) -> int:
    attr = struct.pack(
        "=IIQQQQQ", kind, _ATTR_SIZE, config, 0, 0, _TIMES, _DISABLED | _EXCLUDE_KERNEL
    )
    block = ctypes.create_string_buffer(attr, _ATTR_SIZE)
    counter: int = _libc.syscall(_SYS_PERF_EVENT_OPEN, block, 0, -1, -1, 0)
    if counter < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return counter
