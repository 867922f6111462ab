"""What experiments on links need: something that can load channels and say what goes through."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self

from gnomon.stress.nodes import Channel

Readings = dict[Channel, tuple[float, ...]]
"""Bytes a second that each generator of a channel reads."""


class Loader(Protocol):
    """A machine, real or simulated, whose channels can be loaded."""

    simulated: bool
    readers: tuple[int, ...]
    """Nodes with CPUs."""
    homes: tuple[int, ...]
    """Nodes with memory."""

    @property
    def name(self) -> str:
        """What is loaded."""

    @property
    def loads(self) -> Mapping[Channel, int]:
        """How many generators each loaded channel has."""

    def check(self, channel: Channel) -> None:
        """Complain about a channel that cannot be loaded."""

    def most(self, channel: Channel) -> int:
        """Return how many generators a channel can have that do not take turns."""

    def set(self, channel: Channel, count: int, duty: float = 1.0) -> None:
        """Have so many generators on a channel."""

    def busy(self, node: int, count: int) -> None:
        """Have so many CPUs of a node wait busily."""

    def measure(self, seconds: float) -> Readings:
        """Return what goes through every loaded channel, for some time after a warm-up."""

    def latest(self) -> Readings:
        """Return what went through every loaded channel lately, without waiting."""

    def latency_ns(self, channel: Channel) -> float:
        """Return the latency of reads that wait for each other."""

    def close(self) -> None:
        """End all load."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def all_nodes(loader: Loader) -> tuple[int, ...]:
    """Return the numbers of all nodes."""
    return tuple(sorted({*loader.readers, *loader.homes}))


def channels(loader: Loader, *, local: bool = False) -> list[Channel]:
    """Return the channels that can be loaded; between different nodes unless `local` is set."""
    return [
        Channel(reader, home)
        for reader in loader.readers
        for home in loader.homes
        if local or reader != home
    ]
