"""JUnit XML, as CI servers read it: a suite for each subject, a case for each finding and for each check without one."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from sluicegate.console.contracting.formats.text import place
from sluicegate.console.contracting.report import Finding, Report, Standing, Subject

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Outside of Char of XML 1.0, section 2.2."""


def xml(report: Report) -> str:
    """The whole document."""
    root = ET.Element("testsuites", name=report.tool)
    for subject in report.subjects:
        root.append(_suite(report, subject))
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("time", "0")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode")


def _suite(report: Report, subject: Subject) -> ET.Element:
    suite = ET.Element("testsuite", name=_clean(subject.title), file=_clean(subject.source))
    suite.extend(_cases(report, subject))
    kinds = [child.tag for case in suite for child in case]
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(kinds.count("failure")))
    suite.set("errors", str(kinds.count("error")))
    suite.set("skipped", str(kinds.count("skipped")))
    suite.set("time", "0")
    return suite


def _cases(report: Report, subject: Subject) -> Iterator[ET.Element]:
    for check in subject.checks:
        found = [finding for finding in subject.findings if finding.check == check]
        for finding in found:
            diagnostic = finding.diagnostic
            name = " ".join(part for part in (check, diagnostic.code, diagnostic.path) if part)
            case = _case(subject, name)
            if diagnostic.line:
                case.set("line", str(diagnostic.line))
            case.append(_outcome(report, finding))
            yield case
        if not found:
            yield _case(subject, check)
    for check in subject.skipped:
        case = _case(subject, check)
        ET.SubElement(case, "skipped", message="not run, because of what other checks found")
        yield case


def _case(subject: Subject, name: str) -> ET.Element:
    return ET.Element("testcase", name=_clean(name), classname=_clean(subject.title), time="0")


def _outcome(report: Report, finding: Finding) -> ET.Element:
    diagnostic = finding.diagnostic
    told = _clean("\n".join(_told(finding)))
    if finding.standing is not Standing.NEW:
        return ET.Element("skipped", message=_clean(_let_through(finding)))
    if not report.fails(finding):
        found = ET.Element("system-out")
    else:
        tag = "error" if finding.refused else "failure"
        found = ET.Element(tag, message=_clean(diagnostic.message), type=diagnostic.code)
    found.text = told
    return found


def _told(finding: Finding) -> Iterator[str]:
    diagnostic = finding.diagnostic
    yield f"{diagnostic.severity.value} {place(diagnostic)}: {diagnostic.message}"
    for head, text in (("witness", diagnostic.witness), ("hint", diagnostic.hint)):
        if text:
            yield f"{head}: {text}"
    yield f"fingerprint: {diagnostic.fingerprint}"


def _let_through(finding: Finding) -> str:
    waiver = finding.waiver
    if waiver is None:
        return f"in the baseline: {finding.diagnostic.message}"
    return f"waived by {waiver.owner} until {waiver.expires}: {waiver.reason}"


def _clean(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
