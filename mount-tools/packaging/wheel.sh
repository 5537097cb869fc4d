#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# wheel.sh ARCHIVE FOLDER
#
# Makes a wheel of the Python package and of both programs from ARCHIVE, which
# static.sh made, and puts it into FOLDER. `pip install` of it needs nothing
# else but fusermount3. Needs python3 with pip, setuptools and wheel.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)

# The folder that setuptools sees: package, programs, licences, commands.
lay_out() {
  local unpacked=$1 tree=$2 licence
  cp -r "$source/python/." "$tree"
  rm -rf "$tree/build" "$tree"/*.egg-info
  mkdir "$tree/shufflefs/bin"
  cp "$unpacked"/usr/bin/shuffle* "$tree/shufflefs/bin/"
  cp "$source/LICENSE" "$tree/"
  for licence in "$unpacked"/usr/share/doc/shufflefs/licenses/*; do
    cp "$licence" "$tree/LICENSE.$(basename "$licence" .txt)"
  done
  cat >>"$tree/pyproject.toml" <<'END'

[project.scripts]
shufflefs = "shufflefs.commands:shufflefs"
shufflectl = "shufflefs.commands:shufflectl"
END
}

main() {
  local archive=$1 target=$2 kind work
  kind=$(basename "$archive" .tar.gz)
  kind=${kind##*-linux-}
  work=$(mktemp -d)
  # shellcheck disable=SC2064  # $work is local
  trap "rm -rf '$work'" EXIT
  mkdir "$work/unpacked" "$work/tree"
  tar -xzf "$archive" -C "$work/unpacked" --strip-components=1
  lay_out "$work/unpacked" "$work/tree"
  python3 -m pip wheel -q --no-deps --no-build-isolation -w "$target" \
    --config-settings=--build-option=--plat-name=manylinux2014_"$kind" "$work/tree"
  ls "$target"/shufflefs-*-manylinux2014_"$kind".whl
}

case "${2:-}" in
  "" | -*) sed -n '4,8s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
main "$@"
