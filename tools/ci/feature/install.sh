#!/bin/sh
# Installs runplan into a dev container: fetches install.sh of the release, which verifies the checksum of the archive.
set -eu
releases=${RUNPLAN_RELEASES:-https://github.com/runplan/runplan/releases}
version=${VERSION:-latest}
if [ "$version" = latest ]; then from=$releases/latest/download; else from=$releases/download/v${version#v}; fi
script=$(mktemp)
trap 'rm -f "$script"' EXIT
case $from in
  file://*) cp "${from#file://}/install.sh" "$script" ;;
  *)
    if ! command -v curl >/dev/null && command -v apt-get >/dev/null; then
      apt-get update -q && apt-get install -y -q --no-install-recommends curl ca-certificates git
    fi
    curl -fsSL -o "$script" "$from/install.sh"
    ;;
esac
PREFIX=${PREFIX:-/usr/local} RUNPLAN_RELEASES=$releases sh "$script" "$version"
