#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Prolog of slurmd (slurm.conf: Prolog=, PrologFlags=Alloc): mounts the datasets
# that a job asks for, on each of its nodes, before it starts.
#
#   sbatch --comment=shufflefs:imagenet job.sh   # or several such words
#
# The administrator names datasets: /etc/shufflefs/imagenet.env has a line
# SOURCE=DIR, imagenet.toml the keys; users must be able to read the latter.
# The mount is /run/shufflefs/JOB/imagenet. Its daemon runs as the job's user,
# by fusermount3: it reads what that user may, nobody else can enter, and the job
# may write `control`. slurm-epilog.sh unmounts.
#
# peers = "slurm" in imagenet.toml joins the daemons of a job. It also needs
# /etc/shufflefs/imagenet.secret: 16 bytes or more that only root can read, the
# same on all nodes. Each job gets a secret of its own by it, and a port from
# 20000 to 29999, so that jobs can share a node.
#
# slurmd passes on none of its own variables. To set SHUFFLEFS_..., let Prolog=
# name a script that sets them and calls this one.
#
# Exits 0 in any case, because Slurm drains a node whose prolog fails. What went
# wrong is in the system's log, and in JOB/imagenet.log beside the mount.
set -ufo pipefail
etc=${SHUFFLEFS_ETC:-/etc/shufflefs}
run=${SHUFFLEFS_RUN:-/run/shufflefs}
export PATH=${SHUFFLEFS_PATH:-/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin}
umask 022

say() {
  echo "slurm-prolog: $*" >&2
  logger -t shufflefs-prolog -- "job ${SLURM_JOB_ID:-?}: $*" 2>/dev/null
}

# number TEXT: whether it is one, so that it can be a part of a path.
number() {
  [[ $1 =~ ^[0-9]+$ ]]
}

# is_mounted PATH. Root may not look into the mount of a user.
is_mounted() {
  awk -v path="$1" '$5 == path { found = 1 } END { exit !found }' \
    /proc/self/mountinfo
}

as_user() {
  setpriv --reuid="$uid" --regid="$gid" --init-groups env -i PATH="$PATH" "$@"
}

# The port of the job's dataset number $1: the same on all nodes.
port() {
  echo $((20000 + (10#$SLURM_JOB_ID * 8 + $1) % 10000))
}

# make_secret NAME: the secret of this job, for its user alone. Who has it learns
# nothing about that of another job.
make_secret() {
  local from=$etc/$1.secret
  if [[ -z $(find -L "$from" -type f -uid 0 ! -perm /077 -size +15c) ]]; then
    say "$from is not a file of 16 bytes or more for root alone: no mount"
    return 1
  fi
  { cat "$from" && echo "$1 $SLURM_JOB_ID $uid"; } | sha256sum | sha256sum |
    install -m 0600 -o "$uid" -g "$gid" /dev/stdin "$job/.$1.secret"
}

# The folder of all jobs. Only root makes names in it.
prepare() {
  mkdir -m 0755 "$run" 2>/dev/null
  local rights
  rights=$(stat -c '%u %A' "$run" 2>/dev/null)
  if [[ -L $run || $rights != "0 drwx"?-??-? ]]; then
    say "$run is not a directory that root alone can write to: no mounts"
    return 1
  fi
  # Of root, too: the user cannot put links in the place of the log.
  [[ -d $job ]] || mkdir -m 0711 "$job"
}

# mount_one NAME NUMBER: it is the dataset of that number in the job.
mount_one() {
  local name=$1 source options nodes
  local at=$job/$name state=$job/.$name.state log=$job/$name.log
  source=$(sed -n 's/^SOURCE=//p' "$etc/$name.env" 2>/dev/null | tail -n 1)
  if [[ -z $source || ! -f $etc/$name.toml ]]; then
    say "no dataset $name: $etc has no $name.env with SOURCE=, or no $name.toml"
    return
  fi
  # A prolog may run twice for a job, after a requeue or a restart of slurmd.
  if is_mounted "$at"; then
    as_user timeout -k 1 10 stat -t "$at/.shufflefs/status" >/dev/null 2>&1 &&
      return
    umount -l "$at"
  fi
  install -d -m 0700 -o "$uid" -g "$gid" "$at" "$state" || return
  options=state=$state
  if [[ -e $etc/$name.secret ]]; then
    make_secret "$name" || return
    options+=,peers.secret=$job/.$name.secret,peers.listen=0.0.0.0:$(port "$2")
  fi
  # peers = slurm reads these two. Slurm 22.05 gives a prolog the list by its
  # old name. The daemon leaves the group of processes, which slurmd kills.
  nodes=${SLURM_JOB_NODELIST:-${SLURM_NODELIST:-}}
  as_user ${nodes:+"SLURM_JOB_NODELIST=$nodes"} \
    ${SLURMD_NODENAME:+"SLURMD_NODENAME=$SLURMD_NODENAME"} \
    timeout -k 5 "${SHUFFLEFS_MOUNT_SECONDS:-60}" shufflefs \
    --config "$etc/$name.toml" -o "$options" "$source" "$at" \
    </dev/null >"$log" 2>&1 ||
    say "$name: $(tail -n 1 "$log")"
}

main() {
  local word name number=0
  # Without one there is nothing to do, and nothing to say.
  [[ " ${SLURM_JOB_COMMENT:-}" =~ [\ ,]shufflefs: ]] || return
  uid=${SLURM_JOB_UID:-} job=$run/${SLURM_JOB_ID:-}
  if ! number "${SLURM_JOB_ID:-}" || ! number "$uid" ||
    ! gid=$(id -g "$uid" 2>/dev/null); then
    say "SLURM_JOB_ID and SLURM_JOB_UID name no job and user: no mounts"
    return
  fi
  prepare || return
  for word in ${SLURM_JOB_COMMENT//,/ }; do
    [[ $word == shufflefs:* ]] || continue
    name=${word#shufflefs:}
    if [[ $name =~ ^[A-Za-z0-9_][A-Za-z0-9_-]*$ ]]; then
      mount_one "$name" $((number++))
    else
      say "not the name of a dataset: $name"
    fi
  done
}

main
exit 0
