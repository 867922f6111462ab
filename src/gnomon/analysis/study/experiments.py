"""Studies and their experiments: what there is to carry out; each is loaded when it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module

from gnomon.analysis.study.result import Picture, Row
from gnomon.errors import UsageError
from gnomon.events.tomlfile import suggestion


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment of a document; `module` has a function `run(seed)` that yields its rows.

    It may have a function `pictures(seed)`, too, for what a table cannot show. Where a module
    has several experiments, `MODULE:NAME` stands for its functions `run_NAME` and
    `pictures_of_NAME`.
    """

    id: str
    title: str
    module: str

    def run(self, seed: int) -> list[Row]:
        """Carry the experiment out; its module is loaded only now."""
        module, _, name = self.module.partition(":")
        function: Callable[[int], Iterable[Row]] = getattr(
            import_module(module), f"run_{name}" if name else "run"
        )
        return list(function(seed))

    def pictures(self, seed: int) -> Sequence[Picture]:
        """Return what there is to draw, which most experiments have not."""
        module, _, name = self.module.partition(":")
        function: Callable[[int], Sequence[Picture]] | None = getattr(
            import_module(module), f"pictures_of_{name}" if name else "pictures", None
        )
        return () if function is None else function(seed)


@dataclass(frozen=True, slots=True)
class Study:
    """A document whose experiments can be carried out again."""

    name: str
    title: str
    document: str
    experiments: tuple[Experiment, ...]
    simulated: bool = True

    def choose(self, ids: Sequence[str] | None) -> tuple[Experiment, ...]:
        """Return the experiments of these ids in the study's order; all of them for None."""
        if ids is None:
            return self.experiments
        known = {each.id.lower(): each for each in self.experiments}
        for wanted in ids:
            if wanted.lower() not in known:
                names = [each.id for each in self.experiments]
                hint = suggestion(wanted, names) or f": choose from {', '.join(names)}."
                raise UsageError(f"study {self.name} has no experiment '{wanted}'{hint}")
        asked = {wanted.lower() for wanted in ids}
        return tuple(each for key, each in known.items() if key in asked)
