"""Measure the latency of a program's loads, and what served them.

Loads slower than each of many edges are counted, one edge at a time in slices of 10 ms; a bin
is the difference of two edges. With --samples single loads are sampled with their latency and
data source. Peaks are named by latencies measured with a pointer chase: on a
simulated machine automatically, on a host from --latencies, which `gnomon memory -o` writes. Needs
Intel's load latency events, or for samples AMD's IBS or ARM's SPE; --on simulates a machine that
has them, or connects to a probe on another host. With --json the program's output goes to stderr.

`gnomon latency probe` is such a probe: it counts loads of this host and streams the counts. It is
one file that needs only Python 3: --print writes it out, to be copied to a host without gnomon
and run there with python3. It listens on 127.0.0.1 unless --bind is given, and serves
only viewers that prove knowledge of its token, which is read from a file or from
GNOMON_PROBE_TOKEN. Messages are authenticated, not encrypted: use a tunnel over untrusted
networks.

examples:
  gnomon latency -- ./program arg
  gnomon latency -p 1234 -d 30s --cost
  gnomon latency -a -d 10s --edges 3,10:100:10,150:1000:50
  gnomon latency --on ring-4 -- workload:random placement=interleave
  gnomon latency --on haswell-ex-4s --samples -- workload:random dependent=yes
  gnomon latency --on ring-4 -- signal:loads rate=1M phases=slow duration=10s
  gnomon latency --on probe:node1:9999 --token-file token -d 60s -o node1.gnomon
  gnomon latency node1.gnomon --html node1.html
  gnomon latency probe --token-file token
  gnomon latency probe --token-file token -p 1234 --port 7001
  gnomon latency probe --print > probe.py
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from gnomon.cli import options, present
from gnomon.cli.campaigns import campaign_progress
from gnomon.errors import GnomonError, UsageError

if TYPE_CHECKING:
    from gnomon.analysis.latency import LatencyResult
    from gnomon.analysis.latency.measuring import OnResult

_PROBE = "probe"
_MEASURED = ("on", "seed", "all_cpus", "cpus", "duration", "input", "repeat", "campaign",
             "output")  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon latency`."""
    parser.usage = (
        "gnomon latency [OPTIONS] REC\n       gnomon latency [OPTIONS] -- CMD\n"
        "       gnomon latency probe [OPTIONS]"
    )
    add = parser.add_argument
    add("recording", nargs="?", metavar="REC", help="a .gnomon folder, or the word probe")
    add("--edges", metavar="LIST", help="edges of the bins in cycles (3,10:500:10)")
    add("-i", "--slice", metavar="TIME", help="how long each edge is counted at a time (10ms)")
    add("--samples", action="store_true", help="sample loads with their data source")
    add("--period", type=int, metavar="N", help="sample every N-th load")
    add("--cost", action="store_true", help="show cycles spent instead of loads")
    add("--latencies", metavar="FILE", help="JSON file of measured latencies, to name peaks")
    options.add(
        parser,
        *("on", "seed", "target", "repeat", "campaign", "recorded", "looks"),
        on="host, a simulated machine or its .toml file, probe:HOST:PORT",
        seed="seed of the sweeps and the simulation (1)",
        repeat="run N times, into one histogram (1)",
    )
    add("--token-file", metavar="FILE", help="file with the probe's token (GNOMON_PROBE_TOKEN)")
    probe = parser.add_argument_group("probe")
    probe.add_argument("--port", type=int, metavar="N", help="port to listen on (9999; 0: any)")
    probe.add_argument("--bind", metavar="ADDRESS", help="address to listen on (127.0.0.1)")
    probe.add_argument("--simulate", action="store_true", help="send made-up loads, to try it")
    probe.add_argument("--print", action="store_true", help="print the probe's source file")
    parser.set_defaults(argv=None)


def run(given: argparse.Namespace) -> int:
    """Measure, listen or open, and show; returns the program's exit status."""
    if given.recording == _PROBE:
        return _serve(given)
    for name in ("port", "bind", "simulate", "print"):
        if getattr(given, name) not in (None, False):
            raise UsageError(f"--{name} is for `gnomon latency probe`.")
    present.check(given)
    if given.seed is not None:
        options.checked_seed(given.seed)
    with _live(given) as show:
        result = _result(given, show)
    notes = []
    if given.output:
        notes = [f"recorded; `gnomon latency {options.with_ending(given.output)}` shows it again"]
    present.present("latency", given, result, *notes)
    return result.exit_status or (130 if result.interrupted and given.argv else 0)


@contextmanager
def _live(given: argparse.Namespace) -> Iterator[OnResult | None]:
    """Yield what shows the histogram while it grows; nothing where there is no screen."""
    if (given.repeat or 1) > 1 or present.takes_output(given) or not sys.stdout.isatty():
        yield None
        return
    from gnomon.views.describe.latency import moment
    from gnomon.views.terminal.live import Redrawn

    with Redrawn(sys.stdout, colour=given.color) as picture:

        def show(result: LatencyResult) -> None:
            rows = shutil.get_terminal_size().lines
            picture.draw(moment(replace(result, by_cost=given.cost), rows))

        yield show
        picture.draw(())


def _result(given: argparse.Namespace, show: OnResult | None) -> LatencyResult:
    from gnomon.analysis.latency import latency

    if given.recording is not None:
        reason = "is for a program to run: what is recorded is not measured again."
        options.refuse_given(given, *_MEASURED, "pid", reason=reason)
        if given.slice or given.argv is not None:
            raise UsageError(f"{'--slice' if given.slice else 'a command'} {reason}")
        return latency(
            given.recording, given.edges or None, latencies=given.latencies, cost=given.cost
        )
    from gnomon.sources.latency import StreamsLatency
    from gnomon.sources.registry import source as chosen_source

    source = chosen_source(given.on, usual_seed=1 if given.seed is None else given.seed)
    target = None
    if isinstance(source, StreamsLatency):
        reason = f"does not go with --on {given.on}: the probe decides what it measures."
        what = ("all_cpus", "cpus", "pid", "input", "repeat", "campaign")
        options.refuse_given(given, *what, reason=reason)
        if given.argv is not None:
            raise UsageError(f"a command {reason}")
        if given.duration is None and not sys.stdin.isatty() and not given.samples:
            raise UsageError("no end is given: add --duration.")
    else:
        target = options.target(given)
    with campaign_progress(given, bar=(given.repeat or 1) > 1) as progress:
        return options.call(latency, given, target, on=source, on_result=show, on_progress=progress)


def _serve(given: argparse.Namespace) -> int:
    """Stream loads of this host until Ctrl-C, or write the probe out."""
    from gnomon.sources.remote import probe

    reason = "does not go with `gnomon latency probe`: its viewer decides that."
    options.refuse_given(given, *_MEASURED, reason=reason)
    for name in ("edges", "slice", "samples", "period", "cost", "latencies", "argv"):
        if getattr(given, name):
            raise UsageError(f"{'a command' if name == 'argv' else f'--{name}'} {reason}")
    if given.print:
        import inspect

        sys.stdout.write(inspect.getsource(probe))
        return 0
    given.port = probe.PORT if given.port is None else given.port
    given.bind = given.bind or "127.0.0.1"
    try:
        return probe.run(given)
    except probe.ProbeUsageError as error:
        raise UsageError(str(error)) from None
    except probe.ProbeError as error:
        raise GnomonError(str(error)) from None
