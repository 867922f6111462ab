"""Probe this host's memory: latency, bandwidth, cores, and how all that changes under load.

Parts: `curve` (latency over size, and the sizes of caches that it shows), `bandwidth` (read,
copy, triad, and copy and triad with stores past the caches), `cores` (a line between two
CPUs, classes of cores, hardware threads of a core), `loaded` (latency while other CPUs read),
`matrix` (between NUMA nodes). Without any named, all are probed, quickly. Best and median are
shown, with the load of the machine. Nothing else should run meanwhile.

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
    add("--from", dest="smallest", metavar="SIZE", help="the least size of the curve (16KiB)")
    add("--to", dest="largest", metavar="SIZE", help="largest size of curve (256MiB)")
    add("--points", metavar="N", type=int, help="sizes of the curve per octave (4)")
    add("--pages", choices=("small", "huge", "both"), help="pages of the curve (both)")
    options.add(parser, "cpus", cpus="use these CPUs alone, as in 0-3,8")
    add("--threads", metavar="LIST", help="threads that stream, as in 1,2,8")
    add("--array", metavar="SIZE", help="the size of each array of streams")
    add("--time", metavar="TIME", help="stream this long for each figure, as in 1s (200ms)")
    options.add(
        parser, "recorded", "looks", output="keep the result as JSON, for `latency` and `show`"
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
