"""The simplest recorder of samples with user registers and a copy of the stack."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import struct
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_PERF_EVENT_OPEN = 298  # on x86-64
_SOFTWARE, _TASK_CLOCK = 1, 1
_TID, _TIME, _REGS_USER, _STACK_USER = 1 << 1, 1 << 2, 1 << 12, 1 << 13
_INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HV = 1 << 1, 1 << 5, 1 << 6
_DISABLED, _ENABLE_ON_EXEC, _MMAP, _MMAP2 = 1, 1 << 12, 1 << 8, 1 << 23
_RECORD_MMAP2, _RECORD_COMM, _RECORD_SAMPLE = 10, 3, 9
_MASK = 0xFF01FF  # ax bx cx dx si di bp sp ip r8 ... r15
_SET_OUTPUT = 0x2405
# DWARF numbers of the registers, in the kernel's order.
_ORDER = (0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15)
_RING_PAGES = (2048, 64)  # of the second as much as any user may lock


@dataclass(frozen=True)
class Sample:
    """Registers in DWARF's order, the stack from its pointer on, and the maps of that moment."""

    pid: int
    tid: int
    registers: bytes
    stack: bytes
    maps: str


class RefusedError(Exception):
    """The kernel does not let us sample here."""


def _attributes(period_ns: int, stack_bytes: int, on_exec: bool) -> bytes:
    flags = _EXCLUDE_KERNEL | _EXCLUDE_HV | _INHERIT | _MMAP | _MMAP2
    if on_exec:
        flags |= _DISABLED | _ENABLE_ON_EXEC
    what = _TID | _TIME | _REGS_USER | _STACK_USER
    head = struct.pack("<IIQQQQQ", _SOFTWARE, 112, _TASK_CLOCK, period_ns, what, 0, flags)
    # wakeup, bp_type, config1, config2, branch_sample_type, registers, stack, clock
    return (head + struct.pack("<IIQQQQIi", 0, 0, 0, 0, 0, _MASK, stack_bytes, 0)).ljust(112, b"\0")


def _open(attributes: bytes, pid: int, cpu: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(_PERF_EVENT_OPEN, attributes, pid, cpu, -1, 8)
    if fd < 0:
        raise RefusedError(f"perf_event_open: {os.strerror(ctypes.get_errno())}")
    return int(fd)


def _ring(fd: int) -> mmap.mmap:
    for pages in _RING_PAGES:
        try:
            return mmap.mmap(fd, (1 + pages) * mmap.PAGESIZE, mmap.MAP_SHARED)
        except PermissionError:
            continue
    raise RefusedError("no memory may be locked for samples")


class Recorder:
    """Samples a process with its threads and children; `take` gives the samples so far."""

    def __init__(
        self, pid: int, hz: int = 499, stack_bytes: int = 32768, on_exec: bool = False
    ) -> None:
        attributes = _attributes(1_000_000_000 // hz, stack_bytes, on_exec)
        self._rings: list[tuple[int, mmap.mmap]] = []
        self._fds: list[int] = []
        self._maps: dict[int, str] = {}
        libc = ctypes.CDLL(None)
        tasks = [pid] if on_exec else [int(e.name) for e in Path(f"/proc/{pid}/task").iterdir()]
        for cpu in range(os.cpu_count() or 1):
            ring = -1
            for task in tasks:
                fd = _open(attributes, task, cpu)
                self._fds.append(fd)
                if ring < 0:
                    self._rings.append((fd, _ring(fd)))
                    ring = fd
                elif libc.ioctl(fd, _SET_OUTPUT, ring):
                    raise RefusedError("perf events cannot share a ring")

    def close(self) -> None:
        for _, memory in self._rings:
            memory.close()
        for fd in self._fds:
            os.close(fd)

    def take(self) -> list[Sample]:
        samples: list[Sample] = []
        for _, memory in self._rings:
            self._drain(memory, samples)
        return samples

    def _drain(self, memory: mmap.mmap, samples: list[Sample]) -> None:
        size = len(memory) - mmap.PAGESIZE
        head, tail = struct.unpack_from("<QQ", memory, 1024)
        while tail < head:
            at = mmap.PAGESIZE + tail % size
            kind, _, length = struct.unpack_from("<IHH", memory, at)
            body = memory[at : min(at + length, mmap.PAGESIZE + size)]
            body += memory[mmap.PAGESIZE : mmap.PAGESIZE + length - len(body)]
            tail += length
            if kind in (_RECORD_MMAP2, _RECORD_COMM):
                self._maps.pop(struct.unpack_from("<I", body, 8)[0], None)
            elif kind == _RECORD_SAMPLE:
                self._take_sample(body, samples)
        struct.pack_into("<Q", memory, 1032, tail)

    def _take_sample(self, body: bytes, samples: list[Sample]) -> None:
        pid, tid, _, abi = struct.unpack_from("<IIQQ", body, 8)
        if abi != 2:
            return
        words = struct.unpack_from("<17Q", body, 32)
        (copied,) = struct.unpack_from("<Q", body, 168)
        (used,) = struct.unpack_from("<Q", body, 176 + copied) if copied else (0,)
        if pid not in self._maps:
            try:
                self._maps[pid] = Path(f"/proc/{pid}/maps").read_text()
            except OSError:
                return
        if not self._maps[pid]:
            return
        by_number = sorted(zip(_ORDER, words, strict=True))
        registers = struct.pack("<17Q", *(word for _, word in by_number))
        samples.append(Sample(pid, tid, registers, body[176 : 176 + used], self._maps[pid]))


def record(
    command: Sequence[str], seconds: float, hz: int = 499, stack_bytes: int = 32768
) -> list[Sample]:
    """Run a program for so long at most, and return its samples."""
    # The shell waits to be continued, so that the events are there before the program starts.
    process = subprocess.Popen(
        ["sh", "-c", 'kill -STOP $$; exec "$@"', "sh", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    samples: list[Sample] = []
    recorder = None
    try:
        os.waitpid(process.pid, os.WUNTRACED)
        recorder = Recorder(process.pid, hz, stack_bytes, on_exec=True)
        os.kill(process.pid, signal.SIGCONT)
        end = time.monotonic() + seconds
        while time.monotonic() < end and process.poll() is None:
            time.sleep(0.003)
            samples += recorder.take()
        samples += recorder.take()
    finally:
        os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
        process.wait()
        if recorder:
            recorder.close()
    return samples
