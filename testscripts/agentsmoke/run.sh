#!/usr/bin/env bash
# Install the CLIs of versions.txt and run them: run.sh [ARGUMENT OF go test...]. They are kept in
# $RUNPLAN_AGENTS_SMOKE, by default a folder of the user's cache. Where the kernel allows it they run without any
# network but the loopback, so that nothing can leave this machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export RUNPLAN_AGENTS_SMOKE="${RUNPLAN_AGENTS_SMOKE:-${XDG_CACHE_HOME:-$HOME/.cache}/runplan-agents-smoke}"

bash install.sh "$RUNPLAN_AGENTS_SMOKE"
go build -o /dev/null ../../cmd/runplan # downloads what is missing while there is a network
alone=(unshare --map-root-user --net sh -c 'ip link set lo up && exec "$@"' sh)
if "${alone[@]}" true 2>/dev/null; then
  export RUNPLAN_AGENTS_SMOKE_ALONE=1
else
  echo "no network namespace can be made here: the CLIs are told to ask nobody but the loopback, and not kept from it" >&2
  alone=()
fi
exec ${alone[@]+"${alone[@]}"} go test -count=1 -timeout 45m -parallel 6 -v -run '^TestRealAgents$' "$@" .
