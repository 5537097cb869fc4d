#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# debian.sh SUITE [CTEST ARGUMENT...]
#
# Compiles shufflefs in a chroot of a suite of Debian, such as trixie, and runs
# the release tests there: all of them, as tests/run.sh does, or those that the
# arguments choose, for instance -L unit. chroot.sh names the variables that
# choose the mirror and keep the chroot. JOBS bounds the compilers at once.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/packaging/chroot.sh
. "$here/chroot.sh"

run_all() {
  cd /build/shufflefs
  apt-get update -qq
  tests/run.sh
}

run_some() {
  cd /build/shufflefs
  apt-get update -qq
  mount-tools/install-deps.sh --build --test
  cmake --preset release -DCMAKE_UNITY_BUILD=ON
  cmake --build --preset release -j "${JOBS:-$(nproc)}"
  ctest --test-dir build/release --output-on-failure "$@"
}

main() {
  local suite=$1
  shift
  roots_begin
  root_make "$suite-build" "$suite"
  root_copy "$suite-build"
  if [ $# = 0 ]; then
    root_call "$suite-build" run_all
  else
    root_call "$suite-build" run_some "$@"
  fi
}

case "${1:-}" in
  "" | -*) sed -n '4,9s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
main "$@"
