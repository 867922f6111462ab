"""An event simulator of clusters that run message programs.

`Cluster` says what the machine costs, `Layout` and `Script` what its threads do, `simulate`
runs it. Clusters and programs that are ready to run are found by name.
"""

from gnomon.messaging.simulator.cluster import (
    Cluster,
    NamedCluster,
    cluster_names,
    load_cluster,
)
from gnomon.messaging.simulator.layout import Layout, Script
from gnomon.messaging.simulator.programs import (
    build_program,
    program_names,
    program_parameters,
    program_summary,
)
from gnomon.messaging.simulator.run import MessageRun, SimulatedRun, simulate

__all__ = [
    "Cluster",
    "Layout",
    "MessageRun",
    "NamedCluster",
    "Script",
    "SimulatedRun",
    "build_program",
    "cluster_names",
    "load_cluster",
    "program_names",
    "program_parameters",
    "program_summary",
    "simulate",
]
