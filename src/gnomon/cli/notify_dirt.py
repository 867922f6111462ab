"""Draw with a small ray tracer over software shared memory, which measures itself.

Nodes are processes that share a volume in bricks; each keeps bricks of others in a cache and
asks their home for those that it misses. A communicator answers and wakes renderers. Shown
are misses and where time goes. `--sweep misses` measures how misses grow with nodes and
renderers, `bricks` how they change with the size of a brick, and `wakes` what the wrong
thread being woken costs, which `--wakes line` reproduces.

examples:
  gnomon notify dirt -o picture.png
  gnomon notify dirt --nodes 4 --renderers 1 --wakes line
  gnomon notify dirt --sweep bricks --json
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.cli.options import checked_seed
from gnomon.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gnomon.analysis.raytracer import Settings
    from gnomon.views.dirt import Sweep

_SWEEPS = ("misses", "bricks", "wakes")
_NUMBERS = {
    "nodes": "processes that share the volume (2)",
    "renderers": "threads of each that draw (2)",
    "volume": "edge of the volume in voxels (96)",
    "brick": "edge of a brick in voxels (12)",
    "cache": "voxels of other nodes that a node keeps (165888)",
    "image": "edge of the picture in pixels (96)",
    "frames": "pictures, the camera turned by 5 degrees each (2)",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gnomon notify dirt`."""
    for name, text in _NUMBERS.items():
        parser.add_argument(f"--{name}", type=int, metavar="N", help=text)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the volume (1)")
    parser.add_argument(
        "--wakes",
        choices=("request", "line"),
        default="request",
        help="what wakes a renderer: its request, or the cache line, as in the original (request)",
    )
    parser.add_argument("--sweep", choices=_SWEEPS, help="measure a law instead of one run")
    parser.add_argument("-o", "--output", metavar="PNG", help="write the last picture")
    parser.add_argument("--force", action="store_true", help="replace an existing picture")


def run(options: argparse.Namespace) -> int:
    """Draw, and show what it took."""
    from gnomon.analysis.raytracer import Settings

    _check_output(options)
    chosen = {name: getattr(options, name) for name in _NUMBERS}
    given = {name: value for name, value in chosen.items() if value is not None}
    settings = Settings(**given, wakes=options.wakes, seed=checked_seed(options.seed))
    if options.sweep is None:
        _draw(options, settings)
    else:
        _sweep(options, settings)
    return 0


def _check_output(options: argparse.Namespace) -> None:
    if options.output is None:
        return
    path = Path(options.output)
    if options.sweep is not None:
        raise UsageError("--sweep draws many pictures and keeps none: leave -o away.")
    if path.exists() and not options.force:
        raise UsageError(f"'{path}' already exists: choose another name, or --force.")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder '{path.parent}' for the picture: make it first.")


def _draw(options: argparse.Namespace, settings: Settings) -> None:
    from gnomon.analysis.raytracer import render
    from gnomon.views.dirt import print_run, run_as_json
    from gnomon.views.envelope import envelope
    from gnomon.views.progress import progress_bar

    with progress_bar("drawing", settings.frames * settings.tiles) as advance:
        done = render(settings, progress=advance)
    if options.output is not None:
        from gnomon.analysis.raytracer.supervisor import write_png

        write_png(done.images[-1], Path(options.output))
    if options.json:
        print(envelope("notify dirt", run_as_json(done), source="regions"))
        return
    print_run(done, sys.stdout)
    if options.output is not None:
        print(f"\n  picture in {options.output}")


def _sweep(options: argparse.Namespace, settings: Settings) -> None:
    from gnomon.analysis.raytracer.sweeps import compare_wakes, sweep_bricks, sweep_misses
    from gnomon.views.dirt import print_sweep, sweep_as_json
    from gnomon.views.envelope import envelope
    from gnomon.views.progress import progress_bar

    measure: dict[str, Callable[..., Sweep]] = {
        "misses": sweep_misses,
        "bricks": sweep_bricks,
        "wakes": compare_wakes,
    }
    count = {"misses": 9, "bricks": 5, "wakes": 2}
    with progress_bar("drawing", count[options.sweep]) as advance:
        found = measure[options.sweep](settings, advance=advance)
    if options.json:
        print(envelope("notify dirt", sweep_as_json(found), source="regions"))
    else:
        print_sweep(found, sys.stdout)
