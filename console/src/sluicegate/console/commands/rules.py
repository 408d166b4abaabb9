"""`sluicegate rules`: decision tables of business fallback."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sluicegate.console import exits, output
from sluicegate.console.commands import rules_serve
from sluicegate.console.commands.apply import Files, Recursive
from sluicegate.console.output import Format
from sluicegate.console.session import Output
from sluicegate.contracts.errors import Problem, Refused

if TYPE_CHECKING:
    from sluicegate.console.rules.reading import RuleSet
    from sluicegate.console.rules.saying import Checked
    from sluicegate.contracts.diagnostics import Diagnostic

app = typer.Typer(
    no_args_is_help=True,
    help="Decision tables of business fallback: check, prove, try, compare, exchange, serve.",
)
app.command("serve")(rules_serve.serve)

File = Annotated[
    Path, typer.Option("--filename", "-f", help="File with one FallbackRuleSet; - for standard input.")
]
Given = Annotated[
    str,
    typer.Option(
        "--input",
        help='{"amount": 5} of columns, or {"input": {…}, "steps": {…}} of a run; @FILE reads it from a file.',
    ),
]


class Source(StrEnum):
    """What `import` reads."""

    JDM = "jdm"
    CSV = "csv"
    XLSX = "xlsx"


class Target(StrEnum):
    """What `export` writes."""

    JDM = "jdm"
    CSV = "csv"
    XLSX = "xlsx"
    DMN = "dmn"


@app.command()
def check(
    *,
    filename: Files,
    recursive: Recursive = False,
    against: Annotated[
        Path | None,
        typer.Option(help="File with the AgentWorkflow that gets the answers.", show_default=False),
    ] = None,
    format: Output = Format.TABLE,
) -> int:
    """Check tables: what is wrong with them, the proof, answers against contracts, examples, and what is worth a look.

    Exit code 2 when a table must not answer anybody: each finding has an input that shows it.
    """
    from sluicegate.fallback_rules.against import check_against
    from sluicegate.fallback_rules.lint import lint

    schema = _output_contract(against) if against else None

    def more(one: "RuleSet") -> "tuple[Diagnostic, ...]":
        if one.table is None:
            return ()
        received = () if schema is None else check_against(one.table.spec, schema, subject=one.name)
        return (*received, *lint(one.table, subject=one.name))

    return _conclude([_checked(one, more(one)) for one in _read(filename, recursive=recursive)], format)


@app.command()
def prove(*, filename: Files, recursive: Recursive = False, format: Output = Format.TABLE) -> int:
    """Prove tables: complete, free of overlaps, no rule that never answers. Exit code 2 when one is not."""
    return _conclude([_checked(one, ()) for one in _read(filename, recursive=recursive)], format)


@app.command("test")
def run_examples(*, filename: Files, recursive: Recursive = False, format: Output = Format.TABLE) -> int:
    """Run the examples inside tables. Exit code 2 when one fails."""
    from sluicegate.console.rules.saying import Checked
    from sluicegate.contracts.diagnostics import refusal
    from sluicegate.contracts.parsing import placed
    from sluicegate.fallback_rules.proof import failed_examples

    checked = []
    for one in _read(filename, recursive=recursive):
        found = [refusal(problem, subject=one.name) for problem in one.problems]
        if one.table is not None:
            found += [placed(each, one.document) for each in failed_examples(one.table, subject=one.name)]
            if format is Format.TABLE:
                output.note(f"{one.name}: {output.plural(len(one.table.spec.examples), 'example')}")
        checked.append(Checked(source=one.document.source, name=one.name, findings=tuple(found)))
    return _conclude(checked, format)


@app.command("eval")
def evaluate(*, filename: File, given: Given, format: Output = Format.TABLE) -> int:
    """Give a table's answer to an input. Exit code 2 when it has none."""
    from sluicegate.console.rules import reading, saying

    _, table = reading.only_table(filename)
    told = reading.answered(table, reading.given_input(given))
    if not output.structured(saying.answer_data(told, table.digest), format):
        _echo(saying.answer_lines(told))
    return exits.REFUSED if told.problem else exits.OK


@app.command()
def explain(*, filename: File, given: Given, format: Output = Format.TABLE) -> int:
    """Say why a table answers as it does: each rule, its cells, and what kept it from answering."""
    from sluicegate.console.rules import reading, saying
    from sluicegate.fallback_rules.explain import explain as explanation_of

    _, table = reading.only_table(filename)
    told = explanation_of(table, dict(reading.answered(table, reading.given_input(given)).values))
    if not output.structured(saying.explanation_data(told), format):
        _echo(saying.explanation_lines(told))
    return exits.REFUSED if told.answered.problem else exits.OK


@app.command()
def diff(
    old: Annotated[Path, typer.Argument(help="File with one FallbackRuleSet.", show_default=False)],
    new: Annotated[Path, typer.Argument(help="File with another version of it.", show_default=False)],
    *,
    format: Output = Format.TABLE,
) -> int:
    """Show which inputs get another answer. Exit code 1 when some do, or when their values come from elsewhere."""
    from sluicegate.console.rules import reading, saying
    from sluicegate.fallback_rules.diff import diff as difference_of

    told = difference_of(reading.only_table(old)[1], reading.only_table(new)[1])
    if not output.structured(saying.difference_data(told), format):
        _echo(saying.difference_lines(told))
    return exits.OK if told.is_empty else exits.DIFFERENT


@app.command("import")
def import_table(
    file: Annotated[Path, typer.Argument(help="File to read.", show_default=False)],
    *,
    source: Annotated[Source, typer.Option("--from", help="What it is.")],
    name: Annotated[str, typer.Option(help="Name of the rule set.")] = "imported",
    target: Annotated[Path, typer.Option("--to-file", help="File to write; - for standard output.")] = Path(
        "-"
    ),
) -> int:
    """Make a rule set of a table of another program. What had to be guessed is told."""
    from sluicegate.console.rules.exchanging import imported

    text, notes = imported(_bytes(file), source.value, name)
    for said in notes:
        output.note(f"note: {said}")
    _write(target, text.encode())
    return exits.OK


@app.command("export")
def export_table(
    *,
    filename: File,
    kind: Annotated[Target, typer.Option("--to", help="What to write.")],
    target: Annotated[Path, typer.Option("--to-file", help="File to write; - for standard output.")] = Path(
        "-"
    ),
) -> int:
    """Write a table for another program: GoRules' editor (jdm), spreadsheets (csv, xlsx), auditors (dmn)."""
    from sluicegate.console.rules import reading
    from sluicegate.console.rules.exchanging import exported

    resource, _ = reading.only_table(filename)
    content, notes = exported(resource, kind.value)
    for said in notes:
        output.note(f"note: {said}")
    _write(target, content)
    return exits.OK


def _read(paths: list[Path], *, recursive: bool) -> "tuple[RuleSet, ...]":
    from sluicegate.console.rules.reading import rule_sets

    return rule_sets(paths, recursive=recursive)


def _checked(one: "RuleSet", more: "tuple[Diagnostic, ...]") -> "Checked":
    from sluicegate.console.rules.saying import Checked
    from sluicegate.contracts.diagnostics import refusal
    from sluicegate.contracts.parsing import placed
    from sluicegate.fallback_rules.proof import prove as proof_of

    if one.table is None:
        problems = tuple(refusal(problem, subject=one.name) for problem in one.problems)
        return Checked(source=one.document.source, name=one.name, findings=problems)
    proof = proof_of(one.table, subject=one.name)
    found = tuple(placed(each, one.document) for each in (*proof.diagnostics, *more))
    return Checked(
        source=one.document.source, name=one.name, findings=found, proof=proof.summary, digest=one.table.digest,
        cells=proof.cells, rules=len(one.table.rows),
    )  # fmt: skip


def _conclude(checked: "list[Checked]", format: Format) -> int:
    from sluicegate.console.rules.saying import as_data, lines_of

    if not output.structured(as_data(checked), format):
        for one in checked:
            _echo(lines_of(one))
    return exits.REFUSED if any(one.is_refused for one in checked) else exits.OK


def _echo(lines: Any) -> None:
    for line in lines:
        output.echo(line)


def _output_contract(path: Path) -> Any:
    from sluicegate.console.files import only_workflow

    return only_workflow(path).spec.contract.output


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise Refused(
            (Problem(path=str(file), message=error.strerror or str(error), hint="check the path"),)
        ) from None


def _write(target: Path, content: bytes) -> None:
    if str(target) == "-":
        import sys

        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    target.write_bytes(content)
    output.note(f"{target} written")
