"""The volume cut into bricks, and shared memory in software for them.

The volume is random spheres whose density falls off linearly. Bricks of other nodes are asked
for and kept in a cache.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gnomon.instrument.regions import region

if TYPE_CHECKING:
    from gnomon.analysis.messages.raytracer.result import Settings

FULL = 65535.0
Brick = NDArray[np.uint16]


class Volume:
    """Makes any brick; every process makes only its own.

    A brick has one voxel more than its edge on each far side, so that what lies between two
    voxels can be found without the neighbour.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        generator = np.random.default_rng(settings.seed)
        self._centres = generator.uniform(0.15, 0.85, (settings.spheres, 3)) * settings.volume
        self._radii = generator.uniform(0.08, 0.25, settings.spheres) * settings.volume

    def brick(self, number: int) -> Brick:
        """Return the voxels of a brick, as 16-bit numbers."""
        edge, row = self.settings.brick, self.settings.bricks_on_edge
        corner = np.array([number // (row * row), number // row % row, number % row]) * edge
        axes = [corner[axis] + np.arange(edge + 1, dtype=np.float64) for axis in range(3)]
        density = np.zeros((edge + 1,) * 3)
        for centre, radius in zip(self._centres, self._radii, strict=True):
            squares = [(axis - at) ** 2 for axis, at in zip(axes, centre, strict=True)]
            distance = np.sqrt(
                squares[0][:, None, None] + squares[1][None, :, None] + squares[2][None, None, :]
            )
            np.maximum(density, 1 - distance / radius, out=density)
        return np.asarray(np.clip(density, 0, 1) * FULL, dtype=np.uint16)

    def crossed(self, number: int, isovalue: float) -> bool:
        """Whether the surface of a value passes through a brick."""
        brick = self.brick(number)
        level = isovalue * FULL
        return bool(brick.min() < level <= brick.max())

    def crossed_bricks(self, isovalue: float) -> NDArray[np.bool_]:
        """Return for all bricks whether a surface passes through them."""
        count = self.settings.bricks_on_edge**3
        return np.array([self.crossed(number, isovalue) for number in range(count)])


Ask = Callable[[int, int, int], None]  # node, brick, token


@dataclass
class Counts:
    """What a node has seen of its memory."""

    home: int = 0
    hits: int = 0
    misses: int = 0
    requests: int = 0
    wrong_wakes: int = 0
    served: int = 0


@dataclass
class _Asked:
    """A request under way."""

    number: int
    answered: bool = False
    brick: Brick | None = None
    arrived: threading.Event = field(default_factory=threading.Event)


class SharedBricks:
    """The bricks as one node sees them: its own, those in its cache, and all others.

    The cache is direct-mapped. Who waits is woken by the line that the brick goes to, as in
    the original: then the wrong one of two renderers may be woken, who passes the wake-up on
    and waits again. Or by the request: then nobody is woken in vain.
    """

    def __init__(self, rank: int, settings: Settings, ask: Ask) -> None:
        self.counts = Counts()
        self._settings = settings
        self._rank = rank
        self._ask = ask
        self._lock = threading.Lock()
        self._tags = [-1] * settings.lines
        self._lines: list[Brick | None] = [None] * settings.lines
        self._doors = [threading.Semaphore(0) for _ in range(settings.lines)]
        self._under_way: dict[int, _Asked] = {}
        self._token = 0
        volume = Volume(settings)
        every = range(rank, settings.bricks_on_edge**3, settings.nodes)
        level = settings.isovalue
        self._own = {n: volume.brick(n) for n in every if volume.crossed(n, level)}

    def own(self, number: int) -> bytes:
        """Return a brick of this node for another one."""
        self.counts.served += 1
        return self._own[number].tobytes()

    def get(self, number: int) -> Brick:
        """Return a brick, from wherever it is; waits for what must be asked for."""
        with region("get_data"):
            if number % self._settings.nodes == self._rank:
                self.counts.home += 1
                return self._own[number]
            found = self._in_cache(number)
            if found is not None:
                self.counts.hits += 1
                return found
            self.counts.misses += 1
            if self._settings.wakes == "line":
                return self._wait_at_line(number)
            return self._wait_for_request(number)

    def _line(self, number: int) -> int:
        return number // self._settings.nodes % self._settings.lines

    def _in_cache(self, number: int) -> Brick | None:
        line = self._line(number)
        with self._lock:
            return self._lines[line] if self._tags[line] == number else None

    def _request(self, number: int) -> _Asked:
        asked = _Asked(number)
        with self._lock:
            self._token += 1
            token = self._token
            self._under_way[token] = asked
        self.counts.requests += 1
        with region("send_request"):
            self._ask(number % self._settings.nodes, number, token)
        return asked

    def _wait_for_request(self, number: int) -> Brick:
        asked = self._request(number)
        with region("cache_down"):
            asked.arrived.wait()
        assert asked.brick is not None
        return asked.brick

    def _wait_at_line(self, number: int) -> Brick:
        door = self._doors[self._line(number)]
        asked = self._request(number)
        while True:
            with region("cache_down"):
                door.acquire()
            found = self._in_cache(number)
            if found is not None:
                return found
            if asked.answered:
                # It came, but another brick has taken the line since: ask again.
                asked = self._request(number)
                continue
            self.counts.wrong_wakes += 1
            door.release()

    def fill(self, number: int, token: int, content: bytes) -> None:
        """Put a brick that has come into its line, and wake who waits."""
        edge = self._settings.brick + 1
        brick = np.frombuffer(content, dtype=np.uint16).reshape(edge, edge, edge)
        line = self._line(number)
        with self._lock:
            self._tags[line] = number
            self._lines[line] = brick
            asked = self._under_way.pop(token)
            asked.answered = True
            asked.brick = brick
        asked.arrived.set()
        if self._settings.wakes == "line":
            self._doors[line].release()
