#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/bench/run.sh [--rounds N] [--clean] [NAME...]
#
# Runs the benchmarks of the mount (warm_files no_harm large_file million, or
# those named) on the release build and prints their table: each figure beside
# the raw directory's of the same run, and its target. Nothing is asserted.
#
# The trees (about 12 GB) stay in $BENCH_DIR, by default
# /var/tmp/shufflefs-bench, for the next run; --clean removes them, and does
# nothing else when no NAME is given. Machine quiet, please; as root the FUSE
# read-ahead can be raised, so large files are read faster.
set -euo pipefail
cd "$(dirname "$0")/../.."

names=()
rounds=5
clean=no
while [[ $# -gt 0 ]]; do
  case $1 in
    --rounds) rounds=$2; shift ;;
    --clean) clean=yes ;;
    -h | --help) sed -n '4,15s/^# \{0,1\}//p' tests/bench/run.sh; exit 0 ;;
    warm_files | no_harm | large_file | million) names+=("$1") ;;
    *) echo "tests/bench/run.sh: unknown argument: $1" >&2; exit 2 ;;
  esac
  shift
done

export BENCH_DIR=${BENCH_DIR:-/var/tmp/shufflefs-bench}
if [[ $clean == yes && ${#names[@]} -eq 0 ]]; then
  rm -rf "$BENCH_DIR"
  exit 0
fi
[[ ${#names[@]} -gt 0 ]] || names=(warm_files no_harm large_file million)

if [[ -z ${SHUFFLEFS_BIN:-} ]]; then
  mkdir -p build/logs
  { cmake --preset release &&
    cmake --build --preset release --target shufflefs reader_bench; } \
    >build/logs/bench.build 2>&1 || { tail -n 40 build/logs/bench.build; exit 1; }
fi
export SHUFFLEFS_BIN=${SHUFFLEFS_BIN:-$PWD/build/release/mount-tools/shufflefs}
export READER_BIN=${READER_BIN:-$PWD/build/release/tests/reader_bench}

python=/usr/bin/python3
export PYTHONDONTWRITEBYTECODE=1
measure() { PYTHONPATH=tests/bench $python -c "import measure; $1"; }
measure 'print(measure.machine()); print(); print(measure.header())'
for name in "${names[@]}"; do
  $python "tests/bench/$name.py" --rounds "$rounds"
done
[[ $clean == no ]] || rm -rf "$BENCH_DIR"
