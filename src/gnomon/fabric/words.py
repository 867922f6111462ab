"""Loads as words: `traffic:uniform low=600ns high=6us duration=1ms`, as commands of a fabric.

Words after the name are `key=value`. `traffic:machine on=NAME` takes the accesses to remote memory
of a simulated machine, and the words after it are what that machine runs.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import UsageError
from gnomon.events.tomlfile import nearest
from gnomon.fabric.load import Gaps, Listed, Load, Operation, operation
from gnomon.fabric.machine import MachineLoad
from gnomon.fabric.topology import FabricError
from gnomon.units import parse_count, parse_duration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gnomon.fabric.description import Fabric

PREFIX = "traffic:"
LOADS = {
    "uniform": "gaps between low= and high= (600ns, 6us)",
    "exponential": "gaps of mean= (2us) on average",
    "saturated": "depth= (8) transactions wait at each node all the time",
    "gaps": "gaps as in file=, a number of ns per line; mean= sets another mean",
    "trace": "transactions of file=, a CSV: ns,source,target,operation[,address]",
    "machine": "remote accesses of what runs on the simulated machine on=",
}
"""The loads by their names, in words."""
DURATION = 1_000_000  # ns
_COMMON = ("duration", "mix", "to")
_OWN = {
    "uniform": ("low", "high"),
    "exponential": ("mean",),
    "saturated": ("depth",),
    "gaps": ("file", "mean"),
    "trace": ("file",),
    "machine": ("on",),
}


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a command asks for: a load, and for how long it lasts."""

    load: Load | Listed | MachineLoad
    duration_ns: int | None


def parse_traffic(words: Sequence[str], fabric: Fabric, *, seed: int = 1) -> Traffic:
    """Return the load that the words of a command ask for on a fabric."""
    if not words or not words[0].startswith(PREFIX):
        what = f"'{words[0]}' does not run" if words else "nothing runs"
        raise UsageError(f"{what} on a fabric: give it a load, as in {PREFIX}uniform.")
    name = words[0].removeprefix(PREFIX)
    if name not in LOADS:
        near = nearest(name, LOADS) or tuple(LOADS)
        raise UsageError(f"there is no load '{name}': choose from {', '.join(near)}.")
    own = _OWN[name] + (_COMMON if name not in ("trace", "machine") else ())
    given, rest = _values(words[1:], name, own)
    duration = DURATION
    if "duration" in given:
        duration = parse_duration(given["duration"], "duration")
    if name == "trace":
        return Traffic(read_listed(_file(given, name)), None)
    if name == "machine":
        if "on" not in given or not rest:
            raise UsageError(
                f"{PREFIX}machine needs a machine and what it runs, as in on=ring-4 "
                "workload:random size=1MiB."
            )
        return Traffic(MachineLoad(given["on"], tuple(rest), seed), None)
    return Traffic(_drawn(name, given, fabric, duration), duration)


def _values(
    words: Sequence[str], name: str, own: Sequence[str]
) -> tuple[dict[str, str], Sequence[str]]:
    given: dict[str, str] = {}
    for at, word in enumerate(words):
        key, equals, value = word.partition("=")
        if name == "machine" and key not in own:
            return given, words[at:]
        if not equals or key not in own:
            takes = ", ".join(f"{each}=" for each in own)
            raise UsageError(f"'{word}' means nothing to {PREFIX}{name}: it takes {takes}.")
        if key in given:
            raise UsageError(f"'{key}' is given twice.")
        given[key] = value
    return given, ()


def _drawn(name: str, given: dict[str, str], fabric: Fabric, duration: int) -> Load:
    def time(key: str, usual: float) -> float:
        return float(parse_duration(given[key], key)) if key in given else usual

    load = Load(name, duration_ns=duration)
    if name == "uniform":
        load = replace(load, low_ns=time("low", load.low_ns), high_ns=time("high", load.high_ns))
        if load.low_ns > load.high_ns:
            raise FabricError("low must not be above high")
    elif name == "exponential":
        load = replace(load, mean_ns=time("mean", 2000.0))
    elif name == "saturated":
        depth = parse_count(given["depth"], "depth") if "depth" in given else load.depth
        if not 1 <= depth <= 1 << 16:
            raise FabricError(f"depth must be 1 to 65,536, not {depth}")
        load = replace(load, depth=depth)
    else:
        gaps = Gaps.of(_numbers(_file(given, name)))
        if "mean" in given:
            gaps = gaps.scaled(time("mean", 0.0))
        load = replace(load, gaps=gaps)
    if "mix" in given:
        load = replace(load, mix=_mix(given["mix"]))
    if "to" in given:
        load = replace(load, targets=_targets(given["to"], fabric.topology.hosts))
    return load


def _mix(text: str) -> tuple[tuple[Operation, float], ...]:
    """Read `read64:2,write64`: operations with their shares."""
    found = []
    for part in text.split(","):
        word, _, share = part.partition(":")
        try:
            found.append((operation(word.strip()), float(share or 1)))
        except ValueError:
            raise UsageError(f"'{part}' has no share: write read64:2,write64:1.") from None
    return tuple(found)


def _targets(text: str, hosts: int) -> NDArray[np.float64]:
    """Read `3` or `0,4`: the only nodes that are sent to; these send to each other or the next."""
    import numpy as np

    try:
        nodes = [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"'{text}' names no nodes: write to=0 or to=0,4.") from None
    if wrong := [node for node in nodes if not 0 <= node < hosts]:
        raise UsageError(f"there is no node {wrong[0]}: nodes are 0 to {hosts - 1}.")
    weights = np.zeros((hosts, hosts))
    weights[:, nodes] = 1
    np.fill_diagonal(weights, 0)
    for node in np.flatnonzero(weights.sum(1) == 0):
        weights[node, (node + 1) % hosts] = 1
    return weights


# ---- files -------------------------------------------------------------------------------------


def _file(given: dict[str, str], name: str) -> Path:
    if "file" not in given:
        raise UsageError(f"{PREFIX}{name} needs file=FILE.")
    return Path(given["file"])


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise UsageError(f"{file} cannot be read: {reason}.") from None


def _numbers(file: Path) -> list[float]:
    found = []
    for number, line in enumerate(_lines(file), 1):
        if not line.strip() or line.startswith("#"):
            continue
        found.append(_read(float, line, file, number))
    return found


def _read(kind: Callable[[str], float], text: str, file: Path, line: int) -> float:
    try:
        value = kind(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e15:
        raise UsageError(f"{file}:{line}: '{text.strip()}' is no time in ns.")
    return value


def read_listed(file: Path) -> Listed:
    """Return the transactions of a CSV file: ns,source,target,operation and perhaps an address."""
    import numpy as np

    operations: dict[str, int] = {}
    rows: list[tuple[float, int, int, int, int]] = []
    for number, cells in enumerate(csv.reader(_lines(file)), 1):
        if not cells or cells[0].startswith(("#", "ns")):
            continue
        if len(cells) not in (4, 5):
            raise UsageError(f"{file}:{number}: write ns,source,target,operation[,address].")
        time = _read(float, cells[0], file, number)
        if rows and time < rows[-1][0]:
            raise UsageError(f"{file}:{number}: time goes backwards.")
        try:
            source, target = int(cells[1]), int(cells[2])
            address = int(cells[4], 0) if len(cells) == 5 else 0
        except ValueError:
            raise UsageError(f"{file}:{number}: nodes and addresses are whole numbers.") from None
        if not (0 <= source < 1 << 16 and 0 <= target < 1 << 16 and 0 <= address < 1 << 64):
            raise UsageError(f"{file}:{number}: a node or an address is out of range.")
        word = cells[3].strip()
        operation(word)
        rows.append((time, source, target, operations.setdefault(word, len(operations)), address))
    if not rows:
        raise UsageError(f"{file} has no transactions.")
    time_ns, sources, targets, kinds, addresses = zip(*rows, strict=True)
    return Listed(
        np.array(time_ns, np.float64),
        np.array(sources, np.uint16),
        np.array(targets, np.uint16),
        np.array(kinds, np.int64),
        np.array(addresses, np.uint64),
        tuple(operation(word) for word in operations),
    )
