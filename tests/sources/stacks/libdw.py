"""The stacks that elfutils' libdw makes of the same samples."""

from __future__ import annotations

import ctypes
import struct
from ctypes import CFUNCTYPE, POINTER, c_bool, c_char_p, c_int, c_uint64, c_void_p

from tests.sources.stacks.recorder import Sample

_FIND = CFUNCTYPE(c_int, c_void_p)  # any function: libdw's own are passed on
_NEXT = CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(c_void_p))
_READ = CFUNCTYPE(c_bool, c_void_p, c_uint64, POINTER(c_uint64), c_void_p)
_SET = CFUNCTYPE(c_bool, c_void_p, c_void_p)
_FRAME = CFUNCTYPE(c_int, c_void_p, c_void_p)


class _Callbacks(ctypes.Structure):
    _fields_ = [("elf", c_void_p), ("debug", c_void_p), ("address", c_void_p), ("path", c_void_p)]


class _ThreadCallbacks(ctypes.Structure):
    _fields_ = [
        ("next_thread", _NEXT),
        ("get_thread", c_void_p),
        ("memory_read", _READ),
        ("registers", _SET),
        ("detach", c_void_p),
        ("thread_detach", c_void_p),
    ]


class Libdw:
    """One process whose mappings do not change; OSError where libdw is not installed."""

    def __init__(self, sample: Sample) -> None:
        self._dw = dw = ctypes.CDLL("libdw.so.1")
        libc = ctypes.CDLL(None)
        libc.fmemopen.restype = c_void_p
        libc.fmemopen.argtypes = [c_void_p, ctypes.c_size_t, c_char_p]
        libc.fclose.argtypes = [c_void_p]
        dw.dwfl_begin.restype = c_void_p
        dw.dwfl_linux_proc_maps_report.argtypes = [c_void_p, c_void_p]
        dw.dwfl_report_end.argtypes = [c_void_p, c_void_p, c_void_p]
        dw.dwfl_attach_state.argtypes = [c_void_p, c_void_p, c_int, c_void_p, c_void_p]
        dw.dwfl_getthread_frames.argtypes = [c_void_p, c_int, _FRAME, c_void_p]
        dw.dwfl_frame_pc.argtypes = [c_void_p, POINTER(c_uint64), POINTER(c_bool)]
        dw.dwfl_thread_state_registers.argtypes = [c_void_p, c_int, ctypes.c_uint, c_void_p]
        dw.dwfl_thread_state_registers.restype = c_bool
        dw.dwfl_end.argtypes = [c_void_p]
        self._path = c_void_p()
        self._callbacks = _Callbacks(
            ctypes.cast(dw.dwfl_linux_proc_find_elf, c_void_p),
            ctypes.cast(dw.dwfl_standard_find_debuginfo, c_void_p),
            None,
            ctypes.cast(ctypes.pointer(self._path), c_void_p),
        )
        self._threads = _ThreadCallbacks(
            _NEXT(self._next), None, _READ(self._read), _SET(self._set), None, None
        )
        self._sample = sample
        self._dwfl = dw.dwfl_begin(ctypes.byref(self._callbacks))
        text = sample.maps.encode()
        self._text = ctypes.create_string_buffer(text, len(text))
        file = libc.fmemopen(self._text, len(text), b"r")
        dw.dwfl_linux_proc_maps_report(self._dwfl, file)
        libc.fclose(file)
        dw.dwfl_report_end(self._dwfl, None, None)
        if not dw.dwfl_attach_state(
            self._dwfl, None, sample.pid, ctypes.byref(self._threads), c_void_p(1)
        ):
            raise OSError("libdw cannot attach")

    def _next(self, _: object, argument: int, place: object) -> int:
        if place[0]:  # type: ignore[index]
            return 0
        place[0] = argument  # type: ignore[index]
        return self._sample.tid

    def _read(self, _: object, address: int, result: object, __: object) -> bool:
        (start,) = struct.unpack_from("<Q", self._sample.registers, 7 * 8)
        inside = address - start
        if not 0 <= inside <= len(self._sample.stack) - 8:
            return False
        (result[0],) = struct.unpack_from("<Q", self._sample.stack, inside)  # type: ignore[index]
        return True

    def _set(self, thread: int, _: object) -> bool:
        words = (c_uint64 * 17)(*struct.unpack("<17Q", self._sample.registers))
        return bool(self._dw.dwfl_thread_state_registers(thread, 0, 17, words))

    def pcs(self, sample: Sample) -> list[int]:
        """Return the addresses of a stack, leaf first."""
        self._sample = sample
        found: list[int] = []

        def take(frame: int, _: object) -> int:
            pc, active = c_uint64(), c_bool()
            if not self._dw.dwfl_frame_pc(frame, ctypes.byref(pc), ctypes.byref(active)):
                return 1
            found.append(pc.value)
            return 0 if len(found) < 512 else 1

        self._dw.dwfl_getthread_frames(self._dwfl, sample.tid, _FRAME(take), None)
        return found

    def close(self) -> None:
        self._dw.dwfl_end(self._dwfl)
