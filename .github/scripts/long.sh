#!/usr/bin/env bash
# Runs the C tests that take too long for every push: ten million keys, many rounds.
set -euo pipefail
exec make -C native nightly
