"""From how objects are used to changes that may help; whether they do is found by running."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gnomon.analysis.locality.advisor.changes import (
    FREE,
    Change,
    Migration,
    Move,
    bound,
)
from gnomon.analysis.locality.advisor.profile import BLOCK, cells_of
from gnomon.analysis.locality.result import Action
from gnomon.machines.machine import Placement
from gnomon.machines.program import Range

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gnomon.analysis.locality.advisor.profile import Profile, Usage
    from gnomon.analysis.locality.result import DataObject

LEAST_SHARE = 0.02
"""Of what memory and other nodes answer: objects with less are left where they are."""
_OWN_PAGES = 0.5  # of the references to its pages are to the object: others would move along
_DOMINANT = 0.7  # of a page's references come from one node
_MISPLACED = 0.05  # of an object's references, at least
_SHARED = 0.2
_READ_ONLY = 0.001  # stores after setting up
_USER = 0.05  # a node with a smaller share of the references is no user
_LEAST_PHASE = 0.2  # of the references that a phase would have if all were equal
_MOST_PHASES = 16
_STEPS_SHOWN = 4
_STEPS_OF_SLICE = 4
_MOST_COPIES = 1 << 30  # bytes
_LEAST_FALSE = 0.01  # of all references are to lines that are shared falsely
_OWN = 0.9  # of a line's references are to bytes that one thread alone uses
_LEAST_EACH = 16  # references of a thread to a line: fewer may miss each other by chance
_MOST_CELLS = 1 << 18
_STRIDE = 1 << 28  # from one thread's padded data to the next
_PAGE = 1 << 16  # that padded data keeps its place in


def candidates(profile: Profile, thing: DataObject, number: int) -> Iterator[Change]:
    """Yield changes that may help an object, the `number`-th of its program."""
    usage = profile.usage(thing)
    if padded := false_sharing(profile, thing, number):
        yield padded
    if len(profile.machine.nodes) < 2 or profile.traffic_share(thing) < LEAST_SHARE:
        return
    if profile.references_to(thing) < _OWN_PAGES * (usage.loads + usage.stores):
        return
    homed = usage.home >= 0
    use, home = usage.use[homed], usage.home[homed]
    if not use.sum():
        return
    yield from _to_users(profile, thing, usage, use, home)
    yield from _spread(profile, thing, use, home)
    yield from _replicated(profile, thing, usage, use, number)
    yield from _migrated(profile, thing, usage)


def _dominance(use: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the main user of each page, and whether it is so by far."""
    user = use.argmax(axis=1)
    return user, use.max(axis=1) >= _DOMINANT * np.maximum(use.sum(axis=1), 1)


def _to_users(
    profile: Profile,
    thing: DataObject,
    usage: Usage,
    use: NDArray[np.int64],
    home: NDArray[np.int64],
) -> Iterator[Change]:
    """Pages that one node uses and another has."""
    user, dominated = _dominance(use)
    touched = use.sum(axis=1) > 0
    memory = np.array([node.memory is not None for node in profile.machine.nodes])
    wrong = dominated & touched & (user != home) & memory[user]
    share = use[wrong].sum() / use.sum()
    if share < _MISPLACED:
        return
    page = profile.machine.translation.page
    pages = usage.pages[usage.home >= 0]
    places = tuple(
        bound(thing.name, int(first) * page, int(count) * page, node)
        for first, count, node in _runs(pages[dominated & touched], user[dominated & touched])
    )
    users = sorted(set(user[dominated & touched].tolist()))
    homes = sorted(set(home[wrong].tolist()))
    why = f"{share:.0%} of its references go to pages that another node has and one node uses"
    if len(users) == 1:
        detail = f"bind to node {users[0]}, its only user; it is on {_nodes(homes)}"
        yield Change(thing, Action.BIND, detail, why, places)
    else:
        where = (
            "to other nodes" if users == homes else f"to {_nodes(users)}, not to {_nodes(homes)}"
        )
        detail = f"let each thread set up the part that it uses: pages then go {where}"
        owner = usage.user[usage.home >= 0]
        chosen = dominated & touched
        parts = tuple(
            (int(first) * page, int(first + count) * page, thread)
            for first, count, thread in _runs(pages[chosen], owner[chosen])
        )
        if usage.setter is None:  # nobody sets it up alone: it is only placed
            yield Change(thing, Action.FIRST_TOUCH, detail, why, places)
        else:
            yield Change(
                thing,
                Action.FIRST_TOUCH,
                detail,
                why,
                places,
                setter=usage.setter,
                parts=parts,
                old_places=tuple(
                    bound(thing.name, first * page, count * page, node)
                    for first, count, node in _runs(pages[chosen], home[chosen])
                ),
            )


def _spread(
    profile: Profile, thing: DataObject, use: NDArray[np.int64], home: NDArray[np.int64]
) -> Iterator[Change]:
    """Pages that several nodes use, most of them on the same node."""
    _, dominated = _dominance(use)
    shared = use[~dominated].sum() / use.sum()
    nodes = [i for i, node in enumerate(profile.machine.nodes) if node.memory is not None]
    loads = np.bincount(home, use.sum(axis=1), minlength=len(profile.machine.nodes))
    most = loads.max() / loads.sum()
    if thing.size < 2 * profile.machine.translation.page:
        return
    if shared < _SHARED or len(nodes) < 2 or most < 1.5 / len(nodes):
        return
    detail = f"interleave over {_nodes(nodes)}"
    why = (
        f"{shared:.0%} of its references are to pages that several nodes use, and node "
        f"{int(loads.argmax())} has to answer {most:.0%} of them"
    )
    place = Range(thing.name, thing.start, thing.size, Placement.INTERLEAVE, tuple(nodes))
    yield Change(thing, Action.INTERLEAVE, detail, why, (place,))


def _replicated(
    profile: Profile, thing: DataObject, usage: Usage, use: NDArray[np.int64], number: int
) -> Iterator[Change]:
    """What nobody writes after it was set up, and several nodes read."""
    _, dominated = _dominance(use)
    by_node = use.sum(axis=0)
    memory = [i for i, node in enumerate(profile.machine.nodes) if node.memory is not None]
    users = [i for i in memory if by_node[i] >= _USER * by_node.sum()]
    shared = use[~dominated].sum() / use.sum()
    written = usage.later_stores > _READ_ONLY * usage.total
    if written or len(users) < 2 or shared < _SHARED or thing.size * len(users) > _MOST_COPIES:
        return
    page = profile.machine.translation.page
    begin = thing.start // page * page
    stride = -(-(thing.end - begin) // page) * page + page
    base = {node: _area(number) + i * stride for i, node in enumerate(users)}
    shift = {node: at - begin for node, at in base.items()}
    moves: dict[int, tuple[Move, ...]] = {}
    for thread, node in enumerate(profile.thread_nodes.tolist()):
        own = shift.get(node, shift[users[0]])
        others = tuple(each for each in shift.values() if each != own)
        moves[thread] = ((thing.start, thing.end, own, others),)
    places = tuple(
        bound(f"{thing.name} for node {node}", at, stride, node) for node, at in base.items()
    )
    detail = f"give each of {_nodes(users)} a copy of its own: {len(users)} times the memory"
    why = f"{len(users)} nodes read it, and nobody writes it after it was set up"
    yield Change(thing, Action.REPLICATE, detail, why, places, moves)


def _migrated(profile: Profile, thing: DataObject, usage: Usage) -> Iterator[Change]:
    """An object that one node uses first and another one later, and so on."""
    course = usage.course
    phases = _phases(course)
    if not 2 <= len(phases) <= _MOST_PHASES:
        return
    local = [course[first:last, node].sum() for first, last, node in phases]
    whole = [course[first:last].sum() for first, last, _ in phases]
    if any(part < _DOMINANT * total for part, total in zip(local, whole, strict=True)):
        return
    if any(profile.machine.nodes[node].memory is None for _, _, node in phases):
        return
    page = profile.machine.translation.page
    start = thing.start // page * page
    size = -(-(thing.end - start) // page) * page
    migrations = tuple(
        Migration(
            int(profile.made[first - 1]),
            profile.slice_ns / _STEPS_OF_SLICE,
            start,
            size,
            node,
            profile.machine.threads_of(node)[0],
        )
        for first, _, node in phases[1:]
    )
    steps = [
        f"to node {node} after {first * profile.slice_ns / 1e6:.3g} ms"
        for first, _, node in phases[1:]
    ]
    if len(steps) > _STEPS_SHOWN:
        steps[_STEPS_SHOWN:] = ["and so on"]
    detail = f"move it from node {phases[0][2]} {', '.join(steps)}"
    shares = [
        f"node {node} makes {part / total:.0%} of its references"
        for part, total, (_, _, node) in zip(local, whole, phases, strict=True)
    ]
    why = f"at first {', then '.join(shares[:_STEPS_SHOWN])}"
    yield Change(thing, Action.MIGRATE, detail, why, migrations=migrations)


def _phases(course: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Return slices, from the first before the last, in which one node is the main user."""
    found: list[tuple[int, int, int]] = []
    for number, row in enumerate(course):
        node = int(row.argmax())
        if found and (not row.any() or found[-1][2] == node):
            found[-1] = (found[-1][0], number + 1, found[-1][2])
        elif row.any():
            found.append((number, number + 1, node))
    # What is brief is a transition, and belongs to the phase before it.
    least = _LEAST_PHASE * course.sum() / max(len(found), 1)
    phases: list[tuple[int, int, int]] = []
    for first, last, node in found:
        brief = course[first:last].sum() < least
        if phases and (brief or phases[-1][2] == node):
            phases[-1] = (phases[-1][0], last, phases[-1][2])
        else:
            phases.append((first, last, node))
    return phases


def _area(number: int) -> int:
    return FREE + (number << 36)


def _runs(pages: NDArray[np.uint64], nodes: NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    """Yield first page, number and node of pages that follow each other on the same node."""
    if not len(pages):
        return
    numbers = pages.astype(np.int64)
    breaks = np.flatnonzero((np.diff(numbers) != 1) | (np.diff(nodes) != 0)) + 1
    for part in np.split(np.arange(len(pages)), breaks):
        yield int(numbers[part[0]]), len(part), int(nodes[part[0]])


def _nodes(nodes: list[int]) -> str:
    if len(nodes) == 1:
        return f"node {nodes[0]}"
    if nodes == list(range(nodes[0], nodes[-1] + 1)) and len(nodes) > 2:
        return f"nodes {nodes[0]} to {nodes[-1]}"
    return f"nodes {', '.join(map(str, nodes[:-1]))} and {nodes[-1]}"


# ---- false sharing: lines that several threads use, and no byte of which two of them do ---------


def false_sharing(profile: Profile, thing: DataObject, number: int) -> Change | None:
    """Return the change that gives each thread lines of its own, None where it is not needed."""
    line = max(profile.machine.levels[-1].line, BLOCK)
    cells = cells_of(profile.blocks, thing)
    if not len(cells) or len(np.unique(cells["thread"])) < 2:
        return None
    lines = cells["block"] // np.uint64(line // BLOCK)
    cells, lines = _shared_lines(cells, lines)
    if not len(cells):
        return None
    own = _own_bytes(cells)
    references = (cells["loads"] + cells["stores"]).astype(np.int64)
    names, index = np.unique(lines, return_inverse=True)
    private = np.bincount(index, np.where(own != 0, references, 0), minlength=len(names))
    every = np.bincount(index, references, minlength=len(names))
    busy = np.bincount(index, references >= _LEAST_EACH, minlength=len(names))
    false = (private >= _OWN * every) & (busy > 1)
    share = every[false].sum() / max(profile.references, 1)
    chosen = false[index] & (own != 0)
    if share < _LEAST_FALSE or chosen.sum() > _MOST_CELLS:
        return None
    moves = _moves(cells[chosen], own[chosen], thing, number)
    threads = len(moves)
    detail = f"pad it so that no two threads use the same {line} bytes"
    why = (
        f"{int(false.sum())} of its lines {_are(int(false.sum()))} written and used by up to "
        f"{threads} threads, each with bytes of its own: {share:.0%} of all references"
    )
    return Change(thing, Action.PAD, detail, why, moves=moves)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _shared_lines(
    cells: NDArray[np.void], lines: NDArray[np.uint64]
) -> tuple[NDArray[np.void], NDArray[np.uint64]]:
    """Return the cells of lines that are written, and used by at least two threads."""
    names, index = np.unique(lines, return_inverse=True)
    pairs = np.unique(np.stack((index, cells["thread"].astype(np.int64))), axis=1)
    threads = np.bincount(pairs[0], minlength=len(names))
    stores = np.bincount(index, cells["stores"].astype(np.float64), minlength=len(names))
    wanted = ((threads > 1) & (stores > 0))[index]
    return cells[wanted], lines[wanted]


def _own_bytes(cells: NDArray[np.void]) -> NDArray[np.uint64]:
    """Return the bytes of each cell, as bits, that no other thread touches."""
    used = cells["read_bytes"] | cells["written_bytes"]
    _, index = np.unique(cells["block"], return_inverse=True)
    once = np.zeros(index.max() + 1, np.uint64)
    twice = np.zeros_like(once)
    for at, bits in zip(index.tolist(), used, strict=True):
        twice[at] |= once[at] & bits
        once[at] |= bits
    own: NDArray[np.uint64] = used & ~twice[index]
    # A cell some bytes of which others touch as well is left where it is.
    return np.where(own == used, own, np.uint64(0))


def _moves(
    cells: NDArray[np.void], own: NDArray[np.uint64], thing: DataObject, number: int
) -> dict[int, tuple[Move, ...]]:
    moves: dict[int, list[Move]] = {}
    base = FREE + (number << 36) + (1 << 35)
    begin = thing.start // _PAGE * _PAGE
    for block, thread, bits in zip(
        cells["block"].tolist(), cells["thread"].tolist(), own.tolist(), strict=True
    ):
        shift = base + thread * _STRIDE - begin
        for first, last in _runs_of_bits(bits):
            start = block * BLOCK
            moves.setdefault(thread, []).append((start + first, start + last, shift, ()))
    return {thread: tuple(sorted(each)) for thread, each in moves.items()}


def _runs_of_bits(bits: int) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each run of ones."""
    at = 0
    while bits >> at:
        at += ((bits >> at) & -(bits >> at)).bit_length() - 1
        first = at
        while bits >> at & 1:
            at += 1
        yield first, at
