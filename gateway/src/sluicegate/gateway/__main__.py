"""`python -m sluicegate.gateway`: one worker process of the data plane.

    --state DIR            state directory: plans.db is read, spool/ is written, workers/NAME.json announces us
    --port N               0: any free port (see workers/NAME.json)
    --host ADDRESS         default 127.0.0.1
    --worker NAME          names the spool and the acknowledgements; unique on the host
    --fd FD                an inherited listening socket instead of host and port
    --watch-parent-fd FD   read end of a pipe whose write end only the parent has: when it closes, we stop

Several workers share one port (SO_REUSEPORT). `workers/NAME.json` {worker, pid, host, port} is written when the
worker listens and removed when it stops. SIGTERM, SIGINT and the closed pipe stop it after the requests in flight.
Exit status: 0 after a graceful stop, 2 for bad arguments, 6 when the port or the state directory cannot be used.
"""

import argparse
import sys
from pathlib import Path


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m sluicegate.gateway", description="One gateway worker.")
    parser.add_argument("--state", type=Path, required=True, help="state directory")
    parser.add_argument("--port", type=int, default=8080, help="port; 0: any")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--worker", default="w0", help="name of this worker")
    parser.add_argument("--fd", type=int, default=None, help="inherited listening socket")
    parser.add_argument("--watch-parent-fd", type=int, default=None, help="stop when this pipe closes")
    parser.add_argument(
        "--client",
        choices=("reqwest", "aiohttp"),
        default=None,
        help="HTTP client; default: the first installed",
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run one worker until it is told to stop."""
    options = parse(sys.argv[1:] if arguments is None else arguments)
    from sluicegate.gateway.worker import WorkerConfig, run_worker  # noqa: PLC0415 - bad arguments answer fast

    return run_worker(
        WorkerConfig(
            state=options.state,
            host=options.host,
            port=options.port,
            worker=options.worker,
            fd=options.fd,
            parent_fd=options.watch_parent_fd,
            client=options.client,
        )
    )


if __name__ == "__main__":
    raise SystemExit(main())
