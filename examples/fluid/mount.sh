#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# mount.sh
#
# What the container of a Fluid ThinRuntime runs: mounts as config.json says,
# which Fluid writes, and stays until SIGTERM. The dataset has one mount, whose
# mountPoint is shufflefs://DIR, and whose options are keys of shufflefs.toml(5).
# FLUID_CONFIG names another file.
set -eu
config=${FLUID_CONFIG:-/etc/fluid/config/config.json}

fail() {
  echo "mount.sh: $config: $*" >&2
  exit 1
}

# text NAME: the value of a text.
text() {
  tr -d '\n' <"$config" | sed -n "s/.*\"$1\" *: *\"\([^\"]*\)\".*/\1/p"
}

# options: {"policy": "lirs", "seed": "3"} becomes policy=lirs,seed=3.
options() {
  tr -d '\n' <"$config" |
    sed -n 's/.*"options" *: *{ *"\([^}]*\)" *}.*/\1/p' |
    sed 's/" *: *"/=/g; s/" *, *"/,/g'
}

[ -r "$config" ] || fail "cannot be read"
! grep -qF "\\" "$config" || fail "has a backslash, which is not supported"
[ "$(grep -o '"mountPoint"' "$config" | wc -l)" = 1 ] ||
  fail "has not exactly one mountPoint"
source=$(text mountPoint)
target=$(text targetPath)
case "$source" in
  shufflefs:///*) source=${source#shufflefs://} ;;
  *) fail "mountPoint '$source' is not shufflefs:// and an absolute path" ;;
esac
[ -n "$target" ] || fail "has no targetPath"
keys=$(options)
# A dead mount there cannot be looked at. shufflefs takes it away.
mkdir -p "$target" 2>/dev/null || :
exec shufflefs -f -o "allow_other${keys:+,$keys}" "$source" "$target"
