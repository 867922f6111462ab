"""Options that several commands share, so that they mean and are spelled the same everywhere."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.sources.base import Source
    from gnomon.sources.simulated.simulator import Simulator

_LARGEST_SEED = 2**63 - 1
_REPLACED = {
    "--source": "--on, as in --on valgrind",
    "--no-valgrind": "--on host",
    "--remote": "--on probe:HOST:PORT",
}
_PLACES = "host, valgrind, a simulated machine or its .toml file, cluster:NAME"


def add_on_option(parser: argparse.ArgumentParser, text: str = _PLACES) -> None:
    """Add the option that says where to measure."""
    parser.add_argument("--on", metavar="WHERE", help=text)


def add_source_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose a source and say how it simulates."""
    add_on_option(parser)
    parser.add_argument("--seed", type=int, metavar="N", help="of the simulation (1)")
    parser.add_argument(
        "--preset-profile", metavar="NAME", help="which of the machine's tables of portable names"
    )


def refuse_replaced(arguments: Sequence[str]) -> None:
    """Answer to an option that is gone with the one that does the same now."""
    for argument in arguments:
        option = argument.partition("=")[0]
        if option in _REPLACED:
            raise UsageError(f"{option} is gone: write {_REPLACED[option]}.")


def chosen_source(options: argparse.Namespace) -> Source:
    """Return the source that --on names, this host without it."""
    from gnomon.sources.registry import source

    return source(options.on, seed=_seed(options), profile=getattr(options, "preset_profile", None))


def source_asked_for(options: argparse.Namespace) -> Source | None:
    """Return the source that --on names, None without it; options for simulations need it."""
    if options.on is None and _seed(options) is None and options.preset_profile is None:
        return None
    return chosen_source(options)


def chosen_machine(options: argparse.Namespace) -> Simulator | None:
    """Return the simulated machine that --on names, None where this host is meant."""
    if options.on is None:
        if _seed(options) is not None:
            chosen_source(options)  # complains
        return None
    from gnomon.sources.simulated.simulator import Simulator

    source = chosen_source(options)
    if isinstance(source, Simulator):
        return source
    if source.capabilities.simulated or not source.capabilities.samples:
        raise UsageError(
            f"'{options.on}' is no machine: choose host, or a simulated machine as in --on ring-4."
        )
    return None


def refuse_without_command(options: argparse.Namespace) -> None:
    """Complain about --on where nothing is run."""
    if options.on is not None and not options.argv:
        raise UsageError("--on is for commands to run: a recording was made where it was made.")


def checked_seed(seed: int) -> int:
    """Return a seed, or complain about one that makes no sense."""
    if not 0 <= seed <= _LARGEST_SEED:
        raise UsageError(f"seed {seed} is out of range: choose one from 0 to 2^63 - 1.")
    return seed


def _seed(options: argparse.Namespace) -> int | None:
    seed: int | None = getattr(options, "seed", None)
    return None if seed is None else checked_seed(seed)
