"""Run pytest in the guest and send back the counts and what failed.

Parameters: ``paths``, relative to the repository, and ``arguments`` for pytest (optional).
"""

import os
import sys

import pytest

from .report import emit, params


class _Collector:
    """A plugin of pytest that keeps outcomes."""

    def __init__(self) -> None:
        self.counts = {"passed": 0, "failed": 0, "skipped": 0, "errors": 0}
        self.failures: dict[str, str] = {}
        self.skips: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped:
            self._skip(report.nodeid, report.longrepr)
        elif report.failed:
            # What fails before or after the test itself is no verdict on the test.
            self._fail("failed" if report.when == "call" else "errors", report)
        elif report.when == "call":
            self.counts["passed"] += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._fail("errors", report)
        elif report.skipped:
            self._skip(report.nodeid, report.longrepr)

    def _fail(self, kind: str, report: pytest.TestReport | pytest.CollectReport) -> None:
        self.counts[kind] += 1
        sections = "".join(f"\n--- {title}\n{text}" for title, text in report.sections)
        self.failures[report.nodeid] = report.longreprtext + sections

    def _skip(self, test: str, reason: object) -> None:
        self.counts["skipped"] += 1
        text = str(reason[2]) if isinstance(reason, tuple) else str(reason)
        self.skips[test] = text


def main() -> int:
    """Run the tests; the exit status is that of pytest."""
    wanted = params()
    collector = _Collector()
    # pytest rewrites the assertions of every library that brings a plugin, even if no test uses
    # it; for hypothesis that takes 10 s under emulation.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    # The project's settings may name plugins that the guest does not have.
    arguments = ["-c", "/dev/null", "--rootdir=.", "-p", "no:cacheprovider", "--tb=short", "-q"]
    arguments += wanted.get("arguments", [])
    status = pytest.main([*arguments, *wanted["paths"]], plugins=[collector])
    emit({**collector.counts, "failures": collector.failures, "skips": collector.skips})
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
