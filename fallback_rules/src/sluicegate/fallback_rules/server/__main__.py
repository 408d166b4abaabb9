"""`python -m sluicegate.fallback_rules.server --rules FOLDER`: what a pod starts. It imports contracts and this part, nothing else of ours."""

import argparse
import sys
from pathlib import Path

from sluicegate.contracts.errors import SluicegateError
from sluicegate.fallback_rules.server.runner import RulesConfig, run


def parser() -> argparse.ArgumentParser:
    """Of the command line."""
    parser = argparse.ArgumentParser(prog="python -m sluicegate.fallback_rules.server", description=__doc__)
    parser.add_argument("--rules", type=Path, required=True, help="folder with FallbackRuleSets")
    parser.add_argument("--host", default=RulesConfig.host, help="address to listen on")
    parser.add_argument("--port", type=int, default=RulesConfig.port, help="port; 0: any free one")
    parser.add_argument(
        "--every", type=float, default=RulesConfig.every, help="seconds between two looks at the folder"
    )
    return parser


def main(words: list[str] | None = None) -> int:
    """Exit code: 0 asked to stop, 2 the folder cannot be read, 6 the port is taken."""
    given = parser().parse_args(words)
    try:
        run(RulesConfig(folder=given.rules, host=given.host, port=given.port, every=max(0.1, given.every)))
    except SluicegateError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
