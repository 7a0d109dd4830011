#!/usr/bin/env bash
# Releases the version whose tag is TAG: checks that project and changelog say the same, packs the tree with its SHA-256, and,
# with a TOKEN, makes the release with the changelog's words.
set -euo pipefail
git config --global --add safe.directory "$PWD"
version=$(node -p 'JSON.parse(require("fs").readFileSync("deno.json", "utf8")).version')
if [ "$TAG" != "v$version" ]; then
  echo "Cannot release $TAG: deno.json says $version, whose tag is v$version" >&2
  exit 1
fi
awk -v version="$version" '/^## / { if (found) exit; found = $2 == version; next } found' CHANGELOG.md > notes.md
if ! grep -q '[^[:space:]]' notes.md; then
  echo "Cannot release $TAG: CHANGELOG.md says nothing under \"## $version\"" >&2
  exit 1
fi
archive="tierbench-$version.tar.gz"
git archive --format=tar.gz --prefix="tierbench-$version/" -o "$archive" "$TAG"
sha256sum "$archive" > "$archive.sha256"
if [ -z "${TOKEN:-}" ]; then exit 0; fi
node -e '
  const [tag, file] = process.argv.slice(1);
  const body = require("fs").readFileSync(file, "utf8");
  process.stdout.write(JSON.stringify({ tag_name: tag, name: tag, body }));
' "$TAG" notes.md > release.json
# Spends the token on this repository alone.
ask() { curl --silent --show-error --fail --header "Authorization: Bearer $TOKEN" "$@"; }
upload=$(ask --request POST --data @release.json "$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/releases" |
  node -p 'JSON.parse(require("fs").readFileSync(0, "utf8")).upload_url.replace(/\{.*$/, "")')
for file in "$archive" "$archive.sha256"; do
  ask --request POST --header "Content-Type: application/octet-stream" --data-binary "@$file" "$upload?name=$file" > /dev/null
done
