"""Report how the guest's PMU counts loops of known length.

Parameters: ``runs``, each with the ``times`` of the loop and how many ``events`` count it at once.
"""

from dataclasses import astuple

from .perf_syscall import HARDWARE, INSTRUCTIONS, count_loop
from .report import emit, params


def main() -> None:
    """Send, for each run, the value, time enabled and time running of each event."""
    for run in params()["runs"]:
        events = [(HARDWARE, INSTRUCTIONS)] * run["events"]
        readings = count_loop(events, run["times"])
        emit([astuple(reading) for reading in readings])


if __name__ == "__main__":
    main()
