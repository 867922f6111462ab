"""An image as a PNG file of grey levels."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gnomon.recording._files import replacing, write_error


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Return grey levels as the bytes of a PNG file."""
    height, width = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels], axis=1)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_part(name, content) for name, content in parts)


def _part(name: bytes, content: bytes) -> bytes:
    check = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)


def write_png(pixels: NDArray[np.uint8], path: Path) -> None:
    """Write a PNG file, whole or not at all."""
    try:
        with replacing(path) as temporary:
            temporary.write_bytes(png(pixels))
    except OSError as error:
        raise write_error(path, error) from None
