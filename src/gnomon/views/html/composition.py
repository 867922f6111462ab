"""A bar that sums to a whole, with a legend that has every figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnomon import units
from gnomon.views.blocks import Composition, Part

from .markup import element, escape, glued, plain

STATES = frozenset(
    [
        "user",
        "system",
        "runnable",
        "disk",
        "network",
        "pagefault",
        "lock",
        "thread",
        "child",
        "pipe",
        "sleep",
        "other",
    ]
)
"""Where time goes: each has a colour of that name in the style sheet, which nothing else has."""
_FAMILIES = {
    "condition": "thread", "join": "thread", "barrier": "thread", "semaphore": "thread",
    "gil": "lock", "stopped": "other", "spin": "user", "spinning": "user",
}  # fmt: skip
_PALE = {"lock", "thread", "child", "pipe", "sleep"}  # wait for somebody else or on purpose
_HATCHED = {"spin", "spinning"}  # on a CPU, yet not computing


def composition(block: Composition) -> str:
    """Return the bar, brackets under what cannot be told apart, and the legend."""
    if not block.parts or block.whole <= 0:
        return ""
    label = "; ".join(_words(part, block) for part in block.parts)
    if block.caption:
        label = f"{block.caption.rstrip('.')}: {label}"
    segments = "".join(_segments(block.parts, block))
    bar = element("div", segments, class_="comp", role="img", aria_label=label)
    caption = f'<p class="comp-title">{escape(glued(block.caption))}</p>' if block.caption else ""
    return f"{caption}{bar}{_brackets(block)}{_legend(block)}"


def _words(part: Part, block: Composition) -> str:
    return f"{part.name} {_share(part.value, block)}"


def _share(value: float, block: Composition) -> str:
    return units.number(value / block.whole, "%")


def _looks(part: Part, parent: str = "") -> tuple[str, str]:
    """Return the token of the colour and the classes of a part."""
    tone = part.tone.lower() or parent
    family = _FAMILIES.get(tone, tone)
    if family not in STATES:
        family = _FAMILIES.get(parent, parent) if parent in STATES else "other"
    classes = " ".join(filter(None, ("pale" * (family in _PALE), "hatched" * (tone in _HATCHED))))
    return family, classes


def _segments(parts: Sequence[Part], block: Composition, parent: str = "") -> Iterator[str]:
    for part in parts:
        if part.value <= 0:
            continue
        family, classes = _looks(part, parent)
        style = f"--w:{plain(100 * part.value / block.whole)}%;--c:var(--{family})"
        hover = f"{part.name}: {_figure(part, block)}, {_share(part.value, block)}"
        yield element("i", class_=classes or None, style=style, title=hover)


def _brackets(block: Composition) -> str:
    """Return a bracket under each run of neighbours that the measurement cannot tell apart."""
    made, left = "", 0.0
    start: float | None = None
    for number, part in enumerate(block.parts):
        end = left + part.value / block.whole
        tied = part.tied and number + 1 < len(block.parts)
        if tied and start is None:
            start = left
        elif not tied and start is not None:
            style = f"left:{plain(100 * start)}%;width:{plain(100 * (end - start))}%"
            made += element("i", style=style, title="the measurement cannot tell these apart")
            start = None
        left = end
    return f'<div class="ties" aria-hidden="true">{made}</div>' if made else ""


def _figure(part: Part, block: Composition) -> str:
    if part.low is not None and part.high is not None:
        return units.with_interval(part.value, part.low, part.high, block.unit)
    return units.brief(part.value, block.unit)


def _legend(block: Composition) -> str:
    items, run = [], ""
    for number, part in enumerate(block.parts):
        run += _entry(part, block)
        if part.tied and number + 1 < len(block.parts):
            run += '<span class="or">or</span>'
            continue
        tied = '<span class="or" title="the measurement cannot tell these apart">'
        items.append(
            f'<li class="tie">{run}{tied}(not told apart)</span></li>'
            if 'class="or"' in run
            else f"<li>{run}</li>"
        )
        run = ""
    finer = "".join(_finer(part, block) for part in block.parts if part.parts)
    return f'<ul class="legend">{"".join(items)}</ul>{finer}'


def _entry(part: Part, block: Composition, parent: str = "") -> str:
    family, classes = _looks(part, parent)
    swatch = element("i", class_=f"sw {classes}".strip(), style=f"--c:var(--{family})")
    figure = (
        f"<b>{escape(glued(_figure(part, block)))}</b> {escape(glued(_share(part.value, block)))}"
    )
    return element("span", f"{swatch}{escape(part.name)} {figure}", class_="k")


def _finer(part: Part, block: Composition) -> str:
    """Return the finer causes of a part in a line of their own."""
    items = "".join(f"<li>{_entry(each, block, part.tone)}</li>" for each in part.parts)
    name = f'<li class="m">{escape(part.name)}:</li>'
    return f'<ul class="legend finer">{name}{items}</ul>'
