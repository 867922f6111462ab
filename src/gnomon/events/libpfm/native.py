"""libpfm4's structures, and how the library is found."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from gnomon.errors import NotSupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator


# The structures begin with what the first version of the library's interface had. Each says its
# own size, and later versions of the library fill no more than that.
class PmuInfo(ctypes.Structure):
    """What the library tells of a PMU."""

    _fields_: ClassVar = [
        ("name", ctypes.c_char_p),
        ("desc", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("pmu", ctypes.c_int),
        ("type", ctypes.c_int),
        ("nevents", ctypes.c_int),
        ("first_event", ctypes.c_int),
        ("max_encoding", ctypes.c_int),
        ("num_cntrs", ctypes.c_int),
        ("num_fixed_cntrs", ctypes.c_int),
        ("flags", ctypes.c_uint),
    ]


class EventInfo(ctypes.Structure):
    """What the library tells of an event."""

    _fields_: ClassVar = [
        ("name", ctypes.c_char_p),
        ("desc", ctypes.c_char_p),
        ("equiv", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("code", ctypes.c_uint64),
        ("pmu", ctypes.c_int),
        ("dtype", ctypes.c_int),
        ("idx", ctypes.c_int),
        ("nattrs", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("flags", ctypes.c_uint),
    ]


class AttrInfo(ctypes.Structure):
    """What the library tells of a unit mask or modifier of an event."""

    _fields_: ClassVar = [
        ("name", ctypes.c_char_p),
        ("desc", ctypes.c_char_p),
        ("equiv", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("code", ctypes.c_uint64),
        ("type", ctypes.c_int),
        ("idx", ctypes.c_int),
        ("ctrl", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("default", ctypes.c_uint64),
    ]


class PerfAttr(ctypes.Structure):
    """The kernel's perf_event_attr as far as its second version, which has config2."""

    _fields_: ClassVar = [
        ("type", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("config", ctypes.c_uint64),
        ("between", ctypes.c_uint64 * 5),
        ("config1", ctypes.c_uint64),
        ("config2", ctypes.c_uint64),
    ]


class PerfArg(ctypes.Structure):
    """What to encode for the kernel, and where to put the result."""

    _fields_: ClassVar = [
        ("attr", ctypes.POINTER(PerfAttr)),
        ("fstr", ctypes.POINTER(ctypes.c_void_p)),
        ("size", ctypes.c_size_t),
        ("idx", ctypes.c_int),
        ("cpu", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("pad", ctypes.c_int),
    ]


class RawArg(ctypes.Structure):
    """What to encode for the registers, and where to put the result."""

    _fields_: ClassVar = [
        ("codes", ctypes.POINTER(ctypes.c_uint64)),
        ("fstr", ctypes.POINTER(ctypes.c_void_p)),
        ("size", ctypes.c_size_t),
        ("count", ctypes.c_int),
        ("idx", ctypes.c_int),
    ]


def open_library(name: str | None = None) -> ctypes.CDLL:
    """Load the library, by its usual name unless another is given."""
    for candidate in (name,) if name else ("libpfm.so.4", ctypes.util.find_library("pfm")):
        if candidate is None:
            continue
        try:
            library = ctypes.CDLL(candidate)
        except OSError:
            continue
        try:
            library.pfm_strerror.restype = ctypes.c_char_p
            library.pfm_get_os_event_encoding.argtypes = [
                ctypes.c_char_p,
                ctypes.c_int,
                ctypes.c_int,
                ctypes.c_void_p,
            ]
        except AttributeError:
            raise NotSupportedError(f"'{candidate}' is not libpfm4") from None
        return library
    raise NotSupportedError(
        "libpfm4 is not installed: install the package libpfm4 (Debian, Ubuntu) or libpfm"
        " (Fedora), or read events from a list instead"
    )


@contextmanager
def environment(name: str, value: str) -> Iterator[None]:
    """Set a variable of the environment for a while, where C code sees it too."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
