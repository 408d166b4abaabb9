#!/usr/bin/env bash
# Build a Kubernetes control plane from its Go modules into a new folder. Usage: build.sh FOLDER; $PYTHON brings Go when there is none.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/versions.env"
mkdir -p "$1" && out=$(cd "$1" && pwd)
what="control plane"
work=$(mktemp -d "${TMPDIR:-/tmp}/controlplane-build.XXXXXX")
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
. "$here/go.sh"

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
