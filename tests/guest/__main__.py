"""Run a job in a guest by hand: ``python -m tests.guest JOB.py --smp 8 --nodes 4``.

Without a job it only prepares what the lane needs, such as before going offline.
"""

import argparse
import json
import sys
from pathlib import Path

from . import GuestUnavailable
from .architectures import AMD64, ARM64
from .lane import prepare
from .qemu import GuestError


def main() -> int:
    """Prepare the lane, run the job if there is one, and print what came back."""
    parser = argparse.ArgumentParser(prog="python -m tests.guest", description=__doc__)
    parser.add_argument("job", nargs="?", type=Path, help="a Python file to run in the guest")
    parser.add_argument("--params", type=json.loads, default={}, help="a JSON object")
    parser.add_argument("--x86", action="store_true", help="an x86_64 guest, without PMU")
    parser.add_argument("--hmat", action="store_true", help="firmware tells of memory; x86 only")
    parser.add_argument("--idle-nodes", type=int, default=0, help="nodes with memory alone")
    parser.add_argument("--smp", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--icount", type=int, default=0, help="-1: without")
    parser.add_argument("--memory", type=int, default=1024, help="MiB")
    parser.add_argument("--timeout", type=float, default=600, help="seconds")
    options = vars(parser.parse_args())
    job = options.pop("job")
    options["icount"] = None if options["icount"] < 0 else options["icount"]
    try:
        lane = prepare(AMD64 if options.pop("x86") else ARM64).with_extension()
        if job is None:
            return 0
        result = lane.run_guest(job, check=False, **options)
    except (GuestUnavailable, GuestError) as error:
        sys.exit(str(error))
    print(result.console, end="")
    for value in result.results:
        print(json.dumps(value))
    return 0 if result.exit_status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
