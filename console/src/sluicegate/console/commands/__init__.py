"""One module per command or group. They import what they need inside, so that help and completion are fast."""

import typer

from sluicegate.console.commands import (
    apply,
    backtest,
    completion,
    contract,
    contract_sla,
    decisions,
    delete,
    demo,
    describe,
    diff,
    get,
    init,
    lint,
    plan,
    replay,
    rollout,
    rules,
    run,
    schema,
    up,
    version,
    wait,
    whoami,
)

_START, _WATCH, _DECIDE, _TRY = "Start", "Look and change", "Decide", "Check and try"


def register(app: typer.Typer) -> None:
    """Add every command, in the order in which help shows them."""
    for name, function, panel in (
        ("demo", demo.demo, _START),
        ("init", init.init, _START),
        ("up", up.up, _START),
        ("apply", apply.apply, _WATCH),
        ("get", get.get, _WATCH),
        ("describe", describe.describe, _WATCH),
        ("diff", diff.diff, _WATCH),
        ("delete", delete.delete, _WATCH),
        ("wait", wait.wait, _WATCH),
    ):
        app.command(name, rich_help_panel=panel)(function)
    app.add_typer(rollout.app, name="rollout", rich_help_panel=_WATCH)
    app.add_typer(run.app, name="run", rich_help_panel=_WATCH)
    for name, decision in decisions.COMMANDS.items():
        app.command(name, rich_help_panel=_DECIDE)(decision)
        rollout.app.command(name, hidden=True)(decision)
    app.command("whoami", rich_help_panel=_DECIDE)(whoami.whoami)
    for name, check in (
        ("lint", lint.lint),
        ("plan", plan.plan),
        ("backtest", backtest.backtest),
        ("replay", replay.replay),
        ("schema", schema.schema),
        ("completion", completion.completion),
        ("version", version.version),
    ):
        app.command(name, rich_help_panel=_TRY)(check)
    contract.app.command("sla")(contract_sla.sla)
    contract.app.command("verify-evidence")(contract_sla.verify_evidence)
    app.add_typer(contract.app, name="contract", rich_help_panel=_TRY)
    app.add_typer(rules.app, name="rules", rich_help_panel=_TRY)
