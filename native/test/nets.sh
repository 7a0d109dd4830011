#!/bin/sh
# nets.sh PROGRAM BUG:WORDS... - runs the program of seeded bugs, which one sanitizer was built into, behind the command
# that the tests run behind: each bug must end it with those words, "none" must not. Spaces in words are written as "_".
program=$1
shift
said=$(mktemp) || exit 1
trap 'rm -f "$said"' EXIT
if ! $RUN "$program" none > "$said" 2>&1; then
  echo "$program: no bug, and it failed:"
  cat "$said"
  exit 1
fi
for net in "$@"; do
  bug=${net%%:*}
  words=$(echo "${net#*:}" | tr _ ' ')
  if $RUN "$program" "$bug" > "$said" 2>&1 || ! grep -q "$words" "$said"; then
    echo "$program: $bug was not caught as \"$words\":"
    cat "$said"
    exit 1
  fi
  echo "caught: $bug by $program"
done
