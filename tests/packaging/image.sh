#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# image.sh
#
# Builds the image of examples/container/Containerfile with buildah, prints its
# size, and mounts with it. No registry is needed: the image debian:12-slim is
# made by mmdebstrap, as far as packages and left out files go. chroot.sh names
# the variables that choose the mirror and keep the images.
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

# What the image of that name leaves out.
make_base() {
  local omit container
  local options=()
  for omit in doc man info locale groff linda lintian; do
    options+=("--dpkgopt=path-exclude=/usr/share/$omit/*")
  done
  # shellcheck disable=SC2016  # mmdebstrap expands it
  mmdebstrap --variant=minbase --quiet "${options[@]}" \
    --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*' \
    bookworm "$roots/base.tar" ${MIRROR:+"$MIRROR"}
  container=$(images from scratch)
  images add -q "$container" "$roots/base.tar" /
  images commit -q "$container" docker.io/library/debian:12-slim
  images rm "$container"
}

# The files of the image, as a chroot, without the entry point.
mount_in_image() {
  local container place
  container=$(images from --pull-never shufflefs)
  place=$(images mount "$container")
  rm -rf --one-file-system "$roots/image"
  cp -a "$place" "$roots/image"
  images rm "$container"
  du -sm "$roots/image"
  mknod -m 666 "$roots/image/dev/null" c 1 3 || true
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
