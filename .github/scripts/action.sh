#!/usr/bin/env bash
# Runs SCENARIO into the folder OUT, compares with BASELINE and says what came out: the step of action.yml.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
case $FAIL_ON in
  worse | unclear | never) ;;
  *)
    echo "Cannot use fail-on \"$FAIL_ON\": expected worse, unclear or never" >&2
    exit 2
    ;;
esac
words=(run "$SCENARIO" --out "$OUT")
compared=no
if [ -n "$BASELINE" ] && [ -e "$BASELINE" ]; then
  words+=(--baseline "$BASELINE")
  compared=yes
  if [ -n "$TOLERANCE" ]; then words+=(--tolerance "$TOLERANCE"); fi
elif [ -n "$BASELINE" ]; then
  echo "::notice::There is no $BASELINE yet: nothing is compared; keep $OUT/result.jsonl as the baseline"
fi
read -ra more <<< "$ARGUMENTS"
status=0
npx -y deno@2.9.6 run --quiet --config "$root/deno.json" -A "$root/setup/main.ts" tierbench \
  "${words[@]}" "${more[@]}" < /dev/null || status=$?
case $compared-$status in
  no-0) verdict=none ;;
  yes-0) verdict=kept ;;
  yes-5) verdict=worse ;;
  yes-6) verdict=unclear ;;
  *) exit "$status" ;; # the run failed
esac
{
  echo "report=$OUT"
  echo "verdict=$verdict"
} >> "${GITHUB_OUTPUT:-/dev/stdout}"
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
  {
    if [ "$compared" = yes ]; then echo "Against the baseline: **$verdict**."; echo; fi
    cat "$OUT/summary.md"
  } >> "$GITHUB_STEP_SUMMARY"
fi
case $verdict-$FAIL_ON in
  worse-worse | worse-unclear | unclear-unclear) exit "$status" ;;
esac
