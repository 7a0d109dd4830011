#!/usr/bin/env bash
# Runs the C tests under sanitizers: those of SANITIZERS, or address, undefined and thread.
set -euo pipefail
exec make -C native sanitize
