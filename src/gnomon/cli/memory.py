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

from gnomon.cli import present
from gnomon.errors import UsageError
from gnomon.events.sysfs import parse_cpu_list
from gnomon.recording.files import replacing_text
from gnomon.units import parse_count, parse_size


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon memory`."""
    add = parser.add_argument
    add("parts", nargs="*", metavar="PART", help="curve, bandwidth, cores, loaded, matrix")
    add(
        "--from",
        dest="smallest",
        default="16KiB",
        metavar="SIZE",
        help="the least size of the curve (16KiB)",
    )
    add("--to", dest="largest", metavar="SIZE", help="largest size of curve (256MiB)")
    add("--points", metavar="N", type=int, default=4, help="sizes of the curve per octave (4)")
    add("--pages", choices=("small", "huge", "both"), default="both", help="pages of the curve")
    add("--cpus", metavar="LIST", help="use these CPUs alone, as in 0-3,8")
    add("--threads", metavar="LIST", help="threads that stream, as in 1,2,8")
    add("--array", metavar="SIZE", help="the size of each array of streams")
    add(
        "--time",
        default="200ms",
        metavar="TIME",
        help="stream this long for each figure, as in 1s (200ms)",
    )
    add("-o", "--output", metavar="FILE", help="keep the result, for `latency` and `show`")
    add("--force", action="store_true", help="replace existing files")
    present.add_options(parser)


def run(options: argparse.Namespace) -> int:
    """Probe, keep, show."""
    present.check(options)
    if options.output is not None:
        present.check_new_file(Path(options.output), "the result", force=options.force)
    from gnomon.analysis.memory import memory
    from gnomon.views.progress import steps_bar

    with steps_bar("memory") as on_progress:
        result = memory(
            *options.parts,
            smallest=parse_size(options.smallest, "--from"),
            largest=_size(options.largest, "--to"),
            points=options.points,
            pages=options.pages,
            cpus=_cpus(options.cpus),
            threads=_threads(options.threads),
            array=_size(options.array, "--array"),
            time=options.time,
            on_progress=on_progress,
        )
    if options.output is not None:
        with replacing_text(Path(options.output)) as stream:
            stream.write(f"{result.text()}\n")
    present.present("memory", options, result)
    return 0


def _cpus(text: str | None) -> tuple[int, ...]:
    found = () if text is None else parse_cpu_list(text)
    if text is not None and not found:
        raise UsageError("--cpus names no CPU: write it as in 0-3,8.")
    return found


def _threads(text: str | None) -> tuple[int, ...]:
    return () if text is None else tuple(parse_count(n, "--threads") for n in text.split(","))


def _size(text: str | None, what: str) -> int | None:
    return None if text is None else parse_size(text, what)
