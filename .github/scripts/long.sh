#!/usr/bin/env bash
# Runs what takes too long for every push: C tests with ten million keys and many rounds, and the media models fitted again
# without each published curve.
set -euo pipefail
make -C native nightly
npx -y deno@2.9.6 task tierbench validate-models --leave-out < /dev/null
