"""The graph of links behind end-to-end matrices that are noisy.

Latency adds up over the links of a way, so that a graph foretells every entry of the matrix. Of
all graphs the one is sought that makes the matrix likely and is itself soon described: its
degrees, its edges given these, and the kinds of its links. One entry says little about one link
when the noise is large; all entries together do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gnomon.analysis.links.graph import LinkGraph, Memory
from gnomon.analysis.links.result import Matrices, Pair
from gnomon.errors import UsageError
from gnomon.machines.machine import Link

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NOISE = 0.1
"""Relative standard deviation of an entry, when nothing else is said."""
_BEND = 4.0  # deviations beyond this many standard deviations count linearly: outliers happen
_STARTS = 3
_ROUNDS = 20
_MOST_KINDS = 3
_REGULAR = 2.0  # machines are built regularly: other degrees cost this many times their length
_POOR_FIT = 1.3  # mean squared deviation over that of noise that asks for links of more kinds
_SPARSE = 2.5  # links a node up to which moving an end of a link is tried


@dataclass(slots=True)
class _State:
    """A graph under search: the kind of link of each pair (-1: none) and a latency a kind."""

    kind: NDArray[np.int8]
    latency: Array

    def weights(self) -> Array:
        """Return the latency of every link, infinite where there is none."""
        weights = np.where(self.kind >= 0, self.latency[self.kind], np.inf)
        np.fill_diagonal(weights, 0.0)
        return np.asarray(weights)


def reconstruct(matrices: Matrices, *, noise: float = NOISE) -> LinkGraph:
    """Return the graph of links that explains matrices of latency and bandwidth best."""
    size = matrices.nodes
    memories = _memories(matrices, noise)
    if size == 1:
        return LinkGraph(memories, ())
    search = _Search(matrices.latency_ns, np.array([m.latency_ns for m in memories]), noise)
    state = search.best()
    ends = [(a, b) for a in range(size) for b in range(a + 1, size) if state.kind[a, b] >= 0]
    kinds = [int(state.kind[pair]) for pair in ends]
    rates = _link_rates(matrices.gb_per_s, ends, kinds, noise)
    links = tuple(
        Link(pair, rate, max(float(state.latency[kind]), 0.0))
        for pair, kind, rate in zip(ends, kinds, rates, strict=True)
    )
    return LinkGraph(memories, links)


def _memories(matrices: Matrices, noise: float) -> tuple[Memory, ...]:
    """Return the memory of each node; the same for all where noise explains the differences."""
    local = np.diagonal(matrices.latency_ns)
    known = local[~np.isnan(local)]
    if not known.size:
        raise UsageError("no node has both CPUs and memory: there is no local latency to go by.")
    if known.max() <= known.min() * (1 + 6 * noise):
        latencies = np.full(matrices.nodes, known.mean())
    else:
        latencies = np.where(np.isnan(local), np.median(known), local)
    rates = _memory_rates(matrices.gb_per_s, noise)
    return tuple(Memory(float(ns), float(rate)) for ns, rate in zip(latencies, rates, strict=True))


def _memory_rates(rates: Array, noise: float) -> Array:
    """Return the rate of each memory: as it is read locally, else the most that anyone reads."""
    local = np.diagonal(rates).copy()
    for node in np.flatnonzero(np.isnan(local)):
        column = rates[:, node][~np.isnan(rates[:, node])]
        local[node] = column.max() if column.size else np.nan
    known = local[~np.isnan(local)]
    if known.size and known.max() <= known.min() * (1 + 6 * noise):
        local[~np.isnan(local)] = known.mean()
    return np.where(np.isnan(local), known.mean() if known.size else 1.0, local)


def _link_rates(
    rates: Array, ends: Sequence[Pair], kinds: Sequence[int], noise: float
) -> list[float]:
    """Return the rate of each link: what its ends read of each other is limited by it.

    Links of one kind of latency share a rate where noise explains the differences.
    """
    direct = []
    for a, b in ends:
        pair = [rate for rate in (rates[a, b], rates[b, a]) if not np.isnan(rate)]
        direct.append(float(np.mean(pair)) if pair else np.nan)
    found = np.array(direct)
    of = np.array(kinds)
    for kind in set(kinds):
        own = found[of == kind]
        known = own[~np.isnan(own)]
        if not known.size:
            continue
        if known.max() <= known.min() * (1 + 6 * noise):
            own = np.full(own.shape, known.mean())
        else:
            own = np.where(np.isnan(own), known.mean(), own)
        found[of == kind] = own
    whole = found[~np.isnan(found)]
    return [float(r) for r in np.where(np.isnan(found), whole.mean() if whole.size else 1.0, found)]


class _Search:
    """Graphs, how good they are, and the way to better ones."""

    def __init__(self, latency: Array, memory: Array, noise: float) -> None:
        self.size = len(latency)
        self.memory = memory
        self.noise = noise
        self.known = ~np.isnan(latency) & ~np.eye(self.size, dtype=bool)
        self.seen = np.where(self.known, latency, 1.0)
        beyond = np.where(self.known, latency - memory, np.nan)
        both = np.stack([beyond, beyond.T])
        count = (~np.isnan(both)).sum(axis=0)
        total = np.nansum(both, axis=0)
        # What the way between two nodes costs; infinite where neither can read the other.
        self.way = np.where(count > 0, total / np.maximum(count, 1), np.inf)
        self.way = np.maximum(self.way, 1e-3)
        np.fill_diagonal(self.way, 0.0)
        if not _connected(_distances(self.way)):
            raise UsageError("the matrices leave nodes apart: no node can reach them.")

    def best(self) -> _State:
        """Return the best graph, with links of one kind unless these explain too little."""
        found = self._search(self._starts(), 1)
        # What chance alone may give, with four standard deviations to spare.
        if self._misfit(found) <= _POOR_FIT + 4 * np.sqrt(2 / self.known.sum()):
            return found
        options = [found]
        for kinds in range(2, _MOST_KINDS + 1):
            starts = [self._reduced(kinds, times * self.noise) for times in (1, 2, 4)]
            options.append(self._search([found, *(s for s in starts if s is not None)], kinds))
        return max(options, key=self.score)

    def _search(self, starts: list[_State], kinds: int) -> _State:
        """Improve some starts as long as it helps, and return the best outcome."""
        outcomes = []
        for start in starts:
            state = _State(start.kind.copy(), _padded(start.latency, kinds))
            score = self.score(state)
            for _ in range(_ROUNDS):
                self._refit(state)
                changed = self._improve(state) or self._move_ends(state)
                now = self.score(state)
                if not changed and now <= score + 1e-9:
                    break
                score = max(score, now)
            outcomes.append(state)
        return max(outcomes, key=self.score)

    def score(self, state: _State) -> float:
        """Return the logarithm of how likely the matrix is, less the length of description."""
        return self._score(state, _distances(state.weights()))

    def _score(self, state: _State, distance: Array) -> float:
        if not _connected(distance):
            return -np.inf
        return float(self._likely(distance).sum()) - self._length(state)

    def _likely(self, distance: Array) -> Array:
        foretold = distance + self.memory
        off = np.abs(self.seen - foretold) / (self.noise * foretold)
        bent = np.where(off < _BEND, off * off, 2 * _BEND * off - _BEND * _BEND)
        return np.where(self.known, -bent / 2 - np.log(foretold), 0.0)

    def _misfit(self, state: _State) -> float:
        foretold = _distances(state.weights()) + self.memory
        off = ((self.seen - foretold) / (self.noise * foretold))[self.known]
        return float((off**2).mean())

    def _length(self, state: _State) -> float:
        linked = state.kind >= 0
        kinds = np.bincount(state.kind[np.triu(linked, 1)], minlength=len(state.latency))
        of_kinds = _entropy(kinds) + len(state.latency) * np.log(self.size)
        return _edges_length(linked) + float(of_kinds)

    def _length_without(self, state: _State, a: int, b: int) -> float:
        kind = state.kind.copy()
        kind[a, b] = kind[b, a] = -1
        return self._length(_State(kind, state.latency))

    def _starts(self) -> list[_State]:
        """Return graphs of all pairs below some latency, the most promising ones."""
        upper = np.triu_indices(self.size, 1)
        ways = np.sort(self.way[upper])
        ways = ways[np.isfinite(ways)]
        least = self.size - 1
        counts = {round(c) for c in np.geomspace(least, len(ways), 40)} | set(
            # Where there is a gap in the latencies is a good place to part them.
            (np.argsort(np.diff(ways))[::-1][:8] + 1).tolist()
        )
        states = []
        for count in sorted(c for c in counts if least <= c <= len(ways)):
            linked = self.way <= ways[count - 1]
            np.fill_diagonal(linked, False)
            kind = np.where(linked, 0, -1).astype(np.int8)
            state = _State(kind, np.array([np.median(ways[:count])]))
            if not _connected(_distances(state.weights())):
                continue
            self._refit(state)
            states.append(state)
        states.sort(key=self.score, reverse=True)
        return states[:_STARTS]

    def _reduced(self, kinds: int, margin: float) -> _State | None:
        """Return the graph of pairs that are nearer than any detour, their links in kinds."""
        through = np.array([(self.way[i][:, None] + self.way[i]) for i in range(self.size)])
        index = np.arange(self.size)
        through[index, index, :] = through[index, :, index] = np.inf
        linked = self.way < through.min(axis=0) * (1 - margin)
        np.fill_diagonal(linked, False)
        values = np.sort(self.way[np.triu(linked, 1)])
        if len(values) < kinds or not _connected(_distances(np.where(linked, self.way, np.inf))):
            return None
        parts = np.array_split(values, kinds)
        centres = np.array([part.mean() for part in parts])
        for _ in range(50):
            nearest = np.abs(values[:, None] - centres).argmin(axis=1)
            if len(set(nearest.tolist())) < kinds:
                return None
            centres = np.array([values[nearest == kind].mean() for kind in range(kinds)])
        kind = np.abs(self.way[..., None] - centres).argmin(axis=2).astype(np.int8)
        return _State(np.where(linked, kind, -1).astype(np.int8), centres)

    def _refit(self, state: _State) -> None:
        """Fit the latency of each kind of link to all entries, over the ways as they are."""
        for _ in range(5):
            distance, counts = _counted(state)
            foretold = distance + self.memory
            rows = (counts / (self.noise * foretold))[:, self.known].T
            goal = ((self.seen - self.memory) / (self.noise * foretold))[self.known]
            fitted, *_ = np.linalg.lstsq(rows, goal, rcond=None)
            fitted = np.where((fitted > 0) & rows.any(axis=0), fitted, state.latency)
            done = np.allclose(fitted, state.latency, rtol=1e-6)
            state.latency = np.asarray(fitted, float)
            if done:
                return

    def _improve(self, state: _State) -> bool:
        """Make the changes that help, best first; return whether there were any."""
        distance = _distances(state.weights())
        score = self._score(state, distance)
        changed = False
        for _, a, b, kind in sorted([*self._removals(state), *self._additions(state)]):
            before = int(state.kind[a, b])
            if before == kind:
                continue
            state.kind[a, b] = state.kind[b, a] = kind
            # A new link can only shorten ways, which is soon seen; other changes need all ways.
            if before < 0:
                after = _shortened(distance, a, b, state.latency[kind])
            else:
                after = _distances(state.weights())
            now = self._score(state, after)
            if now > score + 1e-9:
                score, distance, changed = now, after, True
            else:
                state.kind[a, b] = state.kind[b, a] = before
        return changed

    def _move_ends(self, state: _State) -> bool:
        """Move one end of a link to a neighbour of that end where it helps, once."""
        if (state.kind >= 0).sum() / 2 > _SPARSE * self.size:
            return False
        score = self.score(state)
        for a, b in zip(*np.nonzero(state.kind >= 0), strict=True):
            kind = state.kind[a, b]
            for c in np.flatnonzero((state.kind[b] >= 0) & (state.kind[a] < 0)):
                if c == a:
                    continue
                state.kind[a, b] = state.kind[b, a] = -1
                state.kind[a, c] = state.kind[c, a] = kind
                if self.score(state) > score + 1e-9:
                    return True
                state.kind[a, c] = state.kind[c, a] = -1
                state.kind[a, b] = state.kind[b, a] = kind
        return False

    def _additions(self, state: _State) -> Iterator[tuple[float, int, int, int]]:
        """Yield links that the entries of their own ends speak for; the best sorts first."""
        distance = _distances(state.weights())
        now = self._likely(distance)
        for kind, latency in enumerate(state.latency):
            gain = self._likely(np.full_like(distance, latency)) - now
            gain = np.triu(gain + gain.T, 1)
            other = state.kind != kind
            for a, b in zip(*np.nonzero((gain > 0) & other), strict=True):
                yield -float(gain[a, b]), int(a), int(b), kind

    def _removals(self, state: _State) -> Iterator[tuple[float, int, int, int]]:
        """Yield links of which enough ways would better be longer; the best sorts first."""
        weights = state.weights()
        distance = _distances(weights)
        now = self._likely(distance)
        ideal = np.where(self.known, -np.log(self.seen), 0.0)
        gain = np.where(self.seen > distance + self.memory, ideal - now, 0.0)
        gain = gain + gain.T
        length = self._length(state)
        for a, b in zip(*np.nonzero(np.triu(state.kind >= 0, 1)), strict=True):
            over = distance[:, a, None] + weights[a, b] + distance[b]
            used = over <= distance + 1e-9
            possible = float(gain[used].sum())
            if possible > self._length_without(state, int(a), int(b)) - length:
                yield -possible / max(int(used.sum()), 1), int(a), int(b), -1


def _distances(weights: Array) -> Array:
    """Return the latency of the shortest way of every pair, as Floyd and Warshall do."""
    distance = weights.copy()
    np.fill_diagonal(distance, 0.0)
    for middle in range(len(distance)):
        np.minimum(distance, distance[:, middle, None] + distance[middle], out=distance)
    return distance


def _shortened(distance: Array, a: int, b: int, latency: float) -> Array:
    """Return distances with one further link."""
    over = distance[:, a, None] + (latency + distance[b])
    return np.asarray(np.minimum(distance, np.minimum(over, over.T)))


def _counted(state: _State) -> tuple[Array, Array]:
    """Return distances, and how many links of each kind the shortest ways have."""
    distance = state.weights()
    counts = np.stack([(state.kind == kind).astype(float) for kind in range(len(state.latency))])
    for middle in range(len(distance)):
        over = distance[:, middle, None] + distance[middle]
        shorter = over < distance - 1e-12
        distance = np.where(shorter, over, distance)
        sums = counts[:, :, middle, None] + counts[:, None, middle, :]
        counts = np.where(shorter, sums, counts)
    return distance, counts


def _edges_length(linked: NDArray[np.bool_]) -> float:
    """Return how long it takes to say which pairs are linked, in nats.

    First the degrees, cheap where they are all alike, then which of the graphs with these
    degrees it is. Where most pairs are linked, it is shorter to say which are not.
    """
    size = len(linked)
    degrees = linked.sum(axis=1)
    if degrees.sum() > size * (size - 1) / 2:
        degrees = size - 1 - degrees
    edges = int(degrees.sum()) // 2
    log_factorials = _log_factorials(size * size)
    graphs = log_factorials[2 * edges] - log_factorials[edges] - edges * np.log(2)
    graphs -= log_factorials[degrees].sum()
    return _REGULAR * _entropy(np.bincount(degrees)) + float(max(graphs, 0.0))


@cache
def _log_factorials(most: int) -> Array:
    return np.concatenate([[0.0], np.log(np.arange(1, most + 1)).cumsum()])


def _entropy(counts: NDArray[np.int64]) -> float:
    """Return how long it takes to say which of several things each of many is, in nats."""
    present = counts[counts > 0]
    total = present.sum()
    return float(-(present * np.log(present / total)).sum()) if total else 0.0


def _connected(distance: Array) -> bool:
    return bool(np.isfinite(distance).all())


def _padded(latency: Array, kinds: int) -> Array:
    """Return latencies of some kinds; kinds that there are not yet get values of their own."""
    more = [latency.min() * 2.0 ** (i + 1) for i in range(kinds - len(latency))]
    return np.concatenate([latency, more])
