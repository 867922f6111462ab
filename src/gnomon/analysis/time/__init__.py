"""Where wall time went: elapsed time divided by cause, so that it sums exactly.

The result is `gnomon.analysis.time.result.TimeResult`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon import lazy_names

if TYPE_CHECKING:
    from gnomon.analysis.time.result import Cause, Claim, Family, TimeResult

__all__ = ["Cause", "Claim", "Family", "TimeResult"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Cause": "result",
        "Claim": "result",
        "Family": "result",
        "TimeResult": "result",
    },
)
