"""How long a cluster of SMT nodes takes when compute threads wait for messages: a closed model.

A compute thread runs for a while, asks another node for something and sleeps until the answer is
there. One thread of each node, the communicator, handles requests and answers. `solve` finds how
long a cycle takes when all that shares a core and a port.

    from gnomon.messaging.model import Exchange, Overheads, solve

    exchange = Exchange(run=12_000, handle=800, latency=4_000, occupancy=3_000)
    before = solve(exchange, threads=3)
    after = solve(Overheads(notification=2_000).added_to(exchange), threads=3)
    print(after.cycle / before.cycle)

All times are nanoseconds.
"""

from gnomon.messaging.model.chain import States, communicator_chain, isomorphic_chain
from gnomon.messaging.model.exchange import Exchange, ModelError, Overheads
from gnomon.messaging.model.fixed_point import Queue, Solution, solve
from gnomon.messaging.model.imbalance import expected_maximum
from gnomon.messaging.model.smt import Saturation, SpeedLaw, Unshared

__all__ = [
    "Exchange",
    "ModelError",
    "Overheads",
    "Queue",
    "Saturation",
    "Solution",
    "SpeedLaw",
    "States",
    "Unshared",
    "communicator_chain",
    "expected_maximum",
    "isomorphic_chain",
    "solve",
]
