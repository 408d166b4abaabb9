"""What the escalation costs a run that does not fail, and one that does: `python -m benchmarks.escalation [runs]`.

In process, with a real file. healthy: both looks of a run while nothing is held against anybody; crowded: while 10,000
other sessions have failures; failing: a session's failure, committed; diverted: a run that rules answer at once.
"""

import hashlib
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sluicegate.contracts.resources.escalation import BusinessFallback
from sluicegate.gateway.escalation import Ended, settings_of
from sluicegate.gateway.escalation_ledger import Key, Ledger

START = 1_800_000_000.0
SETTINGS = settings_of(BusinessFallback.model_validate({"ruleSet": "r", "window": {"failures": 1_000_000}}))


def key_of(session: str) -> Key:
    """As the gateway makes it."""
    return Key("shop/bot/bot-1", hashlib.blake2b(session.encode(), key=b"s" * 32, digest_size=16).hexdigest())


def one(ledger: Ledger, session: str, now: float, *, failed: bool) -> None:
    """A run."""
    key = key_of(session)
    decision = ledger.arrive(key, SETTINGS, now)
    ledger.end(key, SETTINGS, Ended(failed, decision.probe), now)


def median_us(act: Callable[[int], None], runs: int) -> tuple[float, float]:
    """Median and 99th percentile, microseconds."""
    times = []
    for number in range(runs):
        began = time.perf_counter()
        act(number)
        times.append(time.perf_counter() - began)
    times.sort()
    return times[len(times) // 2] * 1e6, times[len(times) * 99 // 100] * 1e6


def main(runs: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "escalation.db")

        def tell(name: str, act: Callable[[int], None], number: int) -> None:
            middle, late = median_us(act, number)
            print(f"{name:10} median {middle:8.2f} us   p99 {late:8.2f} us   of {number}")

        tell("healthy", lambda n: one(ledger, f"good{n}", START + n * 1e-4, failed=False), runs)
        tell("failing", lambda n: one(ledger, f"bad{n}", START + 10 + n * 1e-4, failed=True), runs // 10)
        for number in range(10_000 - runs // 10):
            one(ledger, f"more{number}", START + 20, failed=True)
        tell("crowded", lambda n: one(ledger, f"good{n}", START + 21 + n * 1e-6, failed=False), runs)
        for _ in range(3):
            one(ledger, "on", START + 30, failed=True)
        tell("diverted", lambda _: (ledger.arrive(key_of("on"), SETTINGS, START + 31), None)[1], runs // 10)
        ledger.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
