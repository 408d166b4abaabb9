#!/usr/bin/env bash
# Make $VENV with the locked packages and this project, editable. Argument: base or dev.
set -euo pipefail
cd "$(dirname "$0")/.."
set=$1
[ -n "$PYTHON" ] || { echo "no Python 3.11 or later found; set PYTHON=/path/to/python3.11" >&2; exit 1; }
if [ ! -x "$VENV/bin/pip" ]; then
  echo "setting up $VENV ($("$PYTHON" --version))"
  rm -rf "$VENV"
  if ! "$PYTHON" -m venv "$VENV" >/dev/null 2>&1; then
    rm -rf "$VENV"
    # Debian ships venv apart from Python.
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      echo "installing python3-venv, which Debian ships apart from Python"
      apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null 2>&1
      "$PYTHON" -m venv "$VENV"
    else
      echo "the venv module is missing; install it: apt-get install python3-venv" >&2; exit 1
    fi
  fi
fi
pip=("$VENV/bin/python" -m pip --disable-pip-version-check -q)
echo "installing locked packages ($set)"
"${pip[@]}" install --require-hashes -r "requirements/$set.lock"
# The build back end is itself locked in the dev set; a base install builds in isolation.
if [ "$set" = dev ]; then "${pip[@]}" install --no-deps --no-build-isolation -e .; else "${pip[@]}" install --no-deps -e .; fi
touch "$VENV/.$set-done"
if [ "$set" = dev ]; then touch "$VENV/.base-done"; fi
