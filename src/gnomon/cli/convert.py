"""Convert the output of other tools to a recording, or a recording to other formats.

Formats are detected from the content of the input and the name of the output:
.gnomon is a recording. Reads perf stat (text, -x, -j, -I), PAPI's
high-level JSON, likwid-perfctr CSV, and gnomon's own CSV and JSON lines; writes CSV,
JSON lines and OpenMetrics text. As INPUT, - is standard input; as OUTPUT,
standard output.

examples:
  perf stat -x, -o stat.csv -- ./program && gnomon convert stat.csv run.gnomon
  perf stat -x, ./program 2>&1 >/dev/null | gnomon convert - run.gnomon
  gnomon convert papi_hl_output/rank_000000.json run.gnomon
  gnomon convert run.gnomon readings.csv
  gnomon convert run.gnomon - --to openmetrics
"""

from __future__ import annotations

import argparse

from gnomon.cli import options
from gnomon.errors import UsageError
from gnomon.recording.converting import EXPORTS, convert


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon convert`."""
    parser.add_argument("source", metavar="INPUT", help="a recording, a file of another tool, or -")
    parser.add_argument("output", metavar="OUTPUT", help="a recording (.gnomon), a file, or -")
    parser.add_argument("--from", dest="input_format", metavar="FORMAT", help="format of the input")
    parser.add_argument("--to", choices=EXPORTS, help="format of the output")
    options.add(parser, "overwrite")


def run(given: argparse.Namespace) -> int:
    """Convert and say what was done."""
    if given.json and given.output == "-":
        raise UsageError("--json and - both write to standard output: name a file instead of -.")
    readings, warnings = options.call(convert, given, given.source, given.output)
    if given.json:
        from gnomon.views.envelope import envelope

        found = {"input": given.source, "output": given.output, "readings": readings}
        print(envelope("convert", found, warnings=warnings))
        return 0
    if given.output != "-":
        print(f"{readings:,} readings from {given.source} to {given.output}")
    from gnomon.views.show import warn

    warn(warnings)
    return 0
