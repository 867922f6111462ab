"""Deal events out to batches so that no counter and no register is used twice in one.

An event that sits on a counter and uses an extra register is an edge between the two, and
a batch is a colour. Counters on one side, registers on the other: the graph is bipartite,
so by König's theorem as many colours are enough as edges meet at the busiest counter or
register. That is the lower bound, so a plan that is dealt out this way is minimal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence


def colour_edges(edges: Sequence[tuple[Hashable, Hashable | None]], colours: int) -> list[int]:
    """Return a colour for each edge so that edges of one colour never meet.

    No node may have more edges than there are colours. A right end of None is a node of
    its own: the edge meets no other there.
    """
    full = (1 << colours) - 1
    used: dict[Hashable, int] = {}
    at: dict[tuple[Hashable, int], int] = {}
    result: list[int] = []
    ends = [(("left", left), None if right is None else ("right", right)) for left, right in edges]

    def paint(edge: int, colour: int) -> None:
        result[edge] = colour
        for node in ends[edge]:
            if node is not None:
                used[node] = used.get(node, 0) | 1 << colour
                at[node, colour] = edge

    def swap_path(node: Hashable, first: int, second: int) -> None:
        """Exchange two colours along the path that leaves the node by the first of them."""
        path = []
        here: Hashable | None = node
        colour = first
        while here is not None and (edge := at.get((here, colour))) is not None:
            path.append((edge, colour))
            left, right = ends[edge]
            here = right if here == left else left
            colour = first + second - colour
        for edge, old in path:
            for end in ends[edge]:
                if end is not None:
                    used[end] &= ~(1 << old)
                    del at[end, old]
        for edge, old in path:
            paint(edge, first + second - old)

    for edge, (left, right) in enumerate(ends):
        result.append(-1)
        free_left = full & ~used.get(left, 0)
        free_right = full if right is None else full & ~used.get(right, 0)
        if not (free_left and free_right):
            raise ValueError(f"a node of edge {edge} has more than {colours} edges")
        common = free_left & free_right
        if not common and right is not None:
            # The path from the right end cannot come back to the left one: it would have to
            # arrive there by the colour that is free there.
            common = free_left & -free_left
            swap_path(right, common.bit_length() - 1, (free_right & -free_right).bit_length() - 1)
        paint(edge, (common & -common).bit_length() - 1)
    return result
