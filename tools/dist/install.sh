#!/bin/sh
# Installs runplan from a release: fetches the archive of this system and its checksum, compares them, and copies the
# binary, the manual pages and the completions below $PREFIX (default ~/.local).
#
#   sh install.sh [VERSION]       RUNPLAN_RELEASES=https://... or file:///folder names another source
#   RUNPLAN_PUBLIC_KEY=key.pem    verifies the signature of the checksums with this key first; needs openssl
#   sh install.sh --uninstall     removes what was installed
set -eu

prefix=${PREFIX:-$HOME/.local}
releases=${RUNPLAN_RELEASES:-https://github.com/runplan/runplan/releases}
list=$prefix/share/runplan/installed

fail() { echo "install.sh: $*" >&2; exit 1; }

if [ "${1:-}" = --uninstall ]; then
  [ -f "$list" ] || fail "nothing to remove: there is no $list"
  all=$(sed -n '1!G;h;$p' "$list") # the last line first: a folder was noted before what is in it
  rm -f "$list"
  printf '%s\n' "$all" | while IFS= read -r file; do
    case $file in
      ./) rmdir "$prefix" 2>/dev/null || true ;;
      */) rmdir "$prefix/$file" 2>/dev/null || true ;; # it stays while it holds something else
      *) rm -f "$prefix/$file" ;;
    esac
  done
  echo "runplan was removed from $prefix; its journals and settings are kept in ~/.runplan and in each repository"
  exit 0
fi

fetch() { # URL FILE
  case $1 in
    file://*) cp "${1#file://}" "$2" ;;
    *) if command -v curl >/dev/null; then curl -fsSL -o "$2" "$1"
       elif command -v wget >/dev/null; then wget -qO "$2" "$1"
       else fail "install curl or wget to fetch $1"; fi ;;
  esac || fail "cannot fetch $1"
}

case $(uname -s) in
  Linux) os=linux ;;
  Darwin) os=darwin ;;
  *) fail "no archive for $(uname -s); see $releases" ;;
esac
case $(uname -m) in
  x86_64 | amd64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) fail "no archive for $(uname -m); see $releases" ;;
esac

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
version=${1:-latest}
if [ "$version" = latest ]; then from=$releases/latest/download; else from=$releases/download/v${version#v}; fi
fetch "$from/SHA256SUMS" "$dir/SHA256SUMS"
if [ -n "${RUNPLAN_PUBLIC_KEY:-}" ]; then
  command -v openssl >/dev/null || fail "RUNPLAN_PUBLIC_KEY is set, and openssl is not installed"
  fetch "$from/SHA256SUMS.sig" "$dir/SHA256SUMS.sig"
  openssl pkeyutl -verify -pubin -inkey "$RUNPLAN_PUBLIC_KEY" -rawin -in "$dir/SHA256SUMS" -sigfile "$dir/SHA256SUMS.sig" \
    >/dev/null || fail "the signature of SHA256SUMS does not verify with $RUNPLAN_PUBLIC_KEY; nothing was installed"
fi
archive=$(sed -n "s/^[0-9a-f]*  \(runplan_.*_${os}_$arch\.tar\.gz\)$/\1/p" "$dir/SHA256SUMS")
[ -n "$archive" ] || fail "the release has no archive for $os/$arch"
fetch "$from/$archive" "$dir/$archive"
(
  cd "$dir"
  grep "  $archive\$" SHA256SUMS >one
  if command -v sha256sum >/dev/null; then sha256sum -c one; else shasum -a 256 -c one; fi
) >/dev/null || fail "$archive does not have the checksum of SHA256SUMS; nothing was installed"

tar -xzf "$dir/$archive" -C "$dir"
root=$dir/${archive%.tar.gz}
grep '/$' "$list" >"$dir/installed" 2>/dev/null || true # folders that an earlier installation made
folder() { # makes a folder, and notes it with those above it that were not there
  if [ -d "$prefix/$1" ]; then return; fi
  if [ "$1" != . ]; then folder "$(dirname "$1")"; fi
  mkdir -p "$prefix/$1"
  echo "$1/" >>"$dir/installed"
}
put() { # FILE TO MODE
  folder "$(dirname "$2")"
  cp "$root/$1" "$prefix/$2.new" && chmod "$3" "$prefix/$2.new" && mv "$prefix/$2.new" "$prefix/$2"
  echo "$2" >>"$dir/installed"
}
put runplan bin/runplan 755
for page in "$root"/man/*.1; do put "man/$(basename "$page")" "share/man/man1/$(basename "$page")" 644; done
put completions/runplan.bash share/bash-completion/completions/runplan 644
put completions/_runplan share/zsh/site-functions/_runplan 644
put completions/runplan.fish share/fish/vendor_completions.d/runplan.fish 644
put LICENSE share/runplan/LICENSE 644
put NOTICE share/runplan/NOTICE 644
cp "$dir/installed" "$list"
"$prefix/bin/runplan" version
case :$PATH: in *":$prefix/bin:"*) ;; *) echo "add $prefix/bin to your PATH" ;; esac
command -v git >/dev/null || echo "runplan needs git: install it"
