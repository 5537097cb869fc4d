# SPDX-License-Identifier: Apache-2.0
#
# Functions for the scripts of this folder: a Debian system in a folder, made
# by mmdebstrap, and commands that run inside it. Both need root.
#
#   MIRROR   where packages come from; mmdebstrap chooses one if it is empty
#   ROOTS    folder that keeps systems between runs. If it is empty, they are
#            made in a new folder that goes away at the end
# shellcheck shell=bash

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# roots_begin: sets $roots, and removes it at the end unless ROOTS names it.
roots_begin() {
  if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null; then
    echo "$(basename "$0"): needs root and the package mmdebstrap" >&2
    exit 1
  fi
  if [ -n "${ROOTS:-}" ]; then
    roots=$(realpath -m "$ROOTS")
    mkdir -p "$roots"
  else
    roots=$(TMPDIR=${TMPDIR:-/var/tmp} mktemp -d)
    trap 'rm -rf --one-file-system "$roots"' EXIT
  fi
}

# root_make NAME SUITE [MMDEBSTRAP OPTION...]: makes $roots/NAME if it is not
# there.
root_make() {
  local folder=$roots/$1 suite=$2
  shift 2
  [ ! -e "$folder/etc/os-release" ] || return 0
  rm -rf --one-file-system "$folder"
  mmdebstrap --variant=apt --format=directory --mode=root --quiet \
    --dpkgopt=force-unsafe-io \
    --include=ca-certificates "$@" "$suite" "$folder" ${MIRROR:+"$MIRROR"}
}

# root_run NAME COMMAND...: runs the command inside, in namespaces of its own,
# so that its mounts and processes end with it. The repository is at /src,
# read-only.
root_run() {
  local folder=$roots/$1
  shift
  mkdir -p "$folder/src"
  # shellcheck disable=SC2016  # the inner shell expands these
  unshare --mount --pid --fork --kill-child bash -euc '
    root=$1 source=$2
    shift 2
    mount --bind "$root" "$root"  # so that / is a mount, as elsewhere
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
    mount -t tmpfs shm "$root/dev/shm"
    # As udev makes it: open to every user.
    [ -c "$root/dev/fuse" ] || mknod -m 666 "$root/dev/fuse" c 10 229
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    # fusermount3 reads it; a running system has this link.
    [ -e "$root/etc/mtab" ] || ln -sf ../proc/self/mounts "$root/etc/mtab"
    mount --bind "$source" "$root/src"
    mount -o remount,bind,ro "$root/src"
    exec chroot "$root" env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      ${JOBS:+"JOBS=$JOBS"} CCACHE_DISABLE=1 DEBIAN_FRONTEND=noninteractive "$@"
  ' root_run "$folder" "$repository" "$@"
}

# root_call NAME FUNCTION [ARGUMENT...]: runs a function of the calling script
# inside.
root_call() {
  local name=$1 function=$2
  shift 2
  root_run "$name" bash -euo pipefail -c \
    "$(declare -f "$function"); $function \"\$@\"" "$function" "$@"
}

# root_copy NAME: the repository, without what git ignores, at /build/shufflefs.
# Builds there are kept.
root_copy() {
  local copy=$roots/$1/build/shufflefs
  mkdir -p "$copy"
  find "$copy" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
  git -C "$repository" ls-files -z --cached --others --exclude-standard |
    rsync -a --from0 --files-from=- --ignore-missing-args "$repository/" \
      "$copy/"
}
