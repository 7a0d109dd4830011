#!/usr/bin/env bash
# Runs all tests.
set -euo pipefail
.ci/run
