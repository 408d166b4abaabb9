"""The command line as a whole: start, help, errors, exit codes, reference pages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from sluicegate.console import exits, main, output
from sluicegate.contracts import errors
from sluicegate.contracts.stages import Outcome
from tests.console.apiserver import ApiServer
from tests.console.conftest import Cli

HEAVY = (
    "aiohttp", "asyncio", "cel_expr_python", "jsonschema_rs", "numpy", "orjson", "prometheus_client",
    "rapidfuzz", "scipy", "sqlite3", "structlog", "uvicorn", "yaml",
)  # fmt: skip


@pytest.mark.parametrize("arguments", [["--help"], ["rollout", "--help"], ["apply", "--help"], ["get", "-h"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    """pydantic only where typer itself needs it: to read the words of a command."""
    heavy = (*HEAVY, *(["pydantic"] if len(arguments) == 1 else []))
    script = (
        "import sys; from sluicegate.console import main; "
        f"code = main.run({arguments!r}); print('HEAVY', code, [m for m in {heavy!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "HEAVY 0 []"


def test_help_lists_every_command_and_no_alias(cli: Cli) -> None:
    said = cli("--help")
    assert said.code == 0
    wanted = "demo init up apply get describe diff delete rollout run wait promote abort approve reject pause resume"
    for name in (
        *wanted.split(),
        "retry",
        "review",
        "override",
        "undo",
        "lint",
        "backtest",
        "replay",
        "schema",
        "version",
    ):
        assert f" {name} " in said.out, name
    assert "promote" not in cli("rollout", "--help").out


@pytest.mark.parametrize("group", ["", "rollout", "run"])
def test_no_command_at_all_shows_the_help_and_no_error(cli: Cli, group: str) -> None:
    said = cli(*group.split())
    assert "Usage: " in said.out
    assert (said.code, said.err) == (exits.REFUSED, "")


def test_a_file_without_f_and_a_version_with_dashes_are_understood(cli: Cli) -> None:
    assert "Did you mean -f flow.yaml?" in cli("apply", "flow.yaml").err
    assert cli("--version").out.startswith("sluicegate ")


def test_every_command_has_a_sentence_and_every_option_says_something() -> None:
    def walk(command: object, path: str) -> None:
        for name, child in getattr(command, "commands", {}).items():
            assert child.help, f"{path} {name}"
            for parameter in child.params:
                if parameter.param_type_name == "option":
                    assert parameter.help, f"{path} {name} {parameter.opts}"
            walk(child, f"{path} {name}")

    walk(typer.main.get_command(main.app), "sluicegate")


BAD = [
    "",
    "nonsense",
    "gett awf",
    "get",
    "get nothing",
    "get awf --output xml",
    "get awf --no-such-option",
    "get awf/",
    "get /",
    "get awf ../../etc/passwd",
    "get awf %00",
    "get awf -l =,=,",
    "describe",
    "describe nothing x",
    "describe awf x",
    "apply",
    "apply -f /no/such/file.yaml",
    "apply -f /proc/self/mem",
    "apply -f {empty}",
    "apply -f {binary}",
    "apply -f {list}",
    "apply -f {tabs}",
    "apply -f {bomb}",
    "apply -f {deep}",
    "apply -f {folder}",
    "diff -f {tabs}",
    "lint -f {tabs}",
    "lint",
    "delete",
    "delete awf",
    "delete awf x -f {tabs}",
    "delete aro/x",
    "rollout",
    "rollout status",
    "rollout status nothing",
    "rollout status nothing -w --timeout 0",
    "rollout status nothing --timeout x",
    "rollout plan nothing",
    "rollout history nothing",
    "promote",
    "promote nothing",
    "abort nothing",
    "review nothing --run r --component c --verdict Maybe",
    "undo nothing --as ''",
    "approve nothing --as bad/name",
    "get awf --as 名前",
    "run list --limit 0",
    "run list --limit many",
    "run list --arm both",
    "run show",
    "run show nothing",
    "run show ../../x",
    "run outcome x",
    "run outcome x --reward nan",
    "run outcome x --reward 0.5",
    "run outcome x --reward 2",
    "wait nothing --for stage=Shadow --timeout 0",
    "wait nothing --for what=ever",
    "wait nothing",
    "init UPPER_case -o -",
    "init ok --url ftp://x -o -",
    "init ok -o /no/such/folder/x.yaml",
    "init ok --protocol Smoke",
    "schema nothing",
    "completion",
    "completion tcsh",
    "version --state-dir",
    "demo --bad nothing",
    "replay /no/such/file",
    "replay",
    "up --port 99999",
    "up --workers 0",
    "up -f {tabs}",
    "backtest",
    "backtest /no/such/file",
]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Broken files by name."""
    texts = {
        "empty": b"",
        "binary": bytes(range(256)),
        "list": b"- 1\n- 2\n",
        "tabs": b"a:\n\t- b\n",
        "bomb": b"a: &a [x,x]\n"
        + b"".join(b"%c: &%c [*%c,*%c]\n" % (98 + i, 98 + i, 97 + i, 97 + i) for i in range(24)),
        "deep": b"[" * 5000,
    }
    for name, data in texts.items():
        (tmp_path / f"{name}.yaml").write_bytes(data)
    (tmp_path / "folder").mkdir()
    return {name: str(tmp_path / f"{name}.yaml") for name in texts} | {"folder": str(tmp_path / "folder")}


@pytest.mark.parametrize("line", BAD)
@pytest.mark.parametrize("is_up", [True, False], ids=["up", "down"])
def test_a_mistake_gets_a_message_and_never_a_traceback(
    line: str, is_up: bool, cli: Cli, files: dict[str, str], request: pytest.FixtureRequest
) -> None:
    if is_up:
        request.getfixturevalue("server")
    said = cli(*(word if word != "''" else "" for word in line.format(**files).split()))
    assert said.code in exits.MEANINGS
    assert said.code != exits.OK
    assert said.err.strip() or "Usage:" in said.out
    for words in ("Traceback", "internal error", "Error: "):
        assert words not in said.out + said.err


@pytest.mark.parametrize(
    "line",
    [
        "get awf",
        "rollout status x",
        "promote x",
        "run list",
        "wait x --for stage=Full",
        "delete awf x",
        "rollout status x -w",
    ],
)
def test_without_a_server_it_says_what_where_and_how_to_start(cli: Cli, state: Path, line: str) -> None:
    said = cli(*line.split())
    assert said.code == 6
    assert str(state / "api.sock") in said.err
    assert "sluicegate up" in said.err


def test_the_state_folder_can_be_given_and_may_have_a_long_path(tmp_path: Path, cli: Cli) -> None:
    folder = tmp_path / ("long-" * 30)
    with ApiServer(folder):
        assert cli("get", "awf", "--state-dir", str(folder)).code == 0
    down = cli("get", "awf", "--state-dir", str(folder))
    assert f"sluicegate up --state-dir {folder}" in down.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.Refused((errors.Problem(path="spec", message="no"),)), 2),
        (errors.Forbidden((errors.Problem(path="spec", message="no"),)), 4),
        (errors.NotFound("no"), 3),
        (errors.Conflict("no"), 5),
        (errors.Unavailable("no"), 6),
        (errors.SluicegateError("no"), 1),
        (FileNotFoundError(2, "No such file", "x.yaml"), 1),
        (ZeroDivisionError("a bug"), 1),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 0),
    ],
)
def test_errors_become_exit_codes(
    error: BaseException, code: int, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(output, "structured", fail)
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    monkeypatch.setattr(sys.stdout, "fileno", lambda: 1, raising=False)
    said = cli("version")
    assert said.code == code
    assert "Traceback" not in said.err


def test_a_bug_is_told_as_one_and_debug_shows_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "structured", lambda *_: 1 / 0)
    assert "This is a bug of sluicegate" in cli("version").err
    for arguments in (("--debug", "version"), ("version", "--debug")):
        with pytest.raises(ZeroDivisionError):
            cli(*arguments)
    assert cli("version", "--", "--debug").code == 2, "after -- it is an argument"


def test_every_outcome_and_every_error_has_a_documented_code() -> None:
    codes = {exits.of_outcome(outcome) for outcome in Outcome}
    kinds: list[type[errors.SluicegateError]] = [
        errors.SluicegateError,
        *errors.SluicegateError.__subclasses__(),
        errors.Forbidden,
    ]
    assert codes | {kind.exit_code for kind in kinds} <= set(exits.MEANINGS)


def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m sluicegate.console.main schema | head -c 1"
    done = subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("sentence", "terminal", "environment", "coloured"),
    [
        ("a terminal has colour", True, {}, True),
        ("a pipe has none", False, {}, False),
        ("NO_COLOR wins", True, {"NO_COLOR": "1"}, False),
        ("an empty NO_COLOR does not count", True, {"NO_COLOR": ""}, True),
        ("a dumb terminal has none", True, {"TERM": "dumb"}, False),
    ],
)
def test_colour(
    sentence: str,
    terminal: bool,
    environment: dict[str, str],
    coloured: bool,
    state: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert ("\033[" in output.table(("Phase",), [("Healthy",)])) is coloured, sentence


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0s"),
        (0, "0s"),
        (59, "59s"),
        (60, "1m"),
        (192, "3m12s"),
        (3600, "1h"),
        (18_120, "5h2m"),
        (90_000, "1d1h"),
        (864_000, "10d"),
    ],
)
def test_durations(seconds: int, text: str) -> None:
    assert output.span(seconds) == text


def test_wide_letters_keep_columns_straight() -> None:
    lines = output.table(("A", "B"), [("查快递", "x"), ("ab", "y")]).splitlines()
    assert lines == ["A        B", "查快递   x", "ab       y"]


def test_version_tells_both(server: ApiServer, cli: Cli) -> None:
    assert "server 9.9.9" in cli("version").out


def test_version_without_a_server(cli: Cli) -> None:
    said = cli("version")
    assert (said.code, said.out.splitlines()[1]) == (0, "server not running")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(cli: Cli, shell: str) -> None:
    said = cli("completion", shell)
    assert said.code == 0
    assert "_SLUICEGATE_COMPLETE" in said.out
