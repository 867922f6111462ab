"""Run the benchmarks: `python -m benchmarks [--only NAME] [--json] [--quick]`."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.harness import display
from benchmarks.harness.result import (
    Benchmark,
    Effort,
    FailedError,
    MissingError,
    Note,
    Result,
    Row,
    Verdict,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen benchmarks and return 1 when a target was missed or one failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME", help="run this one; repeatable")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--list", action="store_true", help="list the benchmarks and stop")
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the repetitions: a trial, not a result"
    )
    options = parser.parse_args(arguments)
    known = {benchmark.name: benchmark for benchmark in discovered()}
    if unknown := sorted(set(options.only or ()) - set(known)):
        parser.error(f"there is no benchmark '{unknown[0]}': choose from {', '.join(known)}")
    chosen = [b for name, b in known.items() if not options.only or name in options.only]
    if options.list:
        for benchmark in chosen:
            print(f"{benchmark.name:20} {benchmark.title}")
        return 0
    results = []
    for benchmark in chosen:
        some = _run(benchmark, Effort(options.quick))
        results.append((benchmark, some))
        if not options.json:
            _print(benchmark, some)
    if options.json:
        print(display.document(results))
    return int(any(_is_bad(result) for _, some in results for result in some))


def discovered() -> Iterator[Benchmark]:
    """Yield the BENCHMARK of every module beside this one, in alphabetical order."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.ispkg or module.name.startswith("__"):
            continue
        file = f"benchmarks/{module.name}.py"
        try:
            found = getattr(importlib.import_module(f"benchmarks.{module.name}"), "BENCHMARK", None)
        except ImportError as error:
            print(f"{file} is left out, it cannot be imported: {error}", file=sys.stderr)
            continue
        if isinstance(found, Benchmark):
            yield found
        else:
            print(f"{file} offers no BENCHMARK and is left out: run it by itself", file=sys.stderr)


def _run(benchmark: Benchmark, effort: Effort) -> list[Result]:
    results: list[Result] = []
    try:
        for result in benchmark.run(effort):
            results.append(result)  # noqa: PERF402 - keeps what came before an error
    except MissingError as error:
        results.append(Note(f"not measured: {error}"))
    except FailedError as error:
        results.append(Note(f"failed: {error}", failed=True))
    return results


def _is_bad(result: Result) -> bool:
    return result.failed if isinstance(result, Note) else result.verdict is Verdict.MISSED


def _print(benchmark: Benchmark, results: Sequence[Result]) -> None:
    print(f"{benchmark.title} ({benchmark.name})")
    rows = [result for result in results if isinstance(result, Row)]
    if rows:
        print(display.table(rows))
    for result in results:
        if isinstance(result, Note):
            print(f"note: {result.text}")
    print(flush=True)


if __name__ == "__main__":
    sys.exit(main())
