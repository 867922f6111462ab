"""Running programs that mark regions, reading the tables that these keep, and what they cost."""

from __future__ import annotations

import errno
import os
import struct
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from gnomon.errors import RecordingError, UsageError
from gnomon.instrument.accounts import region_accounts
from gnomon.instrument.result import Overhead, RegionCount, RegionReport
from gnomon.launch import Command

CALIBRATION = "(calibration)"
EMPTY = "(empty)"
MORE = "(more)"  # what regions are called that found the table full

_MAGIC = b"GNREGION"
_VERSION = 1
_EVENTS = 16
_NONE = 0xFFFFFFFF
# Both mirror the structures in native/regions/table.hh.
_HEADER = struct.Struct(f"=8sIIIIII{_EVENTS * 112}s")
_NODE = struct.Struct(f"=IIII128sQQQQQQ{_EVENTS}Q")


@dataclass(slots=True)
class _Node:
    parent: int
    threads: int
    failed: int
    name: str
    instances: int
    wall: int
    shortest: int
    longest: int
    enabled: int
    running: int
    sums: tuple[int, ...]

    @property
    def uncounted(self) -> bool:
        """Whether its sums are no counts: nothing was opened, or never on a counter."""
        return bool(self.failed) or self.enabled > self.running == 0


@dataclass(slots=True)
class _Table:
    process: int
    events: tuple[str, ...]
    nodes: list[_Node]

    def paths(self) -> Iterator[tuple[tuple[str, ...], _Node]]:
        paths: list[tuple[str, ...]] = []
        for node in self.nodes:
            above = () if node.parent == _NONE else paths[node.parent]
            paths.append((*above, node.name))
            yield paths[-1], node


def _parse(content: bytes) -> _Table:
    if len(content) < _HEADER.size or content[:8] != _MAGIC:
        raise RecordingError("this is not a table of regions: gnomon did not write it.")
    _, version, process, _, events, count, _, names = _HEADER.unpack_from(content)
    if version != _VERSION:
        raise RecordingError(f"the table of regions has version {version}: update gnomon.")
    if events > _EVENTS or len(content) < _HEADER.size + count * _NODE.size:
        raise RecordingError("the table of regions is damaged: a part of it is missing.")
    labels = tuple(
        names[i * 112 : (i + 1) * 112].split(b"\0", 1)[0].decode(errors="replace")
        for i in range(events)
    )
    return _Table(process, labels, [_node(content, index, events) for index in range(count)])


def _node(content: bytes, index: int, events: int) -> _Node:
    place = _HEADER.size + index * _NODE.size
    parent, threads, failed, length, name, *rest = _NODE.unpack_from(content, place)
    if parent != _NONE and parent >= index:
        raise RecordingError("the table of regions is damaged: a region is inside a later one.")
    instances, wall, shortest, longest, enabled, running, *sums = rest
    return _Node(
        parent,
        threads,
        failed,
        name[:length].decode(errors="replace"),
        instances,
        wall,
        shortest,
        longest,
        enabled,
        running,
        tuple(sums[:events]),
    )


def regions(
    command: Sequence[str] | Command,
    events: str | None = None,
    *,
    raw: bool = False,
    exclusive: bool = False,
) -> RegionReport:
    """Run a program and return what the regions counted that it marks.

    A file that ends in .py is run by this Python. `raw` leaves in what regions cost themselves;
    `exclusive` shows the time of a region without those inside it as well.

    >>> text = "import gnomon as gn\\nwith gn.region('sum'):\\n    sum(range(1000))\\n"
    >>> written = Path("program.py").write_text(text)
    >>> [region.name for region in gn.regions(["program.py"], "task-clock").regions]
    ['sum']
    """
    from gnomon.events.syntax import ask
    from gnomon.instrument.regions import EVENTS, FOLDER, SWITCH
    from gnomon.sources.registry import source

    if isinstance(command, str):
        raise UsageError("give the command as a list of words, as in ['./program', 'arg'].")
    command = command if isinstance(command, Command) else Command(tuple(command))
    if not command.argv:
        raise UsageError("nothing to run: give a script or command after --.")
    host = source()
    if events:
        ask(events, host.resolve)  # a wrong name is better found before the run
    argv = (sys.executable,) * command.argv[0].endswith(".py") + tuple(command.argv)
    with tempfile.TemporaryDirectory(prefix="gnomon-regions-") as folder:
        environment = {**(command.environment or os.environ), FOLDER: folder, SWITCH: "on"}
        if events:
            environment[EVENTS] = events
        status = _run(replace(command, argv=argv, environment=environment))
        report = read_folder(folder)
    used_up = region_accounts(report, corrected=not raw).warnings if exclusive else ()
    return replace(
        report,
        exit_status=status,
        as_counted=raw,
        exclusive=exclusive,
        warnings=(*report.warnings, *used_up),
        provenance=host.provenance(replace(command, argv=argv)),
    )


def _run(command: Command) -> int:
    """Run a command to its end and return its exit status."""
    from gnomon.sources.host import Subject

    subject = Subject(command)
    try:
        subject.release()
        while not subject.wait(None):
            pass
    except KeyboardInterrupt:
        subject.wait(None)  # the terminal has interrupted the program as well
    finally:
        status = subject.exit_status
        subject.close()
    return status or 0


def read_folder(folder: Path | str) -> RegionReport:
    """Return the regions of all processes that keep theirs in a folder, added up."""
    tables = []
    try:
        for path in sorted(Path(folder).iterdir()):
            if path.name.startswith("regions-"):
                try:
                    tables += _tables([path.read_bytes()])
                except RecordingError as error:
                    raise RecordingError(f"{path}: {error}") from None
    except OSError as error:
        raise RecordingError(f"{error.filename}: {error.strerror}.") from None
    return _report(tables, Overhead())


def read_tables(contents: Iterable[bytes], overhead: Overhead | None = None) -> RegionReport:
    """Return the regions of several processes, added up.

    `overhead` is what a region costs, in case none of the tables tells.
    """
    return _report(_tables(contents), overhead or Overhead())


def _tables(contents: Iterable[bytes]) -> list[_Table]:
    # A process that is killed while it makes its table leaves nothing, or nothing but zeros.
    return [_parse(content) for content in contents if content.strip(b"\0")]


def _report(tables: list[_Table], overhead: Overhead) -> RegionReport:
    overhead = next((o for o in map(_overhead, tables) if o.inside), overhead)
    merged: dict[tuple[str, ...], list[tuple[_Table, _Node]]] = {}
    for table in tables:
        for path, node in table.paths():
            if not path[0].startswith(CALIBRATION) and node.instances:
                merged.setdefault(path, []).append((table, node))
    inside = _descendants({path: sum(n.instances for _, n in v) for path, v in merged.items()})
    regions = tuple(
        _region(path, parts, inside[path], overhead) for path, parts in sorted(merged.items())
    )
    events = tuple(dict.fromkeys(event for table in tables for event in table.events))
    failed = {node.failed for parts in merged.values() for _, node in parts if node.failed}
    report = RegionReport(regions, events, overhead, warnings=_warnings(regions, failed))
    raw, own = (
        {row.path: row.exclusive for row in region_accounts(report, corrected=corrected).rows}
        for corrected in (False, True)
    )
    rows = (replace(each, own=raw[each.path], own_corrected=own[each.path]) for each in regions)
    return replace(report, regions=tuple(rows))


def _warnings(regions: Iterable[RegionCount], failed: Iterable[int]) -> tuple[str, ...]:
    texts = [
        f"some threads could not count their events: {_error_text(number)}"
        for number in sorted(failed)
    ]
    partial = [region.coverage for region in regions if region.coverage < 1]
    if partial:
        texts.append(
            f"events were on counters for {min(partial):.0%} of the time only: counts are too "
            "low; count fewer events, or end what else uses the counters"
        )
    if any(region.path == (MORE,) for region in regions):
        texts.append(f"there are more regions than a table holds: the rest is in '{MORE}'")
    return tuple(texts)


def _error_text(number: int) -> str:
    known = number in errno.errorcode
    return os.strerror(number) if known else f"error {number}"


def _descendants(instances: dict[tuple[str, ...], int]) -> dict[tuple[str, ...], int]:
    """Return how many instances of other regions lie inside each region."""
    inside = dict.fromkeys(instances, 0)
    for path, count in instances.items():
        for depth in range(1, len(path)):
            if path[:depth] in inside:
                inside[path[:depth]] += count
    return inside


def _overhead(table: _Table) -> Overhead:
    """Return the median over the batches of empty regions: an interruption spoils only one."""
    batches: dict[str, dict[bool, _Node]] = {}
    for path, node in table.paths():
        if path[0].startswith(CALIBRATION) and node.instances:
            batches.setdefault(path[0], {})[path[-1] == EMPTY] = node
    inside: dict[str, list[float]] = {}
    outside: dict[str, list[float]] = {}
    for nodes in batches.values():
        if len(nodes) < 2:
            continue
        rounds = nodes[True].instances
        empty, around = (
            {**_sums(table, node), "time": node.wall} for node in (nodes[True], nodes[False])
        )
        for event, value in empty.items():
            own = value / rounds
            inside.setdefault(event, []).append(own)
            outside.setdefault(event, []).append(max(around[event] - own, 0) / rounds)
    return Overhead(
        {event: median(costs) for event, costs in inside.items()},
        {event: median(costs) for event, costs in outside.items()},
    )


def _sums(table: _Table, node: _Node) -> dict[str, int]:
    return dict(zip(table.events, node.sums, strict=True))


def _region(
    path: tuple[str, ...],
    parts: list[tuple[_Table, _Node]],
    inside: int,
    overhead: Overhead,
) -> RegionCount:
    nodes = [node for _, node in parts]
    instances = sum(node.instances for node in nodes)
    raw: dict[str, int] = {}
    if not any(node.uncounted for node in nodes):
        sums = [_sums(table, node) for table, node in parts]
        common = [event for event in sums[0] if all(event in each for each in sums)]
        raw = {event: sum(each[event] for each in sums) for event in common}
    wall = sum(node.wall for node in nodes)
    enabled = sum(node.enabled for node in nodes)

    def correct(event: str, value: int) -> float:
        cost = instances * overhead.inside.get(event, 0.0)
        cost += inside * overhead.outside.get(event, 0.0)
        return max(value - cost, 0.0)

    corrected = {event: correct(event, value) for event, value in raw.items()}
    corrected["time"] = correct("time", wall)
    return RegionCount(
        path=path,
        instances=instances,
        threads=sum(node.threads for node in nodes),
        processes=len({table.process for table, _ in parts}),
        wall=wall,
        shortest=min(node.shortest for node in nodes),
        longest=max(node.longest for node in nodes),
        raw=raw,
        corrected=corrected,
        coverage=sum(node.running for node in nodes) / enabled if enabled else 1.0,
    )
