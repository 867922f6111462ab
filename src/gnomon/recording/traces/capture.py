"""Capturing packets of this host's network: tcpdump takes them, and they are kept as they come.

tcpdump has the rights and the filter in the kernel; its capture comes through a pipe, and each
piece is committed before the next is read. Clocks of several CPUs differ by little: records are put
in order within a window before they are kept.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, cast

from gnomon.errors import (
    CommandError,
    GnomonError,
    NotPermittedError,
    NotSupportedError,
    UsageError,
)
from gnomon.recording.contents import Provenance
from gnomon.recording.traces.importers import DamagedError, Reading, sorted_by_time
from gnomon.recording.traces.importers.captures import read
from gnomon.recording.traces.writer import Batch, TraceWriter, remove_trace
from gnomon.units import parse_seconds

WINDOW = 50_000_000
"""How long records wait for earlier ones, in ns."""
_BUFFER = "65536"  # KiB in the kernel: a busy loopback fills less in milliseconds
_PIPE = 1 << 20  # B between tcpdump and us
_PATIENCE = 10.0  # s for tcpdump to begin or to end
_QUIET = 1.2  # s for packets to reach tcpdump: the kernel hands them over every second


def capture_packets(
    output: str | os.PathLike[str],
    *,
    interface: str,
    packets: str,
    command: Sequence[str] | None,
    duration: str | float | None,
    snap: int,
    overwrite: bool,
    on_progress: Callable[[str], None] | None,
) -> Path:
    """Capture until the command or the time ends, or Ctrl-C; return the path of the trace."""
    seconds = parse_seconds(duration, "duration")
    if command is None and seconds is None:
        raise UsageError("say how long to capture: --duration 5s, or a command after --.")
    if not 0 < snap <= 262_144:
        raise UsageError("--snap must be from 1 to 262144 bytes.")
    tool = shutil.which("tcpdump")
    if tool is None:
        raise NotSupportedError("tcpdump is not installed: `apt install tcpdump` has it.")
    if command is not None and shutil.which(command[0]) is None:
        raise CommandError(f"cannot run '{command[0]}': there is no such program.")
    origin = Provenance(
        source="tcpdump",
        command=tuple(command or ()),
        target=interface,
        clock="CLOCK_REALTIME",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    writer = TraceWriter(output, origin, overwrite=overwrite)
    arguments = [tool, "-i", interface, "-B", _BUFFER, "-U", "-w", "-", "-s", str(snap), "-n", "--"]
    try:
        taker = subprocess.Popen(
            [*arguments, *([packets] if packets else [])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us: we end it when what it holds has come
        )
        try:
            said = _await_begin(taker)
            ender = threading.Thread(target=_end, args=(taker, command, seconds), daemon=True)
            ender.start()
            _keep(taker, writer, interface, on_progress)
            ender.join(_PATIENCE)
        finally:
            if taker.poll() is None:
                taker.kill()
            taker.wait()
        writer.describe(notes=_dropped(said))
    except BaseException:
        writer.close()
        if not writer.rows:
            remove_trace(writer.path)
        raise
    writer.close()
    return writer.path


def _await_begin(taker: subprocess.Popen[bytes]) -> list[str]:
    """Wait until packets are captured; what is said later is collected."""
    said: list[str] = []
    begun = threading.Event()

    def listen() -> None:
        assert taker.stderr is not None
        for line in taker.stderr:
            said.append(line.decode("utf-8", "replace").strip())
            if "listening on" in said[-1]:
                begun.set()
        begun.set()

    threading.Thread(target=listen, daemon=True).start()
    begun.wait(_PATIENCE)
    if not any("listening on" in line for line in said):
        with contextlib.suppress(subprocess.TimeoutExpired):
            taker.wait(1.0)
        text = next((line.removeprefix("tcpdump: ") for line in said[::-1] if line), "no answer")
        if "permission" in text.lower() or "not permitted" in text.lower():
            raise NotPermittedError(
                f"packets may not be captured here ({text}): run as root, or give tcpdump "
                "CAP_NET_RAW (`setcap cap_net_raw+ep`)."
            )
        raise GnomonError(f"tcpdump cannot capture: {text}.")
    return said


def _end(
    taker: subprocess.Popen[bytes], command: Sequence[str] | None, seconds: float | None
) -> None:
    """Run the command, or wait, and end the capture."""
    if command is None:
        time.sleep(seconds or 0)
    else:
        with subprocess.Popen([*command], stdin=subprocess.DEVNULL, stdout=2) as running:
            try:
                running.wait(seconds)
            except subprocess.TimeoutExpired:
                running.terminate()
    time.sleep(_QUIET)
    _await_drained(taker)
    taker.send_signal(signal.SIGINT)


def _await_drained(taker: subprocess.Popen[bytes]) -> None:
    """Wait until the pipe is empty: a signal while tcpdump waits to write loses what it has."""
    assert taker.stdout is not None
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        waiting = bytearray(4)
        fcntl.ioctl(taker.stdout, termios.FIONREAD, waiting)
        if not any(waiting):
            return
        time.sleep(0.01)


def _keep(
    taker: subprocess.Popen[bytes],
    writer: TraceWriter,
    interface: str,
    on_progress: Callable[[str], None] | None,
) -> None:
    reading = Reading(f"the capture of {interface}", writer.numbers)
    stream = cast("IO[bytes]", taker.stdout)
    with contextlib.suppress(OSError):
        fcntl.fcntl(stream, fcntl.F_SETPIPE_SZ, _PIPE)
    with _interrupts_end(taker), _cut_is_noted(writer):
        for batch in in_window(read(stream, reading), WINDOW):  # type: ignore[arg-type]
            writer.append(batch)
            if on_progress is not None:
                on_progress(f"{writer.rows:,} packets")
    writer.describe(interfaces=[replace(each, name=interface) for each in reading.interfaces])


@contextlib.contextmanager
def _cut_is_noted(writer: TraceWriter) -> Iterator[None]:
    """Keep what was captured when tcpdump ends within a packet, and say so."""
    try:
        yield
    except DamagedError:
        writer.describe(notes=["tcpdump ended within a packet: its last packets are not here."])


@contextlib.contextmanager
def _interrupts_end(taker: subprocess.Popen[bytes]) -> Iterator[None]:
    """Let Ctrl-C end the capture: what tcpdump still holds comes before its end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: taker.send_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def in_window(batches: Iterator[Batch], window: int) -> Iterator[Batch]:
    """Put records in order that are out of it by less than `window` ns."""
    import numpy as np

    held: Batch | None = None
    try:
        for batch in batches:
            if not len(batch):
                continue
            some = [batch] if held is None else [held, batch]
            whole = next(sorted_by_time(iter(some), sum(map(len, some))))
            times = whole.columns["time"]
            cut = int(np.searchsorted(times, times[-1] - window, side="right"))
            if cut:
                yield whole.some(0, cut)
            held = whole.some(cut, len(whole))
    except DamagedError:
        if held is not None and len(held):
            yield held
        raise
    if held is not None and len(held):
        yield held


def _dropped(said: Sequence[str]) -> list[str]:
    """Return what was lost, in words: tcpdump counts what the kernel dropped."""
    found = []
    for line in said:
        count, _, what = line.partition(" ")
        if what == "packets dropped by kernel" and count.isdigit() and int(count):
            found.append(f"{int(count):,} packets were dropped by the kernel and are not here.")
    return found
