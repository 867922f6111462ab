"""What all cores of a simulated machine have in common, and how their threads share them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from enum import StrEnum

from gnomon.machines.fields import FieldError, at_most, not_negative, positive

MAX_GROUPS = 4
LEAST_CYCLES, MOST_CYCLES = 0.001, 1e6
LEAST_SPEED = 0.001


class Prefetcher(StrEnum):
    """What a core fetches ahead."""

    OFF = "off"
    NEXT_LINE = "next-line"
    STRIDE = "stride"


class Pipeline(StrEnum):
    """How the threads of a core share it.

    SIMPLE ones do not disturb each other. The more threads of an SMT core run, the slower each
    is. The strands of a CMT core issue in turn, cycle by cycle, as on the Niagara 2.
    """

    SIMPLE = "simple"
    SMT = "smt"
    CMT = "cmt"


@dataclass(frozen=True, slots=True)
class InstructionCycles:
    """How many cycles an instruction of each class costs the thread that executes it."""

    integer: float = 1.0
    multiply: float = 1.0
    fp_add: float = 1.0
    fp_multiply: float = 1.0
    fp_divide: float = 5.0
    branch: float = 1.0
    special: float = 1.0
    other: float = 1.0

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not LEAST_CYCLES <= value <= MOST_CYCLES:
                raise FieldError(
                    f"cycles.{each.name}",
                    f"must be {LEAST_CYCLES} to {MOST_CYCLES}, not {value:g}",
                )


def smt_speeds(threads: int) -> tuple[float, ...]:
    """Return the speed of each of 1, 2, ... threads of a core, compared with one alone.

    Parker's fit to a simulated processor: n threads together do 3.20 (1 - exp(-n / 2.67)) times
    the work of one.
    """
    raw = [3.20 * (1 - math.exp(-n / 2.67)) / n for n in range(1, threads + 1)]
    return tuple(speed / raw[0] for speed in raw)


@dataclass(frozen=True, slots=True)
class Core:
    """What all cores of a machine have in common.

    A thread has at most `outstanding` misses under way, which limits its bandwidth to
    outstanding x line / latency. A blocking core waits for every load. The strands of a CMT
    core are divided into `thread_groups`. `speeds` are those of each of 1, 2, ... threads of an
    SMT core. Privileged software takes `trap_instructions` to emulate one that traps. With
    `whole_splits`, all lines of a reference across lines that misses one of them are looked up
    in the second level.
    """

    clock_ghz: float
    threads: int = 1
    issue_cycles: float = 1.0
    outstanding: int = 10
    blocking: bool = False
    snoop_cycles: float = 0.0
    prefetcher: Prefetcher = Prefetcher.OFF
    prefetch_degree: int = 1
    pipeline: Pipeline = Pipeline.SIMPLE
    thread_groups: int = 1
    cycles: InstructionCycles = field(default_factory=InstructionCycles)
    mispredict_cycles: float = 15.0
    speeds: tuple[float, ...] = ()
    trap_instructions: int = 100
    whole_splits: bool = False

    def __post_init__(self) -> None:
        positive("clock_ghz", self.clock_ghz)
        at_most("threads", self.threads, 16)
        positive("issue_cycles", self.issue_cycles)
        at_most("outstanding", self.outstanding, 1024)
        not_negative("snoop_cycles", self.snoop_cycles)
        at_most("prefetch_degree", self.prefetch_degree, 64)
        not_negative("mispredict_cycles", self.mispredict_cycles)
        at_most("trap_instructions", self.trap_instructions, 1 << 20)
        self._check_pipeline()

    def _check_pipeline(self) -> None:
        at_most("thread_groups", self.thread_groups, MAX_GROUPS)
        if self.thread_groups > 1 and self.pipeline is not Pipeline.CMT:
            raise FieldError("thread_groups", "are known only to a 'cmt' pipeline")
        if self.threads % self.thread_groups:
            raise FieldError(
                "thread_groups",
                f"{self.thread_groups} groups do not divide {self.threads} threads",
            )
        if self.speeds and self.pipeline is not Pipeline.SMT:
            raise FieldError("speeds", "are known only to an 'smt' pipeline")
        if self.speeds and len(self.speeds) != self.threads:
            raise FieldError("speeds", f"must be {self.threads}, one for each number of threads")
        if not all(LEAST_SPEED <= speed <= 1 for speed in self.speeds):
            raise FieldError("speeds", f"must be {LEAST_SPEED} to 1, that of one thread alone")

    @property
    def shared_speeds(self) -> tuple[float, ...]:
        """The speeds of 1, 2, ... running threads of an SMT core: given, or by a law."""
        return self.speeds or smt_speeds(self.threads)
