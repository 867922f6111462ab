"""Turn the output of other tools into a recording, or a recording into other formats.

The formats are found out from the content of the input and the name of the output:
what ends in .gnomon is a recording. Reads perf stat (text, -x, -j, -I), PAPI's
high-level JSON, likwid-perfctr CSV, and gnomon's own CSV and JSON lines; writes CSV,
JSON lines and OpenMetrics text. An output of - is the standard output.

examples:
  perf stat -x, -o stat.csv -- ./program && gnomon convert stat.csv run.gnomon
  gnomon convert papi_hl_output/rank_000000.json run.gnomon
  gnomon convert run.gnomon readings.csv
  gnomon convert run.gnomon - --to openmetrics
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gnomon.errors import UsageError
from gnomon.recording import Recording, RecordingWriter, export, import_file
from gnomon.recording.exporters import free_name
from gnomon.views.envelope import envelope

_SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".prom": "openmetrics", ".txt": "openmetrics"}
EXPORTS = ("csv", "jsonl", "openmetrics")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon convert`."""
    parser.add_argument("input", help="a recording, or a file of another tool")
    parser.add_argument("output", help="a recording to write (.gnomon), a file, or -")
    parser.add_argument("--from", dest="input_format", metavar="FORMAT", help="of the input")
    parser.add_argument("--to", choices=EXPORTS, help="format of the output")
    parser.add_argument("--force", action="store_true", help="replace an existing output")


def run(options: argparse.Namespace) -> int:
    """Convert and say what was done."""
    source = Path(options.input)
    readings, warnings = (_export if source.is_dir() else _import)(options)
    if options.json and options.output != "-":
        results = {"input": options.input, "output": options.output, "readings": readings}
        print(envelope("convert", results, warnings=warnings))
    elif options.output != "-":
        print(f"{readings:,} readings from {options.input} to {options.output}")
    for text in warnings if not options.json else ():
        print(f"warning: {text}", file=sys.stderr)
    return 0


def _import(options: argparse.Namespace) -> tuple[int, list[str]]:
    if options.to or options.output == "-" or not options.output.endswith(".gnomon"):
        raise UsageError(
            f"'{options.input}' is no recording, so the output must be one: name it *.gnomon."
        )
    data = import_file(options.input, options.input_format)
    count = 0
    with RecordingWriter(
        options.output, data.provenance, data.events, overwrite=options.force
    ) as writer:
        readings = list(data.readings)
        count = len(readings)
        writer.append(readings)
        for info in data.runs:
            writer.add_run(info)
        for text in data.warnings:
            writer.warn(text)
    return count, list(data.warnings)


def _export(options: argparse.Namespace) -> tuple[int, list[str]]:
    if options.json and options.output == "-":
        raise UsageError("--json and - both want the standard output: name a file instead of -.")
    form = options.to or _SUFFIXES.get(Path(options.output).suffix)
    if form is None:
        raise UsageError(
            f"the format of '{options.output}' is not clear: end it in .csv, .jsonl or .prom, "
            f"or give --to."
        )
    with Recording.open(options.input) as recording:
        to_stdout = options.output == "-"
        destination = sys.stdout if to_stdout else free_name(options.output, force=options.force)
        export(recording, form, destination)
        return len(recording), list(recording.warnings)
