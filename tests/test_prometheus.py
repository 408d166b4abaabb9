"""The tests' Prometheus: where it comes from, and that it is a real one."""

import math
import time
from pathlib import Path

import pytest

from sluicegate.contracts.adapters import system
from tests.prometheus import binaries
from tests.prometheus.binaries import NEEDED, Binaries, NoPrometheus
from tests.prometheus.exporter import OPEN_METRICS, exporter
from tests.prometheus.server import Prometheus, Refused


def filled(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in NEEDED:
        (folder / name).write_text(f"a program named {name}")
        (folder / name).chmod(0o755)
    return folder


def unwanted(folder: Path) -> None:
    raise AssertionError("built")


def both(folder: Path) -> Binaries:
    return Binaries(folder / "prometheus", folder / "promtool")


def test_a_folder_that_is_given_goes_before_path_and_cache(tmp_path: Path) -> None:
    given, on_path = filled(tmp_path / "given"), filled(tmp_path / "bin")
    environ = {"SLUICEGATE_PROMETHEUS": str(given), "PATH": str(on_path)}
    assert binaries.find(environ, unwanted) == both(given)
    del environ["SLUICEGATE_PROMETHEUS"]
    assert binaries.find(environ, unwanted) == both(on_path)


def test_one_program_alone_on_path_is_not_enough(tmp_path: Path) -> None:
    (filled(tmp_path / "bin") / "promtool").unlink()
    environ = {"PATH": str(tmp_path / "bin"), "SLUICEGATE_CACHE": str(tmp_path / "cache")}

    def build(folder: Path) -> None:
        filled(folder)

    found = binaries.find(environ, build)
    assert found.prometheus.parent.parent == tmp_path / "cache" / "prometheus"
    assert binaries.find(environ, unwanted) == found


def test_a_given_folder_is_told_what_it_lacks(tmp_path: Path) -> None:
    (filled(tmp_path) / "promtool").unlink()
    with pytest.raises(NoPrometheus, match="has no promtool; `make prometheus` builds both"):
        binaries.find({"SLUICEGATE_PROMETHEUS": str(tmp_path)}, unwanted)


def test_a_build_that_brought_one_is_no_cache(tmp_path: Path) -> None:
    def brings_one(folder: Path) -> None:
        (filled(folder) / "promtool").unlink()

    with pytest.raises(NoPrometheus, match="the build brought no promtool"):
        binaries.find({"PATH": "", "SLUICEGATE_CACHE": str(tmp_path)}, brings_one)


def test_a_scrape_is_asked_for_and_answered(prometheus: Prometheus) -> None:
    with exporter("orders_total 7\n") as shop:
        with prometheus.scraping("shop", shop.port, labels={"zone": "a"}) as job:
            (sample,) = prometheus.query("orders_total * 2", at=job.fresh())
            assert sample.labels == {"job": "shop", "zone": "a", "instance": f"127.0.0.1:{shop.port}"}
            assert sample.value == 14
            shop.text = "orders_total NaN\nempty 1\n"
            (sample,) = prometheus.query("orders_total", at=job.fresh())
            assert math.isnan(sample.value)
            shop.text = "empty 1\n"
            assert prometheus.query("orders_total", at=job.fresh()) == []  # vanished: stale at once
        assert prometheus.query("empty") == []


def test_a_wrong_query_is_refused_with_its_reason(prometheus: Prometheus) -> None:
    with pytest.raises(Refused, match="parse error"):
        prometheus.query("sum(")
    (sample,) = prometheus.query("scalar(vector(2)) + 1", at=1_700_000_000.0)
    assert (sample.labels, sample.value, sample.at) == ({}, 3.0, 1_700_000_000.0)


def test_rules_are_loaded_and_wrong_ones_are_refused(prometheus: Prometheus, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("groups: [{name: g, rules: [{record: 'shop:orders:twice', expr: orders_total * 2}]}]")
    with exporter("orders_total 7\n") as shop, prometheus.scraping("rules", shop.port) as job:
        with prometheus.ruled(rules):
            deadline = time.monotonic() + 30
            while not (found := prometheus.query("shop:orders:twice")):
                assert time.monotonic() < deadline, "the rule is evaluated"
        assert found[0].value == 14
        rules.write_text("groups: [{name: g, rules: [{record: 'shop:orders:twice', expr: 'sum('}]}]")
        with pytest.raises(Refused, match="parse error"), prometheus.ruled(rules):
            pass
        assert job.fresh()


def test_exemplars_are_kept(prometheus: Prometheus) -> None:
    now = system.unix_ms() / 1000
    text = f'# TYPE orders counter\norders_total 7 # {{run_id="r-1"}} 1 {now:.3f}\n# EOF\n'
    with exporter(text, OPEN_METRICS) as shop, prometheus.scraping("exemplars", shop.port) as job:
        job.fresh()
        asked = {"query": 'orders_total{job="exemplars"}', "start": str(now - 60), "end": str(now + 60)}
        (series,) = prometheus.api("query_exemplars", asked)
        assert [one["labels"] for one in series["exemplars"]] == [{"run_id": "r-1"}]
