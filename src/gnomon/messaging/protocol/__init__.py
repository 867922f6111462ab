"""The wire protocol of user-level messages: descriptors, packets, and who may write where.

The sender names the address at the receiver, so that nothing is copied on the way.
"""

from gnomon.messaging.protocol.connections import Connection, ConnectionTable
from gnomon.messaging.protocol.descriptor import Descriptor, Doorbell
from gnomon.messaging.protocol.errors import ProtectionError, ProtocolError
from gnomon.messaging.protocol.packets import (
    MINIMAL_BYTES,
    PAYLOAD_BYTES,
    Message,
    MessageDecoder,
    encode,
    wire_bytes,
)

__all__ = [
    "MINIMAL_BYTES",
    "PAYLOAD_BYTES",
    "Connection",
    "ConnectionTable",
    "Descriptor",
    "Doorbell",
    "Message",
    "MessageDecoder",
    "ProtectionError",
    "ProtocolError",
    "encode",
    "wire_bytes",
]
