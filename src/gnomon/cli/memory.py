"""Measure this host's memory: latency and bandwidth, idle and under load, by core and node.

Parts: `curve` (latency over size, which shows the sizes of caches), `bandwidth` (read,
copy, triad, and the last two with non-temporal stores), `cores` (a cache line between two
CPUs, classes of cores, hardware threads of a core), `loaded` (latency while other CPUs read),
`matrix` (between NUMA nodes). By default all parts are measured, briefly. Best and median are
shown, with the load of the machine. Keep the machine otherwise idle.

examples:
  gnomon memory
  gnomon memory curve --to 64MiB --pages huge
  gnomon memory bandwidth --threads 1,2 --cpus 0-3
  gnomon memory -o memory.json
  gnomon memory curve loaded --html memory.html
"""

from __future__ import annotations

import argparse
from pathlib import Path

from gnomon.cli import options, present
from gnomon.recording.files import check_new, replacing_text


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon memory`."""
    add = parser.add_argument
    add("parts", nargs="*", metavar="PART", help="curve, bandwidth, cores, loaded, matrix")
    add("--from", dest="smallest", metavar="SIZE", help="smallest size of the curve (16KiB)")
    add("--to", dest="largest", metavar="SIZE", help="largest size of the curve (256MiB)")
    add("--points", metavar="N", type=int, help="sizes per octave of the curve (4)")
    add("--pages", choices=("small", "huge", "both"), help="page size of the curve (both)")
    options.add(parser, "cpus", cpus="use only these CPUs, as in 0-3,8")
    add("--threads", metavar="LIST", help="numbers of streaming threads, as in 1,2,8")
    add("--array", metavar="SIZE", help="size of each array that is streamed")
    add("--time", metavar="TIME", help="time per bandwidth measurement (200ms)")
    options.add(
        parser, "recorded", "looks", output="write the result as JSON, for `latency` and `show`"
    )


def run(given: argparse.Namespace) -> int:
    """Probe, keep, show."""
    present.check(given)
    if given.output is not None:
        check_new(Path(given.output), "the result", force=given.overwrite)
    from gnomon.analysis.memory import memory
    from gnomon.views.progress import steps_bar

    with steps_bar("memory") as on_progress:
        result = options.call(memory, given, *given.parts, on_progress=on_progress)
    if given.output is not None:
        with replacing_text(Path(given.output)) as stream:
            stream.write(f"{result.text()}\n")
    present.present("memory", given, result)
    return 0
