#!/usr/bin/env bash
# Runs the four memory configurations and collects the report in the folder "site".
set -euo pipefail
npx -y deno@2.9.6 task bench
mkdir -p site
cp -R reports/out/pmem-modes/. site/
