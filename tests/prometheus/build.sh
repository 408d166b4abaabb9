#!/usr/bin/env bash
# Build prometheus and promtool from their Go module into a folder. Usage: build.sh FOLDER; $PYTHON brings Go when there is none.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/versions.env"
mkdir -p "$1" && out=$(cd "$1" && pwd)
what=prometheus
work=$(mktemp -d "${TMPDIR:-/tmp}/prometheus-build.XXXXXX")
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
. "$here/../controlplane/go.sh"

module local
retried quietly "$go" get "github.com/prometheus/prometheus@v$PROMETHEUS"
for name in prometheus promtool; do
  say "building $name $PROMETHEUS"
  # Without the clouds' service discoveries; without builtinassets there is no web page, only the API.
  retried quietly "$go" build -tags remove_all_sd -ldflags '-s -w' -o "$out/" "github.com/prometheus/prometheus/cmd/$name"
done
say "built"
