"""Messages on this host: every way in which one process tells another, timed by C++ kernels."""

from __future__ import annotations

from gnomon.messaging.host.histogram import Histogram
from gnomon.messaging.host.mechanisms import (
    LARGEST,
    MECHANISMS,
    Family,
    Mechanism,
    find_mechanisms,
)
from gnomon.messaging.host.session import (
    Interference,
    Phase,
    Session,
    Side,
    Timed,
    What,
    run_interference,
    run_session,
)

__all__ = [
    "LARGEST",
    "MECHANISMS",
    "Family",
    "Histogram",
    "Interference",
    "Mechanism",
    "Phase",
    "Session",
    "Side",
    "Timed",
    "What",
    "find_mechanisms",
    "run_interference",
    "run_session",
]
