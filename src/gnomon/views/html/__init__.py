"""Blocks as HTML: `render` writes a page, `fragment` what a notebook shows.

A page is one file that is complete without its script: charts are SVG written here, tables and
findings are text. The script adds sorting, search, zoom and keys.
"""

from __future__ import annotations

from .page import Told, fragment, render

__all__ = ["Told", "fragment", "render"]
