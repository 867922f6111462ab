"""Where recordings made on this host come from."""

from __future__ import annotations

import os
import sys

from gnomon.recording.contents import Provenance
from gnomon.sources.base import Command, Cpus, Process, Target, Thread
from gnomon.sources.host import Host
from gnomon.units import utc_now

# Settings that change how a parallel program runs; the rest of the environment is private.
_TELLING_VARIABLES = ("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "MALLOC_", "LD_PRELOAD")


def host_provenance(
    source: str, host: Host, target: Target, *, simulated: bool = False, machine: str = ""
) -> Provenance:
    """Return what this host is and what a source measures on it."""
    from gnomon import __version__

    command: tuple[str, ...] = ()
    match target:
        case Command(argv=argv):
            command, what = argv, "command"
        case Process(pid=pid):
            what = f"process {pid}"
        case Thread(tid=tid):
            what = f"thread {tid}" if tid else "own thread"
        case Cpus(cpus=cpus, command=inner):
            command = inner.argv if inner else ()
            what = "all CPUs" if cpus is None else f"CPUs {','.join(map(str, cpus))}"
    return Provenance(
        source=source,
        simulated=simulated,
        command=command,
        target=what,
        host=os.uname().nodename,
        cpu=host.cpu_model,
        cpus=len(host.online_cpus),
        kernel=host.kernel,
        machine=machine,
        gnomon=__version__,
        python=sys.version.split(maxsplit=1)[0],
        created=utc_now(),
        environment={
            k: v for k, v in sorted(os.environ.items()) if k.startswith(_TELLING_VARIABLES)
        },
    )
