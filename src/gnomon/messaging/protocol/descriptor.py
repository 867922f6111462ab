"""The descriptor that software and network interface exchange, at both ends (L443 to L470)."""

from __future__ import annotations

import struct
from dataclasses import astuple, dataclass, fields, replace
from enum import IntEnum

from gnomon.messaging.protocol.errors import ProtocolError

_LAYOUT = struct.Struct("<6I5Q")
_DOORBELL_BIT, _CACHE_BIT = 0x01, 0x02


class Doorbell(IntEnum):
    """Whether a message wakes a thread where it arrives."""

    POLL = 0
    WAKE = 1


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A message to be sent, or one that has come; 64 bytes in memory.

    Addresses named `_src` are the sender's, those named `_dest` the receiver's. Where a
    message comes from is filled in by the network interface; at the receiver `_src`
    addresses are zero.
    """

    dest_node_id: int = 0
    comm_id: int = 0
    src_node_id: int = 0
    message_flags: int = 0
    user_field: int = 0
    metadata_size: int = 0
    metadata_src: int = 0
    metadata_dest: int = 0
    data_size: int = 0
    data_src: int = 0
    data_dest: int = 0

    def __post_init__(self) -> None:
        for field, limit in zip(fields(self), (32,) * 6 + (64,) * 5, strict=True):
            value = getattr(self, field.name)
            if not 0 <= value < 1 << limit:
                raise ProtocolError(
                    f"{field.name} of a message is {value}: it has {limit} bits without a sign."
                )

    @property
    def doorbell(self) -> Doorbell:
        """Whether it is to wake a thread."""
        return Doorbell.WAKE if self.message_flags & _DOORBELL_BIT else Doorbell.POLL

    @property
    def cache_hint(self) -> bool:
        """Whether its sender wants it in the receiver's cache."""
        return bool(self.message_flags & _CACHE_BIT)

    def flagged(self, doorbell: Doorbell, *, cache_hint: bool = True) -> Descriptor:
        """Return the descriptor with these flags."""
        flags = (_DOORBELL_BIT if doorbell is Doorbell.WAKE else 0) | (
            _CACHE_BIT if cache_hint else 0
        )
        return replace(self, message_flags=flags)

    def pack(self) -> bytes:
        """Return the descriptor as it stands in memory."""
        return _LAYOUT.pack(*astuple(self))

    @classmethod
    def unpack(cls, content: bytes) -> Descriptor:
        """Return the descriptor that stands in these bytes."""
        if len(content) != _LAYOUT.size:
            raise ProtocolError(f"a descriptor has {_LAYOUT.size} bytes, not {len(content)}.")
        return cls(*_LAYOUT.unpack(content))


DESCRIPTOR_BYTES = _LAYOUT.size
