"""The example's files: each candidate is version 1 with one change, and says which."""

from pathlib import Path

import pytest

from tests.support.golden import check

SUPPORT_BOT = Path(__file__).parents[2] / "examples" / "support-bot"
STABLE = SUPPORT_BOT / "workflow.yaml"

# candidate -> (version, what is said of it, {component: version})
CANDIDATES = {
    "good": ("2.0.0", "understands more customers, answers faster", {"planner": "v2", "executor": "v2"}),
    "contract-break": (
        "2.1.0",
        "the executor renamed a field in one answer of five",
        {"executor": "v2-renamed"},
    ),
    "slow-p95": ("2.2.0", "the executor is slow in one call of four", {"executor": "v2-slow"}),
    "more-fallbacks": ("2.3.0", "the memory is often overloaded", {"memory": "v2-flaky"}),
    "lower-reward": ("2.4.0", "the executor answers validly, and helps nobody", {"executor": "v2-evasive"}),
    "crash": ("2.5.0", "the planner dies in one call of four", {"planner": "v2-crashing"}),
}


def changed(version: str, reason: str, components: dict[str, str]) -> str:
    """workflow.yaml with another version of some components."""
    text = STABLE.read_text().replace(
        "The support bot, version 1:", f"The support bot, version {version} ({reason}):"
    )
    text = text.replace("version: 1.0.0", f"version: {version}").replace(
        "changeReason: first version", f"changeReason: {reason}"
    )
    for component, release in components.items():
        text = text.replace(f"/{component}/v1", f"/{component}/{release}")
        head = f"- name: {component}\n"
        before, after = text.split(head)
        text = before + head + after.replace("version: v1", f"version: {release}", 1)
    return text


@pytest.mark.parametrize("name", CANDIDATES)
def test_a_candidate_is_version_1_with_one_change(name: str) -> None:
    path = SUPPORT_BOT / "candidates" / f"{name}.yaml"
    expected = changed(*CANDIDATES[name])
    check(path, expected)


def test_there_is_no_other_candidate() -> None:
    assert {path.stem for path in (SUPPORT_BOT / "candidates").iterdir()} == set(CANDIDATES)
