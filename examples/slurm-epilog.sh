#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Epilog of slurmd (slurm.conf: Epilog=): ends the mounts that slurm-prolog.sh
# made for a job, and removes their folder. Does nothing if there is none.
#
# If a process still uses a mount after 5 seconds, the mount is detached. Exits 0
# in any case, because Slurm drains a node whose epilog fails; what stays behind
# is in the system's log.
set -u
run=${SHUFFLEFS_RUN:-/run/shufflefs}
export PATH=${SHUFFLEFS_PATH:-/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin}

say() {
  echo "slurm-epilog: $*" >&2
  logger -t shufflefs-epilog -- "job ${SLURM_JOB_ID:-?}: $*" 2>/dev/null
}

# Mount points below the folder of the job, also two at one place.
mounted() {
  awk -v below="$job/" 'index($5, below) == 1 { print $5 }' /proc/self/mountinfo
}

as_user() {
  setpriv --reuid="$uid" --regid="$gid" --init-groups env -i PATH="$PATH" "$@"
}

end_one() {
  # As the user: only he may ask the daemon, and root may not even look at it.
  if [[ -n $gid ]]; then
    as_user timeout -k 5 20 shufflectl umount --wait 5s "$1" >&2 ||
      as_user timeout -k 5 20 shufflectl umount --lazy "$1" >&2
  fi
}

main() {
  local at
  [[ ${SLURM_JOB_ID:-} =~ ^[0-9]+$ ]] || return
  job=$run/$SLURM_JOB_ID
  # Of root, as the prolog made it.
  [[ -d $job && ! -L $job && -O $job ]] || return
  uid=${SLURM_JOB_UID:-} gid=
  if [[ $uid =~ ^[0-9]+$ ]]; then
    gid=$(id -g "$uid" 2>/dev/null)
  fi
  while read -r at; do
    end_one "$at"
  done < <(mounted)
  # Only by names in the folder of the job, which is root's. The user could put a
  # link in the place of a name further below. What he mounted there himself goes
  # with the mount above it, or stays.
  while read -r at; do
    [[ ${at#"$job/"} != */* ]] || continue
    say "$at: detached by root"
    umount -l "$at"
  done < <(mounted)
  # Never into a mount; rm follows no link.
  rm -rf --one-file-system -- "$job" || say "$job stays behind"
}

main
exit 0
