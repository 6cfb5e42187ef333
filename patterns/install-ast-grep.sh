#!/usr/bin/env bash
# Put ast-grep into bin/tools (or the folder given), pinned. It comes as npm's package for this platform, which
# is the program itself: nothing is compiled, and no script of the package is run.
set -euo pipefail

version=0.51.1
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
to="${1:-$here/../bin/tools}"

case "$(uname -s)-$(uname -m)" in
Linux-x86_64) platform=linux-x64-gnu ;;
Linux-aarch64 | Linux-arm64) platform=linux-arm64-gnu ;;
Darwin-x86_64) platform=darwin-x64 ;;
Darwin-arm64) platform=darwin-arm64 ;;
*)
  echo "ast-grep has no package for $(uname -s) $(uname -m) that this script knows; install it by hand and set RUNPLAN_AST_GREP to its path" >&2
  exit 1
  ;;
esac

works() { [ "$("$1" --version 2>/dev/null)" = "ast-grep $version" ]; }

if works "$to/ast-grep"; then
  echo "ast-grep $version is in $to"
  exit 0
fi
if ! command -v npm >/dev/null; then
  echo "npm is needed to fetch ast-grep; install Node.js, or install ast-grep $version by hand and set RUNPLAN_AST_GREP to its path" >&2
  exit 1
fi

tmp="$(mktemp -d)"
trap 'rm -rf "$tmp"' EXIT
npm install --ignore-scripts --no-save --no-audit --no-fund --loglevel=error --prefix "$tmp" "@ast-grep/cli-$platform@$version" >&2

found="$tmp/node_modules/@ast-grep/cli-$platform/ast-grep"
chmod +x "$found"
if ! works "$found"; then
  echo "the ast-grep that npm brought does not run here, or is not $version: $("$found" --version 2>&1 || true)" >&2
  echo "on Linux it needs glibc 2.34 or newer" >&2
  exit 1
fi
mkdir -p "$to"
# Another process may be running the old one, or installing too: a rename is safe for both.
mv "$found" "$to/.ast-grep.$$"
mv "$to/.ast-grep.$$" "$to/ast-grep"
echo "ast-grep $version is now in $to"
