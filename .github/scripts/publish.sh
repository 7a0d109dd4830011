#!/usr/bin/env bash
# Adds the report in "site" to those of earlier runs in "history", the newest 60, and publishes all of them in "site".
set -euo pipefail
mkdir -p history
cp site/index.html "history/$(date -u +%Y-%m-%dT%H%M%SZ).html"
find history -name '*.html' | sort | head -n -60 | xargs -r -d '\n' rm --
rm -rf site
npx -y deno@2.9.6 task tierbench publish history --out site --title "Runs of the main branch"
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then cat site/summary.md >> "$GITHUB_STEP_SUMMARY"; fi
