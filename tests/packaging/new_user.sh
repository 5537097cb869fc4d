#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# new_user.sh [SUITE]
#
# Does what a new user does, in a minimal Debian (bookworm) that has nothing but
# apt. Root runs examples/quickstart.sh, builds and installs. Then root
# and an ordinary user type what README says in "Try it" and "On your data".
# Prints the seconds of each step, and those of the processors in it.
# chroot.sh names the variables that choose the mirror and keep the chroot.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/packaging/chroot.sh
. "$here/chroot.sh"

# step NAME COMMAND...
step() {
  local TIMEFORMAT="new_user.sh: uid $UID: $1: %0R s (processors: %0U + %0S s)"
  shift
  time "$@"
}

# make_data FOLDER: 400 files in 10 classes, named as no frames are.
make_data() {
  local class file
  for class in $(seq 10); do
    mkdir -p "$1/class$class"
    for file in $(seq 40); do
      head -c 5000 /dev/urandom >"$1/class$class/$file$RANDOM.jpg"
    done
  done
}

# readme HEADING: types the commands below a heading of README.md. The program
# that trains only reads.
readme() {
  local folder
  folder=$(mktemp -d)
  mkdir "$folder/mnt"
  make_data "$folder/data"
  awk -v heading="## $1" '/^## / { on = $0 == heading }
    /^```/ { code = !code; next } on && code' README.md |
    sed -e "s|\<DATA\>|$folder/data|g" -e "s|\<MNT\>|$folder/mnt|g" \
      -e 's|^python train.py --data \([^ ]*\)|cat \1/*/* >/dev/null|' \
      >"$folder/commands"
  bash -euv "$folder/commands"
  rm -rf "$folder" /tmp/try
}

# README, "Install".
build_and_install() {
  cmake --preset release -DSHUFFLEFS_TESTS=OFF -DCMAKE_UNITY_BUILD=ON
  cmake --build --preset release
  cmake --install build/release --prefix /usr/local
}

# Inside, at the root of the repository.
use() {
  step "Try it" readme "Try it"
  step "On your data" readme "On your data"
}

as_root() {
  cd /build/shufflefs
  step "quickstart.sh" examples/quickstart.sh --work /tmp/quickstart
  step "Install" build_and_install
  use
  useradd --create-home reader
  su reader -c "bash $0 --as-user"
}

as_user() {
  cd /build/shufflefs
  use
  step "quickstart.sh --bin" examples/quickstart.sh --bin /usr/local/bin
}

main() {
  local suite=${1:-bookworm} number
  roots_begin
  root_make "$suite-bare" "$suite"
  root_copy "$suite-bare"
  # For the emulated disk.
  [ -e "$roots/$suite-bare/dev/loop-control" ] ||
    mknod "$roots/$suite-bare/dev/loop-control" c 10 237
  for number in $(seq 0 63); do
    [ -e "$roots/$suite-bare/dev/loop$number" ] ||
      mknod "$roots/$suite-bare/dev/loop$number" b 7 "$number"
  done
  uptime
  root_run "$suite-bare" bash /src/tests/packaging/new_user.sh --as-root
  uptime
  echo "new_user.sh: passed"
}

case "${1:-}" in
  --as-root) as_root ;;
  --as-user) as_user ;;
  -*) sed -n '4,10s/^# \{0,1\}//p' "$0"; exit 2 ;;
  *) main "$@" ;;
esac
