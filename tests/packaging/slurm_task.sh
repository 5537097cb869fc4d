#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# slurm_task.sh MNT NAME [MEMBERS]
#
# A task of the jobs of slurm.sh. It reads its part of the mount's names, then
# all of them. With MEMBERS it first waits for so many peers. It does this again
# when the second task has begun the next epoch for all. What it saw in epoch E
# is in NAME.TASK.partE and NAME.TASK.allE of the working directory. It refuses
# to run as root.
set -euo pipefail
[ "$(id -u)" != 0 ]
mnt=$1 name=$2 members=${3:-} task=$SLURM_PROCID tasks=$SLURM_NTASKS

await() {
  local tries
  for ((tries = 0; tries < 300; ++tries)); do
    if "$@"; then return; fi
    sleep 0.2
  done
  echo "$name, task $task: not within a minute: $*"
  exit 1
}

joined() {
  [ "$(shufflectl peers "$mnt" | grep -cE ' (yes|self) ')" = "$members" ]
}

shows_epoch() {
  shufflectl status "$mnt" | grep -q "epoch $1[ ,]"
}

all_saw() {
  [ "$(find . -name "$name.*.all$1" | wc -l)" = "$tasks" ]
}

# look EPOCH: the samples of its part, then each name with its sample.
look() {
  local saw=$name.$task
  (cd "$mnt" && ls -d -- */*) >"$saw.names"
  (cd "$mnt" && awk -v n="$tasks" -v k="$task" 'NR % n == k' | xargs cat) \
    <"$saw.names" >"$saw.part$1"
  (cd "$mnt" && xargs grep -H .) <"$saw.names" >"$saw.unfinished"
  mv "$saw.unfinished" "$saw.all$1"
}

[ -z "$members" ] || await joined
look 0
[ -n "$members" ] || exit 0
await all_saw 0
[ "$task" != 1 ] || echo 'epoch = "next"' >"$mnt/.shufflefs/control"
await shows_epoch 1
look 1
await all_saw 1  # before it unmounts
