#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# headers.sh
#
# Compiles each header of the programs alone, without the precompiled ones, and
# names those that lack an include. Takes two seconds a header, on JOBS
# processors. Run it where a newer standard library includes less by itself.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# = 0 ] || { sed -n '4,8s/^# \{0,1\}//p' "$0"; exit 2; }

flags=$(pkg-config --cflags fuse3 liburing)
export flags
# shellcheck disable=SC2016  # the inner shell expands
find core fs policies mount-tools -name '*.h' -print0 | sort -z |
  xargs -0 -n 1 -P "${JOBS:-$(nproc)}" sh -c '
    ${CXX:-c++} -std=c++20 -fsyntax-only -w $flags -I. -x c++ \
      -include "$1" /dev/null || { echo "incomplete: $1"; exit 1; }
  ' headers.sh
echo "headers.sh: every header compiles alone"
