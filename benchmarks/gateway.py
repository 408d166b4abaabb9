"""What a run through the gateway costs: added latency, runs per second and core, where the time goes."""

import asyncio
import shutil
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from benchmarks import stack
from benchmarks.component import DEFAULT_BODY
from benchmarks.load import Result, closed_loop, open_loop, request_of
from sluicegate.contracts.adapters import system
from sluicegate.contracts.routes import Share
from sluicegate.contracts.runs import Arm
from sluicegate.gateway.arms import assign
from sluicegate.gateway.engine.kernel import ArmState
from sluicegate.gateway.engine.program import compile_program
from sluicegate.gateway.facts import RunFrame, record_of
from sluicegate.gateway.jsonio import parse
from sluicegate.gateway.ports import HttpAnswer
from sluicegate.gateway.protocols.base import CallContext
from sluicegate.lineage.entries import encode_run
from sluicegate.lineage.identity import input_hash
from sluicegate.lineage.spool import SpoolWriter

REQUEST = request_of("/v1/workflows/bot/runs", stack.BODY)
Numbers = dict[str, Any]


def _latency(result: Result) -> Numbers:
    return {
        "p50_ms": round(result.quantile(0.5), 4),
        "p99_ms": round(result.quantile(0.99), 4),
        "per_second": round(result.rate, 1),
        "requests": len(result.latencies),
        "errors": result.errors,
    }


def _added(direct: Numbers, through: Numbers) -> Numbers:
    return {key: round(through[key] - direct[key], 4) for key in ("p50_ms", "p99_ms")}


async def _windows(port: int, count: int, seconds: float) -> Numbers:
    """Closed loop with 32 connections in windows: the best one is the least disturbed by neighbours, the median tells."""
    parts = [await closed_loop(port, REQUEST, connections=32, seconds=seconds) for _ in range(count)]
    best = max(parts, key=lambda part: part.rate)
    median = sorted(part.rate for part in parts)[count // 2]
    requests, errors = sum(len(part.latencies) for part in parts), sum(part.errors for part in parts)
    return _latency(best) | {"median_per_second": round(median, 1), "requests": requests, "errors": errors}


async def _pooled(port: int, rounds: int, seconds: float) -> Result:
    pooled = Result()
    for _ in range(rounds):
        part = await closed_loop(port, REQUEST, connections=1, seconds=seconds)
        pooled.latencies += part.latencies
        pooled.seconds += part.seconds
        pooled.errors += part.errors
    return pooled


async def latency() -> Numbers:
    """One connection; direct and through the gateway in turns, so that drift of the machine hits both."""
    with stack.component() as component, stack.gateway(stack.plan_of(stack.one_step(component))) as gateway:
        await closed_loop(gateway.port, REQUEST, connections=1, seconds=0.5)
        direct, through = Result(), Result()
        for _ in range(3):
            for pooled, port in ((direct, component), (through, gateway.port)):
                part = await _pooled(port, 1, 1.5)
                pooled.latencies += part.latencies
                pooled.seconds += part.seconds
                pooled.errors += part.errors
        found: Numbers = {"direct": _latency(direct), "gateway": _latency(through)}
        found["added"] = _added(found["direct"], found["gateway"])
        if shutil.which("nginx"):
            with stack.nginx(component) as port:
                found["nginx"] = _latency(await _pooled(port, 2, 1.5))
    return found


async def half_load() -> Numbers:
    """Open loop at half of the capacity that a closed loop with 32 connections finds."""
    with stack.component() as component, stack.gateway(stack.plan_of(stack.one_step(component))) as gateway:
        capacity = (await closed_loop(gateway.port, REQUEST, connections=32, seconds=3)).rate
        rate = capacity / 2
        direct = await _open_windows(component, rate)
        core, cpu, begun = stack.core_seconds(stack.GATEWAY_CORE), gateway.cpu_seconds(), time.perf_counter()
        through = await _open_windows(gateway.port, rate)
        others = stack.core_seconds(stack.GATEWAY_CORE) - core - (gateway.cpu_seconds() - cpu)
        taken = max(0.0, others / (time.perf_counter() - begun))
    return {
        "capacity_per_second": round(capacity, 1),
        "offered_per_second": round(rate, 1),
        "direct": direct,
        "gateway": through,
        "added": _added(direct, through),
        "core_taken_by_others": round(taken, 3),
    }


async def _open_windows(port: int, rate: float, count: int = 5, seconds: float = 2.0) -> Numbers:
    """As `_windows`: the best p99 is the least disturbed by neighbours, the median tells how much they disturb."""
    parts = [await open_loop(port, REQUEST, rate=rate, seconds=seconds) for _ in range(count)]
    parts.sort(key=lambda part: part.quantile(0.99))
    median = round(parts[count // 2].quantile(0.99), 4)
    return _latency(parts[0]) | {"median_p99_ms": median, "errors": sum(part.errors for part in parts)}


async def throughput() -> Numbers:
    """Runs per second of one worker pinned to one core, 32 connections, validation and lineage on."""
    cases: dict[str, tuple[Callable[[int], dict[str, Any]], Share | None, str]] = {
        "one step": (stack.one_step, None, "reqwest"),
        "one step, mirrors 1 %": (stack.one_step, Share(1, 100), "reqwest"),
        "one step, mirrors 5 %": (stack.one_step, Share(5, 100), "reqwest"),
        "four steps": (stack.four_steps, None, "reqwest"),
        "one step, aiohttp client": (stack.one_step, None, "aiohttp"),
    }
    found: Numbers = {}
    with stack.component() as component:
        for name, (spec, share, client) in cases.items():
            with stack.gateway(stack.plan_of(spec(component), share), client=client) as gateway:
                await closed_loop(gateway.port, REQUEST, connections=32, seconds=1)
                cpu, spooled = gateway.cpu_seconds(), gateway.spooled_bytes()
                result = await _windows(gateway.port, 5, 1.0)
                runs = result["requests"]
                found[name] = result | {
                    "cpu_us_per_run": round((gateway.cpu_seconds() - cpu) / runs * 1e6, 1),
                    "spool_bytes_per_run": round((gateway.spooled_bytes() - spooled) / runs),
                }
        found["the component alone"] = await _windows(component, 3, 0.7)
        if shutil.which("nginx"):
            with stack.nginx(component) as port:
                found["nginx proxy_pass"] = _latency(
                    await closed_loop(port, REQUEST, connections=32, seconds=3)
                )
    return found


def breakdown() -> Numbers:
    """Microseconds of the parts of a one-step run that are ours, each alone and warm; best of five."""
    body = stack.plan_of(stack.one_step(1)).stable
    program = compile_program("default", "bot", body)
    plan, step = stack.plan_of(stack.one_step(1)), program.request_steps[0]
    value, answer = orjson.loads(stack.BODY), HttpAnswer(200, DEFAULT_BODY)
    output = orjson.loads(DEFAULT_BODY)["output"]
    run_id, salt = system.uuid7(), b"s" * 32
    context = CallContext(
        run_id=run_id,
        step="agent",
        arm=Arm.STABLE,
        attempt=1,
        deadline_ms=1,
        stage=None,
        dry_run=False,
        traceparent="t",
    )
    assignment = assign(plan, run_id, None, leased=True)
    frame = RunFrame(
        run_id=run_id, plan=plan, assignment=assignment, started_at=system.now(), input=value,
        input_hash=input_hash(salt, value), trace_id="t", worker="w0",
    )  # fmt: skip
    record = record_of(frame, _finished(program, run_id, value, output))
    line = encode_run(record)
    protocol = step.component.protocol
    with TemporaryDirectory() as folder:
        spool = SpoolWriter(Path(folder), "w0")
        parts: dict[str, Callable[[], Any]] = {
            "parse the body (1 kB)": lambda: parse(stack.BODY),
            "validate the input, twice": lambda: program.compiled.input.is_valid(value) and step.component.input.is_valid(value),
            "run id, arm, input hash": lambda: (system.uuid7(), assign(plan, run_id, None, leased=True), input_hash(salt, value)),
            "envelope out": lambda: protocol.request(context, value),
            "envelope in": lambda: protocol.answer(answer),
            "validate the output, twice": lambda: program.compiled.output.is_valid(output) and step.component.output.is_valid(output),
            "run document": lambda: record_of(frame, _finished(program, run_id, value, output)),
            "encode the document": lambda: encode_run(record),
            "write(2) to the spool": lambda: spool.append(line),
        }  # fmt: skip
        found = {
            name: round(min(timeit.repeat(part, number=2000, repeat=5)) / 2000 * 1e6, 2)
            for name, part in parts.items()
        }
        spool.close()
    found["sum"] = round(sum(found.values()), 2)
    return found


def _finished(program: Any, run_id: str, value: Any, output: Any) -> ArmState:
    kernel: Any = None
    destinations: Any = None
    return ArmState(
        kernel=kernel, program=program, fallback_program=None, destinations=destinations, run_id=run_id, arm=Arm.STABLE,
        mirrored=False, stage=None, traceparent="t", input=value, started=0.0, patience=1.0, deadline=1.0, output=output,
    )  # fmt: skip


def run(benchmark: Callable[[], Any]) -> Numbers:
    """Run a benchmark, asynchronous or not, on the load generator's loop."""
    import uvloop

    found: Numbers = uvloop.run(benchmark()) if asyncio.iscoroutinefunction(benchmark) else benchmark()
    return found
