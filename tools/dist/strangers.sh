#!/usr/bin/env bash
# Installs a release on bare Debian systems in each way, runs "runplan demo" there, removes it, and looks what is left:
#
#   tools/dist/strangers.sh DIST [CACHE]
#
# DIST is the folder of make dist. CACHE keeps the Debian systems for the next time (default ~/.cache/runplan-strangers).
# It needs mmdebstrap, bubblewrap and python3, and user namespaces or root; umoci and runc for the image.
set -euo pipefail

dist=$(realpath "$1")
cache=${2:-${XDG_CACHE_HOME:-$HOME/.cache}/runplan-strangers}
limit=60 # seconds for installation and demonstration together
version=$(sed -n 's/.*runplan_\(.*\)_linux_amd64\.deb$/\1/p' "$dist/SHA256SUMS")
[ -n "$version" ] || { echo "strangers.sh: $dist/SHA256SUMS names no deb for linux/amd64" >&2; exit 2; }
mkdir -p "$cache"
work=$(mktemp -d)
server=
cleanup() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

debian() { # NAME PACKAGES: a system as a tar file
  [ -f "$cache/$1.tar" ] || mmdebstrap --quiet --variant=minbase --include="$2" bookworm "$cache/$1.tar"
}
debian git git
debian node git,curl,ca-certificates,nodejs,npm

# A server of the release, and a registry of its npm packages.
mkdir -p "$work/www/latest" "$work/www/@runplan"
ln -s "$dist" "$work/www/latest/download"
ln -s "$dist" "$work/www/tarballs"
python3 -u -m http.server --bind 127.0.0.1 --directory "$work/www" 0 >"$work/server.log" 2>&1 &
server=$!
until port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$work/server.log") && [ -n "$port" ]; do sleep 0.1; done
url=http://127.0.0.1:$port
for package in runplan @runplan/linux-x64; do
  file=$(tr -d @ <<<"$package" | tr / -)-$version.tgz
  tar -xzOf "$dist/$file" package/package.json | python3 -c '
import json, sys
p = json.load(sys.stdin)
p["dist"] = {"tarball": sys.argv[1]}
print(json.dumps({"name": p["name"], "dist-tags": {"latest": p["version"]}, "versions": {p["version"]: p}}))
' "$url/tarballs/$file" >"$work/www/$package"
done

inside() { # ROOT SCRIPT [NETWORK]
  local net=(--unshare-net)
  [ "${3:-}" != network ] || net=()
  bwrap --bind "$1" / --proc /proc --dev /dev --ro-bind "$dist" /dist --unshare-pid --die-with-parent "${net[@]}" \
    --clearenv --setenv HOME /root --setenv PATH /root/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    --setenv LANG C.UTF-8 --setenv URL "$url" --setenv V "$version" --chdir /root bash -euc "$2"
}
state() { # ROOT: all files but those in which dpkg and npm note what they did, and npm's folder, which it keeps when it is empty
  (cd "$1" && find . \( -path ./proc -o -path ./dev -o -path ./dist -o -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache \
    -o -path ./root/.npm \) -prune -o -path ./usr/local/lib/node_modules -empty -o -print | LC_ALL=C sort)
}
failed=0
try() { # NAME SYSTEM INSTALL REMOVE [NETWORK]
  local root=$work/root-$1 start end left
  mkdir "$root"
  tar -xf "$cache/$2.tar" -C "$root" --exclude='./dev/*'
  mkdir -p "$root/dist"
  state "$root" >"$work/before"
  start=$(date +%s%N)
  if ! inside "$root" "$3; hash -r; runplan demo --keep=false" "${5:-}" >"$work/$1.log" 2>&1; then
    tail -n 30 "$work/$1.log"
    echo "$1: FAILED"; failed=1; return
  fi
  end=$(date +%s%N)
  inside "$root" "$4" "${5:-}" >>"$work/$1.log" 2>&1 || { tail -n 5 "$work/$1.log"; failed=1; }
  state "$root" >"$work/after"
  left=$(diff "$work/before" "$work/after" | grep -c '^[<>]' || true)
  printf '%-12s %s  installed and demonstrated in %4.1f s; %s after uninstall\n' "$1" \
    "$(grep -o '6 of 6 batches merged in [0-9.]*s' "$work/$1.log" | tail -n 1)" "$(( (end - start) / 100000000 ))e-1" \
    "$([ "$left" = 0 ] && echo "nothing left" || echo "$left files differ")"
  [ "$left" = 0 ] || { diff "$work/before" "$work/after" | head -n 20 || true; failed=1; }
  (( (end - start) / 1000000000 < limit )) || { echo "$1: took $limit s or more"; failed=1; }
  rm -rf "$root"
}
{
  try deb git 'dpkg -i /dist/runplan_${V}_linux_amd64.deb' 'dpkg --purge runplan'
  try archive git 'tar -xzf /dist/runplan_${V}_linux_amd64.tar.gz && PATH=$PWD/runplan_${V}_linux_amd64:$PATH
    ! runplan training 2>/dev/null; tar -xzf /dist/runplan-training_${V}_linux_amd64.tar.gz --strip-components 1 -C runplan_*
    runplan training --help >/dev/null' 'rm -r runplan_*'
  try install.sh node 'curl -fsS $URL/latest/download/install.sh | RUNPLAN_RELEASES=$URL sh' \
    'curl -fsS $URL/latest/download/install.sh | sh -s -- --uninstall' network
  try npm node 'npm install --silent --no-audit --no-fund --registry $URL -g runplan' 'npm uninstall --silent -g runplan' network
}

# The image, where it was built and there is an engine: its layers are unpacked, and runplan runs as a user that is not root.
image=$dist/runplan_${version}_linux_amd64.oci.tar
if [ -f "$image" ] && command -v umoci >/dev/null && command -v runc >/dev/null; then
  mkdir "$work/oci"
  tar -xf "$image" -C "$work/oci"
  umoci unpack --image "$work/oci:$version" "$work/bundle" 2>"$work/umoci.log"
  python3 - "$work/bundle/config.json" <<'END'
import json, sys
c = json.load(open(sys.argv[1]))
c["process"].update(terminal=False, args=c["process"]["args"][:1] + ["demo", "--keep=false"])
assert c["process"]["user"]["uid"] != 0, "the image runs as root"
json.dump(c, open(sys.argv[1], "w"))
END
  if runc run --bundle "$work/bundle" "strangers-$$" >"$work/image.log" 2>&1; then
    printf '%-12s %s  as a user that is not root\n' image "$(grep -o '6 of 6 batches merged in [0-9.]*s' "$work/image.log" | tail -n 1)"
  else
    tail -n 30 "$work/image.log"; echo "image: FAILED"; failed=1
  fi
else
  echo "image: NOT TRIED: it needs $image, umoci and runc"
fi
exit $failed
