"""One Prometheus that runs, and what tests ask of it."""

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sluicegate.contracts.adapters import system
from tests.controlplane.processes import Ended, Processes, free_port, until_ready
from tests.prometheus.binaries import Binaries

INTERVAL = "500ms"  # of scrapes and of rules; a scrape may take as long
ALIGNED = 0.005  # seconds: Prometheus moves a sample's time by less than this to keep intervals even
ATTEMPTS = 3  # somebody else may take the port
FLAGS = (
    "--web.enable-lifecycle",
    "--web.enable-admin-api",
    "--web.enable-remote-write-receiver",
    "--enable-feature=exemplar-storage",
    "--storage.tsdb.retention.time=1d",
    "--scrape.discovery-reload-interval=100ms",
    "--log.level=warn",
)


class Refused(Exception):  # noqa: N818 - it names what happened
    """Prometheus did not do what was asked; the message is its own."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One series of an answer. at: Unix seconds of the evaluation."""

    labels: dict[str, str]
    value: float
    at: float


@dataclass(frozen=True, slots=True)
class Job:
    """What is scraped under one name."""

    prometheus: "Prometheus"
    name: str

    def fresh(self, seconds: float = 60.0) -> float:
        """Wait until a scrape that began after this call is stored; a time (Unix seconds) at which to ask for it."""
        first = self._scraped_after(system.unix_ms() / 1000, seconds)
        self._scraped_after(first, seconds)  # told before it is stored: the next one is told after that
        return first + ALIGNED

    def _scraped_after(self, moment: float, seconds: float) -> float:
        """When the first good scrape of every target after `moment` began."""
        deadline = time.monotonic() + seconds
        while True:
            targets = self.prometheus.targets(self.name)
            if targets and all(at > moment and not error for at, error in targets):
                return min(at for at, _ in targets)
            if time.monotonic() > deadline:
                raise AssertionError(f"not in {seconds:g} s: a scrape of {self.name}; {targets}")
            time.sleep(0.02)


class Prometheus:
    """Its configuration is what the tests ask for at the moment."""

    def __init__(self, binaries: Binaries, folder: Path) -> None:
        self._binaries, self._folder = binaries, folder
        self._processes = Processes(folder)
        self._jobs: dict[str, dict[str, Any]] = {}
        self._rules: list[str] = []
        self.url = ""

    def start(self) -> None:
        """Listen on a port of its own. Ended when it does not."""
        for attempt in range(ATTEMPTS):
            self.url = f"http://127.0.0.1:{free_port()}"
            self._configure()
            place = [
                f"--config.file={self._config}",
                f"--storage.tsdb.path={self._folder}/data",
                f"--web.listen-address={self.url.removeprefix('http://')}",
            ]
            self._processes.start("prometheus", [self._binaries.prometheus, *place, *FLAGS])
            try:
                until_ready("prometheus", self._processes, self._is_ready)
                break
            except Ended:
                self._processes.stop_all()
                if attempt + 1 == ATTEMPTS:
                    raise

    def stop(self) -> None:
        """End it; its data stay in its folder."""
        self._processes.stop_all()

    @contextmanager
    def scraping(
        self, name: str, *ports: int, path: str = "/metrics", labels: Mapping[str, str] | None = None
    ) -> Iterator[Job]:
        """Scrape these ports of this machine; at the end their series are deleted."""
        static = [{"targets": [f"127.0.0.1:{port}" for port in ports], "labels": dict(labels or {})}]
        self._jobs[name] = {"job_name": name, "metrics_path": path, "static_configs": static}
        self._reload()
        try:
            yield Job(self, name)
        finally:
            del self._jobs[name]
            self._reload()
            matcher = urllib.parse.quote(f'{{job="{name}"}}')
            self._post(f"/api/v1/admin/tsdb/delete_series?match[]={matcher}")

    @contextmanager
    def ruled(self, *files: Path) -> Iterator[None]:
        """Load files of rules. Refused when it does not accept them."""
        added = [str(path) for path in files]
        self._rules += added
        try:
            self._reload()
            yield
        finally:
            self._rules = [path for path in self._rules if path not in added]
            self._reload()

    def query(self, expression: str, at: float | None = None) -> list[Sample]:
        """An instant query, of a vector or a scalar; at: Unix seconds, default now. Refused when it is wrong."""
        data = self.api("query", {"query": expression} | ({} if at is None else {"time": f"{at:.3f}"}))
        if data["resultType"] == "scalar":
            return [Sample({}, float(data["result"][1]), float(data["result"][0]))]
        found = ((item["metric"], item["value"]) for item in data["result"])
        return [Sample(labels, float(value), float(moment)) for labels, (moment, value) in found]

    def targets(self, job: str) -> list[tuple[float, str]]:
        """When each target of a job was scraped last (Unix seconds), and the error."""
        found = self.api("targets", {"state": "active", "scrapePool": job})["activeTargets"]
        return [(datetime.fromisoformat(one["lastScrape"]).timestamp(), one["lastError"]) for one in found]

    def api(self, path: str, parameters: Mapping[str, str]) -> Any:
        """`data` of an answer of /api/v1. Refused when the answer is an error."""
        body = urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{body}", timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            with error:
                raise Refused(error.read().decode()) from error

    @property
    def _config(self) -> Path:
        return self._folder / "prometheus.yml"

    def _configure(self) -> None:
        intervals = {"scrape_interval": INTERVAL, "scrape_timeout": INTERVAL, "evaluation_interval": INTERVAL}
        told = {"global": intervals, "rule_files": self._rules, "scrape_configs": list(self._jobs.values())}
        self._config.write_text(json.dumps(told, indent=1))  # which is YAML as well

    def _reload(self) -> None:
        self._configure()
        self._post("/-/reload")

    def _post(self, path: str) -> None:
        request = urllib.request.Request(f"{self.url}{path}", method="POST")
        try:
            urllib.request.urlopen(request, timeout=30).close()
        except urllib.error.HTTPError as error:
            with error:
                raise Refused(f"{error.read().decode()}\n{self._processes.tail('prometheus')}") from error

    def _is_ready(self) -> bool:
        try:
            urllib.request.urlopen(f"{self.url}/-/ready", timeout=5).close()
        except OSError:
            return False
        return True
