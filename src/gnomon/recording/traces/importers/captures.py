"""Captures of networks: pcap and pcapng, decoded down to ports by a compiled kernel."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from io import BufferedReader
from typing import TYPE_CHECKING

from gnomon.recording.traces.folder import Interface
from gnomon.recording.traces.types import COLUMNS
from gnomon.recording.traces.writer import Batch

if TYPE_CHECKING:
    from gnomon.recording.traces.importers import Reading

TITLE = "a capture of tcpdump, Wireshark or dumpcap (pcap, pcapng)"
_MAGIC = ("a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1", "0a0d0d0a")
_PIECE = 1 << 22


def sniff(head: bytes) -> bool:
    """Whether a file begins as captures do."""
    return head[:4].hex() in _MAGIC


def read(stream: BufferedReader, reading: Reading) -> Iterator[Batch]:
    """Yield the packets of a capture."""
    import numpy as np

    from gnomon._native import CaptureDecoder

    decoder = CaptureDecoder()
    numbers = np.zeros(1, "u4")  # of addresses among the names of the trace, by the decoder's

    def taken() -> Batch:
        nonlocal numbers
        new = [address_text(each) for each in decoder.addresses(len(numbers) - 1)]
        if new:
            more = np.array(reading.numbers(new), "u4")
            numbers = np.concatenate([numbers, more])
        found = decoder.take()
        payload = found.pop("payload")
        ends = np.frombuffer(found.pop("ends"), "u8")
        columns = {name: np.frombuffer(v, COLUMNS[name].kind) for name, v in found.items()}
        for name, short in (("source", "src"), ("destination", "dst")):
            columns[name] = numbers[columns[name]]
            columns[short] = np.minimum(columns[name], 65535).astype("u2")
        return Batch(columns, ends, payload)

    damage = ""
    while not damage and (piece := stream.read1(_PIECE)):
        try:
            decoder.feed(piece)
        except ValueError as error:
            damage = str(error)
        if decoder.decoded:
            yield taken()
    reading.interfaces += [
        Interface(name.decode("utf-8", "replace") or f"interface {at}", link)
        for at, (name, link) in enumerate(decoder.interfaces)
    ]
    if not damage and not decoder.begun:
        damage = "it ends within its header"
    if not damage and decoder.pending:
        damage = f"it ends within packet {decoder.decoded + 1:,}"
    if decoder.untimed:
        reading.notes.append(
            f"{decoder.untimed:,} packets have no time: they have that of the one before."
        )
    if damage:
        raise reading.damaged(damage)


def address_text(address: bytes) -> str:
    """Return an address as people write it: IPv4, IPv6 or MAC."""
    if address[0] == 4:
        return str(ipaddress.IPv4Address(address[1:5]))
    if address[0] == 6:
        return str(ipaddress.IPv6Address(address[1:17]))
    return ":".join(f"{byte:02x}" for byte in address[1:7])
