#!/usr/bin/env bash
# Put the CLIs of versions.txt into a folder outside of the repository, each in one of its own, and print nothing but
# what is new: install.sh DIR. What already exists stays. A CLI that cannot be had does not keep the others away;
# the tests then say which it is.
set -uo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
to="$1"
if ! command -v npm >/dev/null; then
  echo "npm is needed to fetch the CLIs; install Node.js" >&2
  exit 1
fi
mkdir -p "$to"
while read -r name package version; do
  case "$name" in '' | '#'* | -) continue ;; esac
  dir="$to/$name-$version"
  [ -x "$dir/node_modules/.bin/$name" ] && continue
  rm -rf "$dir"
  mkdir -p "$dir"
  if npm install --no-audit --no-fund --loglevel=error --prefix "$dir" "$package@$version" >"$dir/install.log" 2>&1; then
    echo "installed $package $version"
  else
    echo "npm could not install $package $version: $(grep -m 1 -i 'error' "$dir/install.log"); see $dir/install.log" >&2
  fi
done <"$here/versions.txt"
