"""Connections between processes: frames over stream sockets that never block a sender."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

_HEADER = struct.Struct("<BIII")
_PIECE = 1 << 18


class Kind(IntEnum):
    """What a frame is about."""

    REQUEST = 1  # a brick is wanted: number, token
    RESPONSE = 2  # a brick: number, token, voxels
    DRAW = 3  # a tile is to be drawn: frame, tile
    PIXELS = 4  # a tile was drawn: frame, tile, grey levels
    QUIT = 5
    REPORT = 6  # what a node has counted: JSON


class Frame(NamedTuple):
    """A message: two numbers and some bytes."""

    kind: Kind
    first: int
    second: int
    content: bytes


class Link:
    """One end of a connection; any thread sends, one receives.

    What does not fit into the socket at once is kept, and whoever watches the link is told
    to send the rest: two processes that send to each other never wait for each other.
    """

    def __init__(self, end: socket.socket, bell: int) -> None:
        self.socket = end
        end.setblocking(False)
        self._bell = bell
        self._lock = threading.Lock()
        self._out = bytearray()
        self._in = bytearray()

    def send(self, kind: Kind, first: int = 0, second: int = 0, content: bytes = b"") -> None:
        """Send a frame, or keep it to be sent."""
        with self._lock:
            self._out += _HEADER.pack(kind, first, second, len(content)) + content
            self._flush()
            left = bool(self._out)
        if left:
            os.eventfd_write(self._bell, 1)

    @property
    def has_more(self) -> bool:
        """Whether something is kept that must be sent when there is room."""
        return bool(self._out)

    def flush(self) -> None:
        """Send what there is room for."""
        with self._lock:
            self._flush()

    def _flush(self) -> None:
        try:
            while self._out:
                del self._out[: self.socket.send(self._out)]
        except BlockingIOError:
            return
        except (BrokenPipeError, ConnectionResetError):
            self._out.clear()  # who receives finds out that the other end is closed

    def receive(self) -> Iterator[Frame]:
        """Yield the frames that have come; raises EOFError when the other end is closed."""
        try:
            piece = self.socket.recv(_PIECE)
        except BlockingIOError:
            return
        except ConnectionResetError:
            piece = b""
        if not piece:
            raise EOFError
        self._in += piece
        while len(self._in) >= _HEADER.size:
            kind, first, second, length = _HEADER.unpack_from(self._in)
            end = _HEADER.size + length
            if len(self._in) < end:
                return
            content = bytes(self._in[_HEADER.size : end])
            del self._in[:end]
            yield Frame(Kind(kind), first, second, content)
