"""Rays through bricks: front to back, empty bricks skipped, the first crossing shaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gnomon.analysis.messages.raytracer.bricks import FULL, Brick

if TYPE_CHECKING:
    from gnomon.analysis.messages.raytracer.result import Settings

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_DEGREES_A_FRAME = 5.0
_LIGHT = np.array([0.4, 0.7, -0.6]) / np.linalg.norm([0.4, 0.7, -0.6])
_AMBIENT = 0.15


class Tracer:
    """Draws tiles; bricks come from wherever `get` finds them."""

    def __init__(
        self, settings: Settings, crossed: NDArray[np.bool_], get: Callable[[int], Brick]
    ) -> None:
        self._settings = settings
        self._crossed = crossed
        self._get = get
        # Two samples a voxel along the longest way through a brick.
        self._samples = 2 * settings.brick + 1

    def tile(self, frame: int, number: int) -> NDArray[np.uint8]:
        """Return the brightness of the pixels of a tile."""
        origins, direction = self._rays(frame, number)
        count = len(origins)
        shade = np.zeros(count)
        near, far = _through_box(origins, direction, float(self._settings.volume))
        at = near.copy()
        active = np.flatnonzero(near < far)
        while active.size:
            active = self._advance(origins, direction, at, far, shade, active)
        return np.asarray(shade * 255, dtype=np.uint8)

    def _rays(self, frame: int, number: int) -> tuple[Floats, Floats]:
        """Return where the parallel rays of a tile begin, and their direction."""
        settings = self._settings
        across = -(-settings.image // settings.tile)
        rows = number // across * settings.tile + np.arange(settings.tile)
        columns = number % across * settings.tile + np.arange(settings.tile)
        angle = np.radians(frame * _DEGREES_A_FRAME)
        forward = np.array([np.cos(angle), 0.25, np.sin(angle)])
        forward /= np.linalg.norm(forward)
        right = np.cross(forward, [0.0, 1.0, 0.0])
        right /= np.linalg.norm(right)
        up = np.cross(right, forward)
        half = settings.volume / 2
        scale = settings.volume * 1.4 / settings.image
        x = (columns - settings.image / 2 + 0.5) * scale
        y = (settings.image / 2 - rows - 0.5) * scale
        middle = np.full(3, half) - forward * settings.volume * 1.5
        origins = middle + y[:, None, None] * up + x[None, :, None] * right
        return origins.reshape(-1, 3), forward

    def _advance(
        self,
        origins: Floats,
        direction: Floats,
        at: Floats,
        far: Floats,
        shade: Floats,
        active: Integers,
    ) -> Integers:
        """Take every active ray through the brick that it is in; return those still under way."""
        settings = self._settings
        row = settings.bricks_on_edge
        points = origins[active] + at[active, None] * direction
        cells = np.clip((points / settings.brick).astype(np.int64), 0, row - 1)
        numbers = (cells[:, 0] * row + cells[:, 1]) * row + cells[:, 2]
        leaves = np.minimum(
            _leaving(points, cells, direction, settings.brick) + at[active], far[active]
        )
        done = np.zeros(active.size, dtype=bool)
        for number in np.unique(numbers[self._crossed[numbers]]):
            inside = np.flatnonzero(numbers == number)
            rays = active[inside]
            hit, light = self._in_brick(
                self._get(int(number)),
                cells[inside[0]] * settings.brick,
                origins[rays],
                direction,
                at[rays],
                leaves[inside],
            )
            shade[rays[hit]] = light
            done[inside[hit]] = True
        at[active] = leaves + 1e-6 * settings.brick
        return active[~done & (at[active] < far[active])]

    def _in_brick(
        self,
        brick: Brick,
        corner: Integers,
        origins: Floats,
        direction: Floats,
        start: Floats,
        end: Floats,
    ) -> tuple[NDArray[np.bool_], Floats]:
        """Return which rays meet the surface in a brick, and how bright it is there."""
        level = self._settings.isovalue * FULL
        part = np.linspace(0, 1, self._samples)
        along = start[:, None] + (end - start)[:, None] * part
        places = origins[:, None] + along[..., None] * direction - corner
        values = _between(brick, places.reshape(-1, 3)).reshape(along.shape)
        above = values >= level
        hit = np.asarray(above.any(axis=1))
        if not hit.any():
            return hit, np.empty(0)
        # A surface between two bricks is met by the first sample of the second.
        rays, after = np.flatnonzero(hit), above[hit].argmax(axis=1)
        before = np.maximum(after - 1, 0)
        low, high = values[rays, before], values[rays, after]
        share = np.where(after > 0, (level - low) / np.maximum(high - low, 1e-9), 1.0)
        exact = along[rays, before] * (1 - share) + along[rays, after] * share
        where = origins[rays] + exact[:, None] * direction - corner
        normal = -_gradient(brick, where)
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
        light = _AMBIENT + (1 - _AMBIENT) * np.clip(normal @ -_LIGHT, 0, 1)
        return hit, np.asarray(light)


def _through_box(origins: Floats, direction: Floats, size: float) -> tuple[Floats, Floats]:
    """Return where rays enter and leave the volume."""
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = -origins / direction, (size - 1e-9 - origins) / direction
    near = np.nanmax(np.minimum(one, other), axis=1)
    far = np.nanmin(np.maximum(one, other), axis=1)
    return np.maximum(near, 0), far


def _leaving(points: Floats, cells: Integers, direction: Floats, edge: int) -> Floats:
    """Return how far it is to the far side of the brick."""
    far_side = (cells + (direction > 0)) * edge
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = (far_side - points) / direction
    nearest = np.nanmin(np.where(direction == 0, np.inf, distance), axis=1)
    return np.asarray(np.maximum(nearest, 1e-6))


def _between(brick: Brick, places: Floats) -> Floats:
    """Return values between the voxels of a brick, linear in each direction."""
    edge = brick.shape[0] - 1
    places = np.clip(places, 0, edge - 1e-9)
    low = places.astype(np.int64)
    x, y, z = (places - low).T
    i, j, k = low.T
    found = np.zeros(len(places))
    for a, wx in ((0, 1 - x), (1, x)):
        for b, wy in ((0, 1 - y), (1, y)):
            for c, wz in ((0, 1 - z), (1, z)):
                found += wx * wy * wz * brick[i + a, j + b, k + c]
    return found


def _gradient(brick: Brick, places: Floats) -> Floats:
    """Return how values grow in each direction, from half a voxel on both sides."""
    places = np.clip(places, 0.5, brick.shape[0] - 1.5)
    found = np.empty_like(places)
    for axis in range(3):
        step = np.zeros(3)
        step[axis] = 0.5
        found[:, axis] = _between(brick, places + step) - _between(brick, places - step)
    return found
