"""Where wall time went: elapsed time divided by cause, so that it sums exactly.

    result = account_of(record)
    for row in result.account:
        print(row.cause, row.who, row.time, row.interval)

The result is `gnomon.analysis.time.result.TimeResult`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.time.account import account_of
    from gnomon.analysis.time.between import over_runs
    from gnomon.analysis.time.result import Cause, Claim, Family, TimeResult

__all__ = ["Cause", "Claim", "Family", "TimeResult", "account_of", "over_runs"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Cause": "result",
        "Claim": "result",
        "Family": "result",
        "TimeResult": "result",
        "account_of": "account",
        "over_runs": "between",
    },
)
