#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# slurm.sh [BUILD]
#
# Makes a Slurm cluster of four nodes on this machine, and runs jobs of an
# ordinary user on it: with mounts by examples/slurm-prolog.sh, by `shufflectl
# run` in a step of srun, and by examples/slurm.sh, with and without peers =
# slurm. Prints one line per check, and exits with 1 if one of them failed.
#   BUILD  a build with the module shufflefs_peers.so (build/release)
# Needs root, /dev/fuse, and Debian's slurmctld, slurmd, slurm-client, munge,
# fuse3, iproute2 and util-linux. It needs no cgroups, and no running daemon.
#
# Everything is in namespaces, whose processes, mounts and links end with the
# script. What it writes to /etc, /run and /usr/local is not seen outside.
set -euo pipefail
export LC_ALL=C
here=$(dirname "$(realpath "$0")")
repository=$(realpath "$here/../..")
nodes=(n1 n2 n3 n4)
user=nobody
keys='policy = "lirs"
substitute = "directory"
epoch.advance = "manual"
memory = "64MiB"'
# shellcheck disable=SC2016  # jobs expand it
mounts='/run/shufflefs/$SLURM_JOB_ID'
failed=0

# check WHAT COMMAND...: one line of the report.
check() {
  local what=$1 found=yes
  shift
  "$@" || found=NO failed=1
  echo "slurm.sh: $what: $found"
}

# until_true SECONDS COMMAND...: whether it comes true within that time.
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.2
  done
}

# In the folder that all nodes share.
as_user() {
  setpriv --reuid="$(id -u "$user")" --regid="$(id -g "$user")" --init-groups \
    env -C "$folder/jobs" TMPDIR="$folder/tmp" "$@"
}

# on NODE COMMAND...
on() {
  nsenter --target "$(cat "$folder/$1.pid")" --mount --net --uts --pid "${@:2}"
}

# 4 classes of 60 files, all different. Names in a row would be frames, which
# keep their own content.
make_data() {
  local sample name
  mkdir -p "$folder"/data/{a,b,c,d}
  for sample in {a,b,c,d}" "{1..60}; do
    name=$(md5sum <<<"$sample")
    echo "$sample" >"$folder/data/${sample% *}/${name:0:8}.txt"
  done
  cat "$folder"/data/*/* | sort >"$folder/want"
}

make_etc() {
  printf '%s\n' "127.0.0.1 localhost" "10.74.0.254 control" \
    "10.74.0.1 n1" "10.74.0.2 n2" "10.74.0.3 n3" "10.74.0.4 n4" >/etc/hosts
  mkdir -p /etc/slurm /etc/shufflefs
  cp "$repository"/examples/slurm-{prolog,epilog}.sh /etc/slurm
  # Without it slurmd looks for a mounted group hierarchy.
  echo "CgroupPlugin=cgroup/v1" >/etc/slurm/cgroup.conf
  touch "$folder"/gpu{0..3}  # Slurm only counts them
  echo "Name=gpu File=$folder/gpu[0-3]" >/etc/slurm/gres.conf
  cat >/etc/slurm/slurm.conf <<END
ClusterName=shufflefs
SlurmctldHost=control
AuthInfo=socket=$folder/munge/socket
StateSaveLocation=$folder/control
SlurmdSpoolDir=$folder/spool.%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PrologFlags=Alloc
Prolog=/etc/slurm/slurm-prolog.sh
Epilog=/etc/slurm/slurm-epilog.sh
GresTypes=gpu
NodeName=n[1-4] CPUs=2 Gres=gpu:4
PartitionName=all Nodes=ALL Default=YES
END
  cd /etc/shufflefs
  echo "SOURCE=$folder/data" | tee images.env >shared.env
  echo "$keys" | tee images.toml >shared.toml
  echo 'peers = "slurm"' >>shared.toml
  (umask 077 && head -c 32 /dev/urandom >shared.secret)
}

# What all nodes see, in namespaces of the cluster.
make_place() {
  mount -t tmpfs -o mode=755 cluster "$folder"
  mkdir -p "$folder"/{etc,etc-work,local/bin,local/lib/shufflefs/modules} \
    "$folder"/{jobs,tmp,control,munge}
  mount -t overlay etc /etc \
    -o "lowerdir=/etc,upperdir=$folder/etc,workdir=$folder/etc-work"
  mount -t tmpfs -o mode=755 run /run
  cp "$build"/mount-tools/shuffle{fs,ctl} "$here/slurm_task.sh" \
    "$folder/local/bin"
  cp "$build/peers/shufflefs_peers.so" "$folder/local/lib/shufflefs/modules"
  mount --bind "$folder/local" /usr/local
  mknod -m 666 "$folder/fuse" c 10 229  # as udev makes it
  mount --bind "$folder/fuse" /dev/fuse
  chown "$user" "$folder/jobs"
}

# node NAME ADDRESS: a network, and a slurmd with its own /run and TMPDIR.
node() {
  ip netns add "$1"
  ip link add "to-$1" type veth peer name eth0 netns "$1"
  ip link set "to-$1" master bridge up
  ip -n "$1" link set lo up
  ip -n "$1" addr add "$2/24" dev eth0
  ip -n "$1" link set eth0 up
  # shellcheck disable=SC2016  # the inner shell expands it
  ip netns exec "$1" unshare --mount --uts --pid --fork --kill-child \
    --mount-proc bash -c 'hostname "$1"
      mount -t tmpfs -o mode=755 run /run
      mount -t tmpfs -o mode=1777 tmp "$2"
      slurmd -D >"$3" 2>&1 & wait' bash "$1" "$folder/tmp" "$folder/$1.log" &
  until_true 10 pgrep -P $! >"$folder/$1.pid"
}

start_cluster() {
  local name
  hostname control
  ip link set lo up
  ip link add bridge up type bridge
  ip addr add 10.74.0.254/24 dev bridge
  (umask 077 && head -c 1024 /dev/urandom >"$folder/munge/key")
  (cd "$folder/munge" && munged --key-file="$PWD/key" --socket="$PWD/socket" \
    --pid-file="$PWD/pid" --log-file="$PWD/log" --seed-file="$PWD/seed")
  slurmctld -D >"$folder/slurmctld.log" 2>&1 &
  for name in "${nodes[@]}"; do node "$name" "10.74.0.${name#n}"; done
  check "the cluster: all nodes are there" until_true 60 all_idle
}

all_idle() {
  [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = ${#nodes[@]} ]
}

# submit NAME NODES DATASET COMMAND [OPTION...]: a job with a task per node. The
# prolog mounts DATASET; "" means none.
submit() {
  as_user sbatch --quiet --job-name="$1" --nodes="$2" --ntasks-per-node=1 \
    --output="$1.out" ${3:+--comment="shufflefs:$3"} "${@:5}" --wrap "$4"
}

# job NAME NODES DATASET [MEMBERS]: slurm_task.sh on the prolog's mounts.
job() {
  submit "$1" "$2" "$3" "srun slurm_task.sh $mounts/$3 $1 ${4:-}" --wait || true
}

# hold NAME DATASET SRUN MNT: tasks that keep a file open until they are ended.
hold() {
  submit "$1" 4 "$2" "$3 bash -c 'cd $4 && exec 3< \$(ls -d */* | head -n 1) &&
    cd / && echo \$\$ >$folder/jobs/$1.\$SLURMD_NODENAME.pid && exec sleep 300'"
  check "$1: all tasks run" until_true 60 all_hold "$1"
}

all_hold() {
  [ "$(cat "$folder/jobs/$1".n?.pid 2>/dev/null | wc -l)" = ${#nodes[@]} ]
}

# Whether the files together have each sample once.
whole() {
  sort "$@" | cmp -s - "$folder/want"
}

# saw NAME TASKS EPOCH: whether the tasks of the job saw each sample once, all
# by their parts and each by all names, and the same sample by each name.
saw() {
  local at=$folder/jobs/$1 task
  whole "$at".*."part$3" || return
  for ((task = 0; task < $2; ++task)); do
    cut -d : -f 2 "$at.$task.all$3" | whole || return
    cmp -s "$at.0.all$3" "$at.$task.all$3" || return
  done
}

# The checks of a job of four tasks with peers.
check_peers() {
  check "$1: each sample once, and the same on each node" saw "$1" 4 0
  check "$1: one task begins another epoch for all" saw "$1" 4 1
  ! cmp -s "$folder/jobs/$1.0.all0" "$folder/jobs/$1.0.all1" ||
    check "$1: the epochs differ" false
}

# All nodes are idle, and have no mount, daemon or folder of a job.
nothing_left() {
  local node left
  all_idle || return
  for node in "${nodes[@]}"; do
    left=$(on "$node" grep shufflefs /proc/self/mountinfo ||
      on "$node" pgrep -x shufflefs ||
      on "$node" find /run/shufflefs "$folder/tmp" -mindepth 1) || return
    [ -z "$left" ] || return
  done
}

check_end() {
  check "$1: nothing is left, all nodes are idle" until_true 60 nothing_left
}

try_prolog() {
  local node
  job prolog-1 1 images
  check "prolog-1: each sample once" saw prolog-1 1 0
  job prolog-4 4 images
  check "prolog-4: the same samples on each node" saw prolog-4 4 0
  check_end prolog-4
  hold prolog-killed images srun "$mounts/images"
  for node in "${nodes[@]}"; do
    on "$node" kill -KILL "$(cat "$folder/jobs/prolog-killed.$node.pid")"
  done
  check_end prolog-killed
}

# Another job has peers on these nodes meanwhile. Then its daemons are killed.
try_prolog_peers() {
  local node
  hold prolog-cancelled shared srun "$mounts/shared"
  job prolog-peers 4 shared 4
  check_peers prolog-peers
  for node in n1 n2; do
    on "$node" pkill -KILL -x shufflefs || true  # it sees those of the node
  done
  as_user scancel --name=prolog-cancelled
  check_end prolog-cancelled
}

try_step() {
  local run="${keys//[\" ]/},peers=slurm,peers.secret=$folder/jobs/secret"
  run+=",peers.listen=0.0.0.0:\$((20000+SLURM_JOB_ID%10000))"
  run="srun shufflectl run -o ${run//$'\n'/,} $folder/data --"
  as_user bash -c 'umask 077; head -c 32 /dev/urandom | base64 >secret'
  submit step 4 "" "$run slurm_task.sh {} step 4" --wait || true
  check_peers step
  check_end step
  # A step on three nodes of the job does not wait for the fourth.
  submit step-of-3 4 "" "${run/srun/srun -N 3 -n 3} slurm_task.sh {} step-of-3 3" \
    --wait || true
  check "step-of-3: each sample once" saw step-of-3 3 0
  check "step-of-3: one task begins another epoch for all" saw step-of-3 3 1
  hold step-cancelled "" "$run" "{}"
  as_user scancel --name=step-cancelled
  check_end step-cancelled
}

# Slurm counts GPUs that are not there, and torchrun is a stand-in.
try_script() {
  local words="--standalone --nproc_per_node 4 ./examples/ddp.py --epochs 3"
  # shellcheck disable=SC2016  # torchrun expands it
  printf '%s\n' '#!/bin/bash' 'echo "$1 $2 $3 .${4#"$PWD"} $6 $7" >words' \
    'find "$5" -name "*.txt" -exec cat {} + >gpus' >/usr/local/bin/torchrun
  chmod 755 /usr/local/bin/torchrun
  as_user sbatch --quiet --wait --output=slurm.sh.out \
    "$repository/examples/slurm.sh" "$folder/data" 3 || true
  check "slurm.sh: each sample once" whole "$folder/jobs/gpus"
  check "slurm.sh: a rank per GPU" grep -qxe "$words" "$folder/jobs/words"
  check_end slurm.sh
}

inside() {
  local step
  for step in make_{place,data,etc} start_cluster \
    try_{prolog,prolog_peers,step,script}; do "$step"; done
  [ "$failed" = 0 ] || tail -n 20 "$folder"/jobs/*.out "$folder"/*.log
  return "$failed"
}

main() {
  folder=$(TMPDIR=${TMPDIR:-/var/tmp} mktemp -d)
  trap 'rmdir "$folder"' EXIT
  trap 'kill -KILL "$cluster"; wait "$cluster" || exit 1' INT TERM
  unshare --mount --net --uts --ipc --pid --fork --kill-child --mount-proc \
    bash "$0" --inside "$build" "$folder" &
  cluster=$!
  wait "$cluster" && echo "slurm.sh: passed"
}

if [ "${1:-}" = --inside ]; then
  build=$2 folder=$3
  inside
elif [ $# -gt 1 ] || [ "$(id -u)" != 0 ]; then
  sed -n '4,16s/^# \{0,1\}//p' "$0"
  exit 2
else
  build=$(realpath "${1:-$repository/build/release}")
  main
fi
