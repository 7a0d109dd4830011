#!/usr/bin/env bash
# Counts false alarms and differences found of the suite's own reports, over simulated noise.
set -euo pipefail
npx -y deno@2.9.6 task bench:harness < /dev/null
