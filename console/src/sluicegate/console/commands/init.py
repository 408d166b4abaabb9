"""`sluicegate init`: the smallest useful workflow, ready to be edited."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sluicegate.console import output, program
from sluicegate.contracts.errors import Conflict, Problem, Refused

SCHEMA_FILE = "agentworkflow.schema.json"
_WITH_SCHEMA = f"# yaml-language-server: $schema={SCHEMA_FILE}"
_WITHOUT_SCHEMA = f"""\
# Completion and checks in an editor: `sluicegate schema -o {SCHEMA_FILE}`, and this as the first line:
#   yaml-language-server: $schema={SCHEMA_FILE}"""


class Protocol(StrEnum):
    """Protocols of an endpoint that local mode can call."""

    HTTP = "Http"
    NATIVE = "Native"
    OPENAI = "OpenAI"


_TEMPLATE = """\
{editor}
apiVersion: sluicegate.io/v1alpha1
kind: AgentWorkflow
metadata: {{name: {name}}}
spec:
  version: 1.0.0                          # raise it with every change; a change goes Canary → Shadow → Controlled → Full
  expectedRunsPerHour: {rate}              # your traffic, for the times that `sluicegate lint` tells
  components:
  - name: agent
    version: v1
    endpoint: {endpoint}
    sideEffects: None                     # None, Sandboxed or Live; a mirrored run never calls a Live component
    contract: {{output: {{type: object}}}}    # JSON Schema of what must come out
    sla: {{maxLatencyMs: 2000}}             # of a call, and its time-out
  contract:
    input: {{type: object}}                 # what callers send; anything else is refused
    sla: {{maxLatencyMs: 2000}}             # what they are promised; a candidate with more runs above it is worse
"""
_TRIAL = """\
  rollout:                                # a trial in minutes; without this block: the careful stages of production, days
    evaluationIntervalSeconds: 1
    outcomeWindowSeconds: 0
    stages:                               # Canary and Shadow are copies, of which users see nothing
    - {name: Canary, share: {numerator: 100}, minRuns: 50}
    - {name: Shadow, share: {numerator: 100}, minRuns: 50}
    - {name: Controlled, share: {numerator: 50}, minRuns: 50, minDurationSeconds: 10}
    - {name: Full, minRuns: 50, minDurationSeconds: 10}
"""
_RATES = {False: "1000", True: "36000"}
_ENDPOINTS = {
    Protocol.HTTP: "{{protocol: Http, url: {url}}}",
    Protocol.NATIVE: "{{protocol: Native, url: {url}}}",
    Protocol.OPENAI: "{{protocol: OpenAI, url: {url}, model: my-model, prompt: Answer the user.}}",
}
_URLS = {
    Protocol.HTTP: "http://127.0.0.1:9000",
    Protocol.NATIVE: "http://127.0.0.1:9000",
    Protocol.OPENAI: "http://127.0.0.1:8000/v1",
}


def init(
    name: Annotated[str, typer.Argument(help="Name of the workflow.")] = "my-agent",
    *,
    url: Annotated[str | None, typer.Option(help="Where the agent listens.", show_default=False)] = None,
    protocol: Annotated[
        Protocol, typer.Option(help="How it is called.", case_sensitive=False)
    ] = Protocol.HTTP,
    file: Annotated[
        Path, typer.Option("--output", "-o", help="File to write; - for standard output.")
    ] = Path("workflow.yaml"),
    trial: Annotated[
        bool, typer.Option("--trial", help="With short stages, to try a rollout in minutes.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write the smallest useful workflow: one agent behind one URL."""
    has_schema = str(file) != "-" and (file.parent / SCHEMA_FILE).exists()
    text = template(name, url or _URLS[protocol], protocol, has_schema=has_schema, trial=trial)
    if str(file) == "-":
        output.echo(text.rstrip("\n"))
        return
    if file.exists() and not force:
        raise Conflict(f"{file} exists already; use --force to overwrite it, or -o to write another file")
    file.write_text(text)
    output.echo(f"{file} written. Next:")
    then = ("apply", "store it") if program.is_plugin() else ("up", "run it")
    for word, why in (("lint", "check it"), then):
        output.echo(f"  {program.name()} {word} -f {file}{' ' * (10 - len(word))}{why}")


def template(
    name: str,
    url: str,
    protocol: Protocol = Protocol.HTTP,
    *,
    has_schema: bool = False,
    trial: bool = False,
) -> str:
    """The file's text; Refused when name or url cannot be part of a workflow.

    has_schema: SCHEMA_FILE lies beside it. trial: with stages of minutes.
    """
    problems = []
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", name):
        allowed = "1–63 lower-case letters, digits and -, not at the ends"
        problems.append(Problem(path="NAME", message="not a valid name", value=repr(name), allowed=allowed))
    if not re.fullmatch(r"https?://[^\s{},#]+", url):
        problems.append(
            Problem(path="--url", message="not a URL", value=repr(url), allowed="http:// or https://")
        )
    if problems:
        raise Refused(tuple(problems))
    editor = _WITH_SCHEMA if has_schema else _WITHOUT_SCHEMA
    endpoint = _ENDPOINTS[protocol].format(url=url)
    text = _TEMPLATE.format(editor=editor, name=name, endpoint=endpoint, rate=_RATES[trial])
    return text + _TRIAL if trial else text
