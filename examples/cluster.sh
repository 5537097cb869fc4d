#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# examples/cluster.sh [--nodes N] [--epochs N] [--policy NAME]
#
# Four nodes of one job on this machine, in less than three minutes: network
# namespaces with links of 1 Gbit/s, and one source of 40 MB/s for all nodes.
# Each node has a rank of PyTorch (examples/cluster_rank.py: ImageFolder,
# DistributedSampler, gloo). They train on the raw directory, then through mounts
# that are peers. The memory of all nodes together holds 1.3 datasets.
# Prints for each epoch its seconds, what left the source, and how busy the
# processors were.
#   --nodes N      nodes of the job (4)
#   --epochs N     epochs of each run (3)
#   --policy NAME  how the mounts shuffle (lirs)
# Needs root, /dev/fuse, loop devices and the packages of install-deps.sh --build
# --test. Removes the namespaces, mounts and groups that it made. The dataset
# (400 MB) stays in $BENCH_DIR for the next run.
set -euo pipefail
cd "$(dirname "$0")/.."

nodes=4
epochs=3
policy=lirs
while [ $# -gt 0 ]; do
  case "$1" in
    --nodes | --epochs | --policy)
      [ $# -gt 1 ] || { echo "cluster.sh: $1 needs a value" >&2; exit 2; }
      printf -v "${1#--}" %s "$2"
      shift 2 ;;
    -h | --help) sed -n '4,19s/^# \{0,1\}//p' examples/cluster.sh; exit 0 ;;
    *) echo "cluster.sh: unknown argument: $1" >&2; exit 2 ;;
  esac
done

cannot() {
  echo "cluster.sh: $*" >&2
  exit 3
}
[ "$(id -u)" = 0 ] || cannot "needs root: it makes namespaces and loop devices"
for command in ip tc nsenter losetup; do
  command -v "$command" >/dev/null || cannot "needs the command $command"
done
/usr/bin/python3 -c 'import torchvision' 2>/dev/null ||
  cannot "needs Debian's python3-torchvision"

echo "Compiles what is missing, makes the dataset, and runs $nodes nodes twice" \
     "(raw, peers), $epochs epochs each."
[ -d build/release ] || cmake --preset release -DCMAKE_UNITY_BUILD=ON >/dev/null
tests/bench/run.sh --rounds 1 cluster -- --nodes "$nodes" --epochs "$epochs" \
  --policy "$policy" --ranks gloo --systems raw peers --memory 1.3
cat <<'END'

A cell has the seconds of an epoch, the datasets that left the source in it, and
how busy the processors of this machine were: here all nodes share them.
Every rank's files were compared: over all nodes each sample came once.

On your nodes: mount the same dataset on each, with the same keys, and
  -o policy=lirs,peers='host1:7373;host2:7373',peers.secret=FILE
docs/deploy.md says what peers can be (Slurm, Kubernetes, etcd).
END
