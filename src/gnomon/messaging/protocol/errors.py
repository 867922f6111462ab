"""What can be wrong with a message."""

from __future__ import annotations

from gnomon.errors import GnomonError


class ProtocolError(GnomonError):
    """Bytes that are no message, or a message that does not fit the wire."""


class ProtectionError(ProtocolError):
    """A message to or from where its sender has no right to write or read."""
