#!/usr/bin/env bash
# Rewrite the lock files from pyproject.toml. Needs uv on the PATH (or in .venv).
set -euo pipefail
cd "$(dirname "$0")/.."
UV=${UV:-$(command -v uv || echo .venv/bin/uv)}
common=(--universal --generate-hashes --no-emit-index-url --no-annotate --python-version 3.11 --custom-compile-command requirements/compile.sh)
"$UV" pip compile "${common[@]}" pyproject.toml -o requirements/base.lock
"$UV" pip compile "${common[@]}" pyproject.toml --group dev -c requirements/base.lock -o requirements/dev.lock
