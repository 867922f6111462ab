"""What records there are, which fields each kind has, and in which columns they are kept.

A segment has nine columns for every record, and those columns beside them that its records need: so
packets of SCI, of networks and events of programs stand in one store. A field belongs to types of
records; other types do not have it, which is not the same as zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

CLASSES = 4
"""How many classes of records an overview tells apart."""
FIRST_NETWORK, FIRST_EVENT = 64, 128


@dataclass(frozen=True, slots=True)
class Type:
    """A type of records; `overview` is its class in overviews."""

    number: int
    name: str
    family: str
    overview: int


@dataclass(frozen=True, slots=True)
class Column:
    """Where a field is kept; `kind` is its type in memory, `d8` for payloads.

    `names` holds numbers of texts. `missing` is the value of records that lack theirs.
    """

    name: str
    kind: str
    types: frozenset[int]
    title: str
    names: bool = False
    missing: int | None = None


_LENGTHS = (0, 16, 64, 256)
_SENDS = (
    (1, "request-send, extended header", 0),
    (5, "request-send", 0),
    (10, "response-send, extended header", 1),
    (14, "response-send", 1),
    (21, "Blink request-send, extended header", 0),
    (25, "Blink request-send", 0),
    (29, "Blink response-send, extended header", 1),
    (33, "Blink response-send", 1),
)
TYPES: tuple[Type, ...] = (
    *(
        Type(first + at, f"{name}, {size} B", "sci", kind)
        for first, name, kind in _SENDS
        for at, size in enumerate(_LENGTHS)
    ),
    Type(9, "request-echo", "sci", 2),
    Type(18, "response-echo", "sci", 2),
    Type(19, "idle symbols", "sci", 3),
    Type(20, "sync packet", "sci", 3),
    Type(64, "frame", "network", 3),
    Type(65, "ARP", "network", 3),
    Type(66, "IPv4", "network", 3),
    Type(67, "IPv6", "network", 3),
    Type(68, "TCP", "network", 0),
    Type(69, "UDP", "network", 1),
    Type(70, "ICMP", "network", 3),
    Type(71, "RoCE", "network", 2),
    Type(72, "cut short", "network", 3),
    Type(128, "event", "event", 0),
    Type(129, "enter", "event", 1),
    Type(130, "leave", "event", 1),
    Type(131, "send", "event", 2),
    Type(132, "receive", "event", 2),
)
"""The 36 types of SCI as the documents number them, frames of networks, and events of programs."""

OVERVIEWS: dict[str, tuple[str, ...]] = {
    "sci": ("request", "response", "echo", "other"),
    "network": ("TCP", "UDP", "RoCE", "other"),
    "event": ("event", "enter and leave", "send and receive", "other"),
}
"""What the classes of an overview are called, by family."""


def _of(*families: str) -> frozenset[int]:
    return frozenset(each.number for each in TYPES if each.family in families)


SCI = _of("sci")
NETWORK = _of("network")
EVENTS = _of("event")
REQUESTS = frozenset((*range(1, 9), *range(21, 29)))
RESPONSES = frozenset((*range(10, 18), *range(29, 37)))
ECHOES = frozenset((9, 18))
SENDS = REQUESTS | RESPONSES
EXTENDED = frozenset(n for first in (1, 10, 21, 29) for n in range(first, first + 4))
WITH_DATA = frozenset(n for first, _, _ in _SENDS for n in range(first + 1, first + 4))
TCP, UDP, ICMP, ROCE = (frozenset((number,)) for number in (68, 69, 70, 71))
PORTS = TCP | UDP | ROCE
IP = frozenset((66, 67, 68, 69, 70, 71))
MESSAGES = frozenset((131, 132))
BUSY = 1
"""The bit of `flags` by which an echo says that its packet was refused and must be sent again."""
NO_NUMBER = 2**32 - 1
NO_VALUE = 2**64 - 1
ALL = SCI | NETWORK | EVENTS

FIXED: tuple[Column, ...] = (
    Column("time", "i8", ALL, "ns on the clock of the trace"),
    Column("lc", "u2", ALL, "where it was seen: link controller, interface, CPU, location"),
    Column("type", "u1", ALL, "type of record"),
    Column(
        "flags",
        "u1",
        SCI | TCP,
        "SCI: bit 0 of an echo is busy; TCP: its flags",
    ),
    Column(
        "src", "u2", SENDS | ECHOES | NETWORK | MESSAGES, "sender; of an echo, of what it answers"
    ),
    Column(
        "dst", "u2", SENDS | ECHOES | NETWORK | MESSAGES, "receiver; of an echo, of what it answers"
    ),
    Column("tx", "u1", SENDS | ECHOES, "transaction id"),
    Column("addr", "u8", SENDS | EVENTS, "address offset; of an event, the instruction"),
    Column("dt", "u4", SENDS | ECHOES, "since its transaction began"),
)
"""What every segment has, in this order."""

EXTRA: tuple[Column, ...] = (
    Column("idles", "u4", SENDS | ECHOES, "idle symbols before it"),
    Column("flow", "u2", SENDS | ECHOES, "flow control"),
    Column("control", "u2", SENDS, "control symbol"),
    Column("extended", "u8", EXTENDED, "first 8 bytes of the extended header"),
    Column("crc", "u2", SENDS | ECHOES, "check of the packet"),
    Column("source", "u4", NETWORK, "address of the sender", names=True, missing=0),
    Column("destination", "u4", NETWORK, "address of the receiver", names=True, missing=0),
    Column("length", "u4", NETWORK | MESSAGES, "bytes on the wire", missing=NO_NUMBER),
    Column("ethertype", "u2", NETWORK, "type of an Ethernet frame"),
    Column("vlan", "u2", NETWORK, "VLAN", missing=0),
    Column("protocol", "u1", IP, "protocol above IP"),
    Column("sport", "u2", PORTS, "port of the sender"),
    Column("dport", "u2", PORTS, "port of the receiver"),
    Column("seq", "u4", TCP | ROCE, "sequence number"),
    Column("ack", "u4", TCP, "acknowledgement number"),
    Column("win", "u2", TCP, "window, not scaled"),
    Column("opcode", "u1", ICMP | ROCE, "operation"),
    Column("qp", "u4", ROCE, "queue pair of the receiver"),
    Column("event", "u4", EVENTS, "name of the event or function", names=True, missing=0),
    Column("process", "u4", EVENTS, "name of the process", names=True, missing=0),
    Column("pid", "u4", EVENTS, "process", missing=NO_NUMBER),
    Column("tid", "u4", EVENTS, "thread", missing=NO_NUMBER),
    Column("value", "u8", EVENTS, "what was counted since the last one", missing=NO_VALUE),
    Column("symbol", "u4", EVENTS, "function of the instruction", names=True, missing=0),
)
"""What a segment has where its records need it."""

PAYLOAD = Column("payload", "d8", ALL, "the bytes of the packet, or the text of the event")
COLUMNS = {each.name: each for each in (*FIXED, *EXTRA, PAYLOAD)}
TYPE_NAMES = {each.number: each.name for each in TYPES}
FAMILIES = {each.number: each.family for each in TYPES}


@cache
def class_table() -> bytes:
    """Return the class of each of the 256 types, 3 for those that are not known."""
    table = bytearray([CLASSES - 1] * 256)
    for each in TYPES:
        table[each.number] = each.overview
    return bytes(table)
