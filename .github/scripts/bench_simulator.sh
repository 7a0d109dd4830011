#!/usr/bin/env bash
# Measures the simulator: replay, sampled and computed miss ratios, emulated batches against modelled ones.
set -euo pipefail
npx -y deno@2.9.6 task bench:simulator < /dev/null
