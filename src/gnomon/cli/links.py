"""Show the nodes of a machine and the links between them, load them, and experiment on them.

Without a word, nodes are shown as they are reported; --measure adds measured latencies and
bandwidths, the links that these suggest, and where the two are apart. A channel is written
0-1: CPUs of node 0 read memory of node 1. Words:

  saturate [CHANNEL]    more and more generators on a channel
  crosstalk [CHANNEL]   more and more generators in the other direction
  idle-busy [CHANNEL]   is it faster to read a node that is awake?
  emulate TOPOLOGY      load the channels that a topology does not have
  live                  a screen on which generators are added and removed

With --load, or after emulate, a program can run beside the load. No generator outlives the
command, however it ends.

examples:
  gnomon links
  gnomon links --measure
  gnomon links --on haswell-ex-4s saturate 0-1 --html saturation.html
  gnomon links --on haswell-ex-4s crosstalk 0-1 --stream read
  gnomon links --load 0-1:80% -- ./program
  gnomon links --on haswell-ex-4s emulate ring
  gnomon links live
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gnomon.cli import present
from gnomon.cli.options import add_on_option
from gnomon.errors import UsageError

WORDS = ("saturate", "crosstalk", "idle-busy", "emulate", "live")
_STREAMS = ("triad", "copy", "read")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon links`."""
    parser.usage = "gnomon links [OPTIONS] [WORD [CHANNEL or TOPOLOGY]] [-- CMD]"
    parser.add_argument("word", nargs="?", choices=WORDS, metavar="WORD", help=", ".join(WORDS))
    parser.add_argument("what", nargs="?", metavar="WHAT", help="a channel, or a topology")
    add_on_option(parser, "host, or a simulated machine or its .toml file")
    parser.add_argument("--seed", type=int, metavar="N", help="of the simulation (1)")
    parser.add_argument("--measure", action="store_true", help="measure all channels")
    parser.add_argument(
        "--load",
        action="append",
        default=[],
        metavar="LOAD",
        help="while CMD runs: 0-1:80%% is a share of what the channel carries, 0-1:3 three "
        "generators; may be given several times",
    )
    parser.add_argument(
        "--stream", choices=_STREAMS, help="what generators do (triad; with --measure read)"
    )
    parser.add_argument("--most", type=int, metavar="N", help="at most N generators per channel")
    parser.add_argument("--time", metavar="TIME", default="500ms", help="of a measurement (500ms)")
    parser.add_argument("--repeat", type=int, metavar="N", help="measure N times (3; 10 in turns)")
    parser.add_argument(
        "--size", metavar="SIZE", default="256MiB", help="that a generator reads per pass (256MiB)"
    )
    parser.add_argument("--force", action="store_true", help="replace an existing page")
    present.add_options(parser)
    parser.set_defaults(argv=None)


def run(options: argparse.Namespace) -> int:
    """Show the topology, make an experiment, or run a program beside load."""
    present.check(options)
    if options.word == "live":
        return _live(options)
    from gnomon.analysis.links import LinksExperiment, links
    from gnomon.sources.base import Command

    command = None
    if options.argv is not None:
        command = Command(tuple(options.argv), stdout=2 if present.takes_output(options) else None)
    with _progress() as on_progress:
        result = links(
            options.word,
            options.what,
            on=options.on,
            seed=options.seed,
            measure=options.measure,
            load=options.load,
            command=command,
            stream=options.stream,
            most=options.most,
            time=options.time,
            repeat=options.repeat,
            size=options.size,
            on_progress=on_progress,
        )
    present.present("links", options, result)
    ran = result.run if isinstance(result, LinksExperiment) else None
    return 0 if ran is None else ran.exit_status


def _live(options: argparse.Namespace) -> int:
    if options.what is not None:
        raise UsageError("live takes no channel: choose it on the screen with the arrows.")
    asked = {
        "--json": options.json,
        "--csv": options.csv,
        "--html": options.html,
        "--all": options.all,
        "--measure": options.measure,
        "--load": options.load,
        "--most": options.most,
        "--repeat": options.repeat,
        "a program": options.argv,
    }
    for name in (name for name, value in asked.items() if value):
        raise UsageError(f"live is a screen, which {name} is not for: omit it.")
    from gnomon.analysis.links.measuring import Place
    from gnomon.stress.streams import Stream
    from gnomon.views.links_live import require_textual, run_live

    place = Place.of(options.on, options.seed)
    require_textual()
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("live needs a terminal for its screen and its keys: run it in one.")
    with place.loader(Stream(options.stream or "triad"), options.size) as loader:
        run_live(loader, place.topology())
    return 0


@contextmanager
def _progress() -> Iterator[Callable[[str], None] | None]:
    """Show what is being done on a terminal, unless a program runs there; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    status = Console(stderr=True).status("")

    def show(text: str) -> None:
        if text:
            status.update(text)
            status.start()
        else:
            status.stop()

    try:
        yield show
    finally:
        status.stop()
