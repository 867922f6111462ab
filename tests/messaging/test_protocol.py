"""Messages come out as they went in; whatever else comes in raises the declared error alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnomon.messaging.protocol import (
    MINIMAL_BYTES,
    Connection,
    ConnectionTable,
    Descriptor,
    Doorbell,
    Message,
    MessageDecoder,
    ProtectionError,
    ProtocolError,
    encode,
    packet_count,
    wire_bytes,
)

parts = st.binary(max_size=3000)


@st.composite
def messages(draw: st.DrawFn) -> Message:
    metadata, data = draw(parts), draw(parts)
    bits = {
        name: draw(st.integers(0, (1 << width) - 1))
        for name, width in (
            ("dest_node_id", 16),
            ("src_node_id", 16),
            ("comm_id", 16),
            ("message_flags", 8),
            ("user_field", 32),
            ("metadata_dest", 48),
            ("data_dest", 48),
        )
    }
    descriptor = Descriptor(**bits, metadata_size=len(metadata), data_size=len(data))
    return Message(descriptor, metadata, data)


def decoded(packets: list[bytes]) -> Message | None:
    decoder = MessageDecoder()
    for packet in packets[:-1]:
        assert decoder.feed(packet) is None
        assert decoder.in_progress
    return decoder.feed(packets[-1])


@given(messages())
def test_messages_come_out_as_they_went_in(message: Message) -> None:
    packets = encode(message.descriptor, message.metadata, message.data)
    payload = len(message.metadata) + len(message.data)
    assert decoded(packets) == message
    assert len(packets) == packet_count(payload)
    assert sum(map(len, packets)) == wire_bytes(payload)
    assert all(len(packet) <= 1034 for packet in packets[1:-1])


def test_sizes_on_the_wire() -> None:
    assert MINIMAL_BYTES == wire_bytes(0) == 38
    assert sum(map(len, encode(Descriptor()))) == 38
    assert wire_bytes(1024) == 38 + 1024
    assert wire_bytes(1025) == 38 + 1025 + 10
    assert wire_bytes(3472) == 3540  # four packets; the document says three


@given(messages(), st.data())
def test_a_damaged_packet_is_found(message: Message, data: st.DataObject) -> None:
    packets = encode(message.descriptor, message.metadata, message.data)
    which = data.draw(st.integers(0, len(packets) - 1))
    at = data.draw(st.integers(0, len(packets[which]) - 1))
    flip = data.draw(st.integers(1, 255))
    damaged = bytearray(packets[which])
    damaged[at] ^= flip
    packets[which] = bytes(damaged)
    with pytest.raises(ProtocolError):
        decoded(packets)


@given(st.lists(st.binary(max_size=1100), max_size=6))
@example([b""])
@example([b"\0" * 38])
def test_whatever_comes_raises_the_declared_error_alone(stream: list[bytes]) -> None:
    decoder = MessageDecoder()
    for packet in stream:
        try:
            decoder.feed(packet)
        except ProtocolError:
            assert not decoder.in_progress


@given(messages(), st.lists(st.sampled_from("dslx"), max_size=5))
def test_packets_lost_doubled_or_cut_raise_the_declared_error_alone(
    message: Message, changes: list[str]
) -> None:
    packets = encode(message.descriptor, message.metadata, message.data)
    for number, change in enumerate(changes):
        at = number % len(packets)
        if change == "d":
            packets.insert(at, packets[at])
        elif change == "l" and len(packets) > 1:
            del packets[at]
        elif change == "s":
            packets.reverse()
        else:
            packets[at] = packets[at][: len(packets[at]) // 2]
    decoder = MessageDecoder()
    for packet in packets:
        try:
            found = decoder.feed(packet)
        except ProtocolError:
            continue
        assert found is None or found == message


def test_after_an_error_the_next_message_is_taken() -> None:
    decoder = MessageDecoder()
    long = encode(Descriptor(data_size=2000), b"", bytes(2000))
    decoder.feed(long[0])
    with pytest.raises(ProtocolError, match="expected"):
        decoder.feed(encode(Descriptor(data_size=5000), b"", bytes(5000))[3])
    assert decoder.feed(encode(Descriptor(user_field=7))[0]) is not None


@given(st.binary(min_size=64, max_size=64))
def test_descriptors_stand_in_64_bytes(content: bytes) -> None:
    found = Descriptor.unpack(content)
    assert found.pack() == content


def test_descriptors_that_do_not_fit() -> None:
    with pytest.raises(ProtocolError, match="64 bytes, not 3"):
        Descriptor.unpack(b"abc")
    with pytest.raises(ProtocolError, match="32 bits"):
        Descriptor(dest_node_id=1 << 32)
    with pytest.raises(ProtocolError, match="without a sign"):
        Descriptor(data_size=-1)
    with pytest.raises(ProtocolError, match="28 bits"):
        encode(replace(Descriptor(), dest_node_id=1 << 16 - 1, data_size=1 << 28), b"", _Huge())
    with pytest.raises(ProtocolError, match="says 5 bytes of data, but 0"):
        encode(Descriptor(data_size=5))


class _Huge(bytes):
    """Says that it is larger than the wire allows, without being so."""

    def __len__(self) -> int:
        return 1 << 28


def test_flags() -> None:
    woken = Descriptor().flagged(Doorbell.WAKE, cache_hint=False)
    assert (woken.doorbell, woken.cache_hint) == (Doorbell.WAKE, False)
    polled = woken.flagged(Doorbell.POLL)
    assert (polled.doorbell, polled.cache_hint) == (Doorbell.POLL, True)


@pytest.fixture
def table() -> ConnectionTable:
    made = ConnectionTable(node=9)
    made.add(Connection(1, context=0, base=0x1000, bounds=0x2000, nodes=(4, 9)))
    return made


def test_node_numbers_are_virtual(table: ConnectionTable) -> None:
    out = table.outgoing(Descriptor(comm_id=1, dest_node_id=0))
    assert (out.dest_node_id, out.src_node_id) == (4, 1)
    _, came = table.incoming(
        Descriptor(comm_id=1, dest_node_id=9, src_node_id=0, data_size=16, data_dest=0x1FF0)
    )
    assert (came.dest_node_id, came.src_node_id, came.data_src) == (1, 0, 0)


@pytest.mark.parametrize(
    ("descriptor", "said"),
    [
        (Descriptor(comm_id=2, dest_node_id=9), "no connection 2"),
        (Descriptor(comm_id=1, dest_node_id=4), "for node 4 came to node 9"),
        (Descriptor(comm_id=1, dest_node_id=9, src_node_id=2), "not in the connection"),
        (Descriptor(comm_id=1, dest_node_id=9, data_size=1, data_dest=0x2000), "outside"),
        (Descriptor(comm_id=1, dest_node_id=9, metadata_size=1, metadata_dest=0xFFF), "outside"),
        (Descriptor(comm_id=1, dest_node_id=9, data_size=2, data_dest=2**64 - 1), "outside"),
    ],
)
def test_messages_that_may_not_come_in(
    table: ConnectionTable, descriptor: Descriptor, said: str
) -> None:
    with pytest.raises(ProtectionError, match=said):
        table.incoming(descriptor)


def test_messages_that_may_not_go_out(table: ConnectionTable) -> None:
    with pytest.raises(ProtectionError, match="no node 2 in connection 1"):
        table.outgoing(Descriptor(comm_id=1, dest_node_id=2))
    with pytest.raises(ProtectionError, match="data_src"):
        table.check_local(Descriptor(comm_id=1, data_size=8, data_src=0x10))


def test_connections_that_cannot_be_set_up(table: ConnectionTable) -> None:
    for connection, said in (
        (Connection(1, 0, 0, 0, (9,)), "already"),
        (Connection(1 << 16, 0, 0, 0, (9,)), "16 bits"),
        (Connection(3, 0, 5, 4, (9,)), "no range"),
        (Connection(3, 0, 4, 5, (1, 2)), "no part"),
    ):
        with pytest.raises(ProtectionError, match=said):
            table.add(connection)
    table.allow_injection(1, allowed=False)
    assert not table.find(1).inject
    table.remove(1)
    with pytest.raises(ProtectionError):
        table.remove(1)
