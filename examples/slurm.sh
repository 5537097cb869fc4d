#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=4
#SBATCH --signal=B:TERM@120
#
# sbatch examples/slurm.sh DATA [EPOCHS]
#
# Mounts DATA on the node of the job, trains with one rank per GPU, and
# unmounts whatever happens. Slurm sends TERM two minutes before the time limit.
# More nodes: each one needs a mount of its own, see docs/deploy.md.
set -euo pipefail
data=${1:?usage: sbatch slurm.sh DATA [EPOCHS]}
epochs=${2:-2}
# Slurm runs a copy of this script, so ddp.py is looked for where you called
# sbatch.
examples=${SLURM_SUBMIT_DIR:-.}/examples

work=$(mktemp -d "${TMPDIR:-/tmp}/shufflefs-job.XXXXXX")
mkdir "$work/mnt" "$work/state"
unmount() {
  shufflectl umount --wait 30s "$work/mnt" || shufflectl umount -l "$work/mnt"
  rm -rf "$work/state"
  rmdir "$work/mnt" "$work"
}
# The state is of this job alone. Keep it, and the mount point, if the job
# resumes on this node.
keys=policy=lirs,layout=ranked,epoch.advance=manual
shufflefs -o "$keys,state=$work/state" "$data" "$work/mnt" ||
  { rm -rf "$work"; exit 1; }
trap unmount EXIT

# bash runs traps only between commands: so it waits for a job that it can end.
srun torchrun --standalone --nproc_per_node "${SLURM_GPUS_ON_NODE:-1}" \
  "$examples/ddp.py" "$work/mnt" --epochs "$epochs" &
job=$!
trap 'kill "$job"; wait "$job" || true; exit 143' TERM INT
wait "$job"
