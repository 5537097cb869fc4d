#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# image.sh
#
# Builds the image of examples/container/Containerfile with buildah, and mounts
# with it. It must have less than 100 MiB. No registry is needed: mmdebstrap
# makes the image debian:12-slim, as far as packages and left out files go.
# chroot.sh names the variables that choose the mirror and keep the images.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/packaging/chroot.sh
. "$here/chroot.sh"

most=100  # MiB that the image may have

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

# The files of the image, as a chroot, without the entry point.
mount_in_image() {
  local container place size
  container=$(images from --pull-never shufflefs)
  place=$(images mount "$container")
  rm -rf --one-file-system "$roots/image"
  cp -a "$place" "$roots/image"
  images rm "$container"
  size=$(du -sm "$roots/image" | cut -f 1)
  echo "image.sh: $size MiB"
  [ "$size" -lt "$most" ]
  [ -c "$roots/image/dev/null" ] || mknod -m 666 "$roots/image/dev/null" c 1 3
  mkdir -p "$roots/image"/dev/{pts,shm}
  root_run image sh /src/tests/packaging/try.sh
}

main() {
  roots_begin
  images inspect --type image debian:12-slim >/dev/null 2>&1 || make_base
  images bud --isolation chroot --pull-never --layers -t shufflefs \
    -f "$repository/examples/container/Containerfile" "$repository"
  images images
  mount_in_image
  echo "image.sh: passed"
}

[ $# = 0 ] || { sed -n '4,9s/^# \{0,1\}//p' "$0"; exit 2; }
main
