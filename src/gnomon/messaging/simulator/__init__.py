"""An event simulator of clusters that run message programs.

`Cluster` says what the machine costs, `Layout` and `Script` what its threads do, `simulate`
runs it. `programs/` has programs that are ready to run.
"""

from gnomon.messaging.simulator.cluster import Cluster
from gnomon.messaging.simulator.layout import Layout
from gnomon.messaging.simulator.run import MessageRun, SimulatedRun, simulate
from gnomon.messaging.simulator.script import Script

__all__ = ["Cluster", "Layout", "MessageRun", "Script", "SimulatedRun", "simulate"]
