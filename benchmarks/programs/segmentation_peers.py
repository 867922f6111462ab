"""Splits series with pwlf or ruptures, in an environment that has them.

Reads a JSON object a line (peer, file, and what to do) and answers each with one: the
seconds it took and the breaks.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import pwlf  # type: ignore[import-not-found]
import ruptures  # type: ignore[import-not-found]


def hinge(x: Any, y: Any) -> list[float]:
    """Two lines that meet, as pwlf finds them."""
    model = pwlf.PiecewiseLinFit(x, y)
    return [float(model.fit(2)[1])]


def dynamic(x: Any, y: Any, line: bool, pieces: int) -> list[int]:
    """Free lines or levels by dynamic programming, as ruptures does it."""
    signal = np.column_stack((y, x, np.ones_like(x))) if line else y[:, None]
    search = ruptures.Dynp(model="linear" if line else "l2", min_size=3, jump=1)
    return [int(at) for at in search.fit(signal).predict(n_bkps=pieces - 1)[:-1]]


for text in sys.stdin:
    asked = json.loads(text)
    x, y = np.load(asked["file"])
    start = time.perf_counter()
    breaks: list[Any]
    if asked["peer"] == "pwlf":
        breaks = hinge(x, y)
    else:
        breaks = dynamic(x, y, asked["line"], asked["pieces"])
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "breaks": breaks}), flush=True)
