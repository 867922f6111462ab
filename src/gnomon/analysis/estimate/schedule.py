"""Orders: which set is read next.

A set is worth reading when its events are far from what is known of them. `Chosen` judges that
from three things: how wrong guesses of an event were when they could be checked, how long ago
it was read, and how far the state that the fixed counters tell is from the states in which it
was read. What is calm is not forgotten: no set waits for more than three rotations.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Protocol

from gnomon.analysis.estimate.result import Why
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gnomon.analysis.estimate.model import Array, Layout, Tick

ORDERS = ("chosen", "shuffled", "round-robin")
ORDER = "chosen"


class Order(Protocol):
    """Says which set comes next; it is told of every tick."""

    def choose(self) -> int:
        """Return the next set."""

    def why(self, chosen: int) -> Why:
        """Return why a set was chosen when it was last."""

    def note(self, tick: Tick) -> None:
        """Take in a tick that is over."""


def find_order(
    name: str, layout: Layout, *, seed: int = 1, weights: Mapping[str, float] | None = None
) -> Order:
    """Return the order of a name; `weights` tell it how much events matter, 1 if not named."""
    for event in weights or {}:
        if event not in layout.events:
            raise UsageError(
                f"'{event}' takes no turns, so it can have no weight: "
                f"those that do are {', '.join(layout.events)}."
            )
    if weights and name != "chosen":
        raise UsageError(f"the order '{name}' takes no weights: omit them, or use --order chosen.")
    match name:
        case "round-robin":
            return RoundRobin(layout)
        case "shuffled":
            return Shuffled(layout, seed)
        case "chosen":
            return Chosen(layout, seed, weights)
    raise UsageError(f"there is no order '{name}': there are {', '.join(ORDERS)}.")


class RoundRobin:
    """One set after the other, always in the same order."""

    def __init__(self, layout: Layout, seed: int = 1) -> None:
        del seed
        self._sets = len(layout.sets)
        self._next = 0

    def choose(self) -> int:
        """Return the set after the last."""
        chosen = self._next
        self._next = (chosen + 1) % self._sets
        return chosen

    def why(self, chosen: int) -> Why:
        """Return that it was its turn."""
        del chosen
        return Why("its turn")

    def note(self, tick: Tick) -> None:
        """Learn nothing."""


class Shuffled:
    """Every set once a rotation, each time in another order.

    A fixed order reads an event always at the same moment of a program that does the same
    again and again at a pace near to that of the rotation.
    """

    def __init__(self, layout: Layout, seed: int = 1) -> None:
        self._sets = len(layout.sets)
        self._random = Random(f"order {seed}")
        self._waiting: list[int] = []

    def choose(self) -> int:
        """Return one of those that were not read in this rotation yet."""
        if not self._waiting:
            self._waiting = list(range(self._sets))
            self._random.shuffle(self._waiting)
        return self._waiting.pop()

    def why(self, chosen: int) -> Why:
        """Return that it was its turn."""
        del chosen
        return Why("its turn")

    def note(self, tick: Tick) -> None:
        """Learn nothing."""


class Chosen:
    """The set whose reading is expected to tell most, with chance deciding between near ones."""

    LONGEST = 3  # rotations that a set may wait
    MEMORY = 64  # readings of an event that are looked back at
    ERROR, STATE = 0.15, 0.75  # exponents: 1 would starve calm events for restless ones
    CHANCE = 0.5
    FLOOR, CEILING = 0.05, 2.0  # of an error relative to the event's mean
    SURPRISING = 3.0  # times the usual error of its event
    AGAIN = 1.0  # rotations for which an event is taken to have waited after a surprise
    NEAR = 0.1  # the distance of a state that counts as none
    LEARNING = 0.1

    def __init__(
        self, layout: Layout, seed: int = 1, weights: Mapping[str, float] | None = None
    ) -> None:
        import numpy as np

        events, fixed = len(layout), len(layout.fixed)
        self._names = layout.events
        self._sets = [np.array(group, dtype=int) for group in layout.sets]
        self._random = np.random.default_rng(seed)
        self._weights = np.array([(weights or {}).get(name, 1.0) for name in layout.events])
        shared = set.intersection(*map(set, layout.sets)) if len(layout.sets) > 1 else set()
        self._always = np.isin(np.arange(events), list(shared))
        self._states = np.full((events, self.MEMORY, fixed), np.nan)
        self._values = np.zeros((events, self.MEMORY))
        self._read = np.zeros(events, dtype=int)  # how often
        self._errors = np.zeros(events)
        self._means = np.zeros(events)
        self._last = np.full(events, -1)
        self._surprised = np.zeros(events, dtype=bool)  # by the last reading
        self._centre = np.zeros(fixed)
        self._usual = np.zeros(fixed)  # how far states usually are from their centre
        self._state = np.zeros(fixed)
        self._tick = 0
        self._turn = 0
        self._begun = [-1] * len(self._sets)  # the last turn of each set
        self._why = [Why("its turn")] * len(self._sets)

    def choose(self) -> int:
        """Return the set that is worth most, or one that has waited for too long."""
        import numpy as np

        waits = [self._turn - turn for turn in self._begun]
        never = [number for number, turn in enumerate(self._begun) if turn < 0]
        longest = max(range(len(waits)), key=waits.__getitem__)
        if never:
            chosen = never[int(self._random.integers(len(never)))]
            self._why[chosen] = Why("never read before")
        elif waits[longest] >= self.LONGEST * len(self._sets):
            chosen = longest
            self._why[chosen] = Why("waited longest", waited=waits[longest])
        else:
            worth = self._worth()
            chances = np.exp(self.CHANCE * self._random.standard_normal(len(self._sets)))
            sums = [float(worth[group].sum()) for group in self._sets]
            chosen = int(np.argmax(np.array(sums) * chances))
            self._why[chosen] = self._reason(chosen, worth)
        self._begun[chosen] = self._turn
        self._turn += 1
        return chosen

    def why(self, chosen: int) -> Why:
        """Return what was known when a set was chosen last."""
        return self._why[chosen]

    def _reason(self, chosen: int, worth: Array) -> Why:
        import numpy as np

        group = self._sets[chosen]
        event = int(group[np.argmax(worth[group])])
        return Why(
            "worth most",
            self._names[event],
            float(self._relative()[event]),
            int(self._tick - self._last[event] - 1),
            float(self._distances()[event]) if len(self._state) else None,
            float(self._weights[event]),
        )

    def _worth(self) -> Array:
        """Return what reading each event is expected to tell; nothing if it is always read."""
        import numpy as np

        # What was just read has nothing to tell.
        ages = (self._tick - self._last).astype(float) - 1
        # Unless it surprised: it tells of itself alone, and not what was there before and after.
        ages += self.AGAIN * len(self._sets) * self._surprised
        errors = np.clip(self._relative(), 0, self.CEILING)
        worth = (errors + self.FLOOR) ** self.ERROR * ages
        if len(self._state):
            worth = worth * (self._distances() + self.NEAR) ** self.STATE
        result: Array = worth * self._weights + 1e-12 * (ages + 1)
        return np.where(self._always, 0.0, result)

    def _relative(self) -> Array:
        """Return how wrong guesses of each event usually are, relative to its mean."""
        import numpy as np

        nothing = np.zeros_like(self._errors)
        return np.divide(self._errors, self._means, out=nothing, where=self._means > 0)

    def _distances(self) -> Array:
        """Return how far the state is from the nearest in which each event was read."""
        import numpy as np

        far = self._far(self._states)
        far = np.where(np.isnan(far), np.inf, far)
        nearest = np.partition(far, 2, axis=1)[:, :3]
        known = np.isfinite(nearest)
        mean: Array = np.where(known, nearest, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        return mean

    def _far(self, states: Array) -> Array:
        import numpy as np

        result: Array = (np.abs(states - self._state) / np.maximum(self._usual, 1e-6)).sum(axis=-1)
        return result

    def note(self, tick: Tick) -> None:
        """Learn how wrong the nearest reading would have been as a guess of this one."""
        import numpy as np

        state = np.log1p(np.maximum(tick.fixed, 0))
        if self._tick == 0:
            self._centre = state.copy()
        rate = max(0.02, 1 / (self._tick + 1))
        self._usual += (np.abs(state - self._centre) - self._usual) * rate
        self._centre += (state - self._centre) * rate
        self._state = state
        for event in np.flatnonzero(np.isfinite(tick.counts)):
            self._learn(int(event), float(tick.counts[event]))
        self._tick += 1

    def _learn(self, event: int, value: float) -> None:
        import numpy as np

        times = int(self._read[event])
        kept = min(times, self.MEMORY)
        if kept:
            guess = self._values[event, (times - 1) % self.MEMORY]
            if len(self._state):
                guess = self._values[event, np.argmin(self._far(self._states[event, :kept]))]
            error = abs(value - guess)
            self._surprised[event] = error > self.SURPRISING * self._errors[event]
            self._errors[event] += (error - self._errors[event]) * max(self.LEARNING, 1 / times)
        self._means[event] += (value - self._means[event]) * max(self.LEARNING, 1 / (times + 1))
        place = times % self.MEMORY
        self._states[event, place], self._values[event, place] = self._state, value
        self._read[event] = times + 1
        self._last[event] = self._tick
