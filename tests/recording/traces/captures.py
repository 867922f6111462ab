"""Captures of networks made by hand, and the obvious twin of the decoder."""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Made:
    """A frame, and what a decoder should say of it."""

    data: bytes
    fields: dict[str, Any]


MAC = bytes.fromhex("020000000001") + bytes.fromhex("020000000002")


def frame(kind: str, ends: tuple[int, int], ports: tuple[int, int], number: int, vlan: int) -> Made:
    """Return a frame of a kind: tcp, udp, roce, icmp, other, arp, fragment, all over IPv4 or 6."""
    six = kind.endswith("6")
    kind = kind.removesuffix("6")
    fields: dict[str, Any] = {"type": 67 if six else 66}
    body, protocol = b"rest", 99
    if kind in ("tcp", "fragment"):
        fields |= {"sport": ports[0], "dport": ports[1], "seq": number, "ack": number ^ 0xFFFF}
        fields |= {"flags": number & 0xFF, "win": number & 0x7FFF, "type": 68}
        body = struct.pack(
            "!HHIIBBHHH",
            *ports,
            number,
            number ^ 0xFFFF,
            0x50,
            number & 0xFF,
            number & 0x7FFF,
            0,
            0,
        )
        protocol = 6
    elif kind in ("udp", "roce"):
        to = 4791 if kind == "roce" else ports[1] if ports[1] != 4791 else 4790
        body = struct.pack("!HHHH", ports[0], to, 12, 0)
        fields |= {"sport": ports[0], "dport": to, "type": 69}
        if kind == "roce":
            psn, pair = number & 0xFFFFFF, number >> 8 & 0xFFFFFF
            body += struct.pack("!BBHII", number & 0xFF, 0, 0xFFFF, pair, psn)
            fields |= {"type": 71, "opcode": number & 0xFF, "seq": psn, "qp": pair}
        protocol = 17
    elif kind == "icmp":
        body, protocol = bytes((number & 0xFF, 0, 0, 0)), 58 if six else 1
        fields |= {"type": 70, "opcode": number & 0xFF}
    fields["protocol"] = protocol
    if kind == "arp":
        packet, ether = bytes(28), 0x0806
        fields = {"type": 65, "source": "02:00:00:00:00:02", "destination": "02:00:00:00:00:01"}
    elif six:
        hosts = [ipaddress.IPv6Address(0x20010DB8 << 96 | each) for each in ends]
        extension = struct.pack("!BBHI", protocol, 0, 8 if kind == "fragment" else 0, 1)
        packet = struct.pack("!IHBB", 6 << 28, len(body) + 8, 44, 64)
        packet += hosts[0].packed + hosts[1].packed + extension + body
        ether = 0x86DD
        fields |= {"source": str(hosts[0]), "destination": str(hosts[1])}
    else:
        four = [ipaddress.IPv4Address(0x0A000000 | each) for each in ends]
        offset = 5 if kind == "fragment" else 0
        packet = struct.pack("!BBHHHBBH", 0x46, 0, 24 + len(body), 1, offset, 64, protocol, 0)
        packet += four[0].packed + four[1].packed + bytes(4) + body
        ether = 0x0800
        fields |= {"source": str(four[0]), "destination": str(four[1])}
    if kind == "fragment":  # the headers are in the first fragment, and this is a later one
        fields = {k: fields[k] for k in ("source", "destination", "protocol")}
        fields["type"] = 67 if six else 66
    fields["ethertype"] = ether
    tag = b"" if not vlan else struct.pack("!HH", 0x8100, vlan)
    if vlan:
        fields["vlan"] = vlan
    return Made(MAC + tag + struct.pack("!H", ether) + packet, fields)


_OVER_IP = ("tcp", "udp", "roce", "icmp", "other", "fragment")
KINDS = (*_OVER_IP, *(f"{kind}6" for kind in _OVER_IP), "arp")


def pcap(frames: list[tuple[int, bytes]], order: str = "<", nano: bool = True) -> bytes:
    """Return a pcap file of frames with their times in ns."""
    out = struct.pack(f"{order}IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for time, data in frames:
        part = time % 10**9 if nano else time % 10**9 // 1000
        out += struct.pack(f"{order}IIII", time // 10**9, part, len(data), len(data) + 3) + data
    return out


def pcapng(frames: list[tuple[int, bytes]], order: str = "<", name: bytes = b"eth0") -> bytes:
    """Return a pcapng file: a section, an interface that counts ns, packets, and blocks between."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        size = 12 + len(body)
        return struct.pack(f"{order}II", kind, size) + body + struct.pack(f"{order}I", size)

    def option(code: int, value: bytes) -> bytes:
        return struct.pack(f"{order}HH", code, len(value)) + value + bytes(-len(value) % 4)

    out = block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))
    options = option(2, name) + option(9, b"\x09") + option(0, b"")
    out += block(1, struct.pack(f"{order}HHI", 1, 0, 65535) + options)
    for time, data in frames:
        head = struct.pack(f"{order}IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(data), len(data))
        out += block(6, head + data) + block(0x0BAD, b"unknown blocks are skipped")
    return out
