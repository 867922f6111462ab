"""Measure, simulate and predict what being told of a message costs.

`bench` times every mechanism by which one process tells another of a message on this host,
`interfere` what a waiting communicator takes from those that compute beside it. `predict`
answers what user-level notification would bring an application, `fit` fits its laws to
measurements of your own. `simulate` runs message programs on simulated clusters, `dirt` a small
ray tracer that measures its own messages.
`gnomon notify WORD --help` tells more.

examples:
  gnomon notify bench -o bench.gnomon --html bench.html
  gnomon notify bench -m futex,pipe,tcp -d 5s
  gnomon notify interfere
  gnomon notify predict --from bench.gnomon --app app.toml
  gnomon notify fit sharing threads.csv
  gnomon notify simulate ping-pong
  gnomon notify dirt -o picture.png
"""

from __future__ import annotations

import argparse
import inspect
from importlib import import_module

_WORDS = {
    "bench": "time messages on this host by every mechanism",
    "interfere": "measure what a waiting communicator takes from compute",
    "predict": "predict what user-level notification would bring an application",
    "fit": "fit laws of the model to measurements of your own",
    "simulate": "run a message program on simulated clusters",
    "dirt": "draw with a ray tracer that measures its own messages",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the words of `gnomon notify`, each with its options and its help."""
    words = parser.add_subparsers(dest="word", metavar="WORD", required=True)
    for word, summary in _WORDS.items():
        module = import_module(f"gnomon.cli.notify_{word}")
        text, _, examples = inspect.getdoc(module).partition("\nexamples:\n")  # type: ignore[union-attr]
        each = words.add_parser(
            word,
            help=summary,
            description=text.strip(),
            epilog=f"examples:\n{examples.rstrip()}" if examples else None,
            formatter_class=parser.formatter_class,
        )
        module.configure(each)
        # The main parser has the option as well; there it must not be reset by its default here.
        each.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON"
        )


def run(options: argparse.Namespace) -> int:
    """Do what the word says."""
    code: int = import_module(f"gnomon.cli.notify_{options.word}").run(options)
    return code
