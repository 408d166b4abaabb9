"""The plugin of pytest, in a pytest of its own."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.console.contracting.made import CLEAN, REFUSED, RETRIES, write
from tests.support.golden import ROOT

MODULE = "sluicegate.console.contracting.pytest_plugin"
INI = "[pytest]\nsluicegate_contracts = flows/*.workflow.yaml\n"
HEAVY = ("pydantic", "yaml", "typer", "jsonschema_rs", "cel_expr_python", "rapidfuzz", "sluicegate.contracts")


def ran(folder: Path, *words: str) -> tuple[int, str]:
    """A pytest with this plugin only, which the project's own entry point loads."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    environ |= {"PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200"}
    off = ("asyncio", "xdist", "cov", "hypothesispytest", "anyio", "locust")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--rootdir", str(folder),
         *(word for name in off for word in ("-p", f"no:{name}")), *words],
        cwd=folder, env=environ, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_the_entry_point_names_the_module() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"sluicegate": MODULE}


def test_each_document_and_check_is_a_test_and_a_finding_fails_it(tmp_path: Path) -> None:
    write(tmp_path / "pytest.ini", INI)
    write(tmp_path / "flows/a.workflow.yaml", CLEAN)
    write(tmp_path / "flows/b.workflow.yaml", RETRIES)
    write(tmp_path / "flows/c.workflow.yaml", REFUSED)
    write(tmp_path / "flows/d.yaml", REFUSED)
    code, said = ran(tmp_path)
    assert code == 1
    for line in (
        "PASSED flows/a.workflow.yaml::AgentWorkflow/my-agent[analysis]",
        "PASSED flows/b.workflow.yaml::AgentWorkflow/my-agent[parsing]",
        "FAILED flows/b.workflow.yaml::AgentWorkflow/my-agent[analysis]",
        "FAILED flows/c.workflow.yaml::AgentWorkflow/my-agent[parsing]",
        "witness: callers 4 × agent retry 5 = 20",
        'got "Nothing"',
    ):
        assert line in said, said
    assert "d.yaml" not in said
    assert "Traceback" not in said


def test_what_is_waived_is_expected_to_fail(tmp_path: Path) -> None:
    write(tmp_path / "pytest.ini", INI)
    write(tmp_path / "flows/b.workflow.yaml", RETRIES)
    write(
        tmp_path / ".sluicegate/waivers.yaml",
        "waivers:\n- {code: RetryAmplification, path: '*', owner: a, reason: b, expires: 2999-01-31}\n",
    )
    code, said = ran(tmp_path)
    assert code == 0
    assert "waived by a until 2999-01-31: b" in said
    assert "1 xfailed" in said


def test_the_fixture_holds_values_against_contracts(tmp_path: Path) -> None:
    write(tmp_path / "pytest.ini", INI)
    write(tmp_path / "flows/a.workflow.yaml", CLEAN)
    write(
        tmp_path / "test_agent.py",
        """\
def test_good(contract):
    assert contract("agent").accepts_output({"intent": "track"})
    assert contract("agent").refuses_input({"question": 1})
    assert contract().accepts_input({"question": "where is it?"})

def test_bad(contract):
    contract("agent").accepts_output({"intent": "refund"})

def test_misspelled(contract):
    contract("agnt")
""",
    )
    code, said = ran(tmp_path, "test_agent.py")
    assert code == 1
    assert "PASSED test_agent.py::test_good" in said
    assert "AssertionError: the contract of my-agent/agent refuses this output:" in said
    assert "output/intent: Enum: " in said
    assert "no component agnt; there are: agent; did you mean agent?" in said


def test_without_the_option_nothing_is_imported_or_collected(tmp_path: Path) -> None:
    write(tmp_path / "pytest.ini", "[pytest]\n")
    write(tmp_path / "flows/a.workflow.yaml", REFUSED)
    write(
        tmp_path / "test_one.py",
        f"import sys\n\ndef test_one():\n    assert {MODULE!r} in sys.modules\n"
        f"    assert [name for name in {HEAVY!r} if name in sys.modules] == []\n\n"
        "def test_two(contract):\n    pass\n",
    )
    code, said = ran(tmp_path)
    assert "PASSED test_one.py::test_one" in said
    assert (
        "ERROR test_one.py::test_two - Failed: the fixture contract needs the option sluicegate_contracts"
        in said
    )
    assert (code, "flows" in said) == (1, False)


def test_a_wrong_threshold_is_said(tmp_path: Path) -> None:
    write(tmp_path / "pytest.ini", f"{INI}sluicegate_fail_on = all\n")
    write(tmp_path / "flows/a.workflow.yaml", CLEAN)
    code, said = ran(tmp_path)
    assert code != 0
    assert "sluicegate_fail_on" in said


@pytest.mark.parametrize("name", ["console/src/sluicegate/console/contracting/pytest_plugin.py"])
def test_nothing_else_imports_pytest(name: str) -> None:
    importers = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "console/src").rglob("*.py")
        if "import pytest" in path.read_text()
    ]
    assert importers == [name]
