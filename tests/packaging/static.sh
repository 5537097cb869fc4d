#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# static.sh [--arm64] [FOLDER]
#
# Builds the static .tar.gz and .rpm in a chroot of Debian 12. Mounts with the
# programs of both in Debian 11, and with those of the .tar.gz in a chroot that
# holds only busybox and fusermount3. With --arm64, cross-compiles too and mounts
# with these programs under qemu-user. With FOLDER, the packages are copied
# there. chroot.sh names the variables that choose the mirror and keep the
# chroots.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/packaging/chroot.sh
. "$here/chroot.sh"

build() {
  cd /build/shufflefs
  apt-get update -qq
  mount-tools/install-deps.sh --build --package
  if [ "$1" != "$(uname -m)" ]; then
    dpkg --add-architecture arm64
    apt-get update -qq
    # shellcheck disable=SC2046  # words are wanted
    apt-get install -qq -y --no-install-recommends \
      $(mount-tools/packaging/static.sh --packages "$1")
  fi
  rm -rf /packages
  mkdir /packages
  mount-tools/packaging/static.sh /packages "$1"
  rm -rf /tmp/shufflefs-*
  tar -xzf /packages/*.tar.gz -C /tmp
  file /tmp/shufflefs-*/usr/bin/*
  rpm -qp --requires --provides /packages/*.rpm
}

# In another distribution: first the archive, then the .rpm.
mount_elsewhere() {
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -qq -y --no-install-recommends fuse3 rpm
  rm -rf /opt/shufflefs-*
  tar -xzf /packages/*.tar.gz -C /opt
  PATH=$(echo /opt/shufflefs-*/usr/bin):$PATH sh /src/tests/packaging/try.sh
  rpm --nodeps --install /packages/*.rpm
  rpm --verify --nodeps shufflefs
  sh /src/tests/packaging/try.sh
  rpm --nodeps --erase shufflefs
}

# make_bare NAME FROM: a chroot of busybox, fusermount3 and what it loads, out of
# the chroot FROM.
make_bare() {
  local bare=$roots/$1 from=$roots/$2 file
  rm -rf --one-file-system "$bare"
  mkdir -p "$bare"/{bin,dev/pts,dev/shm,proc,sys,tmp,etc,usr,src}
  chmod 1777 "$bare/tmp"
  ln -s ../bin "$bare/usr/bin"
  cp "$from/bin/busybox" "$from/bin/fusermount3" "$bare/bin/"
  chmod u+s "$bare/bin/fusermount3"
  chroot "$bare" /bin/busybox --install -s /bin
  for file in $(chroot "$from" ldd /bin/fusermount3 | grep -o '/lib[^ ]*'); do
    install -D "$from/$file" "$bare/$file"
  done
  mknod -m 666 "$bare/dev/null" c 1 3
  grep -E '^(root|nobody):' "$from/etc/passwd" >"$bare/etc/passwd"
}

# Unpacks the archive of the chroot FROM into the bare one, and mounts there.
try_bare() {
  local from=$1
  root_call "$from" install_for_bare
  make_bare bare "$from"
  tar -xzf "$roots/$from"/packages/*.tar.gz -C "$roots/bare" \
    --strip-components=2 --wildcards '*/usr/bin/*'
  root_run bare sh /src/tests/packaging/try.sh
}

install_for_bare() {
  apt-get install -qq -y --no-install-recommends busybox-static fuse3
}

try_elsewhere() {
  root_make bullseye-install bullseye
  rm -rf "$roots/bullseye-install/packages"
  cp -r "$roots/$1/packages" "$roots/bullseye-install/"
  root_call bullseye-install mount_elsewhere
}

try_emulated() {
  apt-get install -qq -y --no-install-recommends fuse3 qemu-user-static
  PATH=$(echo /tmp/shufflefs-*/usr/bin):$PATH
  sh /src/tests/packaging/try.sh qemu-aarch64-static
}

main() {
  local arm64=no target
  if [ "${1:-}" = --arm64 ]; then
    arm64=yes
    shift
  fi
  target=${1:-}
  roots_begin
  root_make bookworm-build bookworm
  root_copy bookworm-build
  root_call bookworm-build build x86_64
  [ -z "$target" ] || cp "$roots"/bookworm-build/packages/* "$target/"
  try_bare bookworm-build
  try_elsewhere bookworm-build
  if [ "$arm64" = yes ]; then
    root_make bookworm-arm64 bookworm
    root_copy bookworm-arm64
    root_call bookworm-arm64 build aarch64
    root_call bookworm-arm64 try_emulated
    [ -z "$target" ] || cp "$roots"/bookworm-arm64/packages/* "$target/"
  fi
  echo "static.sh: passed"
}

case "${1:-}" in
  -h | --help) sed -n '4,13s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
main "$@"
