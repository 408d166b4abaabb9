"""New wishes at any time, and candidates that break in every way: stable keeps the users."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from sluicegate.operator.api.context import BASE
from tests.e2e import life
from tests.e2e.life import in_state, rollout_of, rollouts
from tests.e2e.users import crowd
from tests.operator.samples import staged
from tests.operator.up import Up, until

pytestmark = pytest.mark.e2e
STAGES = ["Canary", "Shadow", "Controlled", "Full"]


def served(up: Up, url: str, name: str) -> None:
    up.apply(staged("1.0.0", url, name=name))
    life.serving(up, name)


def reach(up: Up, name: str, stage: str) -> None:
    def there() -> bool:
        found = rollout_of(up, "2.0.0", name)
        return bool(crowd(up, name, 8) and found and found["status"]["state"] == stage)

    until(stage, there)


def test_two_wishes_at_once_end_with_one_rollout_of_the_last(up: Up, url: str) -> None:
    served(up, url, "wishes")

    def wish(version: str) -> int:
        documents = [staged(version, url, name="wishes", needs=life.LONG)]
        return up.api("POST", f"{BASE}/apply", {"documents": documents})[0]

    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(wish, ["2.0.0", "3.0.0", "2.0.0", "3.0.0"]))
    assert set(codes) <= {200, 409}
    wished = next(one for one in up.objects("agentworkflows") if one["metadata"]["name"] == "wishes")
    in_state(up, "Canary", wished["spec"]["version"], "wishes")
    states = Counter(one["status"]["state"] for one in rollouts(up, "wishes"))
    assert states["Canary"] == 1
    assert set(states) <= {"Canary", "Done"}


@pytest.mark.parametrize("stage", STAGES)
def test_a_new_wish_supersedes_in_every_stage(up: Up, url: str, stage: str) -> None:
    name = f"new-{stage.lower()}"
    served(up, url, name)
    up.apply(staged("2.0.0", url, name=name, needs={stage: life.NEVER}))
    reach(up, name, stage)
    up.apply(staged("3.0.0", url, name=name, needs=life.LONG))
    newer = in_state(up, "Canary", "3.0.0", name)
    older = rollout_of(up, "2.0.0", name)
    assert older is not None
    assert (older["status"]["state"], older["status"]["outcome"]) == ("Done", "Superseded")
    assert newer["spec"]["stable"]["version"] == "1.0.0"
    assert newer["status"].get("samples", 0) == 0 or newer["status"]["stageStartedAt"]
    assert crowd(up, name) == {"1.0.0": 24}


@dataclass
class Candidate:
    """A component that works until told how to break."""

    url: str
    how: str = "works"


@pytest.fixture(scope="module")
def candidate() -> Iterator[Candidate]:
    made = Candidate("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            try:
                BREAKS[made.how](self)
            except OSError:
                self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    made.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


def begin(handler: BaseHTTPRequestHandler, length: int) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(length))
    handler.end_headers()


def works(handler: BaseHTTPRequestHandler) -> None:
    answer = json.dumps({"path": handler.path}).encode()
    begin(handler, len(answer))
    handler.wfile.write(answer)


def vanishes(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True  # without a byte


def hangs(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(5)  # far beyond the deadline of a run here
    handler.close_connection = True


def floods(handler: BaseHTTPRequestHandler) -> None:
    begin(handler, 100 << 20)
    for _ in range(100):
        handler.wfile.write(b"1" * (1 << 20))


def drips(handler: BaseHTTPRequestHandler) -> None:
    begin(handler, 1_000)
    for _ in range(25):
        handler.wfile.write(b"1")
        handler.wfile.flush()
        time.sleep(0.2)
    handler.close_connection = True


BREAKS = {"works": works, "vanishes": vanishes, "hangs": hangs, "floods": floods, "drips": drips}


@pytest.mark.parametrize(
    ("how", "stage"),
    [
        ("floods", "Canary"),
        ("hangs", "Shadow"),
        ("vanishes", "Controlled"),
        ("drips", "Full"),
    ],
)
def test_a_candidate_that_breaks_is_aborted(
    up: Up, url: str, candidate: Candidate, how: str, stage: str
) -> None:
    name = f"{how}-{stage.lower()}"
    candidate.how = "works"
    served(up, url, name)
    wanted = staged("2.0.0", candidate.url, name=name, needs={stage: life.NEVER})
    wanted["spec"]["contract"] = {"sla": {"maxLatencyMs": 2_500}}
    wanted["spec"]["components"][0]["sla"] = {"maxLatencyMs": 2_000}
    up.apply(wanted)
    reach(up, name, stage)
    candidate.how = how
    seen: Counter[str | None] = Counter()

    def is_done() -> bool:
        seen.update(crowd(up, name, 16))
        found = rollout_of(up, "2.0.0", name)
        return bool(found and found["status"]["state"] == "Done")

    until("the abort", is_done)
    ended = rollout_of(up, "2.0.0", name)
    assert ended is not None
    assert ended["status"]["outcome"] == "Aborted"
    assert "Fail of gate success" in ended["status"]["message"]
    if stage in {"Canary", "Shadow"}:
        assert set(seen) == {"1.0.0"}, "users never met it"
    assert crowd(up, name) == {"1.0.0": 24}
