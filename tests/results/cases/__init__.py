"""Results of every kind, made from known numbers: one module per kind, with four functions.

    small() -> Result                 as users see it, with something of everything
    empty() -> Result                 as little as there can be: no rows, no runs, nothing found
    hostile(text: str) -> Result      `text` wherever the result has a name or a sentence
    huge(rows: int) -> Result         so many rows (of what there can be many of)

The name of a module is its kind, with `_` for `-`. tests/results/test_conformance.py finds
them by the registry in gnomon/result.py.
"""
