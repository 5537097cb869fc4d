#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# wheel.sh ARCHIVE [FOLDER]
#
# Makes the wheel from the static .tar.gz, in a chroot of Debian 12. auditwheel
# must find its tag right. The wheel is then installed by pip in a chroot of
# Debian 13, where Python mounts with it. With FOLDER, the wheel is copied there.
# chroot.sh names the variables that choose the mirror and keep the chroots.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
# shellcheck source=tests/packaging/chroot.sh
. "$here/chroot.sh"

build() {
  apt-get update -qq
  apt-get install -qq -y --no-install-recommends python3-pip \
    python3-setuptools python3-wheel
  rm -rf /wheels
  mkdir /wheels
  /src/mount-tools/packaging/wheel.sh /archive/*.tar.gz /wheels
  python3 -m zipfile -l /wheels/*.whl
}

# auditwheel comes from PyPI, as this machine reaches it.
audit() {
  local verdict
  [ -x "$roots/auditwheel/bin/auditwheel" ] || {
    python3 -m venv "$roots/auditwheel"
    "$roots/auditwheel/bin/pip" install -q auditwheel
  }
  verdict=$("$roots/auditwheel/bin/auditwheel" show "$1")
  echo "$verdict"
  grep -q 'consistent with' <<<"$verdict"
}

use() {
  apt-get update -qq
  apt-get install -qq -y --no-install-recommends fuse3 python3-venv
  rm -rf /tmp/venv
  python3 -m venv /tmp/venv
  /tmp/venv/bin/pip install -q --no-index /wheels/*.whl
  PATH=/tmp/venv/bin:$PATH sh /src/tests/packaging/try.sh
  /tmp/venv/bin/python -c "
import os, shufflefs
os.makedirs('/tmp/data/a', exist_ok=True)
open('/tmp/data/a/x.txt', 'w').write('one sample')
with shufflefs.mount('/tmp/data', policy='lirs') as view:
    print('import shufflefs: mounted', os.listdir(view.path + '/a'))
"
}

main() {
  local archive=$1 target=${2:-}
  roots_begin
  root_make bookworm-wheel bookworm
  rm -rf "$roots/bookworm-wheel/archive"
  mkdir "$roots/bookworm-wheel/archive"
  cp "$archive" "$roots/bookworm-wheel/archive/"
  root_call bookworm-wheel build
  audit "$roots"/bookworm-wheel/wheels/*.whl
  root_make trixie-install trixie
  rm -rf "$roots/trixie-install/wheels"
  cp -r "$roots/bookworm-wheel/wheels" "$roots/trixie-install/"
  root_call trixie-install use
  [ -z "$target" ] || cp "$roots/bookworm-wheel/wheels/"*.whl "$target/"
  echo "wheel.sh: passed"
}

case "${1:-}" in
  "" | -*) sed -n '4,9s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
main "$@"
