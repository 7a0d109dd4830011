#!/usr/bin/env bash
# Adds the report in "site" to those of earlier runs, the newest 60, and publishes all of them in "site". The earlier ones are
# on the branch "reports" of origin, which has one commit: it holds what is published and grows no longer than that. It
# changes last, when everything else has succeeded, and not where another run has changed it meanwhile: then once more.
set -euo pipefail
# A job's container is another user than who cloned.
git config --global --add safe.directory "$PWD"
new=$(mktemp -d)
name="$(date -u +%Y-%m-%dT%H%M%S-%NZ).html" # two runs may end in one second
cp site/index.html "$new/$name"

# The commit of the branch; empty: there is none yet.
last_commit() { git ls-remote origin refs/heads/reports | cut -f 1; }

# The reports of a commit, the new one with them, in "history".
gather() {
  rm -rf history
  mkdir history
  if [ -n "$1" ]; then
    git fetch --quiet --depth 1 origin "$1"
    git archive "$1" | tar -x -C history
  fi
  cp "$new/$name" history/
  find history -name '*.html' | sort | head -n -60 | xargs -r -d '\n' rm --
}

publish() {
  rm -rf site
  local status=0
  npx -y deno@2.9.6 task tierbench publish history --out site --title "Runs of the main branch" || status=$?
  # 1: a report is damaged, which the page names; the others are there, and one that is old must not stop all to come.
  if [ "$status" = 1 ] && [ -e site/index.html ]; then
    echo "::warning::A report of the branch \"reports\" is damaged; the page names it"
    status=0
  fi
  return "$status"
}

# Puts "history" on the branch if that is at commit $1 still.
keep() {
  local commit tree index
  index=$(mktemp -d)
  tree=$(GIT_INDEX_FILE=$index/index git --work-tree=history add -A -f . &&
    GIT_INDEX_FILE=$index/index git write-tree)
  commit=$(git -c user.name=tierbench -c user.email=tierbench@localhost commit-tree "$tree" -m "Reports up to $name")
  git push --quiet --force-with-lease="refs/heads/reports:$1" origin "$commit:refs/heads/reports"
}

for try in 1 2 3; do
  last=$(last_commit)
  gather "$last"
  publish
  if keep "$last"; then break; fi
  if [ "$try" = 3 ]; then
    echo "Cannot put the reports on branch \"reports\": it was changed three times meanwhile, or may not be written; give the job the permission contents: write" >&2
    exit 1
  fi
done
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then cat site/summary.md >> "$GITHUB_STEP_SUMMARY"; fi
