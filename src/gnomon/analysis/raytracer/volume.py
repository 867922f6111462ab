"""The volume: random spheres whose density falls off linearly, cut into bricks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gnomon.analysis.raytracer.settings import Settings

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
