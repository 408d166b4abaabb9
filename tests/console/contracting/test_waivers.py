"""Waivers and baselines: what is let through, for whom, and until when."""

from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.console.contracting import baseline, waivers
from sluicegate.console.contracting.baseline import Baseline
from sluicegate.console.contracting.report import Finding, Report, Result, Standing
from sluicegate.console.contracting.settling import Allowed, settle
from sluicegate.console.contracting.waivers import Waiver, Waivers
from sluicegate.contracts.diagnostics import Diagnostic
from sluicegate.contracts.errors import Refused
from tests.console.contracting.made import diagnostic, finding, report

LAST = date(2027, 1, 31)
BY = {"owner": "team-a", "reason": "known", "expires": LAST}
FOUND = diagnostic()
FILE = f"""\
# agreed on with the board
waivers:
- fingerprint: {FOUND.fingerprint}
  owner: team-a   # ask there
  reason: the caller moves in January
  expires: 2027-01-31
"""


def parsed(text: str = FILE) -> Waivers:
    return waivers.parse(text.encode(), source="w.yaml")


def settled(text: str, today: date, *, known: Baseline | None = None, found: Report | None = None) -> Report:
    return settle(found or report(finding()), Allowed(waivers=parsed(text), baseline=known), today)


def test_a_waiver_holds_through_its_last_day() -> None:
    found = settled(FILE, LAST)
    assert (found.result, found.findings[0].standing) == (Result.PASSED, Standing.WAIVED)
    assert found.notes == ()


def test_a_waiver_that_is_over_fails_and_says_who_and_when() -> None:
    found = settled(FILE, LAST + timedelta(days=1))
    assert [one.diagnostic.code for one in found.findings] == ["RetryAmplification", "WaiverExpired"]
    assert found.findings[0].standing is Standing.NEW
    told = found.findings[1].diagnostic
    assert told.message == (
        f"the waiver of team-a for {FOUND.fingerprint} ended on 2027-01-31, and today is 2027-02-01"
    )
    assert (told.source, told.line, told.column) == ("w.yaml", 6, 3)


def test_a_waiver_that_is_over_fails_also_what_a_baseline_knows() -> None:
    known = baseline.of(report(finding()))
    assert settled(FILE, LAST + timedelta(days=1), known=known).result is Result.FAILED


def test_a_waiver_that_covers_nothing_is_told_and_fails_nothing() -> None:
    found = settled(FILE, LAST + timedelta(days=1), found=report())
    assert found.result is Result.PASSED
    assert found.notes == (
        f"the waiver of team-a for {FOUND.fingerprint} covers nothing here; it ended on 2027-01-31",
    )


def test_what_cannot_be_read_is_never_let_through() -> None:
    one = finding(refused=True)
    found = settled(FILE, LAST, known=baseline.of(report(finding())), found=report(one))
    assert found.result is Result.REFUSED


@pytest.mark.parametrize(
    ("sentence", "facts", "covers"),
    [
        ("the code at the path", {"code": "RetryAmplification", "path": "spec.components[0].retry"}, True),
        ("any component", {"code": "RetryAmplification", "path": "spec.components[*].retry"}, True),
        (
            "a bracket is no set of letters",
            {"code": "RetryAmplification", "path": "spec.components[0]"},
            False,
        ),
        ("a dot is a dot", {"code": "RetryAmplification", "path": "spec.components[0]xretry"}, False),
        ("another code", {"code": "DeadRetry", "path": "*"}, False),
        ("of this object", {"fingerprint": FOUND.fingerprint, "subject": "AgentWorkflow/*"}, True),
        (
            "of another object",
            {"code": "RetryAmplification", "path": "*", "subject": "AgentWorkflow/x"},
            False,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_waiver_covers(sentence: str, facts: dict[str, str], covers: bool) -> None:
    assert waivers.entry(**facts, owner="a", reason="b", expires="2027-01-31").covers(FOUND) is covers


def test_every_fault_of_every_entry_is_told_at_once_with_its_line() -> None:
    text = """\
waivers:
- fingerprint: 12
  owner: " "
  expires: 2027-02-30
- code: RetryAmplification
  owner: a
  reason: b
  expires: soon
- owner: a
  reason: b
  expires: 2027-01-31
  until: 2027
"""
    with pytest.raises(Refused) as error:
        parsed(text)
    told = [(one.line, one.path) for one in error.value.problems]
    assert told == [
        (2, "waivers[0].fingerprint"),
        (3, "waivers[0].owner"),
        (2, "waivers[0].reason"),
        (4, "waivers[0].expires"),
        (8, "waivers[1].expires"),
        (12, "waivers[2].until"),
    ]
    assert "such as 2027-01-31" in str(error.value)


def test_a_waiver_without_a_finding_is_refused() -> None:
    with pytest.raises(Refused, match="needs a fingerprint, or a code and a path"):
        parsed("waivers:\n- {owner: a, reason: b, expires: 2027-01-31}\n")


def entry() -> Waiver:
    return waivers.entry(fingerprint="0" * 16, owner="b", reason="x: # y\n'z'", expires=date(2027, 2, 1))


@pytest.mark.parametrize(
    "text",
    ["", "# nothing yet\n", "---\n", FILE, FILE.rstrip(), FILE.replace("\n- ", "\n  - ").replace("\n  o", "\n    o")
     .replace("\n  r", "\n    r").replace("\n  e", "\n    e"), 'schemaVersion: "1"\n', FILE + "# the end\n"],
    ids=["empty", "a comment", "a mark", "an entry", "no last newline", "indented", "a version", "a last comment"],
)  # fmt: skip
def test_an_entry_is_added_and_the_rest_of_the_file_stays(text: str) -> None:
    after = waivers.added(text, entry(), source="w.yaml")
    assert after.startswith(text)
    assert parsed(after).entries == (*parsed(text).entries, entry())
    assert "expires: 2027-02-01\n" in after


@pytest.mark.parametrize("text", ["waivers: []\n", "waivers:\n- {a: 1}\n", FILE + 'schemaVersion: "1"\n'])
def test_a_file_that_cannot_be_added_to_is_refused_with_the_lines_to_write(text: str) -> None:
    with pytest.raises(Refused):
        waivers.added(text, entry(), source="w.yaml")


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_any_reason_survives_the_file(reason: str) -> None:
    if not reason.strip():
        return
    one = waivers.entry(fingerprint="0" * 16, owner="a", reason=reason, expires=LAST)
    try:
        after = waivers.added(FILE, one, source="w.yaml")
    except Refused:  # a control character that no YAML file may hold
        return
    assert parsed(after).entries[-1] == one


def test_only_what_is_not_in_the_baseline_fails() -> None:
    known = baseline.of(report(finding(), finding(path="spec.gone")))
    moved = finding(line=99, message="other words", source="elsewhere.yaml")
    found = settled("", LAST, known=known, found=report(moved))
    assert (found.result, found.findings[0].standing) == (Result.PASSED, Standing.KNOWN)
    assert found.notes == ("1 of the baseline's findings no longer occur; write the baseline anew",)
    new = settled("", LAST, known=known, found=report(moved, finding(witness="callers 9")))
    assert [one.standing for one in new.findings] == [Standing.KNOWN, Standing.NEW]
    assert new.result is Result.FAILED


def test_a_baseline_is_refused_for_what_cannot_be_read() -> None:
    with pytest.raises(Refused):
        baseline.of(report(finding(), finding(refused=True, path="y")))


def test_a_baseline_leaves_out_what_is_waived_and_has_no_order_of_its_own() -> None:
    others = [finding(path=f"spec.{name}") for name in "cab"]
    kept = baseline.of(report(*others, finding(Standing.WAIVED, path="x")))
    assert [one.path for one in kept.findings] == ["spec.a", "spec.b", "spec.c"]
    assert kept == baseline.of(report(*reversed(others), *others))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "no such file"),
        ("{", "cannot be read"),
        ("[]", "is no baseline"),
        ('{"findings": [{"fingerprint": "x"}]}', r"findings\[0\].fingerprint"),
    ],
)
def test_a_baseline_that_cannot_be_read_is_refused(text: str | None, told: str, tmp_path: Path) -> None:
    file = tmp_path / "b.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(Refused, match=told):
        baseline.read(file)


def test_a_fingerprint_does_not_know_lines_files_and_words() -> None:
    assert diagnostic(line=1, source="x", message="m", hint=None).fingerprint == FOUND.fingerprint
    assert diagnostic(path="spec").fingerprint != FOUND.fingerprint


BEFORE = diagnostic(path="spec.steps[1].when", place="spec.steps[write].when")
MOVED = diagnostic(path="spec.steps[2].when", place="spec.steps[write].when")


def of(diagnostic: Diagnostic) -> Finding:
    return Finding(diagnostic=diagnostic, check="analysis")


def test_a_waiver_follows_a_step_that_moves() -> None:
    assert waivers.entry(fingerprint=BEFORE.fingerprint, **BY).covers(MOVED)
    assert waivers.entry(code=BEFORE.code, path="spec.steps[write].*", **BY).covers(MOVED)
    assert not waivers.entry(code=BEFORE.code, path="spec.steps[1].*", **BY).covers(MOVED)


def test_waivers_and_baselines_with_numbers_hold_until_the_step_moves() -> None:
    """As they were written before list items were known by their names."""
    old = diagnostic(path="spec.steps[1].when").fingerprint
    assert old != BEFORE.fingerprint
    for one, covered in ((BEFORE, True), (MOVED, False)):
        assert waivers.entry(fingerprint=old, **BY).covers(one) is covered
        kept = baseline.of(report(of(diagnostic(path="spec.steps[1].when"))))
        found = settle(report(of(one)), Allowed(baseline=kept), LAST)
        assert (found.findings[0].standing is Standing.KNOWN) is covered
