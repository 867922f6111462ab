"""Accounts of profiles: what a profiler cost taken out again, and time added up by category."""

from gnomon.analysis.accounting.correction import (
    Account,
    Accounts,
    Call,
    Probe,
    correct,
    region_accounts,
)
from gnomon.analysis.accounting.rollup import Entry, RollUp, roll_up

__all__ = [
    "Account",
    "Accounts",
    "Call",
    "Entry",
    "Probe",
    "RollUp",
    "correct",
    "region_accounts",
    "roll_up",
]
