"""`sluicegate completion`: the script for a shell."""

from enum import StrEnum
from typing import Annotated

import typer

from sluicegate.console import output


class Shell(StrEnum):
    """Shells with completion."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="The shell.")]) -> None:
    """Print the completion script: `source <(sluicegate completion bash)`."""
    from typer._completion_shared import get_completion_script

    output.echo(
        get_completion_script(prog_name="sluicegate", complete_var="_SLUICEGATE_COMPLETE", shell=shell.value)
    )
