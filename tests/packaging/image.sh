#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# image.sh
#
# Builds both images of examples/container/Containerfile with buildah, and mounts
# with them, in the one for peers also with that key. They must have less than
# 100 and 140 MiB. No registry is needed: mmdebstrap makes the image
# debian:12-slim, as far as packages and left out files go.
# chroot.sh names the variables that choose the mirror and keep the images.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/packaging/chroot.sh
. "$here/chroot.sh"

images() {
  local command=$1
  shift
  buildah --root "$roots/images" --runroot "$roots/images-run" \
    --storage-driver vfs "$command" "$@"
}

# As that image: without manuals and translations, and without Perl, which
# merging /usr by a package needs.
make_base() {
  local omit container
  local options=()
  for omit in doc man info locale groff linda lintian; do
    options+=("--dpkgopt=path-exclude=/usr/share/$omit/*")
  done
  # shellcheck disable=SC2016  # mmdebstrap expands it
  mmdebstrap --variant=minbase --quiet "${options[@]}" \
    --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --include=usr-is-merged \
    --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*' \
    bookworm "$roots/base.tar" ${MIRROR:+"$MIRROR"}
  container=$(images from scratch)
  images add -q "$container" "$roots/base.tar" /
  images commit -q "$container" docker.io/library/debian:12-slim
  images rm "$container"
}

# mount_in_image IMAGE MIB: its files, as a chroot, without the entry point.
mount_in_image() {
  local image=$1 most=$2 container place size
  container=$(images from --pull-never "$image")
  place=$(images mount "$container")
  rm -rf --one-file-system "$roots/image"
  cp -a "$place" "$roots/image"
  images rm "$container"
  size=$(du -sm "$roots/image" | cut -f 1)
  echo "image.sh: $image: $size MiB"
  [ "$size" -lt "$most" ]
  [ -c "$roots/image/dev/null" ] || mknod -m 666 "$roots/image/dev/null" c 1 3
  mkdir -p "$roots/image"/dev/{pts,shm}
  root_run image sh /src/tests/packaging/try.sh
  [ "$image" = shufflefs ] || root_run image sh /src/tests/packaging/try_peers.sh
}

# build IMAGE [WORDS of buildah]
build() {
  local image=$1
  shift
  images bud --isolation chroot --pull-never --layers -t "$image" "$@" \
    -f "$repository/examples/container/Containerfile" "$repository"
}

main() {
  roots_begin
  images inspect --type image debian:12-slim >/dev/null 2>&1 || make_base
  build shufflefs
  build shufflefs:peers --target peers
  images images
  mount_in_image shufflefs 100
  mount_in_image shufflefs:peers 140
  echo "image.sh: passed"
}

[ $# = 0 ] || { sed -n '4,9s/^# \{0,1\}//p' "$0"; exit 2; }
main
