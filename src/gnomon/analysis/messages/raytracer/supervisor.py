"""Starting the nodes of the ray tracer, handing out tiles, and collecting the picture."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gnomon.analysis.messages.raytracer.links import Frame, Kind, Link
from gnomon.analysis.messages.raytracer.result import DirtError, DirtRun, Settings
from gnomon.instrument.regions import EVENTS, FOLDER, report
from gnomon.recording.files import replacing, write_error

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.instrument.result import RegionReport


_AHEAD = 2  # tiles for each renderer beyond the one it draws
_SILENCE = 120.0  # seconds without a tile after which something must be wrong
_WORKER = "gnomon.analysis.messages.raytracer.worker"


class Drawn(NamedTuple):
    """What a run has done, and its pictures as grey levels: (frame, row, column)."""

    run: DirtRun
    images: NDArray[np.uint8]


def render(settings: Settings, *, progress: Callable[[], None] | None = None) -> Drawn:
    """Draw all frames; `progress` is called for each tile."""
    import numpy as np

    before = _cpu_of_children()
    with _regions_folder() as folder, _nodes(settings, folder) as nodes:
        start = time.monotonic()
        tiles = nodes.draw(progress)
        seconds = time.monotonic() - start
        counts = nodes.finish()
        regions = report(folder)
    used = _cpu_of_children() - before
    images = np.zeros((settings.frames, settings.image, settings.image), np.uint8)
    across = -(-settings.image // settings.tile)
    size = settings.tile
    for (frame, tile), content in tiles.items():
        row, column = tile // across * size, tile % across * size
        pixels = np.frombuffer(content, np.uint8).reshape(size, size)
        place = images[frame, row : row + size, column : column + size]
        place[:] = pixels[: place.shape[0], : place.shape[1]]
    totals = {key: sum(each[key] for each in counts) for key in counts[0]}
    totals.pop("served")
    return Drawn(DirtRun(settings, seconds, used, **totals, parts=_parts(regions)), images)


def _parts(regions: RegionReport) -> dict[str, float]:
    """Return the mean time of the regions of each name, in ns."""
    times: dict[str, tuple[int, float]] = {}
    for each in regions.regions:
        count, wall = times.get(each.name, (0, 0.0))
        times[each.name] = count + each.instances, wall + each.wall
    return {name: wall / count for name, (count, wall) in times.items() if count}


def _cpu_of_children() -> float:
    """Return the CPU time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextlib.contextmanager
def _regions_folder() -> Iterator[str]:
    """Give the folder for the sums of regions: that of `gnomon regions`, or one for this run."""
    if FOLDER in os.environ:
        yield os.environ[FOLDER]
        return
    with tempfile.TemporaryDirectory(prefix="gnomon-dirt-") as folder:
        yield folder


class _Nodes:
    """The processes and the connections to them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._bell = os.eventfd(0, os.EFD_NONBLOCK)
        self._processes: list[subprocess.Popen[bytes]] = []
        self._links: list[Link] = []
        self._selector = selectors.DefaultSelector()

    def start(self, folder: str) -> None:
        """Start all nodes, which keep their sums in a folder."""
        count = self._settings.nodes
        ends: list[list[socket.socket | None]] = [[None] * count for _ in range(count)]
        for one in range(count):
            for other in range(one):
                ends[one][other], ends[other][one] = socket.socketpair()
        environment = {EVENTS: "task-clock", **os.environ, FOLDER: folder}
        own = "" if FOLDER in os.environ else folder
        # One renderer is one thread: libraries that start their own would blur what is measured.
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        try:
            for rank in range(count):
                ours, theirs = socket.socketpair()
                self._links.append(Link(ours, self._bell))
                self._selector.register(ours, selectors.EVENT_READ, rank)
                descriptors = [theirs.fileno()]
                descriptors += [-1 if e is None else e.fileno() for e in ends[rank]]
                words = [self._settings.text(), str(rank), own, *map(str, descriptors)]
                self._processes.append(
                    subprocess.Popen(
                        [sys.executable, "-m", _WORKER, *words],
                        pass_fds=[fd for fd in descriptors if fd >= 0],
                        env=environment,
                        stdin=subprocess.DEVNULL,
                    )
                )
                theirs.close()
        finally:
            for row in ends:
                for end in row:
                    if end is not None:
                        end.close()

    def draw(self, progress: Callable[[], None] | None) -> dict[tuple[int, int], bytes]:
        """Hand out tiles, some ahead and then one for each that comes back."""
        settings = self._settings
        left = iter([(f, t) for f in range(settings.frames) for t in range(settings.tiles)])
        drawn: dict[tuple[int, int], bytes] = {}
        for _ in range(settings.renderers * (1 + _AHEAD)):
            for link in self._links:
                self._hand_out(link, left)
        while len(drawn) < settings.frames * settings.tiles:
            for rank, frame in self._frames():
                if frame.kind is Kind.PIXELS:
                    drawn[frame.first, frame.second] = frame.content
                    self._hand_out(self._links[rank], left)
                    if progress is not None:
                        progress()
        return drawn

    def _hand_out(self, link: Link, left: Iterator[tuple[int, int]]) -> None:
        task = next(left, None)
        if task is not None:
            link.send(Kind.DRAW, *task)

    def finish(self) -> list[dict[str, Any]]:
        """Tell all nodes to stop, and return what they have counted."""
        for link in self._links:
            link.send(Kind.QUIT)
        found: dict[int, dict[str, Any]] = {}
        while len(found) < len(self._links):
            for rank, frame in self._frames():
                if frame.kind is Kind.REPORT:
                    found[rank] = json.loads(frame.content)
                    self._selector.unregister(self._links[rank].socket)
        for process in self._processes:
            process.wait(_SILENCE)
        return [found[rank] for rank in sorted(found)]

    def _frames(self) -> Iterator[tuple[int, Frame]]:
        """Yield what comes next from any node; complains when one has died or all are silent."""
        ready = self._selector.select(_SILENCE)
        if not ready:
            raise DirtError(f"No node has answered for {_SILENCE:g} s: they are ended.")
        for key, _ in ready:
            try:
                for frame in self._links[key.data].receive():
                    yield key.data, frame
            except EOFError:
                raise DirtError(self._died(key.data)) from None

    def _died(self, rank: int) -> str:
        process = self._processes[rank]
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
        code = process.returncode
        how = f"by signal {-code}" if code is not None and code < 0 else f"with status {code}"
        return f"Node {rank} of the ray tracer ended {how} before it was done: nothing was drawn."

    def close(self) -> None:
        """End whatever still runs, and give everything back."""
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        for link in self._links:
            link.socket.close()
        self._selector.close()
        os.close(self._bell)


@contextlib.contextmanager
def _nodes(settings: Settings, folder: str) -> Iterator[_Nodes]:
    if not Path(folder).is_dir():
        raise DirtError(f"'{folder}' is not a folder: regions cannot be kept there.")
    nodes = _Nodes(settings)
    try:
        nodes.start(folder)
        yield nodes
    finally:
        nodes.close()


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Return grey levels as the bytes of a PNG file."""
    import numpy as np

    height, width = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels], axis=1)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_part(name, content) for name, content in parts)


def _part(name: bytes, content: bytes) -> bytes:
    check = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)


def write_png(pixels: NDArray[np.uint8], path: Path) -> None:
    """Write a PNG file, whole or not at all."""
    try:
        with replacing(path) as temporary:
            temporary.write_bytes(png(pixels))
    except OSError as error:
        raise write_error(path, error) from None
