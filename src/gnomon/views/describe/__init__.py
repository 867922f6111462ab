"""How each kind of result looks: one module per kind, found by its name.

`describe(result)` yields the blocks of a result from the result alone. The modules of other
kinds are not imported. A plugin names its own `describe` as an entry point of the group
`gnomon.describe`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from gnomon.errors import NotSupportedError
from gnomon.result import KINDS
from gnomon.views.blocks import Block

Describe = Callable[[Any], Iterator[Block]]  # Any: the result of that kind


@cache
def describer(kind: str) -> Describe:
    """Return what describes the results of a kind: ours, or a plugin's."""
    if kind in KINDS:
        describe: Describe = import_module(f"{__name__}.{kind.replace('-', '_')}").describe
        return describe
    from gnomon import plugins

    found: Describe | None = plugins.load("describe", kind, "description of results")
    if found is None:
        raise NotSupportedError(
            f"there is no description of results of kind '{kind}': "
            "install the package that made it."
        )
    return found
