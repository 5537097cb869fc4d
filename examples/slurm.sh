#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#
# sbatch examples/slurm.sh DATA [EPOCHS]
#
# Mounts DATA on the node, trains with one rank per GPU, and unmounts at the
# end, also if the training fails or Slurm ends the job. Call sbatch where the
# folder examples is: Slurm runs a copy of this script.
#
# More nodes: raise --nodes, and give torchrun --nnodes and a rendezvous in the
# place of --standalone. Each node mounts for itself. Debian 12's torchrun needs
# --redirects 1 --tee 1, too.
set -euo pipefail
data=${1:?usage: sbatch examples/slurm.sh DATA [EPOCHS]}

exec srun shufflectl run \
  -o policy=lirs,layout=ranked,epoch.advance=manual "$data" -- \
  torchrun --standalone --nproc_per_node "${SLURM_GPUS_ON_NODE:-1}" \
  "${SLURM_SUBMIT_DIR:-.}/examples/ddp.py" {} --epochs "${2:-2}"
