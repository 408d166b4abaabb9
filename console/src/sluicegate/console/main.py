"""`sluicegate`: the command line. Errors become one message and an exit code here, nowhere else."""

import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer

from sluicegate.console import exits, output, program
from sluicegate.console.commands import register
from sluicegate.console.session import Cluster, Context, Kubeconfig, Namespace
from sluicegate.contracts.errors import Refused, SluicegateError

app = typer.Typer(
    name="sluicegate",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Begin with `sluicegate demo`, or `sluicegate init` and `sluicegate up -f workflow.yaml`.",
)


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        output.echo(f"sluicegate {version('sluicegate')}")
        raise typer.Exit


@app.callback()
def _globals(
    *,
    debug: Annotated[  # `run` has acted on it already
        bool, typer.Option("--debug", help="Show the traceback of an error.", envvar="SLUICEGATE_DEBUG")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version of this program.", callback=_version)
    ] = False,
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    cluster: Cluster = None,
) -> None:
    """Progressive delivery for agent workflows: canary, shadow, controlled, full, with evidence, and back.

    Commands go to `sluicegate up` on this machine. They go to a cluster as `kubectl sluicegate`, or with --kubeconfig,
    --context or --cluster, before the command or after it.
    """


register(app)


@cache
def command() -> Any:
    """The command line as typer made it; once, since that takes longer than most commands."""
    return typer.main.get_command(app)


def run(arguments: Sequence[str], *, name: str = program.NAME) -> int:
    """Run one command line; its exit code. Prints, never raises (but with --debug). name: how it was called."""
    program.called(name)
    words = list(arguments)
    debug = _take(words, "--debug") or bool(os.environ.get("SLUICEGATE_DEBUG"))
    try:
        code = command().main(args=words, prog_name=name, standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else exits.OK
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left; not our error
        return exits.OK
    except (KeyboardInterrupt, typer.Abort):
        output.note("stopped")
        return exits.INTERRUPTED
    except Exception as error:
        if debug:
            raise
        return report(error, words)


def report(error: Exception, words: Sequence[str] = ()) -> int:
    """Say an error the way people can use it; the exit code that belongs to it. words: of the command line."""
    if isinstance(error, Refused):
        _say_problems(error)
        return error.exit_code
    if isinstance(error, SluicegateError):
        output.note(f"error: {error}")
        return error.exit_code
    if hasattr(error, "format_message"):  # the command line itself is wrong
        context = getattr(error, "ctx", None)
        if type(error).__name__ == "NoArgsIsHelpError":  # the help has been shown
            return exits.REFUSED
        output.note(f"error: {error.format_message()}{_file_hint(error, words)}")
        if context is not None:
            output.note(f"See `{context.command_path} --help`.")
        return exits.REFUSED
    if isinstance(error, OSError):
        output.note(f"error: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        return exits.ERROR
    output.note(f"internal error: {type(error).__name__}: {error}")
    output.note("This is a bug of sluicegate; `--debug` shows where. Please report it.")
    return exits.ERROR


def _say_problems(error: Refused) -> None:
    if len(error.problems) == 1:
        output.note(f"error: {error.problems[0]}")
        return
    output.note(f"error: {output.plural(len(error.problems), 'problem')}; nothing was changed")
    for problem in error.problems:
        output.note(f"  {problem}")


def _file_hint(error: Exception, words: Sequence[str]) -> str:
    """`apply workflow.yaml` means `apply -f workflow.yaml`."""
    missing = getattr(getattr(error, "param", None), "name", "") == "filename"
    files = [word for word in words[1:] if word.endswith((".yaml", ".yml", ".json"))]
    return f" Did you mean -f {files[0]}?" if missing and files else ""


def _take(words: list[str], flag: str) -> bool:
    """Remove `flag` wherever it stands before `--`; whether it was there."""
    end = words.index("--") if "--" in words else len(words)
    found = [index for index in range(end) if words[index] == flag]
    for index in reversed(found):
        del words[index]
    return bool(found)


def main() -> None:
    """Entry point of the console script."""
    sys.exit(run(sys.argv[1:]))


def plugin() -> None:
    """Entry point of `kubectl sluicegate`."""
    sys.exit(run(sys.argv[1:], name=program.PLUGIN))


if __name__ == "__main__":
    main()
