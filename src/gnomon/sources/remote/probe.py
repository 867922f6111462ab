#!/usr/bin/env python3
"""A probe without a screen: counts loads above latencies on this host and streams them.

This one file needs nothing but Python 3.9 or later: copy it to a host and run it with python3. It
listens on this host alone unless told otherwise, and speaks only to viewers that prove that they
know its token. `gnomon latency --on probe:HOST:PORT` is such a viewer.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import ctypes
import fcntl
import hashlib
import hmac
import itertools
import json
import math
import os
import random
import secrets
import socket
import struct
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

VERSION = 1
PORT = 9999
TOKEN_VARIABLE = "GNOMON_PROBE_TOKEN"
_MAKE_TOKEN = "`openssl rand -hex 32 > token`"
DEVICES = Path("/sys/bus/event_source/devices")
_LONGEST = 1 << 20
_FOREIGN = "the other side does not speak the protocol of gnomon's probe."
_KEPT = 1 << 16  # slices that wait for a viewer which lost its connection
_PATIENCE = 60.0  # seconds without a viewer after which nothing is counted any more
_PACE = 0.2
_LEAST_EDGE, _MOST_EDGE, _MOST_EDGES = 3, 65535, 512
_SHORTEST_NS, _LONGEST_NS = 1_000_000, 1_000_000_000


class ProbeError(Exception):
    """Something that the other side, or a user, is told in one sentence."""

    exit_code = 1


class ProbeUsageError(ProbeError):
    """Something that a user asked for in vain."""

    exit_code = 2


# ---- frames: four bytes of length, then JSON; once both know each other, a seal before it ----


Sealed = tuple[bytes, bytes]
"""A key of one connection, with what tells its two directions apart."""


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
            raise ProbeError(_FOREIGN)
        body = self._exactly(length)
        if self.incoming is not None:
            mark, body = body[:32], body[32:]
            if not hmac.compare_digest(mark, seal(self.incoming, self._received, body)):
                raise ProbeError("a message was altered in transit: the connection is closed.")
            self._received += 1
        with contextlib.suppress(ValueError):
            message = json.loads(body)
            if isinstance(message, dict):
                return message
        raise ProbeError(_FOREIGN)

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
    key, direction = sealed
    return hmac.new(key, direction + struct.pack(">Q", number) + body, hashlib.sha256).digest()


def proof(token: bytes, nonces: bytes, request: str) -> str:
    """Return what only somebody who knows the token can say about a request."""
    return hmac.new(token, b"viewer" + nonces + request.encode(), hashlib.sha256).hexdigest()


def session_keys(token: bytes, nonces: bytes) -> tuple[Sealed, Sealed]:
    """Return the keys of a connection: of what the probe says, and of what the viewer says."""
    key = hmac.new(token, b"session" + nonces, hashlib.sha256).digest()
    return (key, b"probe"), (key, b"viewer")


def read_token(file: str | None) -> bytes:
    """Return the token from a file or the environment; it never stands on a command line."""
    text = os.environ.get(TOKEN_VARIABLE, "")
    try:
        text = text if file is None else Path(file).read_text("utf-8")
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
        raise ProbeUsageError(f"the token file '{file}' {why}.") from None
    except UnicodeDecodeError:
        raise ProbeUsageError(f"the token file '{file}' is not text: try {_MAKE_TOKEN}.") from None
    if len(text.strip()) < 16:
        raise ProbeUsageError(
            "a token of 16 characters or more is needed: put one into a file for --token-file, or "
            f"into {TOKEN_VARIABLE}, as in {_MAKE_TOKEN}."
        )
    return text.strip().encode()


# ---- counting -------------------------------------------------------------------------------


class Reading(NamedTuple):
    """What one threshold counted: its number in the session, when, its edge, loads, ns counted."""

    number: int
    time: int
    edge: int
    loads: int
    running: int


class Simulated:
    """Loads made up by chance, for trying the probe where there is no PMU."""

    simulated = True
    name = "made-up loads"
    _PEAKS = ((5, 1.5, 0.4), (14, 2.0, 0.2), (45, 5.0, 0.15), (230, 12.0, 0.2), (390, 20.0, 0.05))

    def __init__(self, rate: float = 1e6, seed: int = 1) -> None:
        self._rate = rate
        self._random = random.Random(seed)

    def count(self, edge: int, nanoseconds: int) -> tuple[int, int]:
        """Return how many loads were slower than an edge, and for how long that was counted."""
        time.sleep(nanoseconds / 1e9)
        shares = (p * math.erfc((edge - at) / wide / 2**0.5) / 2 for at, wide, p in self._PEAKS)
        mean = self._rate * nanoseconds / 1e9 * sum(shares)
        return max(round(self._random.gauss(mean, mean**0.5)), 0), nanoseconds


class Encoding(NamedTuple):
    """An event as perf_event_open wants it."""

    type: int
    config: int
    config1: int
    precise: int = 0


def load_events(edge: int, devices: Path = DEVICES) -> list[Encoding]:
    """Return what counts loads slower than an edge: one event, or two that go together."""
    for name in ("cpu", "cpu_core"):
        unit = devices / name
        terms = _text(unit / "events" / "mem-loads")
        if terms is not None and _text(unit / "format" / "ldlat") is not None:
            loads = _encode(unit, terms, {"ldlat": edge})
            auxiliary = _text(unit / "events" / "mem-loads-aux")
            first = [] if auxiliary is None else [_encode(unit, auxiliary, {})]
            return [*first, loads._replace(precise=2)]
    raise ProbeError(
        "this host cannot count loads above a latency: that needs Intel's mem-loads event in "
        f"{devices}, which most virtual machines lack; --simulate makes loads up to try the probe."
    )


def _text(path: Path) -> str | None:
    with contextlib.suppress(OSError):
        return path.read_text().strip()
    return None


def _encode(unit: Path, terms: str, changed: dict[str, int]) -> Encoding:
    words = {"config": 0, "config1": 0, "config2": 0}
    given = dict(term.partition("=")[::2] for term in terms.split(",") if term)
    for key in {**given, **changed}:
        number = changed.get(key, int(given.get(key) or "1", 0))
        word, _, bits = (_text(unit / "format" / key) or "config:0-63").partition(":")
        for part in bits.split(","):
            first, _, last = part.partition("-")
            width = int(last or first) - int(first) + 1
            words[word] |= (number & ((1 << width) - 1)) << int(first)
            number >>= width
    return Encoding(int(_text(unit / "type") or "4"), words["config"], words["config1"])


_SYSCALLS = {"x86_64": 298, "aarch64": 241, "ppc64le": 319, "riscv64": 241, "s390x": 331}
_ENABLE, _DISABLE = 0x2400, 0x2401
_NEVER = 1 << 60


def open_event(
    event: Encoding, pid: int, cpu: int, leader: int = -1, *, user_only: bool = False
) -> int:
    """Return a descriptor of an event that is not enabled yet; OSError when it is refused."""
    flags = (leader < 0) | 1 << 6 | user_only << 5 | event.precise << 15 | bool(event.precise) << 20
    period = _NEVER if event.precise else 0  # a precise event must be sampled, or it is refused
    fields = (event.type, 112, event.config, period, 0, 0b11, flags, 0, 0, event.config1, 0)
    attributes = struct.pack("<IIQQQQQIIQQ", *fields).ljust(112, b"\0")
    library = ctypes.CDLL(None, use_errno=True)
    number = _SYSCALLS.get(os.uname().machine)
    if number is None:
        raise ProbeError(f"the probe does not know perf events on {os.uname().machine}.")
    descriptor: int = library.syscall(number, attributes, pid, cpu, leader, 8)
    if descriptor < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return descriptor


class Counted:
    """Loads of all CPUs, or of all threads of a process, counted by the PMU."""

    simulated = False

    def __init__(self, pid: int | None, devices: Path = DEVICES) -> None:
        load_events(_LEAST_EDGE, devices)  # for its message, should there be none
        self._pid = pid
        self._devices = devices
        self.name = "all CPUs" if pid is None else f"process {pid}"

    def count(self, edge: int, nanoseconds: int) -> tuple[int, int]:
        """Return how many loads were slower than an edge, and for how long that was counted."""
        with contextlib.ExitStack() as opened:
            events = load_events(edge, self._devices)
            groups = [_open_group(opened, events, *at) for at in self._places()]
            for group in groups:
                fcntl.ioctl(group[0], _ENABLE, 1)
            time.sleep(nanoseconds / 1e9)
            for group in groups:
                fcntl.ioctl(group[0], _DISABLE, 1)
            words = [struct.unpack("<QQQ", os.read(group[-1], 24)) for group in groups]
        return sum(word[0] for word in words), sum(word[2] for word in words)

    def _places(self) -> list[tuple[int, int]]:
        if self._pid is None:
            return [(-1, cpu) for cpu in sorted(os.sched_getaffinity(0))]
        try:
            return [(int(each.name), -1) for each in Path(f"/proc/{self._pid}/task").iterdir()]
        except OSError:
            raise ProbeError(f"process {self._pid} has ended.") from None


def _open_group(
    opened: contextlib.ExitStack, events: Sequence[Encoding], pid: int, cpu: int
) -> list[int]:
    found: list[int] = []
    try:
        for event in events:
            leader = found[0] if found else -1
            try:
                found.append(open_event(event, pid, cpu, leader))
            except PermissionError:
                found.append(open_event(event, pid, cpu, leader, user_only=True))
            opened.callback(os.close, found[-1])
    except OSError as error:
        hint = "; give the probe CAP_PERFMON, or lower /proc/sys/kernel/perf_event_paranoid"
        hint *= isinstance(error, PermissionError)
        raise ProbeError(f"loads cannot be counted: {error.strerror}{hint}.") from None
    return found


# ---- sessions and connections ---------------------------------------------------------------


class Session:
    """A measurement that outlives connections: slices are kept until a viewer has had them."""

    def __init__(self, request: dict[str, Any], counter: Any) -> None:
        self.name = secrets.token_hex(8)
        self.edges, self.slice_ns, seed = checked_request(request)
        self._counter = counter
        # Ascending edges, over and over, from one that chance chooses.
        self._turns = itertools.count(random.Random(f"{seed} edges").randrange(len(self.edges)))
        self._kept: collections.deque[Reading] = collections.deque(maxlen=_KEPT)
        self._changed = threading.Condition()
        self.viewer_at = time.monotonic()
        self.ended = ""
        self.stopped = False  # counts nothing any more
        threading.Thread(target=self._measure, daemon=True).start()

    def _measure(self) -> None:
        number = 0
        while not self.stopped:
            if time.monotonic() - self.viewer_at > _PATIENCE:
                time.sleep(_PACE)
                continue
            edge = self.edges[next(self._turns) % len(self.edges)]
            try:
                count, running = self._counter.count(edge, self.slice_ns)
            except (ProbeError, OSError) as error:
                self.ended = str(error)  # who waits for slices looks for it soon
                return
            with self._changed:
                number += 1
                self._kept.append(Reading(number, time.monotonic_ns(), edge, count, running))
                self._changed.notify_all()

    def after(self, number: int, patience: float) -> list[Reading]:
        """Return the slices after a number, waiting a while for the first of them."""
        self.viewer_at = time.monotonic()
        with self._changed:
            self._changed.wait_for(
                lambda: self.ended or (self._kept and self._kept[-1].number > number), patience
            )
            return [each for each in self._kept if each.number > number]


def checked_request(request: dict[str, Any]) -> tuple[list[int], int, int]:
    """Return edges, the length of a slice and a seed, or complain about what a viewer asks."""
    edges, length, seed = (request.get(key) for key in ("edges", "slice_ns", "seed"))
    if (
        not isinstance(edges, list)
        or not 2 <= len(edges) <= _MOST_EDGES
        or not all(type(each) is int for each in edges)
        or not all(low < high for low, high in zip(edges, edges[1:]))  # noqa: B905, RUF007 - Python 3.9 has no pairwise
        or not (edges[0] >= _LEAST_EDGE and edges[-1] <= _MOST_EDGE)
    ):
        raise ProbeError(f"edges must ascend, from {_LEAST_EDGE} cycles on.")
    if type(length) is not int or not _SHORTEST_NS <= length <= _LONGEST_NS:
        raise ProbeError("a slice must be from 1 ms to 1 s long.")
    return edges, length, seed if type(seed) is int else 1


class Probe:
    """Waits for viewers; the newest one that knows the token is served."""

    def __init__(self, token: bytes, counter: Any, address: str, port: int) -> None:
        self._token = token
        self._counter = counter
        self._session: Session | None = None
        self._lock = threading.Lock()
        self._newest = 0
        self._closed = False
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._server = socket.create_server((address, port), family=family)
        self.address: tuple[str, int] = self._server.getsockname()[:2]

    def serve(self) -> None:
        """Serve viewers until it is closed, each in a thread of its own."""
        while not self._closed:
            try:
                connection, _ = self._server.accept()
            except OSError:
                if self._closed:
                    return
                raise
            threading.Thread(target=self._guarded, args=(connection,), daemon=True).start()

    def close(self) -> None:
        """Listen no more, and let go of viewers and of what was counted."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # wakes who waits for a viewer
        self._server.close()
        with self._lock:
            self._newest += 1
            if self._session is not None:
                self._session.stopped = True

    def _guarded(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(10)
            channel = Channel(connection)
            try:
                self._converse(channel)
            except ProbeError as error:
                channel.send({"error": str(error)})
            except (ValueError, KeyError, TypeError, AttributeError):
                channel.send({"error": "the probe did not understand the viewer."})

    def _converse(self, channel: Channel) -> None:
        nonce = secrets.token_bytes(16)
        channel.send({"probe": "gnomon", "version": VERSION, "nonce": nonce.hex()})
        answer = channel.receive()
        if answer.get("version") != VERSION:
            raise ProbeError(
                f"the viewer speaks protocol version {answer.get('version')} and the probe "
                f"{VERSION}: copy the probe of the viewer's gnomon here, with "
                "`gnomon latency probe --print`."
            )
        nonces = nonce + bytes.fromhex(str(answer["nonce"]))
        text = str(answer["request"])
        if not hmac.compare_digest(proof(self._token, nonces, text), str(answer["proof"])):
            time.sleep(0.5)  # guessing shall not be fast
            raise ProbeError("the token is wrong: viewer and probe need the same one.")
        channel.send({"accepted": True})
        channel.outgoing, channel.incoming = session_keys(self._token, nonces)
        self._stream(channel, json.loads(text))

    def _stream(self, channel: Channel, request: dict[str, Any]) -> None:
        session, place = self._session_for(request)
        last = int(request.get("after", 0)) if request.get("session") == session.name else 0
        told = {"session": session.name, "edges": session.edges, "slice_ns": session.slice_ns}
        told.update(simulated=self._counter.simulated, target=self._counter.name)
        name, host, release = os.uname()[:3]
        channel.send({**told, "host": host, "kernel": f"{name} {release}", "cpus": os.cpu_count()})
        while place == self._newest:
            slices = session.after(last, _PACE)[:4096]
            channel.send({"slices": slices})
            if slices:
                last = slices[-1].number
            elif session.ended:
                channel.send({"end": session.ended})
                return

    def _session_for(self, request: dict[str, Any]) -> tuple[Session, int]:
        """Return the session that goes on, or a new one for a viewer that wants another."""
        wanted = checked_request(request)
        with self._lock:
            self._newest += 1
            old = self._session
            asked = (request.get("session"), *wanted[:2])
            if old is None or (old.name, old.edges, old.slice_ns) != asked:
                self._session = Session(request, self._counter)
                if old is not None:
                    old.stopped = True
                old = self._session
            return old, self._newest


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the probe."""
    parser.add_argument("--port", type=int, default=PORT, help=f"to listen on ({PORT}; 0: any)")
    parser.add_argument("--bind", metavar="ADDRESS", default="127.0.0.1", help="(127.0.0.1)")
    parser.add_argument("--token-file", metavar="FILE", help=f"the token; else {TOKEN_VARIABLE}")
    parser.add_argument("-p", "--pid", type=int, help="a running process, in place of all CPUs")
    parser.add_argument("--simulate", action="store_true", help="send made-up loads, to try it")


def run(options: argparse.Namespace) -> int:
    """Serve until somebody presses Ctrl-C."""
    token = read_token(options.token_file)
    if not 0 <= options.port <= 65535:
        raise ProbeUsageError(f"there is no port {options.port}: choose 1 to 65535, or 0 for any.")
    if options.simulate and options.pid is not None:
        raise ProbeUsageError("--simulate makes loads up and -p counts in a process: choose one.")
    if options.pid is not None and not Path(f"/proc/{options.pid}").exists():
        raise ProbeError(f"there is no process {options.pid}.")
    counter = Simulated() if options.simulate else Counted(options.pid)
    try:
        probe = Probe(token, counter, options.bind, options.port)
    except OSError as error:
        reason = str(error.strerror or error).partition(" (")[0].rstrip(".")
        raise ProbeError(f"cannot listen on {options.bind}:{options.port}: {reason}.") from None
    label = "SIMULATED " * counter.simulated
    print(f"{label}probe of {counter.name} listens on", "{}:{}".format(*probe.address), flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        probe.serve()
    return 0


def main() -> int:
    """Run as a program of its own."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    configure(parser)
    try:
        return run(parser.parse_args())
    except ProbeError as error:
        print(f"probe: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
