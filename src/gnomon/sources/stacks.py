"""Call stacks of programs: what their frames are called, and how far each can be trusted.

The walk itself, the reading of other processes and the tables of names are kernels in
`native/frames`. Here their numbers become frames with names: symbol tables of the file or of its
separate debug file, Go's own table, the map that a JIT writes, Python functions; else the object
and the start of the function in it, which is the same in every run of a build.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from stat import S_ISREG

from gnomon._native import (
    FrameFile,
    FrameLibrary,
    FrameSpace,
    GoTable,
    PerfMap,
    PythonFunctions,
    PythonReader,
    SymbolTable,
    demangle,
    wait_stack,
)

_PYTHON_OBJECT = 0xFFFFFFFE
_DEBUG = Path("/usr/lib/debug")
_LONGEST_MAP = 256 << 20


class Quality(IntEnum):
    """How a frame was found; what lies outside of a weaker frame is as weak."""

    TABLE = 0  # by unwind tables, or sampled itself
    FRAME_POINTER = 1  # by frame pointers or a saved address, checked to follow a call
    SCAN = 2  # the nearest word on the stack that follows a call: a guess, drawn "~"
    PYTHON = 3  # a function of Python, read from the interpreter


class Ending(IntEnum):
    """Why a stack ends where it does."""

    COMPLETE = 0
    TRUNCATED = 1  # the copy of the stack was too short
    NO_TABLE = 2  # code without an unwind table
    LOST = 3  # a register is needed that nobody knows any more
    BAD_ADDRESS = 4
    TOO_DEEP = 5


class WaitStatus(IntEnum):
    """What came of reading the stack of a thread."""

    READ = 0
    RUNNING = 1
    MOVED = 2  # it ran while it was read
    GONE = 3
    REFUSED = 4


class PythonStatus(IntEnum):
    """What came of reading the Python frames of a thread."""

    WHOLE = 0
    OUTER = 1  # inner frames changed while they were read
    NONE = 2
    FAILED = 3


@dataclass(frozen=True, slots=True)
class Frame:
    """One call: its object (a file, or "" for code that a JIT made), its place and its name."""

    object: str
    build_id: str
    address: int  # in the file's own addresses
    function: int | None  # where its function begins, by unwind table or symbol
    name: str | None
    quality: Quality
    line: int | None = None  # of Python

    @property
    def label(self) -> str:
        """Its name, else its object with the start of its function, else the address."""
        if self.name is not None:
            return self.name
        place = self.address if self.function is None else self.function
        return f"{Path(self.object).name or 'jit'}+{place:#x}"


@dataclass(frozen=True, slots=True)
class Wait:
    """A thread that waits in the kernel: in which call, and its stack."""

    call: int
    arguments: tuple[int, ...]
    frames: tuple[int, ...]
    ending: Ending


def debug_file(file: FrameFile, path: str, debug: Path = _DEBUG) -> Path | None:
    """Return the separate debug file of a stripped file, by build-id, else by its debug link."""
    build_id = file.build_id
    if len(build_id) > 2:
        found = debug / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
        if found.is_file():
            return found
    name, crc = file.debug_link
    if not name or "/" in name or not path.startswith("/"):
        return None
    folder = Path(path).parent
    for found in (folder / name, folder / ".debug" / name, debug / folder.relative_to("/") / name):
        if found.is_file() and str(found) != path and _crc(found) == crc:
            return found
    return None


def _crc(path: Path) -> int:
    crc = 0
    with path.open("rb") as stream:
        while part := stream.read(1 << 20):
            crc = zlib.crc32(part, crc)
    return crc


class FileNames:
    """The functions of one file, by every table that it or its debug file has."""

    def __init__(self, file: FrameFile, path: str, debug: Path = _DEBUG) -> None:
        self._file, self._path, self._debug = file, path, debug

    @cached_property
    def _tables(self) -> tuple[SymbolTable | GoTable, ...]:
        tables: list[SymbolTable | GoTable] = []
        if other := debug_file(self._file, self._path, self._debug):
            with suppress(OSError):  # damaged: the file's own names remain
                tables.append(SymbolTable(FrameFile(str(other))))
        tables += [SymbolTable(self._file), GoTable(self._file)]
        return tuple(table for table in tables if len(table))

    def find(self, address: int) -> tuple[str, int] | None:
        """Return the name and the start of the function of an address."""
        for table in self._tables:
            if found := table.find(address):
                name, start, _ = found
                return demangle(name), start
        return None


class JitNames:
    """The functions that a process made, from the map it writes; read again when it has grown."""

    def __init__(self, pid: int) -> None:
        # As the process sees it; ours is the same where neither has a root of its own, and stays
        # when the process has ended.
        inner = Path(f"/proc/{pid}/root/tmp/perf-{_inner_pid(pid)}.map")
        self._paths = (inner, Path(f"/tmp/perf-{pid}.map"))
        self._owners = {0, os.getuid()}
        with suppress(OSError):
            self._owners.add(Path(f"/proc/{pid}").stat().st_uid)
        self._state: tuple[int, int] | None = None
        self._map = PerfMap(b"")

    def find(self, address: int) -> tuple[str, int] | None:
        """Return the name and the start of the function of an address."""
        self.refresh()
        found = self._map.find(address)
        return found and (demangle(found[0]), found[1])

    def refresh(self) -> None:
        """Take what the process has written since; what was read stays when it has ended."""
        for path in self._paths:
            with suppress(OSError):
                now = path.stat()
                # Anybody may write below /tmp: another user's file is not this process's.
                sound = S_ISREG(now.st_mode) and now.st_uid in self._owners
                if sound and (now.st_size, now.st_mtime_ns) != self._state:
                    with path.open("rb") as stream:
                        self._map = PerfMap(stream.read(_LONGEST_MAP))
                    self._state = (now.st_size, now.st_mtime_ns)
                return


def _inner_pid(pid: int) -> int:
    """Return the number that a process has in its own namespace, which names its map."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("NSpid:"):
                return int(line.split()[-1])
    except OSError:
        pass
    return pid


class Process:
    """The mappings of one process, and the interpreter of Python in it, if there is one."""

    def __init__(self, stacks: Stacks, pid: int) -> None:
        self._stacks, self.pid = stacks, pid
        self.space = FrameSpace(stacks.library, pid)
        self.python: PythonReader | None = None
        self.no_python = "not looked for"

    def refresh(self) -> bool:
        """Read its mappings anew; False when it has ended."""
        if not self.space.refresh():
            return False
        try:
            self.python = PythonReader(self.space, self._stacks.functions)
            self.no_python = ""
        except OSError as error:
            self.python, self.no_python = None, str(error.args[-1])
        return True

    def sample(self, tid: int, registers: tuple[int, ...], stack: bytes) -> int:
        """Return the number of a sample's stack: registers in DWARF's order, 16 the address."""
        words = struct.pack("<17Q", *registers)
        if self.python is not None:
            return self.python.sample(tid, words, stack)[0]
        return self.space.unwind(words, stack)[0]

    def wait(self, tid: int) -> tuple[WaitStatus, Wait | None]:
        """Read where a thread waits, without stopping it."""
        status, call, arguments, steps, ending = wait_stack(self.space, tid)
        if status != WaitStatus.READ:
            return WaitStatus(status), None
        frames = tuple(frame for _, _, _, frame in steps)
        return WaitStatus.READ, Wait(call, tuple(arguments), frames, Ending(ending))

    def python_wait(self, tid: int) -> int | None:
        """Return the number of a waiting thread's stack with its Python frames."""
        found = None if self.python is None else self.python.waiting(tid)
        return found and found[0]


class Stacks:
    """Stacks of any number of processes: each kept once, with names when they are asked for."""

    def __init__(self, debug: Path = _DEBUG) -> None:
        self.library = FrameLibrary()
        self.functions = PythonFunctions()
        self._debug = debug
        self._files: dict[int, FileNames | JitNames | None] = {}

    def process(self, pid: int) -> Process:
        """Return a process whose mappings are to be read."""
        return Process(self, pid)

    def frames(self, stack: int) -> Iterator[Frame]:
        """Yield the frames of a stack, leaf first."""
        for number in self.library.stack(stack):
            yield self.frame(number)

    def frame(self, number: int) -> Frame:
        """Return a frame with its name, if it has one."""
        owner, address, quality, exact = self.library.frame(number)
        if owner == _PYTHON_OBJECT:
            function, file, _ = self.functions.function(address >> 32)
            low = address & 0xFFFFFFFF
            line = None if low >> 31 else low  # the compiler gave none
            return Frame(file, "", address, None, function, Quality(quality), line)
        path, build_id, _ = self.library.object(owner)
        inside = address if exact else address - 1  # after a call may be another function
        found = self._find(owner, inside)
        start = self.library.function(owner, inside)
        name = found[0] if found else None
        if start is None and found:
            start = found[1]
        return Frame(path, build_id, address, start, name, Quality(quality))

    def _find(self, owner: int, address: int) -> tuple[str, int] | None:
        if owner not in self._files:
            path, _, pid = self.library.object(owner)
            file = self.library.file(owner)
            if pid > 0:
                self._files[owner] = JitNames(pid)
            else:
                self._files[owner] = FileNames(file, path, self._debug) if file else None
        names = self._files[owner]
        return names.find(address) if names else None
