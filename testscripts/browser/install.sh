#!/usr/bin/env bash
# Sees to it that there is a Chromium for the tests of the page, from Debian's packages where there is none.
# Exits 3 where nothing can be installed here: the tests are then skipped, and say so.
set -euo pipefail
for name in chromium chromium-browser google-chrome google-chrome-stable; do
	if command -v "$name"; then
		exit 0
	fi
done
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
	echo "no Chromium, and none can be installed without apt-get and its rights" >&2
	exit 3
fi
export DEBIAN_FRONTEND=noninteractive
for try in 1 2 3; do
	if apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; then
		command -v chromium
		exit 0
	fi
	sleep $((try * 5))
done
echo "no Chromium: apt-get could not install it" >&2
exit 3
