#!/usr/bin/env python3
"""A probe without a screen: counts loads above latencies on this host and streams them.

As `gnomon probe --print` writes it, this is one file that needs nothing but Python 3.9 or later:
copy it to a host and run it with python3. It listens on this host alone unless told otherwise, and
speaks only to viewers that prove that they know its token. `gnomon latency --on probe:HOST:PORT` is
such a viewer.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import ctypes
import fcntl
import hmac
import json
import os
import random
import secrets
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gnomon.sources.remote.channel import (
    PORT,
    TOKEN_VARIABLE,
    VERSION,
    Channel,
    ProbeError,
    ProbeUsageError,
    Reading,
    proof,
    read_token,
    session_keys,
)

DEVICES = Path("/sys/bus/event_source/devices")
_KEPT = 1 << 16  # slices that wait for a viewer which lost its connection
_PATIENCE = 60.0  # seconds without a viewer after which nothing is counted any more
_PACE = 0.2
_LEAST_EDGE, _MOST_EDGE, _MOST_EDGES = 3, 65535, 512
_SHORTEST_NS, _LONGEST_NS = 1_000_000, 1_000_000_000


# ---- counting -------------------------------------------------------------------------------


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
        share = sum(part * _above(edge, middle, spread) for middle, spread, part in self._PEAKS)
        mean = self._rate * nanoseconds / 1e9 * share
        return max(round(self._random.gauss(mean, mean**0.5)), 0), nanoseconds


def _above(edge: float, middle: float, spread: float) -> float:
    from math import erfc

    return 0.5 * erfc((edge - middle) / spread / 2**0.5)


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
        if terms is None or _text(unit / "format" / "ldlat") is None:
            continue
        loads = _encode(unit, terms, {"ldlat": edge})
        auxiliary = _text(unit / "events" / "mem-loads-aux")
        first = [] if auxiliary is None else [_encode(unit, auxiliary, {})]
        return [*first, loads._replace(precise=2)]
    raise ProbeError(
        "this host cannot count loads above a latency: that needs Intel's mem-loads event in "
        f"{devices}, which most virtual machines lack; --simulate makes loads up to try the probe."
    )


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _encode(unit: Path, terms: str, changed: dict[str, int]) -> Encoding:
    words = {"config": 0, "config1": 0, "config2": 0}
    given = dict(term.partition("=")[::2] for term in terms.split(",") if term)
    numbers = {key: int(value or "1", 0) for key, value in given.items()}
    for key, value in {**numbers, **changed}.items():
        number = value
        word, _, bits = (_text(unit / "format" / key) or "config:0-63").partition(":")
        for part in bits.split(","):
            first, _, last = part.partition("-")
            width = int(last or first) - int(first) + 1
            words[word] |= (number & ((1 << width) - 1)) << int(first)
            number >>= width
    kind = int(_text(unit / "type") or "4")
    return Encoding(kind, words["config"], words["config1"])


_SYSCALLS = {"x86_64": 298, "aarch64": 241, "ppc64le": 319, "riscv64": 241, "s390x": 331}
_ENABLE, _DISABLE = 0x2400, 0x2401
_NEVER = 1 << 60


def open_event(
    event: Encoding, pid: int, cpu: int, leader: int = -1, *, user_only: bool = False
) -> int:
    """Return a descriptor of an event that is not enabled yet; OSError when it is refused."""
    flags = (leader < 0) | 1 << 6 | user_only << 5 | event.precise << 15 | bool(event.precise) << 20
    attributes = struct.pack(
        "<IIQQQQQIIQQ",
        event.type,
        112,
        event.config,
        _NEVER if event.precise else 0,  # a precise event must be sampled, or it is refused
        0,
        0b11,
        flags,
        0,
        0,
        event.config1,
        0,
    ).ljust(112, b"\0")
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
        groups = [_open_group(load_events(edge, self._devices), *at) for at in self._places()]
        try:
            for group in groups:
                fcntl.ioctl(group[0], _ENABLE, 1)
            time.sleep(nanoseconds / 1e9)
            for group in groups:
                fcntl.ioctl(group[0], _DISABLE, 1)
            words = [struct.unpack("<QQQ", os.read(group[-1], 24)) for group in groups]
        finally:
            for group in groups:
                for descriptor in group:
                    os.close(descriptor)
        return sum(word[0] for word in words), sum(word[2] for word in words)

    def _places(self) -> list[tuple[int, int]]:
        if self._pid is None:
            return [(-1, cpu) for cpu in sorted(os.sched_getaffinity(0))]
        try:
            return [(int(each.name), -1) for each in Path(f"/proc/{self._pid}/task").iterdir()]
        except OSError:
            raise ProbeError(f"process {self._pid} has ended.") from None


def _open_group(events: Sequence[Encoding], pid: int, cpu: int) -> list[int]:
    found: list[int] = []
    try:
        for event in events:
            leader = found[0] if found else -1
            try:
                found.append(open_event(event, pid, cpu, leader))
            except PermissionError:
                found.append(open_event(event, pid, cpu, leader, user_only=True))
    except OSError as error:
        for descriptor in found:
            os.close(descriptor)
        text = f"loads cannot be counted: {error.strerror}"
        hint = "; give the probe CAP_PERFMON, or lower /proc/sys/kernel/perf_event_paranoid"
        raise ProbeError(f"{text}{hint if isinstance(error, PermissionError) else ''}.") from None
    return found


# ---- sessions and connections ---------------------------------------------------------------


class Session:
    """A measurement that outlives connections: slices are kept until a viewer has had them."""

    def __init__(self, request: dict[str, Any], counter: Any) -> None:
        self.name = secrets.token_hex(8)
        self.edges, self.slice_ns, seed = checked_request(request)
        self._counter = counter
        self._order = _sweeps(len(self.edges), seed)
        self._kept: collections.deque[Reading] = collections.deque(maxlen=_KEPT)
        self._changed = threading.Condition()
        self.viewer_at = time.monotonic()
        self.ended = ""
        self._stopped = False
        threading.Thread(target=self._measure, daemon=True).start()

    def _measure(self) -> None:
        number = 0
        while not self._stopped:
            if time.monotonic() - self.viewer_at > _PATIENCE:
                time.sleep(_PACE)
                continue
            edge = self.edges[next(self._order)]
            try:
                count, running = self._counter.count(edge, self.slice_ns)
            except (ProbeError, OSError) as error:
                with self._changed:
                    self.ended = str(error)
                    self._changed.notify_all()
                return
            with self._changed:
                number += 1
                now = time.monotonic_ns()
                self._kept.append(Reading(number, now, edge, count, running))
                self._changed.notify_all()

    def after(self, number: int, patience: float) -> list[Reading]:
        """Return the slices after a number, waiting a while for the first of them."""
        self.viewer_at = time.monotonic()
        with self._changed:
            self._changed.wait_for(
                lambda: self.ended or (self._kept and self._kept[-1].number > number), patience
            )
            return [each for each in self._kept if each.number > number]

    def stop(self) -> None:
        """Count nothing any more."""
        self._stopped = True


def _sweeps(edges: int, seed: int) -> Iterator[int]:
    """Yield ascending edges, over and over, from one that chance chooses."""
    at = random.Random(f"{seed} edges").randrange(edges)
    while True:
        yield at
        at = (at + 1) % edges


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
        raise ProbeError(f"edges must ascend from {_LEAST_EDGE} cycles or more.")
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
                self._session.stop()

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
                f"the viewer speaks version {answer.get('version')} and the probe {VERSION}: "
                "copy the probe of the viewer's gnomon here, with `gnomon probe --print`."
            )
        nonces = nonce + bytes.fromhex(str(answer["nonce"]))
        text = str(answer["request"])
        if not hmac.compare_digest(proof(self._token, nonces, text), str(answer["proof"])):
            time.sleep(0.5)  # guessing shall not be fast
            raise ProbeError("the token is wrong: give viewer and probe the same.")
        channel.send({"accepted": True})
        channel.outgoing, channel.incoming = session_keys(self._token, nonces)
        self._stream(channel, json.loads(text))

    def _stream(self, channel: Channel, request: dict[str, Any]) -> None:
        session, place = self._session_for(request)
        same = request.get("session") == session.name
        last = int(request.get("after", 0)) if same else 0
        channel.send(
            {
                "session": session.name,
                "edges": session.edges,
                "slice_ns": session.slice_ns,
                "simulated": self._counter.simulated,
                "target": self._counter.name,
                "host": os.uname().nodename,
                "kernel": f"{os.uname().sysname} {os.uname().release}",
                "cpus": os.cpu_count(),
            }
        )
        while place == self._newest:
            slices = session.after(last, _PACE)
            channel.send({"slices": [list(each) for each in slices[:4096]]})
            last = slices[:4096][-1].number if slices else last
            if session.ended and not slices:
                channel.send({"end": session.ended})
                return

    def _session_for(self, request: dict[str, Any]) -> tuple[Session, int]:
        """Return the session that goes on, or a new one for a viewer that wants another."""
        wanted = checked_request(request)
        with self._lock:
            self._newest += 1
            old = self._session
            goes_on = old is not None and request.get("session") == old.name
            if old is None or not goes_on or (old.edges, old.slice_ns) != wanted[:2]:
                if old is not None:
                    old.stop()
                self._session = Session(request, self._counter)
            assert self._session is not None
            return self._session, self._newest


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the probe."""
    parser.add_argument("--port", type=int, default=PORT, help=f"to listen on ({PORT}; 0: any)")
    parser.add_argument("--bind", metavar="ADDRESS", default="127.0.0.1", help="(127.0.0.1)")
    parser.add_argument("--token-file", metavar="FILE", help=f"the token; else {TOKEN_VARIABLE}")
    parser.add_argument("-p", "--pid", type=int, help="a running process, in place of all CPUs")
    parser.add_argument("--simulate", action="store_true", help="make loads up, to try it")


def run(options: argparse.Namespace) -> int:
    """Serve until somebody presses Ctrl-C."""
    token = read_token(options.token_file)
    if not 0 <= options.port <= 65535:
        raise ProbeUsageError(f"there is no port {options.port}: choose 1 to 65535, or 0 for any.")
    if options.simulate and options.pid is not None:
        text = "--simulate makes loads up and -p counts those of a process: choose one."
        raise ProbeUsageError(text)
    if options.pid is not None and not Path(f"/proc/{options.pid}").exists():
        raise ProbeError(f"there is no process {options.pid}.")
    counter = Simulated() if options.simulate else Counted(options.pid)
    try:
        probe = Probe(token, counter, options.bind, options.port)
    except OSError as error:
        reason = str(error.strerror or error).partition(" (")[0].rstrip(".")
        raise ProbeError(f"cannot listen on {options.bind}:{options.port}: {reason}.") from None
    label = "SIMULATED " if counter.simulated else ""
    print(
        f"{label}probe of {counter.name} listens on {probe.address[0]}:{probe.address[1]}",
        flush=True,
    )
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
        print(f"gnomon probe: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
