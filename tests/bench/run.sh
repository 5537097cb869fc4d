#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/bench/run.sh [--rounds N] [--clean] [NAME...] [-- ARGUMENT...]
#
# Runs the benchmarks of the mount (warm_files no_harm large_file million, or
# those named) on the release build and prints their table: each figure beside
# the raw directory's of the same run, and its target. Nothing is asserted.
# What follows -- is given to each of them.
#
# By name only, each with tables of its own; those marked * need root:
#   warm_threads    1 and 8 readers of small files, two builds beside each other
#   warm_builds     warm files, one large file, pictures, two builds beside each other
#   brand *         epochs over emulated devices, hours for all cases
#   read_ahead *    readers in name order over emulated devices
#   first_sample *  time to the first sample, memory, what packing costs
#   dataloader *    a DataLoader decoding JPEG files: how long its consumer waits
#   training *      accuracies through brand against full shuffling
#   records *       shuffled records of a container against the file itself
#   cached_profile  where the processors' time goes, reading a cached container
#   mixed_view *    folders and containers in one view, against a view of each
#   two_builds *    cold epochs and containers, two builds beside each other
#   record_scale *  index, memory and epoch switch of files of very many records
#   limits          what other benchmarks could give at most
#   many_files *    14,000,000 files: scan, mount, memory a file, switch, check
#   mixing          how far from uniform brand mixes
#   epoch_memory    what brand's consecutive epochs have in common
#   convergence     SGD over shuffled records, by policy; one set is from PyPI
#   met *           a job over a slow device and a tier: speed, bytes, waiting
#   met_records *   the same over the records of containers
#   met_training    accuracy against met's mini-epochs and repeats
#   cluster *       four nodes of one job, alone and as peers
#   cluster_training *  accuracies of a training on four nodes, through peers
#   yardstick *     how many accelerators a device keeps busy, as MLPerf Storage asks
#   clairvoyant *   a stock DataLoader whose order is found out, and the harm
# tests/bench/run.sh NAME -- --help has their options.
#
# The trees (about 12 GB; brand: 4.6 GB a dataset) stay in $BENCH_DIR, by default
# /var/tmp/shufflefs-bench, for the next run; --clean removes them, and does
# nothing else when no NAME is given. Machine quiet, please; as root the FUSE
# read-ahead can be raised, so large files are read faster.
set -euo pipefail
cd "$(dirname "$0")/../.."

names=()
rounds=()
clean=no
while [[ $# -gt 0 ]]; do
  case $1 in
    --rounds) rounds=(--rounds "$2"); shift ;;
    --clean) clean=yes ;;
    -h | --help) sed -n '4,43s/^# \{0,1\}//p' tests/bench/run.sh; exit 0 ;;
    warm_files | warm_threads | warm_builds | no_harm | large_file | million) names+=("$1") ;;
    brand | read_ahead | first_sample | dataloader | training | mixing | epoch_memory) names+=("$1") ;;
    records | cached_profile | mixed_view | two_builds | record_scale | many_files | convergence) names+=("$1") ;;
    met | met_records | met_training | clairvoyant | yardstick | limits) names+=("$1") ;;
    cluster | cluster_training) names+=("$1") ;;
    --) shift; break ;;
    *) echo "tests/bench/run.sh: unknown argument: $1" >&2; exit 2 ;;
  esac
  shift
done

for name in ${names[@]+"${names[@]}"}; do
  case $name in
    brand | read_ahead | first_sample | dataloader | training | records | \
      mixed_view | two_builds | record_scale | many_files | met | met_records | \
      clairvoyant | cluster | cluster_training | yardstick)
      [[ $(id -u) == 0 || " $* " == *" --from "* || " $* " == *" --help "* ]] || {
        echo "tests/bench/run.sh: $name needs root: it makes loop devices" \
             "and groups" >&2
        exit 1
      } ;;
  esac
done
export BENCH_DIR=${BENCH_DIR:-/var/tmp/shufflefs-bench}
if [[ $clean == yes && ${#names[@]} -eq 0 ]]; then
  rm -rf "$BENCH_DIR"
  exit 0
fi
[[ ${#names[@]} -gt 0 ]] || names=(warm_files no_harm large_file million)

build=$PWD/build/release
if [[ -z ${SHUFFLEFS_BIN:-} ]]; then
  mkdir -p build/logs
  targets=(shufflefs shufflectl reader_bench epoch_reader_bench mixing_bench
    met_order_bench slowdev)
  [[ " ${names[*]} " != *" cluster"* ]] || targets+=(shufflefs_peers_module)
  { cmake --preset release &&
    cmake --build --preset release --target "${targets[@]}"; } \
    >build/logs/bench.build 2>&1 || { tail -n 40 build/logs/bench.build; exit 1; }
fi
export SHUFFLEFS_BIN=${SHUFFLEFS_BIN:-$build/mount-tools/shufflefs}
export SHUFFLECTL_BIN=${SHUFFLECTL_BIN:-$build/mount-tools/shufflectl}
export READER_BIN=${READER_BIN:-$build/tests/reader_bench}
export EPOCH_READER_BIN=${EPOCH_READER_BIN:-$build/tests/epoch_reader_bench}
export MIXING_BIN=${MIXING_BIN:-$build/tests/mixing_bench}
export MET_ORDER_BIN=${MET_ORDER_BIN:-$build/tests/met_order_bench}
export SLOWDEV_BIN=${SLOWDEV_BIN:-$build/tests/bench/testbed/slowdev}

python=/usr/bin/python3
export PYTHONDONTWRITEBYTECODE=1
measure() { PYTHONPATH=tests/bench $python -c "import measure; $1"; }
measure 'print(measure.machine()); print()'
header=no
for name in "${names[@]}"; do
  case $name in
    warm_threads | warm_builds | brand | first_sample | dataloader | training | mixing | \
      epoch_memory | cached_profile | mixed_view | two_builds | record_scale | many_files | convergence | \
      met | met_records | met_training | clairvoyant | cluster | cluster_training | yardstick | limits)
      # tables and a number of rounds of their own
      $python "tests/bench/$name.py" ${rounds[@]+"${rounds[@]}"} "$@"
      continue ;;
  esac
  [[ $header == yes ]] || measure 'print(measure.header())'
  header=yes
  $python "tests/bench/$name.py" --rounds 5 ${rounds[@]+"${rounds[@]}"} "$@"
done
[[ $clean == no ]] || rm -rf "$BENCH_DIR"
