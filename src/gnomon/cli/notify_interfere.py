"""Measure what a communicator that waits for messages takes from those that compute beside it.

A node computes on its CPUs, one of which it shares with a communicator; a client on another
CPU sends it messages with a pause in between. The communicator polls, polls for a while and
then blocks, or blocks. Shown are compute lost, latency, what a message takes, and the compute
per message below which polling pays off; then a recommendation in a sentence. Intervals hold
95 %, from rounds that take turns.

examples:
  gnomon notify interfere
  gnomon notify interfere --pauses 20us,1ms -d 20s
  gnomon notify interfere -m poll,futex,epoll --cpus 0,2,3 --threads 2
  gnomon notify interfere --json
"""

from __future__ import annotations

import argparse

from gnomon.cli import present
from gnomon.cli.notify_options import add_host_options, listed, listed_cpus, session_bar

_DURATION, _PAUSES, _ROUNDS = "12s", "10us,100us,1ms", 6  # here, so that --help loads no more


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon notify interfere`."""
    add_host_options(parser, _DURATION)
    parser.add_argument(
        "--pauses",
        metavar="LIST",
        default=_PAUSES,
        help=f"between an answer and the next message ({_PAUSES})",
    )
    parser.add_argument(
        "--threads", metavar="N", type=int, help="that compute (one per CPU but the client's)"
    )
    parser.add_argument(
        "--rounds", metavar="N", type=int, default=_ROUNDS, help=f"of all ways ({_ROUNDS})"
    )
    parser.add_argument("--force", action="store_true", help="replace an existing page")
    present.add_options(parser)


def run(options: argparse.Namespace) -> int:
    """Measure and show."""
    present.check(options)
    from gnomon.analysis.messages import interfere

    with session_bar() as on_step:
        result = interfere(
            mechanisms=listed(options.mechanisms, "--mechanisms"),
            pauses=listed(options.pauses, "--pauses") or (),
            cpus=listed_cpus(options.cpus),
            threads=options.threads,
            duration=options.duration,
            rounds=options.rounds,
            spin=options.spin,
            on_step=on_step,
        )
    present.present("notify interfere", options, result)
    return 0
