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
  gnomon memory -o latencies.json
  gnomon memory curve loaded --html memory.html
"""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path

from gnomon.analysis.memory.model import MemoryResult, Part, parts_of
from gnomon.analysis.memory.plan import (
    HUGE_PAGE,
    LARGEST,
    POINTS,
    SECONDS,
    SMALL_PAGE,
    SMALLEST,
    Plan,
    Request,
    plan_probes,
)
from gnomon.cli.html import add_html_option, check_html, check_new_file, write_html
from gnomon.errors import UsageError
from gnomon.events.sysfs import parse_cpu_list
from gnomon.units import format_bytes, parse_count, parse_duration, parse_size

_PAGES = {"small": (SMALL_PAGE,), "huge": (HUGE_PAGE,), "both": ()}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon memory`."""
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(Part))
    parser.add_argument(
        "--from",
        dest="smallest",
        metavar="SIZE",
        help=f"the least size of the curve ({format_bytes(SMALLEST)})",
    )
    parser.add_argument(
        "--to",
        dest="largest",
        metavar="SIZE",
        help=f"the largest size of the curve ({format_bytes(LARGEST)})",
    )
    parser.add_argument(
        "--points",
        metavar="N",
        type=int,
        default=POINTS,
        help=f"sizes of the curve an octave ({POINTS})",
    )
    parser.add_argument(
        "--pages", choices=("small", "huge", "both"), default="both", help="pages of the curve"
    )
    parser.add_argument("--cpus", metavar="LIST", help="use these CPUs alone, as in 0-3,8")
    parser.add_argument("--threads", metavar="LIST", help="threads that stream, as in 1,2,8")
    parser.add_argument("--array", metavar="SIZE", help="the size of each array of streams")
    parser.add_argument(
        "--time", metavar="TIME", help="stream this long for each figure, as in 1s (200ms)"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write named latencies as JSON, for other commands"
    )
    parser.add_argument("--force", action="store_true", help="replace existing files")
    add_html_option(parser)


def run(options: argparse.Namespace) -> int:
    """Plan, probe, show."""
    check_html(options)
    request = _request(options)
    if options.output is not None:
        if not {Part.CURVE, Part.MATRIX} & {*request.parts}:
            raise UsageError("-o writes latencies of caches and nodes: probe curve or matrix too.")
        check_new_file(Path(options.output), "the latencies", force=options.force)
    plan = plan_probes(request)
    result = _measure(plan)
    _show(result, options)
    if options.output:
        _write_latencies(result, Path(options.output))
    from gnomon.views.report.memory import memory_page

    write_html(options, lambda: memory_page(result))
    return 0


def _request(options: argparse.Namespace) -> Request:
    return Request(
        parts=parts_of(options.parts),
        smallest=SMALLEST if options.smallest is None else parse_size(options.smallest, "--from"),
        largest=_size(options.largest, "--to"),
        points=options.points,
        pages=_PAGES[options.pages],
        cpus=() if options.cpus is None else _cpus(options.cpus),
        threads=() if options.threads is None else _threads(options.threads),
        array=_size(options.array, "--array"),
        seconds=SECONDS if options.time is None else parse_duration(options.time, "--time") / 1e9,
    )


def _cpus(text: str) -> tuple[int, ...]:
    found = parse_cpu_list(text)
    if not found:
        raise UsageError("--cpus names no CPU: write it as in 0-3,8.")
    return found


def _threads(text: str) -> tuple[int, ...]:
    return tuple(parse_count(word, "--threads") for word in text.split(","))


def _size(text: str | None, what: str) -> int | None:
    return None if text is None else parse_size(text, what)


def _measure(plan: Plan) -> MemoryResult:
    from gnomon.analysis.memory.measure import measure_memory
    from gnomon.views.progress import progress_bar

    shown = progress_bar("memory", plan.steps) if sys.stderr.isatty() else nullcontext(lambda: None)
    with shown as advance:
        return measure_memory(plan, advance)


def _show(result: MemoryResult, options: argparse.Namespace) -> None:
    from gnomon.views.memory import print_memory
    from gnomon.views.memory_json import memory_as_json

    if options.json:
        from gnomon.views.envelope import envelope

        results = memory_as_json(result)
        print(envelope("memory", results, source="host", warnings=result.warnings))
        return
    print_memory(result, sys.stdout)
    for text in result.warnings:
        print(f"warning: {text}", file=sys.stderr)


def _write_latencies(result: MemoryResult, path: Path) -> None:
    import json

    from gnomon.recording.files import replacing_text
    from gnomon.views.memory_json import latencies_as_json

    with replacing_text(path) as stream:
        stream.write(json.dumps(latencies_as_json(result), indent=2) + "\n")
