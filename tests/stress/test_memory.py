"""Memory on nodes: it is there, where it should be, and what does not work is said."""

from __future__ import annotations

import os

import pytest

from gnomon.errors import GnomonError, UsageError
from gnomon.stress import memory
from gnomon.stress.memory import Buffer, PageKind
from gnomon.stress.nodes import Node, Nodes, read_nodes

SIZE = 4 << 20
NODE = read_nodes().with_memory[0].number


@pytest.mark.parametrize("huge", [False, True])
def test_pages_are_on_the_node_that_was_asked_for(huge: bool) -> None:
    with Buffer(SIZE, NODE, huge=huge) as buffer:
        assert buffer.placement() == {NODE: SIZE // os.sysconf("SC_PAGE_SIZE")}
        assert buffer.share_on(NODE) == 1
        buffer.verify()


def test_small_pages_are_small() -> None:
    with Buffer(SIZE, huge=False) as buffer:
        assert buffer.kind is PageKind.SMALL
        assert buffer.huge_share == 0
        assert buffer.note == ""


@pytest.mark.parametrize("size", [1, 256 << 10, SIZE, SIZE + (1 << 20)])
def test_huge_pages_are_had_or_their_absence_is_explained(size: int) -> None:
    with Buffer(size) as buffer:
        assert buffer.huge_share > 0.9 or "pages" in buffer.note
        if buffer.kind is not PageKind.SMALL:
            assert buffer.address % (2 << 20) == 0


def test_memory_can_be_written_and_read() -> None:
    with Buffer(100_000, huge=False) as buffer:
        view = buffer.view
        view[0], view[-1] = 7, 9
        assert (view[0], view[1], view[-1]) == (7, 0, 9)
        del view


def test_pages_elsewhere_are_complained_about(monkeypatch: pytest.MonkeyPatch) -> None:
    with Buffer(SIZE, NODE, huge=False) as buffer:
        monkeypatch.setattr(Buffer, "placement", lambda self: {NODE: 3, NODE + 1: 5, -2: 1})
        with pytest.raises(GnomonError, match=r"5 pages on node .* 1 pages on no node \(No such"):
            buffer.verify()


def test_pages_under_way_are_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([{NODE: 3, -2: 5}, {NODE: 7, -16: 1}, {NODE: 8}])
    with Buffer(SIZE, NODE, huge=False) as buffer:
        monkeypatch.setattr(Buffer, "_placement_now", lambda self: next(answers))
        buffer.verify()


def test_too_much_memory_is_refused_before_it_is_taken() -> None:
    with pytest.raises(GnomonError, match="do not fit this machine"):
        Buffer(1 << 50)
    with pytest.raises(GnomonError, match=f"do not fit node {NODE}"):
        Buffer(1 << 50, NODE)


def test_no_memory_makes_no_buffer() -> None:
    with pytest.raises(UsageError, match="at least one byte"):
        Buffer(0)


def test_a_node_without_memory_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Nodes((Node(0, (0,), 1 << 30, 1 << 30), Node(1, (1,), 0, 0)))
    monkeypatch.setattr(memory, "read_nodes", lambda: nodes)
    with pytest.raises(UsageError, match="node 1 has no memory"):
        Buffer(SIZE, 1)
