"""Reports: one HTML file that needs nothing else, to read on a screen, in the dark, or on paper."""

from __future__ import annotations

from gnomon.views.report.page import Cell, DataTable, Figure, Section, render_page, write_page

__all__ = ["Cell", "DataTable", "Figure", "Section", "render_page", "write_page"]
