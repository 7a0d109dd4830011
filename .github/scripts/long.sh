#!/usr/bin/env bash
# Runs what takes too long for every push: C tests with ten million keys and many rounds, two hundred training processes that
# are killed, fifty ranks that are killed under each MPI, a hundred thousand damaged traces, profiles of forty streams, 300 steps of jobs of ranks of all
# kinds, and the media models fitted again without each published curve.
set -euo pipefail
make -C native nightly
TIERBENCH_KILLS=200 npx -y deno@2.9.6 test -A --no-check test/bench/kills_test.ts < /dev/null
TIERBENCH_MUTATIONS=100000 npx -y deno@2.9.6 test -A --no-check test/models/workloads/trace/mutations_test.ts < /dev/null
TIERBENCH_PROFILES=1 npx -y deno@2.9.6 test -A --no-check test/models/workloads/profile_order_test.ts < /dev/null
npx -y deno@2.9.6 task bench:ranks --identity < /dev/null
npx -y deno@2.9.6 task bench:ranks --kills < /dev/null
npx -y deno@2.9.6 task tierbench validate-models --leave-out < /dev/null
