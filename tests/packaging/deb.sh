#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# deb.sh SUITE [FOLDER]
#
# Builds the .debs for a suite of Debian, bookworm or trixie, in a chroot of it.
# Lintian must find no error. shufflefs is then installed in a second chroot and
# mounts there; with shufflefs-peers, two mounts join each other. Both are
# removed. With FOLDER, the packages are copied there.
# chroot.sh names the variables that choose the mirror and keep the chroots.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/packaging/chroot.sh
. "$here/chroot.sh"

# The flags of Debian's packages, without debug symbols.
build() {
  cd /build/shufflefs
  apt-get update -qq
  mount-tools/install-deps.sh --build --peers --package
  apt-get install -qq -y --no-install-recommends lintian
  export DEB_BUILD_MAINT_OPTIONS=hardening=+all
  export DEB_CXXFLAGS_MAINT_STRIP=-g
  CXXFLAGS="$(dpkg-buildflags --get CPPFLAGS) $(dpkg-buildflags --get CXXFLAGS)"
  LDFLAGS=$(dpkg-buildflags --get LDFLAGS)
  export CXXFLAGS LDFLAGS
  cmake -G Ninja -B build/deb -DCMAKE_BUILD_TYPE=Release \
    -DSHUFFLEFS_TESTS=OFF -DCMAKE_UNITY_BUILD=ON -DSHUFFLEFS_PEERS=ON \
    -DCPACK_DEBIAN_PACKAGE_RELEASE="1~deb$(. /etc/os-release && echo "$VERSION_ID")"
  cmake --build build/deb -j "${JOBS:-$(nproc)}"
  rm -f build/deb/*.deb
  (cd build/deb && cpack -G DEB)
}

inspect() {
  local package
  cd /build/shufflefs/build/deb
  for package in ./*.deb; do
    dpkg-deb -I "$package"
  done
  lintian --allow-root --fail-on error --display-info ./*.deb
}

# What an administrator does.
install_and_mount() {
  apt-get update -qq
  apt-get install -qq -y --no-install-recommends man-db /package/shufflefs_*.deb
  sh /src/tests/packaging/try.sh
  man -w shufflefs shufflectl shufflefs.toml
  ls /usr/lib/systemd/system/shufflefs@.service
}

# Two daemons of one job join each other.
install_and_join() {
  apt-get install -qq -y --no-install-recommends /package/shufflefs-peers_*.deb
  sh /src/tests/packaging/try_peers.sh
  apt-get remove -qq -y shufflefs
  [ ! -e /usr/bin/shufflefs ]
  [ ! -e /usr/lib/shufflefs ]
}

main() {
  local suite=$1 target=${2:-}
  roots_begin
  root_make "$suite-build" "$suite"
  root_copy "$suite-build"
  root_call "$suite-build" build
  root_call "$suite-build" inspect
  root_make "$suite-install" "$suite"
  rm -rf "$roots/$suite-install/package"
  mkdir "$roots/$suite-install/package"
  cp "$roots/$suite-build/build/shufflefs/build/deb/"*.deb \
    "$roots/$suite-install/package/"
  root_call "$suite-install" install_and_mount
  root_call "$suite-install" install_and_join
  [ -z "$target" ] || cp "$roots/$suite-install/package/"*.deb "$target/"
  echo "deb.sh: $suite: passed"
}

case "${1:-}" in
  "" | -*) sed -n '4,10s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
main "$@"
