#!/bin/sh
# `tierbench run scale-out` over four machines of a Slurm cluster: sbatch docs/clusters/slurm.sh
# Each sample is a job step of srun. The suite must be built at the same path on all nodes (a shared home), against one MPI.
#SBATCH --job-name=tierbench
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=01:00:00
set -eu
cd "${TIERBENCH:-$SLURM_SUBMIT_DIR}"
deno task tierbench run scale-out --launcher srun \
  --set 'matrix={"cluster.ranks":[1,2,4]}' --set "workload.threads=${SLURM_CPUS_PER_TASK:-16}"
