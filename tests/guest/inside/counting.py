"""Report how the guest's PMU counts loops of known length.

Parameters: ``times`` the loop runs, how many ``events`` count it at once, and ``repeats``.
"""

from dataclasses import astuple

from .perf_syscall import HARDWARE, INSTRUCTIONS, count_loop
from .report import emit, params


def main() -> None:
    """Send, for each repeat, the value, time enabled and time running of each event."""
    wanted = params()
    for _ in range(wanted["repeats"]):
        events = [(HARDWARE, INSTRUCTIONS)] * wanted["events"]
        readings = count_loop(events, wanted["times"])
        emit([astuple(reading) for reading in readings])


if __name__ == "__main__":
    main()
