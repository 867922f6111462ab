"""How results come to be seen in notebooks, which is for the views to decide."""

from __future__ import annotations

from importlib import import_module

_VIEW = "gnomon.views.report.fragment"
"""Named rather than imported: a result works without any view, and views import results."""


class Shown:
    """A result that a notebook shows as a piece of HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = import_module(_VIEW).fragment_of(self)
        return html
