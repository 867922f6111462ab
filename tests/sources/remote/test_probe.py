"""The probe: what it streams, whom it serves, and how a viewer lives through its loss."""

from __future__ import annotations

import argparse
import fcntl
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from gnomon.errors import GnomonError, NotPermittedError, UsageError
from gnomon.sources.remote import probe as probing
from gnomon.sources.remote.probe import (
    Channel,
    Encoding,
    Probe,
    ProbeError,
    Reading,
    Simulated,
    checked_request,
    load_events,
    open_event,
    read_token,
    seal,
)
from gnomon.sources.remote.viewer import Viewer, parse_address

from ..helpers import with_kernel
from ..test_latency import AUXILIARY, INTEL, devices

TOKEN = b"a token that is long enough"
EDGES = (3, 10, 100)
LENGTH = 1_000_000


class Faults:
    """Counts that tell which slice they are of: the n-th slice counts n."""

    simulated = True
    name = "numbers"

    def __init__(self, most: int = 1 << 60) -> None:
        self.taken = 0
        self._most = most

    def count(self, edge: int, nanoseconds: int) -> tuple[int, int]:
        del edge
        if self.taken >= self._most:
            raise ProbeError("process 1 has ended.")
        time.sleep(nanoseconds / 1e9)
        self.taken += 1
        return self.taken, nanoseconds


@contextmanager
def serving(counter: object | None = None, port: int = 0) -> Iterator[Probe]:
    probe = Probe(TOKEN, counter or Faults(), "127.0.0.1", port)
    threading.Thread(target=probe.serve, daemon=True).start()
    try:
        yield probe
    finally:
        probe.close()


def viewer(address: tuple[str, int], token: bytes = TOKEN) -> Viewer:
    return Viewer(address, token, EDGES, LENGTH, patience=120.0)


def gathered(
    view: Viewer, enough: int, on_batch: Callable[[int], None] = lambda _: None
) -> list[Reading]:
    found: list[Reading] = []
    deadline = time.monotonic() + 120

    def over() -> bool:
        return len(found) >= enough or time.monotonic() > deadline

    for batch in view.slices(over):
        found.extend(batch)
        on_batch(len(found))
    return found


def test_slices_come_in_order_with_edge_count_and_time() -> None:
    with serving() as probe:
        view = viewer(probe.address)
        found = gathered(view, 30)
    assert [each.number for each in found] == list(range(1, len(found) + 1))
    assert [each.loads for each in found] == list(range(1, len(found) + 1))
    assert {each.edge for each in found} == set(EDGES)
    assert all(each.running == LENGTH for each in found)
    assert view.welcome["simulated"] is True
    assert view.welcome["target"] == "numbers"


def test_a_probe_listens_on_the_newer_protocol_too() -> None:
    try:
        probe = Probe(TOKEN, Faults(), "::1", 0)
    except OSError:
        pytest.skip("this host has no IPv6")
    threading.Thread(target=probe.serve, daemon=True).start()
    try:
        assert gathered(viewer(probe.address), 3)
    finally:
        probe.close()


def test_a_broken_connection_is_made_again_and_nothing_counts_twice() -> None:
    with serving() as probe:
        proxy = Proxy(probe.address)
        view = viewer(proxy.address)
        cuts = [20, 250]

        def cut(number: int) -> None:
            if cuts and number >= cuts[0]:
                cuts.pop(0)
                proxy.cut()

        found = gathered(view, 500, cut)
        proxy.close()
    assert view.reconnections >= 2  # more where the machine stood still for long
    assert [each.loads for each in found] == list(range(1, len(found) + 1))
    assert view.missed == 0


def test_a_probe_that_begins_anew_is_followed_and_said() -> None:
    with serving() as first:
        port = first.address[1]
        view = viewer(first.address)
        stream = view.slices(lambda: False)
        before = [each for _, batch in zip(range(5), stream, strict=False) for each in batch]
    with serving(port=port):
        after: list[Reading] = []
        while len(after) < 10:
            batch = next(stream)  # the first ones may be on their way since before
            after += batch if view.warnings else []
    assert before
    assert [each.number for each in after][:10] == list(range(1, 11))
    assert any("began anew" in text for text in view.warnings)


def test_a_probe_that_stays_away_is_given_up_with_a_warning() -> None:
    view = viewer(("127.0.0.1", 1))
    with serving() as probe:
        view.address = probe.address
        found: list[Reading] = []
        for batch in view.slices(lambda: False):
            found += batch
            if found:
                view.patience = 0.3
                probe.close()
    assert found
    assert any("given up" in text for text in view.warnings)


def test_a_probe_that_comes_back_with_another_token_ends_the_stream_and_nothing_is_lost() -> None:
    with serving() as probe:
        port = probe.address[1]
        view = viewer(probe.address)
        stream = view.slices(lambda: False)
        found: list[Reading] = []
        while not found:
            found += next(stream)
    while not view.lost:
        next(stream)
    other = Probe(b"another token of that length", Faults(), "127.0.0.1", port)
    threading.Thread(target=other.serve, daemon=True).start()
    try:
        assert not [each for batch in stream for each in batch]
    finally:
        other.close()
    assert any("the token is wrong" in text for text in view.warnings)


def test_the_end_of_what_is_measured_ends_the_stream() -> None:
    with serving(Faults(most=7)) as probe:
        view = viewer(probe.address)
        found = gathered(view, 1000)
    assert len(found) == 7
    assert any("process 1 has ended" in text for text in view.warnings)


def test_a_wrong_token_is_one_clear_sentence() -> None:
    with serving() as probe, pytest.raises(NotPermittedError, match="the token is wrong"):
        gathered(viewer(probe.address, b"another token of that length"), 1)


def test_another_version_is_one_clear_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as probe:
        monkeypatch.setattr("gnomon.sources.remote.viewer.VERSION", 2)
        with pytest.raises(
            GnomonError, match=r"speaks protocol version 1 and this gnomon 2.*--print"
        ):
            gathered(viewer(probe.address), 1)


def test_the_probe_refuses_a_viewer_of_another_version() -> None:
    with serving() as probe, socket.create_connection(probe.address) as connection:
        channel = Channel(connection)
        channel.receive()
        channel.send({"version": 99})
        assert "version 99" in channel.receive()["error"]


@pytest.mark.parametrize(
    "rubbish", [b"GET / HTTP/1.1\r\n\r\n", struct.pack(">I", 1 << 30), struct.pack(">I", 2) + b"[]"]
)
def test_rubbish_is_refused_and_the_probe_goes_on(rubbish: bytes) -> None:
    with serving() as probe:
        # The probe may hang up at any time.
        with socket.create_connection(probe.address) as connection, suppress(OSError):
            connection.sendall(rubbish)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
        assert gathered(viewer(probe.address), 3)


@pytest.mark.parametrize(
    ("hello", "complaint"),
    [
        ({"hello": "world"}, "is not a probe"),
        ({"probe": "gnomon", "version": probing.VERSION}, "sent an invalid message"),
    ],
)
def test_what_is_no_probe_is_named(hello: dict[str, object], complaint: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                Channel(connection).send(hello)

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(GnomonError, match=complaint):
            gathered(viewer(server.getsockname()[:2]), 1)


def test_an_address_without_a_probe_is_named() -> None:
    with pytest.raises(GnomonError, match="no probe answers"):
        gathered(viewer(("127.0.0.1", 1)), 1)


def test_a_message_that_was_changed_or_repeated_is_refused() -> None:
    here, there = socket.socketpair()
    with here, there:
        sender, receiver = Channel(here), Channel(there)
        key = probing.session_keys(TOKEN, b"nonces")[0]
        sender.outgoing = receiver.incoming = key
        sender.send({"slices": []})
        assert receiver.receive() == {"slices": []}
        body = b'{"slices":[]}'
        again = seal(key, 0, body) + body  # a copy of the first message
        here.sendall(struct.pack(">I", len(again)) + again)
        with pytest.raises(ProbeError, match="altered in transit"):
            receiver.receive()


@pytest.mark.parametrize(
    "request_",
    [
        {"edges": [2, 10], "slice_ns": LENGTH},
        {"edges": [10, 3], "slice_ns": LENGTH},
        {"edges": [3], "slice_ns": LENGTH},
        {"edges": "3,10", "slice_ns": LENGTH},
        {"edges": [3, 10], "slice_ns": 10},
        {},
    ],
)
def test_a_request_that_makes_no_sense_is_refused(request_: dict[str, object]) -> None:
    with pytest.raises(ProbeError):
        checked_request(request_)


def test_tokens_come_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n")
    assert read_token(str(file)) == b"0123456789abcdef"
    monkeypatch.setenv("GNOMON_PROBE_TOKEN", "fedcba9876543210")
    assert read_token(None) == b"fedcba9876543210"
    monkeypatch.setenv("GNOMON_PROBE_TOKEN", "short")
    with pytest.raises(ProbeError, match="16 characters"):
        read_token(None)
    with pytest.raises(ProbeError, match="cannot be read"):
        read_token(str(tmp_path / "none"))


def test_a_port_that_there_is_not_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN.decode())
    parser = argparse.ArgumentParser()
    probing.configure(parser)
    words = ["--simulate", "--token-file", str(tmp_path / "token"), "--port"]
    for wrong in ("70000", "-1"):
        with pytest.raises(ProbeError, match=f"there is no port {wrong}: choose 1 to 65535"):
            probing.run(parser.parse_args([*words, wrong]))


def test_addresses_of_probes() -> None:
    assert parse_address("node1") == ("node1", 9999)
    assert parse_address("node1:7") == ("node1", 7)
    assert parse_address("[::1]:7") == ("::1", 7)
    for wrong in ("", "node:x", "node:0", "node:70000"):
        with pytest.raises(UsageError):
            parse_address(wrong)


def test_the_probe_encodes_events_as_sysfs_says(tmp_path: Path) -> None:
    (loads,) = load_events(64, devices(tmp_path / "a", cpu=INTEL))
    assert loads == Encoding(4, 0x1CD, 64, 2)
    leader, beside = load_events(64, devices(tmp_path / "b", cpu=AUXILIARY))
    assert (leader.config, beside.config1) == (0x8203, 64)
    with pytest.raises(ProbeError, match="--simulate"):
        load_events(64, tmp_path / "none")


@with_kernel
def test_the_probe_opens_events_of_this_kernel() -> None:
    task_clock = Encoding(1, 1, 0)
    descriptor = open_event(task_clock, 0, -1)
    try:
        fcntl.ioctl(descriptor, 0x2400, 0)
        sum(range(100_000))
        value, enabled, running = struct.unpack("<QQQ", os.read(descriptor, 24))
    finally:
        os.close(descriptor)
    assert value > 0
    assert enabled >= running > 0


def test_made_up_loads_follow_their_peaks() -> None:
    counts = [Simulated(seed=3).count(edge, LENGTH)[0] for edge in (3, 30, 100, 300, 499)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 500
    assert counts[-1] < 20


def test_the_one_file_runs_with_nothing_but_python(tmp_path: Path) -> None:
    """No other module is there, no site packages, no gnomon."""
    file = tmp_path / "probe.py"
    file.write_text(Path(probing.__file__).read_text())
    (tmp_path / "token").write_text(TOKEN.decode())
    command = [sys.executable, "-I", "-S", str(file), "--token-file", str(tmp_path / "token")]
    with subprocess.Popen(
        [*command, "--simulate", "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("SIMULATED probe")
            assert "127.0.0.1:" in line
            view = viewer(("127.0.0.1", int(line.rsplit(":", 1)[1])))
            assert gathered(view, 5)
        finally:
            process.terminate()


class Proxy:
    """Passes bytes on to a probe, and can cut the connection."""

    def __init__(self, to: tuple[str, int]) -> None:
        self._to = to
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = self._server.getsockname()[:2]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
                far = socket.create_connection(self._to)
            except OSError:
                return
            self._open += [near, far]
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self._copy, args=(a, b), daemon=True).start()

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(4096):
                sink.sendall(data)
        except OSError:
            pass

    def cut(self) -> None:
        """End all connections, in the middle of a message maybe."""
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._open.clear()

    def close(self) -> None:
        """Serve nobody any more."""
        self._server.close()
        self.cut()
