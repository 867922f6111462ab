"""What a probe and its viewers say to each other: sealed messages over a socket, and the token.

A frame is four bytes of length, then JSON; once both know each other, a seal stands before it. The
file is a part of the one that is copied to other hosts, and needs nothing but Python 3.9.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import struct
from pathlib import Path
from typing import Any, NamedTuple

VERSION = 1
PORT = 9999
TOKEN_VARIABLE = "GNOMON_PROBE_TOKEN"
_LONGEST = 1 << 20


class Reading(NamedTuple):
    """What one threshold counted: its number in the session, when, its edge, loads, ns counted."""

    number: int
    time: int
    edge: int
    loads: int
    running: int


class ProbeError(Exception):
    """Something that the other side, or a user, is told in one sentence."""

    exit_code = 1


class ProbeUsageError(ProbeError):
    """Something that a user asked for in vain."""

    exit_code = 2


class Sealed(NamedTuple):
    """A key of one connection, with what tells its two directions apart."""

    key: bytes
    direction: bytes


class Channel:
    """Messages over a socket; every one is sealed as soon as there are keys."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.outgoing: Sealed | None = None
        self.incoming: Sealed | None = None
        self._sent = self._received = 0

    def send(self, message: dict[str, Any]) -> None:
        """Send a message as a whole."""
        body = json.dumps(message, separators=(",", ":")).encode()
        if self.outgoing is not None:
            body = seal(self.outgoing, self._sent, body) + body
            self._sent += 1
        self.connection.sendall(struct.pack(">I", len(body)) + body)

    def receive(self) -> dict[str, Any]:
        """Return the next message; ConnectionError at the end, ProbeError when it is no message."""
        (length,) = struct.unpack(">I", self._exactly(4))
        if length > _LONGEST:
            raise ProbeError("the other side does not speak the protocol of gnomon's probe.")
        body = self._exactly(length)
        if self.incoming is not None:
            mark, body = body[:32], body[32:]
            if not hmac.compare_digest(mark, seal(self.incoming, self._received, body)):
                raise ProbeError("a message was changed on its way: the connection is given up.")
            self._received += 1
        try:
            message = json.loads(body)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            raise ProbeError("the other side does not speak the protocol of gnomon's probe.")
        return message

    def _exactly(self, size: int) -> bytes:
        parts = b""
        while len(parts) < size:
            more = self.connection.recv(size - len(parts))
            if not more:
                raise ConnectionError("the other side has gone")
            parts += more
        return parts


def seal(sealed: Sealed, number: int, body: bytes) -> bytes:
    """Return the mark of a message: it can be neither changed, left out nor repeated."""
    text = sealed.direction + struct.pack(">Q", number) + body
    return hmac.new(sealed.key, text, hashlib.sha256).digest()


def proof(token: bytes, nonces: bytes, request: str) -> str:
    """Return what only somebody who knows the token can say about a request."""
    return hmac.new(token, b"viewer" + nonces + request.encode(), hashlib.sha256).hexdigest()


def session_keys(token: bytes, nonces: bytes) -> tuple[Sealed, Sealed]:
    """Return the keys of a connection: of what the probe says, and of what the viewer says."""
    key = hmac.new(token, b"session" + nonces, hashlib.sha256).digest()
    return Sealed(key, b"probe"), Sealed(key, b"viewer")


def read_token(file: str | None) -> bytes:
    """Return the token from a file or the environment; it never stands on a command line."""
    if file is not None:
        try:
            text = Path(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            text = f"the token file '{file}' cannot be read: {error.strerror}."
            raise ProbeUsageError(text) from None
        except UnicodeDecodeError:
            raise ProbeUsageError(
                f"the token file '{file}' is no text: try `openssl rand -hex 32 > token`."
            ) from None
    else:
        text = os.environ.get(TOKEN_VARIABLE, "").strip()
    if len(text) < 16:
        raise ProbeUsageError(
            f"a token of 16 characters or more is needed: put one into a file for --token-file, or "
            f"into {TOKEN_VARIABLE}, as in `openssl rand -hex 32 > token`."
        )
    return text.encode()
