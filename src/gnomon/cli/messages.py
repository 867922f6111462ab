"""Measure, simulate and predict what messages between processes cost.

`bench` times every mechanism by which one process notifies another on this host,
`interfere` measures what a waiting communicator takes from computing threads. `predict`
estimates what user-level notification would gain an application, `fit` fits its model to
your measurements. `simulate` runs message programs on simulated clusters, `dirt` a
small ray tracer that measures its own messages.
`gnomon messages WORD --help` shows the options of each.

examples:
  gnomon messages bench -o bench.gnomon --html bench.html
  gnomon messages bench -m futex,pipe,tcp -d 5s
  gnomon messages interfere
  gnomon messages predict --from bench.gnomon --app app.toml
  gnomon messages fit sharing threads.csv
  gnomon messages simulate ping-pong
  gnomon messages dirt -o picture.png
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gnomon.cli import options, present
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.result import Result

_Shown = tuple["Result", str]  # and a line below it, which may be empty


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the words of `gnomon messages`, each with its options and its help."""
    words = parser.add_subparsers(dest="word", metavar="WORD", required=True)
    for word, (summary, add_options, run_word) in _WORDS.items():
        text, _, examples = inspect.cleandoc(run_word.__doc__ or "").partition("\n\nexamples:\n")
        each = words.add_parser(
            word,
            help=summary,
            description=text,
            epilog=f"examples:\n{examples}",
            formatter_class=parser.formatter_class,
        )
        add_options(each)
        options.add(each, "overwrite", "looks")
        # The main parser has the option as well; there it must not be reset by its default here.
        each.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON object"
        )


def run(given: argparse.Namespace) -> int:
    """Do what the word says, and show it."""
    present.check(given)
    if getattr(given, "seed", None) is not None:
        options.checked_seed(given.seed)
    result, note = _WORDS[given.word][2](given)
    present.present(f"messages {given.word}", given, result, *([note] if note else []))
    return 0


def _progress(what: str) -> Any:  # Any: a context manager that yields what is told of steps
    from gnomon.views.progress import steps_bar

    return steps_bar(what)


# ---- bench ----------------------------------------------------------------------------------


def _host_options(parser: argparse.ArgumentParser, duration: str) -> None:
    """Add what every measurement of this host can be told."""
    parser.add_argument(
        "-m", "--mechanisms", metavar="LIST", help="only these mechanisms, as in futex,tcp"
    )
    options.add(
        *(parser, "cpus", "duration"),
        cpus="use these CPUs, as in 0,1",
        duration=f"total time, approximately ({duration})",
    )
    parser.add_argument("--spin", metavar="TIME", help="how long spin-block spins (5us)")


def _bench_options(parser: argparse.ArgumentParser) -> None:
    _host_options(parser, "40s")
    parser.add_argument("--regimes", metavar="LIST", help="idle, awake, siblings, same-core (all)")
    parser.add_argument(
        "--sizes", metavar="LIST", help="message sizes, as in 0,64,4KiB; none: only 0"
    )
    options.add(
        *(parser, "events", "output"),
        events="events to count per message, or none",
        output="write a recording of histograms and counts",
    )
    parser.add_argument("--from", dest="recorded", metavar="REC", help="show a recording")


def _bench(given: argparse.Namespace) -> _Shown:
    """Time messages between two processes of this host, by every available mechanism.

    Each mechanism is timed in several regimes: `idle` (two cores, the waiting one
    halts), `awake` (two cores kept from halting by a process of the lowest priority), `siblings`
    (two threads of a core, where there are any) and `same-core`. In a virtual machine waking a
    halted CPU is the hypervisor's work and can cost ten times as much as the kernel's: compare
    `idle` with `awake`. Sizes from 0 to 1 MiB are timed in one regime, and Hockney, LogGP and
    PLogP are fitted to them. What cannot be measured here is listed with the reason.

    examples:
      gnomon messages bench
      gnomon messages bench -m poll,futex,tcp --regimes awake,same-core -d 5s
      gnomon messages bench --sizes 0,64,4KiB,64KiB,1MiB -o bench.gnomon
      gnomon messages bench --sizes none -e context-switches,instructions
      gnomon messages bench --from bench.gnomon --html bench.html
    """
    from gnomon.analysis.messages import bench, bench_of

    if given.recorded is not None:
        if given.output is not None:
            raise UsageError("--from shows a recording and -o writes one: choose one.")
        for name in ("sizes", "events", "cpus", "duration", "spin"):
            if getattr(given, name) is not None:
                raise UsageError(
                    f"--{name} is for measuring, --from shows a recording: choose one."
                )
        return options.call(bench_of, given, given.recorded), ""
    with _progress("messages") as on_step:
        result = options.call(bench, given, on_step=on_step)
    return result, f"\nrecorded in {options.with_ending(given.output)}" if given.output else ""


# ---- interfere ------------------------------------------------------------------------------


def _interfere_options(parser: argparse.ArgumentParser) -> None:
    _host_options(parser, "12s")
    parser.add_argument("--pauses", metavar="LIST", help="pauses between messages (10us,100us,1ms)")
    parser.add_argument(
        "--threads", metavar="N", type=int, help="computing threads (one per CPU but the client's)"
    )
    parser.add_argument("--rounds", metavar="N", type=int, help="rounds over all mechanisms (6)")


def _interfere(given: argparse.Namespace) -> _Shown:
    """Measure what a communicator that waits for messages takes from computing threads.

    A node computes on its CPUs, one of which it shares with a communicator; a client on another
    CPU sends it messages with a pause in between. The communicator polls, polls for a while and
    then blocks, or blocks. Shown are compute lost, latency, work per message, and the compute
    per message below which polling pays off, with a recommendation. Intervals are 95 %
    95 %, from rounds that take turns.

    examples:
      gnomon messages interfere
      gnomon messages interfere --pauses 20us,1ms -d 20s
      gnomon messages interfere -m poll,futex,epoll --cpus 0,2,3 --threads 2
      gnomon messages interfere --json
    """
    from gnomon.analysis.messages import interfere

    with _progress("messages") as on_step:
        return options.call(interfere, given, on_step=on_step), ""


# ---- predict and fit ------------------------------------------------------------------------


def _predict_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from", dest="recorded", metavar="REC", required=True, help="a recording of `bench -o`"
    )
    parser.add_argument(
        "--app", metavar="FILE", required=True, help="TOML file that describes the application"
    )
    parser.add_argument(
        "-m",
        "--mechanism",
        metavar="NAME",
        help="mechanism that the application uses now (as in FILE)",
    )
    parser.add_argument("--regime", metavar="NAME", help="regime whose costs are used (awake)")
    options.add(parser, "seed", seed="seed of the intervals (0)")


def _predict(given: argparse.Namespace) -> _Shown:
    """Predict what user-level notification would gain an application, from costs of this host.

    Costs come from a recording of `gnomon messages bench`; the application is a TOML file:

      [application]
      compute = "12us"     # of a thread, per message
      handler = "2us"      # of the far side, per request
      threads = 4
      request = 64         # bytes there, and back
      response = "4KiB"

    or, in place of `compute`, [recording] with a path and the events that count time and
    messages. The answer is estimated by a model (waiting threads, a queue at the handler), with
    intervals from those of all inputs. See the reference for all keys.

    examples:
      gnomon messages predict --from bench.gnomon --app app.toml
      gnomon messages predict --from bench.gnomon --app app.toml -m tcp --regime idle
      gnomon messages predict --from bench.gnomon --app app.toml --html prediction.html
    """
    from gnomon.analysis.messages import predict

    return options.call(predict, given, given.recorded, given.app), ""


def _fit_options(parser: argparse.ArgumentParser) -> None:
    laws = ("sharing", "misses", "imbalance")
    parser.add_argument("law", choices=laws, metavar="LAW", help=", ".join(laws))
    parser.add_argument("file", metavar="FILE", help="a CSV file with a header")
    options.add(parser, "seed", seed="seed of the intervals (0)")


def _fit(given: argparse.Namespace) -> _Shown:
    """Fit a law of the message model to your measurements, in a CSV file with a header.

    `sharing` fits how threads share a core: columns `threads` and `throughput`. `misses` fits how
    often an application asks for remote data: columns `nodes`, `threads` and `misses`. `imbalance`
    fits how much the last of many nodes lags behind: a column per node, a row per step, with times.
    Each parameter comes with its 95 % interval.

    examples:
      gnomon messages fit sharing threads.csv
      gnomon messages fit misses runs.csv --json
      gnomon messages fit imbalance steps.csv
    """
    from gnomon.analysis.messages import fit

    return options.call(fit, given), ""


# ---- simulate and dirt ----------------------------------------------------------------------


def _simulate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "program", nargs="?", metavar="PROGRAM", help="a message program (default: list them)"
    )
    parser.add_argument("words", nargs="*", metavar="KEY=VALUE", help="parameters of the program")
    options.add(
        *(parser, "on", "seed"),
        on="clusters or .toml files, as in uln,polling (all built-in clusters)",
        seed="seed of the simulation (1)",
    )
    parser.add_argument(
        "--timeline", type=int, metavar="N", help="list the first N steps of messages"
    )


def _simulate(given: argparse.Namespace) -> _Shown:
    """Run a message program on simulated clusters, and show its times on each.

    Programs are ping-pongs, exchanges, servers and the ray tracer of the model; clusters differ
    in how processors are notified of messages: by the kernel, at user level, or by polling.
    Without a program, the programs are listed with their parameters.

    examples:
      gnomon messages simulate
      gnomon messages simulate ping-pong
      gnomon messages simulate ping-pong --timeline 12
      gnomon messages simulate key-value --on uln,polling --json
    """
    from gnomon.analysis.messages import programs, simulate

    if given.program is None:
        return programs(), ""
    with _progress("simulating") as on_progress:
        return options.call(simulate, given, on_progress=on_progress), ""


_SIZES = {
    "nodes": "processes that share the volume (2)",
    "renderers": "rendering threads per process (2)",
    "volume": "edge of the volume in voxels (96)",
    "brick": "edge of a brick in voxels (12)",
    "cache": "voxels of other nodes that a node caches (165888)",
    "image": "edge of the picture in pixels (96)",
    "frames": "pictures, each with the camera turned by 5 degrees (2)",
}


def _dirt_options(parser: argparse.ArgumentParser) -> None:
    for name, text in _SIZES.items():
        parser.add_argument(f"--{name}", type=int, metavar="N", help=text)
    parser.add_argument(
        "--wakes",
        choices=("request", "line"),
        help="what wakes a renderer: its request, or its cache line as in the original (request)",
    )
    parser.add_argument(
        "--sweep", choices=("misses", "bricks", "wakes"), help="measure a law over many runs"
    )
    options.add(
        parser,
        "seed",
        "output",
        seed="seed of the volume (1)",
        output="write the last picture, a PNG",
    )


def _dirt(given: argparse.Namespace) -> _Shown:
    """Render with a small ray tracer over software shared memory, which measures itself.

    Nodes are processes that share a volume in bricks; each caches bricks of others and
    requests missing ones from their home. A communicator answers and wakes renderers. Shown
    are misses and where time goes. `--sweep misses` measures how misses grow with nodes and
    renderers, `bricks` how they change with the size of a brick, and `wakes` the cost of waking
    the wrong thread, which `--wakes line` reproduces.

    examples:
      gnomon messages dirt -o picture.png
      gnomon messages dirt --nodes 4 --renderers 1 --wakes line
      gnomon messages dirt --sweep bricks --json
    """
    from gnomon.analysis.messages import dirt

    with _progress("drawing") as on_progress:
        result = options.call(dirt, given, on_progress=on_progress)
    return result, f"\npicture in {given.output}" if given.output else ""


_Options = Callable[[argparse.ArgumentParser], None]
_Word = Callable[[argparse.Namespace], _Shown]
_WORDS: dict[str, tuple[str, _Options, _Word]] = {
    "bench": ("time messages on this host by every mechanism", _bench_options, _bench),
    "interfere": (
        "measure what waiting for messages takes from compute",
        _interfere_options,
        _interfere,
    ),
    "predict": ("predict what user-level notification would gain", _predict_options, _predict),
    "fit": ("fit laws of the model to your measurements", _fit_options, _fit),
    "simulate": ("run a message program on simulated clusters", _simulate_options, _simulate),
    "dirt": ("run a ray tracer that measures its own messages", _dirt_options, _dirt),
}
