"""Finding events by any of the spellings that users know, and the nearest ones otherwise."""

from __future__ import annotations

import re
from collections import defaultdict
from difflib import SequenceMatcher
from functools import cached_property
from heapq import nsmallest
from typing import TYPE_CHECKING

from gnomon.errors import UnknownEventError, UsageError
from gnomon.events.encoding import parse_terms, term_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gnomon.events.event import Event

_FOLD = {ord(character): "_" for character in ".:- "}
_IN_SLASHES = re.compile(r"([\w.-]+)/(.+)/")
# libpfm4 and PAPI print every modifier that an event could have, at its neutral value.
_NEUTRAL = re.compile(r"(?::[a-z_]+=0)+$", re.IGNORECASE)
_SHORTLIST = 48
_WORTH_NAMING = 0.4


class NameIndex:
    """All names of a set of events, in any case and with `.`, `:`, `_` and `-` alike.

    Known are an event's name and aliases, the same in perf's slashes (`cpu/name/`), with or
    without libpfm4's PMU in front (`icx::NAME:UMASK`), and the terms that encode it
    (`cpu/event=0xd1,umask=0x20/`). Where names collide, the event given first comes first.
    """

    def __init__(self, events: Iterable[Event]) -> None:
        self._events = tuple(events)
        self._index: dict[str, Event | list[Event]] = {}
        self._folded: list[str] = []
        # For every word in the names of events, the numbers of these events.
        self._words: defaultdict[str, list[int]] = defaultdict(list)
        for number, event in enumerate(self._events):
            folded = _fold(event.name)
            self._folded.append(folded)
            self._add(folded, event)
            for word in folded.split("_"):
                self._words[word].append(number)
            lower = event.name.lower()
            for alias in event.aliases:
                # Most events have these two kinds of alias: the one says nothing new, and the
                # other waits until somebody asks for terms.
                if alias != lower and not _has_terms(alias):
                    self._add(_fold(alias), event)

    def _add(self, key: str, event: Event) -> None:
        held = self._index.setdefault(key, event)
        if held is event:
            return
        if not isinstance(held, list):
            self._index[key] = [held, event]
        elif held[-1] is not event:
            held.append(event)

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    def __contains__(self, name: str) -> bool:
        return bool(self.find_all(name))

    def find(self, name: str) -> Event:
        """Return the event of this name, or raise UnknownEventError with the nearest names."""
        event = self.get(name)
        if event is None:
            raise UnknownEventError(name, self.nearest(name))
        return event

    def get(self, name: str) -> Event | None:
        """Return the event of this name, one that is not deprecated if there is a choice."""
        found = self.find_all(name)
        return next((event for event in found if not event.deprecated), found[0] if found else None)

    def find_all(self, name: str) -> tuple[Event, ...]:
        """Return all events of this name: several where PMUs share it, as on hybrid CPUs."""
        name = name.strip()
        match = _IN_SLASHES.fullmatch(name)
        if match is None:
            return self._exact_first(name) or self._exact_first(_NEUTRAL.sub("", name))
        if "=" in match[2]:
            return self._by_terms(name)
        named = self._exact_first(name) or tuple(
            event for event in self._exact_first(match[2]) if _belongs(event, match[1])
        )
        return named or self._by_terms(name)

    def nearest(self, name: str, n: int = 3) -> tuple[str, ...]:
        """Return the names of the n events whose spelling comes nearest, best first.

        Only names that share a word, or nearly one, with the wanted name are compared as a
        whole: comparing all of them would take a second with ten thousand events.
        """
        inner = _IN_SLASHES.fullmatch(name.strip())
        if inner and "=" in inner[2]:
            return ()
        wanted = _fold((inner[2] if inner else name).rpartition("::")[2])
        scores: dict[int, float] = {}
        for word in _words(wanted):
            for known, likeness in self._like(word).items():
                numbers = self._words[known]
                # A word that few names have tells more than one that many have.
                weight = likeness * len(known) / (1 + len(numbers)) ** 0.25
                for number in numbers:
                    scores[number] = scores.get(number, 0.0) + weight
        folded = self._folded
        ranked = [(-score / (folded[i].count("_") + 3), i) for i, score in scores.items()]
        matcher = SequenceMatcher(b=wanted, autojunk=False)
        rated = []
        for _, number in nsmallest(_SHORTLIST, ranked):
            event = self._events[number]
            matcher.set_seq1(folded[number])
            ratio = matcher.ratio()
            if ratio >= _WORTH_NAMING:
                rated.append((-ratio, event.deprecated, event.name))
        return tuple(dict.fromkeys(name for _, _, name in sorted(rated)))[:n]

    def _exact_first(self, name: str) -> tuple[Event, ...]:
        held = self._index.get(_fold(name))
        if held is None:
            return ()
        if not isinstance(held, list):
            return (held,)
        # Names may differ in nothing but their separators; then the separators decide.
        lower = name.lower()
        exact = [
            event
            for event in held
            if any(spelling.lower() == lower for spelling in (event.name, *event.aliases))
        ]
        return tuple(exact or held)

    def _by_terms(self, text: str) -> tuple[Event, ...]:
        try:
            pmu, values = parse_terms(text)
        except UsageError:
            return ()
        return tuple(self._terms.get(_term_key(term_text(pmu, values)), ()))

    @cached_property
    def _terms(self) -> dict[str, list[Event]]:
        """The events by the terms that encode them."""
        terms: defaultdict[str, list[Event]] = defaultdict(list)
        for event in self._events:
            for alias in filter(_has_terms, event.aliases):
                terms[_term_key(alias)].append(event)
        return dict(terms)

    @cached_property
    def _trigrams(self) -> dict[str, list[str]]:
        """For every three letters in a row, the words that have them."""
        trigrams: defaultdict[str, list[str]] = defaultdict(list)
        for word in filter(None, self._words):
            for trigram in _trigrams(word):
                trigrams[trigram].append(word)
        return dict(trigrams)

    def _like(self, word: str) -> dict[str, float]:
        """Return the known words that resemble a word, with their likeness from 0 to 1."""
        if word in self._words:
            return {word: 1.0}
        wanted = _trigrams(word)
        shared: defaultdict[str, int] = defaultdict(int)
        for trigram in wanted:
            for known in self._trigrams.get(trigram, ()):
                shared[known] += 1
        likeness = {
            known: max(
                2 * count / (len(wanted) + len(known) + 1),
                # Words may have been run together, or only begun.
                0.8 if known in word and len(known) > 1 else 0.0,
                0.8 * len(word) / len(known) if word in known else 0.0,
            )
            for known, count in shared.items()
        }
        return {known: value for known, value in likeness.items() if value >= 0.25}


def _fold(name: str) -> str:
    return name.lower().translate(_FOLD)


def _words(folded: str) -> Iterable[str]:
    return dict.fromkeys(word for word in folded.split("_") if word)


def _trigrams(word: str) -> dict[str, None]:
    # Ends count as letters, so that words of one or two letters have trigrams as well. A
    # dictionary keeps their order: with a set, ties would fall differently in every process.
    padded = f"^{word}$"
    return dict.fromkeys(padded[i : i + 3] for i in range(len(padded) - 2))


def _has_terms(name: str) -> bool:
    return name.endswith("/") and "=" in name


def _term_key(text: str) -> str:
    """Return `pmu/terms/` with its terms in alphabetical order and without zeros."""
    pmu, _, inner = text.lower().rstrip("/").partition("/")
    return f"{pmu}/{','.join(sorted(t for t in inner.split(',') if not t.endswith('=0')))}"


def _belongs(event: Event, pmu: str) -> bool:
    if event.encoding is None or event.encoding.pmu == pmu:
        return True
    # perf accepts an uncore unit both with and without the number of an instance.
    return re.fullmatch(rf"{re.escape(event.encoding.pmu)}_\d+", pmu) is not None
