"""The small ray tracer: the same picture however it is drawn, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gnomon.analysis.messages import DirtError, Settings, compare_wakes, render
from gnomon.analysis.messages.raytracer.bricks import FULL, SharedBricks, Volume
from gnomon.analysis.messages.raytracer.supervisor import png, write_png
from gnomon.analysis.messages.raytracer.tracing import Tracer

SMALL = Settings(volume=32, brick=8, cache=4 * 512, image=32, tile=16, frames=1)


def alone(settings: Settings) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Draw the first picture in this process, with all bricks at hand."""
    volume = Volume(settings)
    tracer = Tracer(settings, volume.crossed_bricks(settings.isovalue), volume.brick)
    across = settings.image // settings.tile
    shape = (settings.tile, settings.tile)
    rows = [
        np.concatenate([tracer.tile(0, r * across + c).reshape(shape) for c in range(across)], 1)
        for r in range(across)
    ]
    return np.concatenate(rows)


def _wait_for(condition: Callable[[], object], seconds: float = 120) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_bricks_join_to_the_volume() -> None:
    """The last voxel of a brick is the first of its neighbour."""
    volume = Volume(SMALL)
    row = SMALL.bricks_on_edge
    for one, other, axis in ((0, 1, 2), (0, row, 1), (0, row * row, 0)):
        assert np.array_equal(
            volume.brick(one).take(SMALL.brick, axis), volume.brick(other).take(0, axis)
        )


def test_rays_find_the_surface() -> None:
    """A pixel is bright where a ray comes above the isovalue, and dark where none does."""
    picture = alone(SMALL)
    finer = alone(replace(SMALL, brick=16, cache=4 * 4096))
    assert 0.02 < (picture > 0).mean() < 0.9
    assert ((picture > 0) == (finer > 0)).mean() > 0.99


@pytest.mark.parametrize("wakes", ["request", "line"])
def test_processes_draw_what_one_would(wakes: str) -> None:
    """To the last grey level, however renderers are woken, and all is counted."""
    settings = replace(SMALL, renderers=2, wakes=wakes)  # type: ignore[arg-type]
    done, images = render(settings)
    assert np.array_equal(images[0], alone(settings))
    assert done.misses > 0
    assert done.home > 0
    assert done.requests >= done.misses
    assert {"cache_down", "handle_request"} <= set(done.parts)
    if wakes == "request":
        assert done.wrong_wakes == 0


def test_two_bricks_of_one_line_wake_the_wrong_renderer() -> None:
    """The defect of the original, without chance: the first brick that comes wakes the other."""
    settings = replace(SMALL, nodes=2, cache=512, wakes="line")
    volume = Volume(settings)
    first_asked = threading.Event()
    tokens: dict[int, int] = {}

    def answer(number: int) -> None:
        bricks.fill(number, tokens[number], volume.brick(number).tobytes())

    def ask(_node: int, number: int, token: int) -> None:
        tokens[number] = token
        if number == 1:
            first_asked.set()
        else:
            # The second brick comes before the first, and before the one who asks for it waits.
            answer(number)
            assert _wait_for(lambda: bricks.counts.wrong_wakes > 0)

    bricks = SharedBricks(0, settings, ask)
    with ThreadPoolExecutor() as renderers:
        first = renderers.submit(bricks.get, 1)
        assert first_asked.wait(60)
        second = renderers.submit(bricks.get, 3)
        try:
            assert np.array_equal(second.result(180), volume.brick(3))
        finally:
            answer(1)
        assert np.array_equal(first.result(60), volume.brick(1))


def test_waking_by_request_needs_no_more_wakes_than_misses() -> None:
    """Both ways draw the same."""
    settings = replace(SMALL, renderers=3, cache=512)
    by_line, by_request = compare_wakes(settings).runs
    assert (by_line.settings.wakes, by_request.settings.wakes) == ("line", "request")
    assert by_request.wrong_wakes == 0
    one, other = (render(each.settings).images for each in (by_line, by_request))
    assert np.array_equal(one, other)


def test_a_picture_is_a_png(tmp_path: Path) -> None:
    """Header, rows with their filter, checksum."""
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    write_png(pixels, tmp_path / "picture.png")
    content = (tmp_path / "picture.png").read_bytes()
    assert content == png(pixels)
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    start = content.index(b"IDAT") + 4
    rows = zlib.decompress(content[start : content.index(b"IEND") - 8])
    assert rows == b"".join(b"\0" + bytes(row) for row in pixels)
    assert list(tmp_path.iterdir()) == [tmp_path / "picture.png"]


def test_densities_fill_sixteen_bits() -> None:
    """Nothing lies outside of what a voxel can hold."""
    largest = max(int(Volume(SMALL).brick(n).max()) for n in range(SMALL.bricks_on_edge**3))
    assert 0.5 * FULL < largest <= FULL


_RUN = """
import sys
from gnomon.analysis.messages import Settings, render
print("ready", flush=True)
render(Settings(volume=32, image=512, frames=1000))
"""


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(each) for each in text.split()]


@pytest.mark.parametrize("sums", [0, 2], ids=["at their start", "at work"])
def test_nodes_end_with_their_supervisor(tmp_path: Path, sums: int) -> None:
    """Even when it is killed, and no file of theirs stays."""
    with subprocess.Popen(
        [sys.executable, "-c", _RUN],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert _wait_for(lambda: len(_children(process.pid)) == 2)
        assert _wait_for(lambda: len(list(tmp_path.glob("*/*"))) >= sums)
        nodes = _children(process.pid)
        process.kill()
        _, said = process.communicate()  # once the nodes have ended, too
        assert _wait_for(lambda: not any(Path(f"/proc/{node}/stat").exists() for node in nodes))
    assert b"Traceback" not in said
    assert not list(tmp_path.iterdir())


def test_a_node_that_is_killed_is_told() -> None:
    """In one sentence, and nothing hangs."""
    with subprocess.Popen(
        [sys.executable, "-c", _RUN], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert _wait_for(lambda: len(_children(process.pid)) == 2)
        os.kill(_children(process.pid)[1], signal.SIGKILL)
        _, said = process.communicate(timeout=120)
    assert "Node 1 of the ray tracer ended by signal 9" in said


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"nodes": 0}, "nodes must be 1 to 16, not 0"),
        ({"brick": 65}, "brick must be 2 to 64, not 65"),
        ({"cache": 100}, "holds no brick"),
        ({"isovalue": 1.5}, "isovalue must be between 0 and 1, not 1.5"),
    ],
)
def test_settings_that_make_no_sense(fields: dict[str, float], said: str) -> None:
    """One sentence each."""
    with pytest.raises(DirtError, match=said):
        replace(SMALL, **fields)  # type: ignore[arg-type]
