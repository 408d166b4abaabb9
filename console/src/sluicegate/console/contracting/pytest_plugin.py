"""pytest: contracts as tests, and a fixture that holds values against them.

    [pytest]
    sluicegate_contracts = flows/*.workflow.yaml

Each document × check of those files is a test, wherever pytest comes across them. Without the option nothing is imported,
collected or changed. `contract` is the fixture: ``contract("planner").accepts_output(value)``.

pytest loads this module in every run of an environment that has it: it imports pytest and nothing else.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from sluicegate.console.contracting.promises import Promises
    from sluicegate.console.contracting.report import Finding, Report, Subject

FILES, WAIVERS, FAIL_ON = "sluicegate_contracts", "sluicegate_waivers", "sluicegate_fail_on"
_FOUND = pytest.StashKey[frozenset[Path]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the ini file."""
    parser.addini(FILES, "files of workflows, from the root folder, with * and **", type="args", default=[])
    parser.addini(WAIVERS, "file of waivers; default: .sluicegate/waivers.yaml", default="")
    parser.addini(FAIL_ON, "the least severity that fails: error, warning or never", default="error")


def _files(config: pytest.Config) -> frozenset[Path]:
    """Those that the ini file names; looked for once."""
    if _FOUND not in config.stash:
        root = config.rootpath
        found = (path for pattern in config.getini(FILES) for path in root.glob(pattern))
        config.stash[_FOUND] = frozenset(found)
    return config.stash[_FOUND]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "ContractFile | None":
    """A file that the ini file names."""
    if not parent.config.getini(FILES) or file_path not in _files(parent.config):
        return None
    return ContractFile.from_parent(parent, path=file_path)


class ContractFile(pytest.File):
    """The documents of one file."""

    def collect(self) -> "Iterator[ContractItem]":
        """A test for each document × check, also for those that cannot run."""
        report = _report(self.path, self.config)
        for subject in report.subjects:
            for check in (*subject.checks, *subject.skipped):
                found = ContractItem.from_parent(self, name=f"{subject.title}[{check}]")
                found.hold(report, subject, check)
                yield found


def _report(path: Path, config: pytest.Config) -> "Report":
    from sluicegate.console.contracting import checking, reading, waivers
    from sluicegate.console.contracting.report import Report
    from sluicegate.console.contracting.settling import Allowed, settle
    from sluicegate.console.contracting.words import FailOn
    from sluicegate.contracts.adapters import system
    from sluicegate.contracts.errors import Refused

    named = config.getini(WAIVERS)
    usual = config.rootpath / waivers.FILE
    try:
        fail_on = FailOn(config.getini(FAIL_ON))
        given = config.rootpath / named if named else usual if usual.exists() else None
        allowed = Allowed(waivers=waivers.read(given))
    except (ValueError, Refused) as error:
        raise pytest.UsageError(f"{FAIL_ON}, {WAIVERS}: {error}") from error
    report = Report(tool="pytest", subjects=checking.check(reading.files([path])), fail_on=fail_on)
    return settle(report, allowed, system.now().date())


class Broken(Exception):  # noqa: N818 - what pytest shows is its text
    """Findings that fail."""


class ContractItem(pytest.Item):
    """One check of one document."""

    report: "Report"
    subject: "Subject"
    check: str

    def hold(self, report: "Report", subject: "Subject", check: str) -> None:
        """What was found."""
        self.report, self.subject, self.check = report, subject, check

    def runtest(self) -> None:
        """Fails with what fails; expected to fail where somebody answers for it; skipped where it could not run."""
        if self.check in self.subject.skipped:
            pytest.skip("not run, because of what other checks found")
        found = [one for one in self.subject.findings if one.check == self.check]
        failing = [one for one in found if self.report.fails(one)]
        if failing:
            raise Broken(_told(failing))
        waived = [one.waiver for one in found if one.waiver is not None]
        if waived:
            pytest.xfail(
                "; ".join(f"waived by {one.owner} until {one.expires}: {one.reason}" for one in waived)
            )
        if found:
            self.add_report_section("call", "contracts", _told(found))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The findings, and no traceback: the fault is in the document."""
        if isinstance(excinfo.value, Broken):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """File, line and name."""
        lines = (one.diagnostic.line for one in self.subject.findings if one.check == self.check)
        line = next((number for number in lines if number), None)
        return self.path, line - 1 if line else None, f"{self.subject.title}: {self.check}"


def _told(findings: "list[Finding]") -> str:
    from sluicegate.console.contracting.formats.text import finding_lines

    return "\n".join(line for finding in findings for line in finding_lines(finding))


@pytest.fixture(scope="session")
def contract(pytestconfig: pytest.Config) -> "Promises":
    """What the workflows named by `sluicegate_contracts` promise: `contract("planner").accepts_output(value)`."""
    from sluicegate.console.contracting.promises import promises
    from sluicegate.contracts.errors import Refused

    files = sorted(_files(pytestconfig))
    if not files:
        pytest.fail(f"the fixture contract needs the option {FILES} of the ini file", pytrace=False)
    try:
        return promises(files)
    except Refused as error:
        pytest.fail(str(error), pytrace=False)
