#!/bin/sh
# One run on the nodes of a Slurm cluster, a share each: sbatch docs/clusters/shards-slurm.sh scenarios/pmem-modes.jsonc
# The suite must be built at a path that all nodes share. A share that was cut off goes on: sbatch --array=3 … with the same file.
# When all are done: deno task tierbench merge shards/shard-*
#SBATCH --job-name=tierbench-shards
#SBATCH --array=1-4
#SBATCH --nodes=1
#SBATCH --exclusive
#SBATCH --time=02:00:00
set -eu
shards=${SHARDS:-4} # as many as the array has, also where some of it are run again
cd "${TIERBENCH:-$SLURM_SUBMIT_DIR}"
deno task tierbench run "$1" --shard "$SLURM_ARRAY_TASK_ID/$shards" --out "shards/shard-$SLURM_ARRAY_TASK_ID" --resume
