#!/usr/bin/env bash
# Makes the base system of the image: Debian's essential packages with git and certificates, as a tar file.
#
#   tools/dist/image/base.sh FILE [MIRROR]
#
# The same packages make the same bytes: mmdebstrap takes all dates from SOURCE_DATE_EPOCH. A mirror of
# snapshot.debian.org keeps the packages, such as https://snapshot.debian.org/archive/debian/20260601T000000Z.
set -euo pipefail
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)} \
  mmdebstrap --quiet --variant=essential --include=git,ca-certificates \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  bookworm "$1" ${2:+"$2"}
