"""Options of the commands that can count on a simulated machine."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gnomon.errors import UsageError

if TYPE_CHECKING:
    from gnomon.sources.cluster import ClusterSource
    from gnomon.sources.machine import MachineSource

_CLUSTER = "cluster:"
_LARGEST_SEED = 2**63 - 1


def add_machine_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose a simulated machine."""
    add_on_option(parser)
    parser.add_argument("--seed", type=int, metavar="N", help="of the simulation (1)")
    parser.add_argument(
        "--preset-profile", metavar="NAME", help="which of the machine's tables of portable names"
    )


def add_on_option(parser: argparse.ArgumentParser, *, clusters: bool = True) -> None:
    """Add the option that chooses a simulated machine, for commands with a seed of their own."""
    more = "; cluster:NAME where messages are counted" if clusters else ""
    parser.add_argument(
        "--on", metavar="MACHINE", help=f"a simulated machine, or its .toml file{more}"
    )


def machine_source(options: argparse.Namespace) -> MachineSource | None:
    """Return the simulated machine that was chosen, None when the host is meant."""
    if options.on is None:
        for option in ("seed", "preset_profile"):
            if getattr(options, option) is not None:
                raise UsageError(
                    f"--{option.replace('_', '-')} is for simulated machines: give --on as well."
                )
        return None
    if getattr(options, "source", None) not in (None, "machine"):
        raise UsageError(
            "--source counts on this host and --on on a simulated machine: choose one."
        )
    from gnomon.sources.machine import MachineSource

    refuse_cluster(options)
    return MachineSource(options.on, seed=_seed(options), profile=options.preset_profile)


def cluster_source(options: argparse.Namespace) -> ClusterSource | None:
    """Return the simulated cluster that was chosen, None when something else is meant."""
    if options.on is None or not options.on.startswith(_CLUSTER):
        return None
    from gnomon.sources.cluster import ClusterSource

    return ClusterSource(options.on.removeprefix(_CLUSTER), seed=_seed(options))


def refuse_cluster(options: argparse.Namespace) -> None:
    """Complain about a cluster where only machines will do."""
    if options.on.startswith(_CLUSTER):
        raise UsageError(
            f"'{options.on}' can be counted only, with count or record: choose a machine here."
        )


def _seed(options: argparse.Namespace) -> int:
    return 1 if getattr(options, "seed", None) is None else checked_seed(options.seed)


def commands_source(options: argparse.Namespace) -> MachineSource | None:
    """Return the simulated machine that commands are to run on, None for the host."""
    if options.on is None:
        return None
    if not options.argv:
        raise UsageError("--on is for commands to run: a recording was made where it was made.")
    from gnomon.sources.machine import MachineSource

    refuse_cluster(options)
    return MachineSource(options.on)


def checked_seed(seed: int) -> int:
    """Return a seed, or complain about one that makes no sense."""
    if not 0 <= seed <= _LARGEST_SEED:
        raise UsageError(f"seed {seed} is out of range: choose one from 0 to 2^63 - 1.")
    return seed
