#!/usr/bin/env bash
# Compares the store of this commit with that of commit BASE, both built here, in one run. The verdict goes to the job's
# summary and, with a TOKEN that may, into a comment on pull request NUMBER. Exit code 5: slower than the base.
set -euo pipefail
git config --global --add safe.directory "$PWD"
base=$(mktemp -d)
git worktree add --detach "$base" "$BASE"
status=0
npx -y deno@2.9.6 task bench:store --rounds=31 --baseline="$base" < /dev/null > gate.txt || status=$?
git worktree remove --force "$base"
{
  echo "### The store against its base"
  echo '```'
  cat gate.txt
  echo '```'
} > gate.md
cat gate.md >> "${GITHUB_STEP_SUMMARY:-/dev/stdout}"
if [ -n "${TOKEN:-}" ]; then
  # A token of a fork's pull request may only read: then the summary has to do.
  node -e 'process.stdout.write(JSON.stringify({ body: require("fs").readFileSync("gate.md", "utf8") }))' > gate.json
  curl --silent --show-error --fail --request POST --header "Authorization: Bearer $TOKEN" --data @gate.json \
    "$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments" > /dev/null ||
    echo "Cannot comment on pull request $NUMBER; the verdict is in the summary"
fi
exit "$status"
