"""Clients that ask servers over ports, in SimPy: lines of JSON in, lines of JSON out.

The same model as the message program `key-value` with one thread a server: think, send through
the own port, wire, the other port, queue at the server, work, and back.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Generator
from typing import Any

import simpy


class Model:
    """A cluster of servers and clients."""

    def __init__(self, seed: int, **given: Any) -> None:
        self.environment = simpy.Environment()
        self.random = random.Random(seed)
        self.given = given
        nodes = given["servers"] + given["clients"]
        self.out = [simpy.Resource(self.environment) for _ in range(nodes)]
        self.into = [simpy.Resource(self.environment) for _ in range(nodes)]
        self.mail = [simpy.Store(self.environment) for _ in range(nodes)]
        self.total = 0.0
        self.count = 0

    def carry(self, source: int, to: int, size: int, message: Any) -> Generator[Any, Any, None]:
        """Take a message through both ports; the head is on its way while the rest follows."""
        wire = (size - 1) * self.given["per_byte"]
        with self.out[source].request() as port:
            yield port
            self.environment.process(self.arrive(to, wire, message))
            yield self.environment.timeout(wire)

    def arrive(self, to: int, wire: float, message: Any) -> Generator[Any, Any, None]:
        """Come in at the other end."""
        yield self.environment.timeout(self.given["latency"])
        with self.into[to].request() as port:
            yield port
            yield self.environment.timeout(wire)
        self.mail[to].put(message)

    def client(self, node: int) -> Generator[Any, Any, None]:
        """Think, ask, wait."""
        for _ in range(self.given["requests"]):
            yield self.environment.timeout(self.random.expovariate(1 / self.given["think_ns"]))
            begun = self.environment.now
            server = self.random.randrange(self.given["servers"])
            size = self.given["request_bytes"]
            self.environment.process(self.carry(node, server, size, node))
            yield self.mail[node].get()
            self.total += self.environment.now - begun
            self.count += 1

    def server(self, node: int) -> Generator[Any, Any, None]:
        """Take a request, work, answer."""
        while True:
            client = yield self.mail[node].get()
            yield self.environment.timeout(self.random.expovariate(1 / self.given["service_ns"]))
            size = self.given["response_bytes"]
            self.environment.process(self.carry(node, client, size, node))

    def run(self) -> float:
        """Run all clients to their end and return the mean time of a request."""
        servers = self.given["servers"]
        for node in range(servers):
            self.environment.process(self.server(node))
        clients = [
            self.environment.process(self.client(servers + n)) for n in range(self.given["clients"])
        ]
        self.environment.run(simpy.AllOf(self.environment, clients))
        return self.total / self.count


for line in sys.stdin:
    question = json.loads(line)
    start = time.process_time()
    mean = Model(**question).run()
    seconds = time.process_time() - start
    print(json.dumps({"mean": mean, "seconds": seconds, "simpy": simpy.__version__}), flush=True)
