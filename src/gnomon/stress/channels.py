"""Directed channels between nodes: who reads, and whose memory is read."""

from __future__ import annotations

import re
from typing import NamedTuple

from gnomon.errors import UsageError

MOST_GENERATORS = 20
"""On one channel, as in the program that this one follows."""


class Channel(NamedTuple):
    """Reads by CPUs of one node from the memory of another, or of the same."""

    reader: int
    home: int

    def __str__(self) -> str:
        return f"{self.reader}->{self.home}"

    @property
    def reverse(self) -> Channel:
        """The channel in the other direction."""
        return Channel(self.home, self.reader)

    @property
    def local(self) -> bool:
        """Whether nothing crosses a link."""
        return self.reader == self.home


def parse_channel(text: str) -> Channel:
    """Return the channel in a text such as `0-1`, also written `0->1`."""
    match = re.fullmatch(r"\s*([0-9]{1,4})\s*(?:->|-|:)\s*([0-9]{1,4})\s*", text)
    if match is None:
        raise UsageError(
            f"'{text}' is no channel: write the node that reads and the node it reads from, "
            "as in 0-1."
        )
    return Channel(int(match[1]), int(match[2]))


def check_most(asked: int) -> None:
    """Complain about a largest number of generators that makes no sense."""
    if not 1 <= asked <= MOST_GENERATORS:
        raise UsageError(
            f"{asked} generators are out of range: a channel takes 1 to {MOST_GENERATORS}."
        )


def check_count(channel: Channel, count: int) -> None:
    """Complain about a number of generators that a channel cannot have."""
    if not 0 <= count <= MOST_GENERATORS:
        raise UsageError(
            f"{count} generators on channel {channel} are out of range: a channel takes 0 to "
            f"{MOST_GENERATORS}."
        )
