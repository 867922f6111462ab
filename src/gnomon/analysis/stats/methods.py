"""The names of tests and corrections, for results that say which of them was used."""

from __future__ import annotations

from enum import StrEnum


class Test(StrEnum):
    """The tests there are; WELCH is the one to use without a reason for another."""

    __test__ = False  # not a test case, whatever its name suggests to a test runner

    WELCH = "welch"
    POOLED = "pooled"
    MANN_WHITNEY = "mann-whitney"
    PERMUTATION = "permutation"


class Correction(StrEnum):
    """How p-values become q-values, which may be compared with the chosen level.

    BH bounds the share of false alarms among all alarms, and the chance of any when
    nothing has changed; HOLM and BONFERRONI bound the chance of any in all cases.
    """

    BH = "bh"
    HOLM = "holm"
    BONFERRONI = "bonferroni"
    NONE = "none"
