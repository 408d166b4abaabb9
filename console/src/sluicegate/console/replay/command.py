"""`sluicegate replay`: check, write the workflow files, serve."""

import asyncio
from pathlib import Path

from sluicegate.console import output
from sluicegate.console.recordings import Recording, load
from sluicegate.console.replay.options import ReplayOptions
from sluicegate.console.replay.selections import parse_selection
from sluicegate.console.replay.server import ReplayApp, serve
from sluicegate.console.replay.workflows import ReplayWorkflow


def run(options: ReplayOptions) -> int:
    """Serve until Ctrl-C. Raises Refused for a wrong file, selection or port."""
    recording = load(options.file, options.format)
    for selection in (options.stable, options.candidate, options.floor):
        parse_selection(selection).check(recording)
    app = ReplayApp(recording, latency_ms=options.latency_ms)

    def ready(port: int) -> None:
        for text in _lines(options, recording, f"http://{options.host}:{port}"):
            output.echo(text)

    asyncio.run(serve(app, options.host, options.port, ready))
    return 0


def _lines(options: ReplayOptions, recording: Recording, base: str) -> list[str]:
    tasks, trials = len(recording.tasks), len(recording.trials)
    floor = parse_selection(options.floor).name
    lines = [
        f"{options.file}: {tasks} tasks, {trials} trials each",
        f"  stable     {base}/agent/{parse_selection(options.stable).name}/floor/{floor}",
        f"  candidate  {base}/agent/{parse_selection(options.candidate).name}",
        f"  evaluator  {base}/evaluator",
    ]
    if options.write_workflow is None:
        return [*lines, "Ctrl-C stops it. `--write-workflow DIR` writes the workflow files to apply."]
    stable, candidate = write_workflows(options.write_workflow, options, base)
    runs = "localhost:8080/v1/workflows/replay/runs"
    return [
        *lines,
        "Ctrl-C stops it. In another terminal, with `sluicegate up` running:",
        f"  sluicegate apply -f {stable}",
        f"  sluicegate apply -f {candidate}",
        f"  for task in $(curl -s '{base}/tasks?runs=2000&seed=1'); do",
        f"    curl -so /dev/null {runs} -d '{{\"task_id\": \"'$task'\"}}'",
        "  done &",
        "  sluicegate rollout status replay -w",
    ]


def write_workflows(folder: Path, options: ReplayOptions, base: str) -> tuple[Path, Path]:
    """workflow.yaml and candidate.yaml in `folder`; existing ones are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    stable, candidate = folder / "workflow.yaml", folder / "candidate.yaml"
    floor = parse_selection(options.floor).name
    ReplayWorkflow(base=base, selection=parse_selection(options.stable).name, floor=floor).write(stable)
    chosen = parse_selection(options.candidate).name
    ReplayWorkflow(base=base, selection=chosen, version="2.0.0").write(candidate)
    return stable, candidate
