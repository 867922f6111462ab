"""Settings of the ray tracer, what a run has drawn and seen, and what sweeps of runs show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import ClassVar, Literal

from gnomon.errors import GnomonError, UsageError
from gnomon.result import Quantity, Result, derived

Wakes = Literal["line", "request"]
MOST_NODES = 16
MOST_RENDERERS = 16
LARGEST_VOLUME = 512


class DirtError(GnomonError):
    """A run of the ray tracer that cannot be, or that failed."""


class SettingsError(UsageError, DirtError):
    """Settings with which there can be no run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Sizes of volume, bricks, cache and image, and how many take part.

    `cache` is in voxels, so that bricks of other sizes have the same memory. `wakes` says
    what a waiting renderer is woken by: the cache line that its brick goes to, as in the
    original, or its own request.
    """

    nodes: int = 2
    renderers: int = 2
    volume: int = 96
    brick: int = 12
    cache: int = 96 * 1728
    image: int = 96
    tile: int = 16
    frames: int = 2
    spheres: int = 20
    isovalue: float = 0.35
    wakes: Wakes = "request"
    seed: int = 1

    def __post_init__(self) -> None:
        limits = {
            "nodes": (1, MOST_NODES),
            "renderers": (1, MOST_RENDERERS),
            "volume": (16, LARGEST_VOLUME),
            "brick": (2, 64),
            "image": (8, 4096),
            "tile": (4, 256),
            "frames": (1, 1000),
            "spheres": (1, 1000),
        }
        for name, (least, most) in limits.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise SettingsError(f"{name} must be {least} to {most}, not {value}.")
        if self.cache < self.brick**3:
            raise SettingsError(
                f"A cache of {self.cache} voxels holds no brick of {self.brick}^3: make it larger."
            )
        if not 0 < self.isovalue < 1:
            raise SettingsError(f"isovalue must be between 0 and 1, not {self.isovalue:g}.")

    @property
    def bricks_on_edge(self) -> int:
        """How many bricks lie side by side along an edge of the volume."""
        return -(-self.volume // self.brick)

    @property
    def lines(self) -> int:
        """How many bricks the cache of a node holds."""
        return max(1, self.cache // self.brick**3)

    @property
    def tiles(self) -> int:
        """How many tiles an image has."""
        return (-(-self.image // self.tile)) ** 2

    def text(self) -> str:
        """Return the settings as text for another process."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Settings:
        """Return settings from their text."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class DirtRun:
    """What a run has done; times in seconds, sums over all nodes.

    `cpu_seconds` is that of the processes of all nodes, from their start to their end. `parts` has
    the mean time of each region in ns, the cost of measuring it taken out.
    """

    settings: Settings
    seconds: float
    cpu_seconds: float
    home: int
    hits: int
    misses: int
    requests: int
    wrong_wakes: int
    parts: Mapping[str, float]

    @derived
    def hit_rate(self) -> float:
        """The share of accesses to bricks of other nodes that the cache served."""
        remote = self.hits + self.misses
        return self.hits / remote if remote else 1.0


class Sweep(StrEnum):
    """What several runs are compared for."""

    MISSES = "misses"  # with different numbers of nodes and renderers
    BRICKS = "bricks"  # with bricks of different sizes, and the same memory for them
    WAKES = "wakes"  # renderers woken by cache lines, then by their own requests


@dataclass(frozen=True, slots=True)
class DirtResult(Result):
    """Runs of a small ray tracer that measures its own messages: one, or a sweep with its law.

    The law of `misses` has the parameters `constant`, `per_node` and `per_log_thread`. Over
    `bricks` misses go as the edge to the power of `-exponent`: one of 2 says that bricks are asked
    for as surfaces grow, one of 3 as volumes do.
    """

    kind: ClassVar[str] = "messages-dirt"
    runs: tuple[DirtRun, ...]
    sweep: Sweep | None = None
    law: Mapping[str, Quantity] = field(default_factory=dict)
    r_squared: float | None = None
