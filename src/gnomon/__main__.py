"""The program `gnomon`, which `python -m gnomon` is as well."""

import gc
import sys

from gnomon.cli import main


def run() -> int:
    """Run the command line in a process of its own.

    Starting makes many objects that stay: looking through them for garbage again and again would
    take a tenth of the time of a short command.
    """
    gc.set_threshold(50_000)
    return main()


if __name__ == "__main__":
    sys.exit(run())
