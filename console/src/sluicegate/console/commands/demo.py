"""`sluicegate demo`: the whole life of two rollouts in a few minutes."""

from pathlib import Path
from typing import Annotated

import typer

from sluicegate.console import program
from sluicegate.contracts.errors import Problem, Refused


def demo(
    *,
    bad: Annotated[
        str,
        typer.Option(
            help="The bad candidate: contract-break, slow-p95, more-fallbacks, lower-reward or crash."
        ),
    ] = "more-fallbacks",
    rate: Annotated[
        float, typer.Option(min=1.0, max=1000.0, help="Sessions per second of the simulated users.")
    ] = 30.0,
    seed: Annotated[int, typer.Option(help="Of users and components.")] = 1,
    keep: Annotated[bool, typer.Option("--keep", help="Leave everything running until Ctrl-C.")] = False,
    state_dir: Annotated[
        Path | None,
        typer.Option(
            "--state-dir", help="Keep the state here; default: a temporary folder.", show_default=False
        ),
    ] = None,
) -> int:
    """Try it: a good candidate is promoted and a bad one is aborted, live, with the evidence of each step."""
    program.only_here("demo", "`sluicegate demo` on this machine")
    from sluicegate.console.demo.command import BAD, DemoOptions, run

    if bad not in BAD:
        raise Refused(
            (Problem(path="--bad", message="unknown candidate", value=repr(bad), allowed=", ".join(BAD)),)
        )
    return run(DemoOptions(bad=bad, rate=rate, seed=seed, keep=keep, state_dir=state_dir))
