"""Listening to a probe on another host: it may go away and come back, and nothing counts twice."""

from __future__ import annotations

import json
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from gnomon.errors import GnomonError, NotPermittedError, UsageError
from gnomon.sources.remote import SOURCE
from gnomon.sources.remote.probe import (
    PORT,
    VERSION,
    Channel,
    ProbeError,
    Reading,
    proof,
    read_token,
    session_keys,
)

if TYPE_CHECKING:
    from gnomon.events.event import Event, Request

PATIENCE = 30.0
"""Seconds for which a probe that went away is waited for."""

_TIMEOUT = 5.0  # a probe says something every 0.2 s
_PAUSE = 0.2


class _LostError(Exception):
    """The connection broke; another one may do."""


@dataclass(slots=True)
class Viewer:
    """A stream of slices from a probe, over as many connections as it takes."""

    address: tuple[str, int]
    token: bytes
    edges: Sequence[int]
    slice_ns: int
    seed: int = 1
    patience: float = PATIENCE
    welcome: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    reconnections: int = 0
    missed: int = 0
    ended: str = ""
    lost: bool = False
    _session: str = ""
    _last: int = 0

    def slices(self, until: Callable[[], bool]) -> Iterator[list[Reading]]:
        """Yield what comes, in order and each slice once, until the probe ends or `until` says so.

        Raises an error when there is no probe to begin with; later its loss is a warning. While
        it is lost nothing comes, again and again.
        """
        silent_since = time.monotonic()
        begun = False
        while not until() and not self.ended:
            try:
                with self._connected() as connection:
                    channel = self._introduced(connection)
                    self.reconnections += begun
                    self.lost = False
                    for batch in self._batches(channel, until):
                        silent_since = time.monotonic()
                        begun = True
                        yield batch
            except (_LostError, OSError) as error:
                if not begun and not self.welcome:
                    raise GnomonError(self._unreachable(error)) from None
                if time.monotonic() - silent_since > self.patience:
                    self.warnings.append(f"the probe was lost for {self.patience:g} s: given up")
                    return
                self.lost = True
                yield []
                time.sleep(_PAUSE)
            except GnomonError as error:
                if not begun:
                    raise
                # What came before is not lost with a probe that has another token now, say.
                self.warnings.append(str(error).removesuffix("."))
                return

    def _connected(self) -> socket.socket:
        connection = socket.create_connection(self.address, timeout=_TIMEOUT)
        connection.settimeout(_TIMEOUT)
        return connection

    def _unreachable(self, error: Exception) -> str:
        host, port = self.address
        reason = getattr(error, "strerror", None) or str(error) or "it does not answer"
        return (
            f"no probe answers at {host}:{port} ({reason}): start one there with "
            "`gnomon latency probe`."
        )

    def _introduced(self, connection: socket.socket) -> Channel:
        """Prove that we know the token, and see that the probe does."""
        channel = Channel(connection)
        hello = self._receive(channel)
        if hello.get("probe") != "gnomon":
            raise UsageError(f"what listens at {self.address[0]}:{self.address[1]} is not a probe.")
        if hello.get("version") != VERSION:
            raise GnomonError(
                f"the probe speaks protocol version {hello.get('version')} and this gnomon "
                f"{VERSION}: copy the probe of this gnomon there, with "
                "`gnomon latency probe --print`."
            )
        own = secrets.token_bytes(16)
        try:
            nonces = bytes.fromhex(str(hello.get("nonce"))) + own
        except ValueError:
            raise GnomonError(
                "the probe sent an invalid message: copy it to that host again."
            ) from None
        request = json.dumps(
            {
                "edges": list(self.edges),
                "slice_ns": self.slice_ns,
                "seed": self.seed,
                "session": self._session,
                "after": self._last,
            }
        )
        channel.send(
            {
                "version": VERSION,
                "nonce": own.hex(),
                "request": request,
                "proof": proof(self.token, nonces, request),
            }
        )
        self._accept(channel, nonces)
        return channel

    def _accept(self, channel: Channel, nonces: bytes) -> None:
        """Take the probe's verdict, then its welcome, whose seal shows that it knows the token."""
        verdict = self._receive(channel)
        if "error" in verdict:
            raise NotPermittedError(f"the probe refuses: {verdict['error']}")
        channel.incoming, channel.outgoing = session_keys(self.token, nonces)
        message = self._receive(channel)
        if "error" in message:
            raise GnomonError(f"the probe refuses: {message['error']}")
        if message["session"] != self._session:
            if self._session:
                self.warnings.append("the probe began anew: what it counted meanwhile is lost")
            self._session, self._last = str(message["session"]), 0
        self.welcome = message

    def _batches(self, channel: Channel, until: Callable[[], bool]) -> Iterator[list[Reading]]:
        while not until():
            message = self._receive(channel)
            if "error" in message:
                raise GnomonError(f"the probe stops: {message['error']}")
            if "end" in message:
                self.ended = str(message["end"])
                self.warnings.append(f"the probe ended: {self.ended.removesuffix('.')}")
                return
            fresh = [Reading(*row) for row in message.get("slices", ()) if row[0] > self._last]
            if fresh:
                if fresh[0].number > self._last + 1:
                    self.missed += fresh[0].number - self._last - 1
                self._last = fresh[-1].number
            yield fresh

    def _receive(self, channel: Channel) -> dict[str, Any]:
        try:
            return channel.receive()
        except ProbeError as error:
            raise GnomonError(str(error)) from None
        except OSError as error:
            raise _LostError(str(error)) from None


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of `HOST`, `HOST:PORT` or `[HOST]:PORT`."""
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not host.startswith("[")):
        host, port = text, str(PORT)
    if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise UsageError(
            f"'{text}' is not an address of a probe: write HOST:PORT, as in node1:{PORT}."
        )
    return host.strip("[]"), int(port)


def viewer_token(file: str | None) -> bytes:
    """Return the token that the viewer shares with the probe."""
    try:
        return read_token(file)
    except ProbeError as error:
        raise UsageError(str(error)) from None


# ---- the source -------------------------------------------------------------------------------


class ProbeSource:
    """A probe by its address, `HOST` or `HOST:PORT`; it is called when it is listened to."""

    capabilities = SOURCE.capabilities

    def __init__(self, address: str) -> None:
        self.name = f"{SOURCE.name}:{address}"
        self._address = address

    def stream(
        self, edges: Sequence[int], slice_ns: int, *, seed: int = 1, token_file: str | None = None
    ) -> Viewer:
        """Return a stream of the loads above each edge; without a file the token is looked up."""
        address = parse_address(self._address)
        return Viewer(address, viewer_token(token_file), edges, slice_ns, seed)

    def events(self) -> Iterator[Event]:
        """Yield nothing: a probe has thresholds, not events to choose from."""
        return iter(())

    def anchors(self) -> tuple[Request, ...]:
        """Return nothing: there are no runs."""
        return ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise UsageError(
            f"{self.name} sends how long loads take and counts nothing else: use `gnomon latency`."
        )

    resolve = availability = default_events = plan = open = provenance = _refuse
