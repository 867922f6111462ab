"""What runs on a simulated machine: a feed of operations a thread, and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnomon import _native
    from gnomon.machines.machine import Placement


class Observed(StrEnum):
    """What a program lets the machine see; an event made of anything else is not counted.

    REFERENCES are loads and stores, INSTRUCTIONS all of them, CLASSES what kind each is,
    FETCHES where they are fetched from.
    """

    REFERENCES = "references"
    INSTRUCTIONS = "instructions"
    CLASSES = "classes"
    FETCHES = "fetches"


@dataclass(frozen=True, slots=True)
class Range:
    """Addresses of a program with a name, and where their pages are to be placed, if it matters."""

    name: str
    start: int
    size: int
    placement: Placement | None = None
    nodes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Threads to be run on a simulated machine, each a feed that can be pulled once.

    Thread i runs on hardware thread `binding[i]`; without a binding the machine places it.
    Where `dynamic` is set, only the first thread runs from the beginning and others begin when
    one starts them. `sites` names the statements that operations refer to by number. `exact`
    holds counts that are known beforehand, by the names that the machine uses, of all threads.
    """

    name: str
    feeds: tuple[_native.Feed, ...]
    observed: frozenset[Observed]
    ranges: tuple[Range, ...] = ()
    binding: tuple[int, ...] | None = None
    dynamic: bool = False
    sites: tuple[str, ...] = ()
    exact: Mapping[str, int] = field(default_factory=dict)
