#!/usr/bin/env bash
# Measures the store against the machine's limit and, where their packages are installed, against other libraries.
set -euo pipefail
npx -y deno@2.9.6 task bench:store --full < /dev/null
