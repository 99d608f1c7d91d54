"""A pytest plugin that counts and names the tests that a machine lacks something for; with CI=true they fail.

``tools/test.sh`` loads it. A skip says what is missing; tests are grouped by it.
"""

from __future__ import annotations

import os
from collections import defaultdict

import pytest

SKIPPED_IN_CI = 6  # pytest's own exit statuses end at 5; a second run of what failed does not undo a skip


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests were skipped, why, and which."""
    names = defaultdict(list)
    for report in terminalreporter.stats.get("skipped", []):
        names[_reason(report)].append(report.nodeid)
    count = sum(len(tests) for tests in names.values())
    terminalreporter.section("skipped tests")
    terminalreporter.line(f"{count} skipped")
    for reason, tests in names.items():
        terminalreporter.line(f"{reason}:")
        for test in tests:
            terminalreporter.line(f"    {test}")
    if count and os.environ.get("CI") == "true":
        terminalreporter.line("In CI nothing may be skipped: the run fails.")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A run in CI with skipped tests has failed."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = terminal.stats.get("skipped", []) if terminal else []
    if skipped and os.environ.get("CI") == "true":
        session.exitstatus = SKIPPED_IN_CI
