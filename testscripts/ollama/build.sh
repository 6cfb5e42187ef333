#!/usr/bin/env bash
# Build the Ollama server that the tests talk to, for the CPU, and print where it is. Three minutes of CPU the first time,
# nothing after that: the program stays in a cache outside of the clone, with a link to it in bin/tools. Its version is
# that of the client in go.mod.
#
#   build.sh          build it if it is not there
#   build.sh -where   only say where it is; build nothing
#
# RUNPLAN_OLLAMA names a program that is to be taken instead. Exit codes: 0 it is there, 3 it cannot be built on this
# machine (the reason is told, and kept beside the cache for the tests), 1 it is not there or the build broke.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
version="$(cd "$here" && go list -m -f '{{.Version}}' github.com/ollama/ollama)"
version="${version#v}"
# The include folder is part of the key of Go's build cache: in a folder of the clone every clone would build again.
cache="${XDG_CACHE_HOME:-$HOME/.cache}/runplan-dev/ollama-$version"
bin="$cache/ollama-3" # the number changes when the way to build it does
# With these instructions a prompt takes a fifth of the time. A processor without them has a program of its own.
wide=""
if grep -qw avx2 /proc/cpuinfo 2>/dev/null && grep -qw fma /proc/cpuinfo && grep -qw f16c /proc/cpuinfo; then
  bin="$bin-avx2" wide=" -mavx2 -mfma -mf16c"
fi

say() { echo "ollama: $*" >&2; }

works() { [ -x "$1" ] && [[ "$(OLLAMA_HOST=127.0.0.1:1 "$1" --version 2>&1)" == *"$version"* ]]; }

impossible() {
  mkdir -p "$cache"
  printf '%s\n' "$*" >"$cache/impossible"
  say "the server cannot be built on this machine: $*"
  exit 3
}

# The link is for go test: it takes the result of a skipped test for today's until a file of the module has changed.
there() {
  if [ "${1:-}" != -where ]; then
    mkdir -p "$here/../../bin/tools"
    ln -sfn "$bin" "$here/../../bin/tools/ollama"
  fi
  echo "$bin"
  exit 0
}

if [ -n "${RUNPLAN_OLLAMA:-}" ]; then
  bin="$RUNPLAN_OLLAMA"
  works "$bin" || { say "RUNPLAN_OLLAMA=$bin is not an Ollama $version that runs here"; exit 1; }
fi
if works "$bin"; then there "$@"; fi
if [ "${1:-}" = -where ]; then
  [ -f "$cache/impossible" ] && { say "cannot be built on this machine: $(cat "$cache/impossible")"; exit 3; }
  say "not built yet; make ollama does it"
  exit 1
fi

mkdir -p "$cache/include"
rm -f "$cache/impossible"
if command -v flock >/dev/null; then # a second build at the same time would only halve the speed of the first
  exec 9>"$cache/lock"
  flock 9
  if works "$bin"; then there; fi
fi

# A C++17 compiler.
cxx="$(go env CXX)"
command -v ${cxx%% *} >/dev/null || impossible "there is no C++ compiler ($cxx); on Debian: apt-get install g++"

# Two libraries of headers only, which the module lacks as it lacks miniaudio: Go leaves folders named "vendor" out.
includes() {
  printf '#include <vector>\n#include <nlohmann/json_fwd.hpp>\n#include <nlohmann/json.hpp>\n#include <stb/stb_image.h>\n' |
    $cxx -std=c++17 -I"$cache/include" -E -x c++ - >/dev/null 2>&1
}

# Debian's packages, unpacked into the cache and not installed: that changes nothing of the system and needs no root.
unpack_headers() {
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
  local tmp packages=(nlohmann-json3-dev libstb-dev)
  tmp="$(mktemp -d)"
  mkdir -p "$tmp/lists/partial" "$tmp/cache/archives/partial" "$tmp/deb"
  (
    cd "$tmp/deb"
    own=(-q -o "Dir::State::Lists=$tmp/lists" -o "Dir::Cache=$tmp/cache" -o "APT::Sandbox::User=$(id -un)")
    apt-get -q -o "APT::Sandbox::User=$(id -un)" download "${packages[@]}" ||
      { apt-get "${own[@]}" update && apt-get "${own[@]}" download "${packages[@]}"; } || exit 1
    for deb in *.deb; do dpkg-deb -x "$deb" "$tmp/root"; done
    cp -R "$tmp/root/usr/include/." "$cache/include/"
  ) >&2
  local rc=$?
  rm -rf "$tmp"
  return $rc
}

cp -R "$here/include/." "$cache/include/"
if ! includes; then
  say "fetching the headers of nlohmann-json and stb"
  unpack_headers || say "apt-get could not fetch them"
  includes || impossible "the headers nlohmann/json.hpp and stb/stb_image.h are missing; on Debian: apt-get install nlohmann-json3-dev libstb-dev"
fi

say "building the server $version from its Go module; this takes about three minutes of CPU"
tmp="$(mktemp -d "$cache/new.XXXXXX")"
trap 'rm -rf "$tmp"' EXIT
started=$SECONDS
# C++ without optimization takes a third of the time to compile. Only the arithmetic of a model is optimized, without
# which a prompt of some thousand tokens takes seconds.
printf '#!/bin/sh\ncase "$*" in *" vec.cpp"* | *" ops.cpp"*) set -- "$@" -O2 ;; esac\nexec %s "$@"\n' "$cxx" >"$cache/cxx"
chmod +x "$cache/cxx"
# The variables of the clone's own build, like a go.work or CGO_ENABLED=0, must not reach this one.
env -u GOFLAGS GOWORK=off CGO_ENABLED=1 CXX="$cache/cxx" CGO_CPPFLAGS="-I$cache/include" CGO_CFLAGS="-O1$wide" \
  CGO_CXXFLAGS="-O0$wide" GOBIN="$tmp" \
  go install -trimpath -ldflags "-s -w -X github.com/ollama/ollama/version.Version=$version" "github.com/ollama/ollama@v$version" >&2
works "$tmp/ollama" || { say "what was built does not run: $("$tmp/ollama" --version 2>&1 || true)"; exit 1; }
mv "$tmp/ollama" "$bin"
say "built in $((SECONDS - started)) s"
there
