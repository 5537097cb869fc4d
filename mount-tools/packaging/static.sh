#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# static.sh FOLDER [x86_64 | aarch64]
#
# Builds shufflefs and shufflectl without shared libraries, and packs them into
# FOLDER: a .tar.gz and an .rpm, with manuals, completion, the systemd unit and
# the licences of the libraries inside. They run on any Linux of the named kind
# with fusermount3; without a name, of this machine's kind. Needs Debian and the
# packages of install-deps.sh --build; to build for the other kind also its
# compiler and libraries, which --packages KIND lists.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)

# Debian packages to compile for another kind of machine.
packages() {
  case "$1" in
    aarch64) set -- arm64 aarch64 ;;
    x86_64) set -- amd64 x86-64 ;;
  esac
  echo "g++-$2-linux-gnu" {libfuse3,libabsl,libspdlog,liburing,libxxhash}"-dev:$1" \
    "libtomlplusplus-dev:$1" "libfmt-dev:$1"
}

build() {
  local folder=$1 kind=$2 tree=$source/build/static-$2
  local options=()
  if [ "$kind" != "$(uname -m)" ]; then
    options=(-DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=$kind"
      "-DCMAKE_C_COMPILER=$kind-linux-gnu-gcc"
      "-DCMAKE_CXX_COMPILER=$kind-linux-gnu-g++"
      "-DCPACK_RPM_PACKAGE_ARCHITECTURE=$kind")
    export PKG_CONFIG_LIBDIR=/usr/lib/$kind-linux-gnu/pkgconfig
  fi
  cmake -S "$source" -B "$tree" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_UNITY_BUILD=ON -DSHUFFLEFS_TESTS=OFF -DSHUFFLEFS_STATIC=ON \
    "${options[@]}"
  cmake --build "$tree" -j "${JOBS:-$(nproc)}"
  (cd "$tree" && cpack -B "$(realpath "$folder")")
  rm -rf "$folder/_CPack_Packages"
}

case "${1:-}" in
  --packages) packages "${2:?--packages needs a kind}" ;;
  "" | -*) sed -n '4,12s/^# \{0,1\}//p' "$0"; exit 2 ;;
  *) build "$1" "${2:-$(uname -m)}" ;;
esac
