#!/bin/sh
# `tierbench run scale-out` over machines that ssh reaches without a password: docs/clusters/ssh.sh node1 node2 node3 node4
# The suite must be built at the same path on all of them, against the same Open MPI. Run it in that folder.
set -eu
[ "$#" -gt 0 ] || { echo "Cannot start ranks: expected the names of machines" >&2; exit 2; }
hosts=$(mktemp)
trap 'rm -f "$hosts"' EXIT
for host in "$@"; do echo "$host slots=1"; done > "$hosts"
export OMPI_MCA_orte_default_hostfile="$hosts"
deno task tierbench run scale-out --launcher mpirun \
  --set 'matrix={"cluster.ranks":[1,2,4]}' --set "workload.threads=${THREADS:-16}"
