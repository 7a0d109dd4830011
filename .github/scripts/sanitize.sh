#!/usr/bin/env bash
# Runs the C tests under the address, undefined behaviour and thread sanitizers.
set -euo pipefail
exec make -C native sanitize
