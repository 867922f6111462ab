"""Which process may be written to, from where, and in which bounds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gnomon.messaging.protocol.descriptor import Descriptor
from gnomon.messaging.protocol.errors import ProtectionError


@dataclass(frozen=True, slots=True)
class Connection:
    """An entry that the system sets up and user code cannot reach.

    `nodes` are the physical nodes of the job in the order of their virtual numbers. Memory
    from `base` to before `bounds` may be written to. With `inject` cleared no message goes
    into the cache.
    """

    comm_id: int
    context: int
    base: int
    bounds: int
    nodes: tuple[int, ...]
    inject: bool = True


@dataclass(slots=True)
class ConnectionTable:
    """The connections of one network interface."""

    node: int
    _entries: dict[int, Connection] = field(default_factory=dict)

    def add(self, connection: Connection) -> None:
        """Set a connection up."""
        if not 0 <= connection.comm_id < 1 << 16:
            raise ProtectionError(f"connection {connection.comm_id} has no number of 16 bits.")
        if connection.comm_id in self._entries:
            raise ProtectionError(f"connection {connection.comm_id} is there already.")
        if not 0 <= connection.base <= connection.bounds < 1 << 48:
            raise ProtectionError("the bounds of a connection are no range of addresses.")
        if self.node not in connection.nodes:
            raise ProtectionError(f"node {self.node} has no part in that connection.")
        self._entries[connection.comm_id] = connection

    def remove(self, comm_id: int) -> None:
        """Take a connection away; messages that still come for it are refused."""
        self.find(comm_id)
        del self._entries[comm_id]

    def allow_injection(self, comm_id: int, *, allowed: bool) -> None:
        """Set or clear the bit with which the system keeps messages out of the cache."""
        self._entries[comm_id] = replace(self.find(comm_id), inject=allowed)

    def find(self, comm_id: int) -> Connection:
        """Return a connection by its number."""
        found = self._entries.get(comm_id)
        if found is None:
            raise ProtectionError(
                f"node {self.node} has no connection {comm_id}: establish communication first."
            )
        return found

    def outgoing(self, descriptor: Descriptor) -> Descriptor:
        """Check a message to be sent; returns it with the physical destination and its source."""
        connection = self.find(descriptor.comm_id)
        if descriptor.dest_node_id >= len(connection.nodes):
            raise ProtectionError(
                f"there is no node {descriptor.dest_node_id} in connection {descriptor.comm_id}: "
                f"it has {len(connection.nodes)}, counted from 0."
            )
        return replace(
            descriptor,
            dest_node_id=connection.nodes[descriptor.dest_node_id],
            src_node_id=connection.nodes.index(self.node),
        )

    def check_local(self, descriptor: Descriptor) -> None:
        """Check the addresses from which a message is to be fetched."""
        connection = self.find(descriptor.comm_id)
        _check_range(connection, "metadata_src", descriptor.metadata_src, descriptor.metadata_size)
        _check_range(connection, "data_src", descriptor.data_src, descriptor.data_size)

    def incoming(self, descriptor: Descriptor) -> tuple[Connection, Descriptor]:
        """Check a message that has come; returns its connection and the descriptor to deliver."""
        if descriptor.dest_node_id != self.node:
            raise ProtectionError(
                f"a message for node {descriptor.dest_node_id} came to node {self.node}."
            )
        connection = self.find(descriptor.comm_id)
        if descriptor.src_node_id >= len(connection.nodes):
            raise ProtectionError(
                f"a message of node {descriptor.src_node_id} came, which is not in the connection."
            )
        for name in ("metadata", "data"):
            start, size = getattr(descriptor, f"{name}_dest"), getattr(descriptor, f"{name}_size")
            _check_range(connection, f"{name}_dest", start, size)
        here = connection.nodes.index(self.node)
        return connection, replace(descriptor, dest_node_id=here, metadata_src=0, data_src=0)


def _check_range(connection: Connection, name: str, start: int, size: int) -> None:
    if size and not connection.base <= start <= start + size <= connection.bounds:
        raise ProtectionError(
            f"{name} names {size} bytes at {start:#x}, outside of what the connection may use: "
            f"{connection.base:#x} to {connection.bounds:#x}."
        )
