"""Users of one workflow, told apart by session, who see which version answered; and people at the command line."""

import http.client
import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.operator.up import Up


@dataclass(frozen=True, slots=True)
class Answered:
    """What one user got. version: the component that answered, by its path; None when there was no answer."""

    code: int
    version: str | None


def ask(up: Up, workflow: str, session: str) -> Answered:
    """One run of one user."""
    connection = http.client.HTTPConnection("127.0.0.1", up.port, timeout=60)
    try:
        body = json.dumps({"session": session})
        connection.request(
            "POST", f"/v1/workflows/{workflow}/runs", body, {"Content-Type": "application/json"}
        )
        answer = connection.getresponse()
        said = json.loads(answer.read())
        return Answered(answer.status, said["path"].strip("/") if answer.status == 200 else None)
    except (OSError, http.client.HTTPException):
        return Answered(0, None)
    finally:
        connection.close()


def crowd(up: Up, workflow: str, size: int = 24) -> Counter[str | None]:
    """How many of `size` users got which version."""
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda number: ask(up, workflow, f"user-{number}"), range(size))
        return Counter(one.version for one in found)


def start_cli(up: Up, *words: str) -> subprocess.Popen[str]:
    """A `sluicegate` process; not waited for."""
    env = {**os.environ, "SLUICEGATE_STATE_DIR": str(up.root), "NO_COLOR": "1", "COLUMNS": "200"}
    command = [sys.executable, "-m", "sluicegate.console.main", *words]
    return subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def cli(up: Up, *words: str) -> tuple[int, str]:
    """Exit code and everything that was said."""
    process = start_cli(up, *words)
    out, err = process.communicate(timeout=120)
    return process.returncode, out + err


def together(up: Up, *lines: tuple[str, ...]) -> list[tuple[int, str]]:
    """Command lines started in the same moment."""
    processes = [start_cli(up, *words) for words in lines]
    said = [process.communicate(timeout=120) for process in processes]
    return [(process.returncode, out + err) for process, (out, err) in zip(processes, said, strict=True)]
