"""Messages on the wire: packets of at most 1,024 bytes of payload, each with a CRC.

The document gives the widths of most fields and 38 bytes for a message without payload (36 in
one place). Chosen here so that the sum is 38: nodes have 16 bits, and the CRC of a whole
message has 16 bits. The first packet has the header of the message, a sequence number and a
CRC; further packets have 10 bytes before their payload. The last one ends with the CRC of the
message.
"""

from __future__ import annotations

import struct
from binascii import crc_hqx
from dataclasses import dataclass, field, replace
from zlib import crc32

from gnomon.messaging.protocol.descriptor import Descriptor
from gnomon.messaging.protocol.errors import ProtocolError

PAYLOAD_BYTES = 1024
"""Of a packet, at most."""
LARGEST_PART = (1 << 28) - 1
"""Bytes of metadata and of data, at most: sizes have 28 bits."""
# dest, comm, flags, source, user field; then two addresses of 48 and two sizes of 28 bits.
_START = struct.Struct(">HHBHI")
_SEQUENCE_AND_CRC = struct.Struct(">HI")
_FURTHER = struct.Struct(">HHHI")
_ADDRESS_BYTES, _SIZES_BYTES, _MESSAGE_CRC_BYTES = 6, 7, 2
_HEADER_BYTES = _START.size + 2 * _ADDRESS_BYTES + _SIZES_BYTES
_FIRST_BYTES = _HEADER_BYTES + _SEQUENCE_AND_CRC.size
MINIMAL_BYTES = _FIRST_BYTES + _MESSAGE_CRC_BYTES
"""Of a message without payload."""
FURTHER_BYTES = _FURTHER.size
"""Before the payload of each packet but the first."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it comes out at the receiver."""

    descriptor: Descriptor
    metadata: bytes = b""
    data: bytes = b""


def packet_count(payload: int) -> int:
    """Return in how many packets a message with so many bytes of payload goes."""
    return max(-(-payload // PAYLOAD_BYTES), 1)


def wire_bytes(payload: int) -> int:
    """Return how many bytes a message with so many bytes of payload has on the wire."""
    return MINIMAL_BYTES + payload + FURTHER_BYTES * (packet_count(payload) - 1)


def encode(descriptor: Descriptor, metadata: bytes = b"", data: bytes = b"") -> list[bytes]:
    """Return the packets of a message; its destination is a physical node here."""
    for name, size, part in (
        ("metadata", descriptor.metadata_size, metadata),
        ("data", descriptor.data_size, data),
    ):
        if size != len(part):
            raise ProtocolError(
                f"the descriptor says {size} bytes of {name}, but {len(part)} are given."
            )
    header = _header(descriptor)
    payload = metadata + data
    parts = [payload[at : at + PAYLOAD_BYTES] for at in range(0, len(payload), PAYLOAD_BYTES)]
    parts = parts or [b""]
    check = crc_hqx(header + payload, 0xFFFF).to_bytes(_MESSAGE_CRC_BYTES, "big")
    parts[-1] += check
    first = _SEQUENCE_AND_CRC.pack(0, _packet_crc(header, 0, parts[0]))
    packets = [header + first + parts[0]]
    route = header[:4]
    for number, part in enumerate(parts[1:], 1):
        sequence = number & 0xFFFF
        crc = _packet_crc(route, sequence, part)
        packets.append(route + _SEQUENCE_AND_CRC.pack(sequence, crc) + part)
    return packets


def _header(descriptor: Descriptor) -> bytes:
    for name, bits in (
        ("dest_node_id", 16),
        ("src_node_id", 16),
        ("comm_id", 16),
        ("message_flags", 8),
        ("metadata_size", 28),
        ("data_size", 28),
        ("metadata_dest", 48),
        ("data_dest", 48),
    ):
        value = getattr(descriptor, name)
        if value >> bits:
            raise ProtocolError(f"{name} is {value}: on the wire it has {bits} bits.")
    start = _START.pack(
        descriptor.dest_node_id,
        descriptor.comm_id,
        descriptor.message_flags,
        descriptor.src_node_id,
        descriptor.user_field,
    )
    addresses = b"".join(
        address.to_bytes(_ADDRESS_BYTES, "big")
        for address in (descriptor.metadata_dest, descriptor.data_dest)
    )
    sizes = (descriptor.metadata_size << 28 | descriptor.data_size).to_bytes(_SIZES_BYTES, "big")
    return start + addresses + sizes


def _parse_header(content: bytes) -> Descriptor:
    dest, comm, flags, source, user = _START.unpack_from(content)
    at = _START.size
    addresses = [
        int.from_bytes(content[at + i * _ADDRESS_BYTES : at + (i + 1) * _ADDRESS_BYTES], "big")
        for i in range(2)
    ]
    sizes = int.from_bytes(content[at + 2 * _ADDRESS_BYTES : _HEADER_BYTES], "big")
    return Descriptor(
        dest_node_id=dest,
        comm_id=comm,
        src_node_id=source,
        message_flags=flags,
        user_field=user,
        metadata_size=sizes >> 28,
        metadata_dest=addresses[0],
        data_size=sizes & LARGEST_PART,
        data_dest=addresses[1],
    )


def _packet_crc(front: bytes, sequence: int, payload: bytes) -> int:
    return crc32(payload, crc32(front + sequence.to_bytes(2, "big")))


@dataclass(slots=True)
class MessageDecoder:
    """Puts the packets that come over one channel, in order, together to messages again.

    After a `ProtocolError` it waits for the first packet of another message.
    """

    _header: bytes = b""
    _descriptor: Descriptor | None = None
    _payload: bytearray = field(default_factory=bytearray)
    _packets: int = 0

    @property
    def in_progress(self) -> bool:
        """Whether a message has begun that is not complete."""
        return self._descriptor is not None

    def feed(self, packet: bytes) -> Message | None:
        """Take a packet; returns the message that it completes, if it does."""
        try:
            return self._begin(packet) if self._descriptor is None else self._go_on(packet)
        except ProtocolError:
            self._forget()
            raise

    def _begin(self, packet: bytes) -> Message | None:
        if len(packet) < _FIRST_BYTES:
            raise ProtocolError(
                f"a packet of {len(packet)} bytes cannot begin a message: the header is cut off."
            )
        header, payload = packet[:_HEADER_BYTES], packet[_FIRST_BYTES:]
        sequence, crc = _SEQUENCE_AND_CRC.unpack_from(packet, _HEADER_BYTES)
        if crc != _packet_crc(header, sequence, payload):
            raise ProtocolError("a packet is damaged: its CRC does not match.")
        if sequence != 0:
            raise ProtocolError(f"packet {sequence} came where a message should begin.")
        self._header, self._descriptor, self._packets = header, _parse_header(header), 0
        return self._take(payload)

    def _go_on(self, packet: bytes) -> Message | None:
        if len(packet) < FURTHER_BYTES:
            raise ProtocolError(f"a packet of {len(packet)} bytes has no complete header.")
        sequence, crc = _SEQUENCE_AND_CRC.unpack_from(packet, 4)
        payload = packet[FURTHER_BYTES:]
        if crc != _packet_crc(packet[:4], sequence, payload):
            raise ProtocolError("a packet is damaged: its CRC does not match.")
        if packet[:4] != self._header[:4]:
            raise ProtocolError("a packet of another message came before this one was complete.")
        if sequence != self._packets & 0xFFFF:
            raise ProtocolError(
                f"packet {sequence} came where {self._packets & 0xFFFF} was expected: "
                "one is lost or twice there."
            )
        return self._take(payload)

    def _take(self, payload: bytes) -> Message | None:
        assert self._descriptor is not None
        wanted = self._descriptor.metadata_size + self._descriptor.data_size
        rest = wanted - len(self._payload)
        last = rest <= PAYLOAD_BYTES
        expected = rest + _MESSAGE_CRC_BYTES if last else PAYLOAD_BYTES
        if len(payload) != expected:
            raise ProtocolError(
                f"a packet has {len(payload)} bytes of payload where {expected} were expected."
            )
        self._packets += 1
        if not last:
            self._payload += payload
            return None
        self._payload += payload[:-_MESSAGE_CRC_BYTES]
        check = int.from_bytes(payload[-_MESSAGE_CRC_BYTES:], "big")
        if check != crc_hqx(self._header + bytes(self._payload), 0xFFFF):
            raise ProtocolError("a message is damaged: its CRC does not match.")
        split = self._descriptor.metadata_size
        content = bytes(self._payload)
        message = Message(replace(self._descriptor), content[:split], content[split:])
        self._forget()
        return message

    def _forget(self) -> None:
        self._header, self._descriptor, self._payload, self._packets = b"", None, bytearray(), 0
