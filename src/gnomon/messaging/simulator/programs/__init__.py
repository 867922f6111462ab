"""Message programs that are ready to run on a simulated cluster."""

from gnomon.messaging.simulator.programs.dirt import dirt
from gnomon.messaging.simulator.programs.exchange import all_to_all, bulk_synchronous
from gnomon.messaging.simulator.programs.ping_pong import ping_pong
from gnomon.messaging.simulator.programs.service import key_value, open_service, parameter_server

__all__ = [
    "all_to_all",
    "bulk_synchronous",
    "dirt",
    "key_value",
    "open_service",
    "parameter_server",
    "ping_pong",
]
