"""What the model of messaging answers: predictions for applications, and laws fitted to data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from gnomon.result import Quantity, Result, derived

NOTHING = Quantity(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class NetworkLink:
    """A network between the nodes, in place of the memory of one host; `latency` is in ns."""

    latency: float
    bytes_per_ns: float


@dataclass(frozen=True, slots=True)
class Sharing:
    """How threads share a core: n of them do `height * (1 - exp(-n / knee))` of the work of one."""

    height: float
    knee: float


@dataclass(frozen=True, slots=True)
class Application:
    """Threads that compute, ask another node for something and wait for the answer.

    `compute` is what a thread works between an answer and its next request, and `handler`
    what the far side works for it, both in ns without any messaging. With a `communicator`
    one thread of a node receives for all others and wakes them. Without `sharing` each thread
    has a core to itself.
    """

    name: str
    compute: Quantity
    handler: Quantity = NOTHING
    threads: int = 1
    request: int = 0
    response: int = 0
    exchanges: float | None = None
    mechanism: str | None = None
    communicator: bool = False
    network: NetworkLink | None = None
    sharing: Sharing | None = None


@dataclass(frozen=True, slots=True)
class Predicted:
    """An application with one way of being told: how long a cycle takes, and what would help.

    `speedup` is how many times as fast user-level notification would make it. `running` and
    `waiting` are shares of the cycle, `load` that of the handler.
    """

    mechanism: str
    measured: bool
    polls: bool
    cycle: Quantity
    speedup: Quantity
    running: float
    waiting: float
    load: float


@dataclass(frozen=True, slots=True)
class Curve:
    """How many times as long a cycle takes as at user level, over compute per message in ns."""

    mechanism: str
    compute: tuple[float, ...]
    slowdown: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Prediction(Result):
    """What user-level notification would bring; `rows` begins with the way that is used now.

    Beyond `break_even`, in ns of compute per message, there is little to gain: less than the
    share `worth`. `saved` is the time that a thread would save in a run, in ns, where it is
    known how often it asks.
    """

    kind: ClassVar[str] = "messages-prediction"
    application: Application
    regime: str
    rows: tuple[Predicted, ...]
    user_level: Predicted
    curves: tuple[Curve, ...] = ()
    break_even: float | None = None
    worth: float = 0.05

    @property
    def now(self) -> Predicted:
        """The way that the application uses."""
        return self.rows[0]

    @derived
    def saved(self) -> float | None:
        """The time that a thread would save in a run, where the number of exchanges is known."""
        if self.application.exchanges is None or not self.rows:
            return None
        saved = self.now.cycle.value - self.user_level.cycle.value
        return saved * self.application.exchanges

    @derived
    def sentence(self) -> str:
        """The answer in words."""
        if not self.rows:
            return f"nothing can be said of '{self.application.name}'"
        gain = self.now.speedup
        return (
            f"user-level notification would make '{self.application.name}' {gain.value:.3g} times "
            f"as fast as with {self.now.mechanism} ({gain.low:.3g} to {gain.high:.3g})"
        )


class Law(StrEnum):
    """The laws of the model that can be fitted to measurements."""

    SHARING = "sharing"
    MISSES = "misses"
    IMBALANCE = "imbalance"


@dataclass(frozen=True, slots=True)
class Point:
    """A measurement at `x` (of threads or nodes) and what the law says there."""

    x: float
    measured: float
    fitted: float


@dataclass(frozen=True, slots=True)
class Fit(Result):
    """A law of the model fitted to measurements.

    `error` is the root mean square residual, `r_squared` how much of the differences between
    runs is explained. `speeds` are those of each of 1, 2, ... threads that share a core;
    `late` says how much later than the mean the last of so many nodes is expected.
    """

    kind: ClassVar[str] = "messages-fit"
    law: Law
    formula: str
    parameters: Mapping[str, Quantity]
    points: tuple[Point, ...] = ()
    error: float | None = None
    r_squared: float | None = None
    speeds: tuple[float, ...] = ()
    nodes: int | None = None
    late: Mapping[int, float] = field(default_factory=dict)
    doubt: str = ""
