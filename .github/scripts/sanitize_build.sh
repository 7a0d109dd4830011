#!/usr/bin/env bash
# Compiles the library and its tests under each sanitizer, and proves that each catches what it is there for.
set -euo pipefail
make -C native nets
make -C native -j"$(nproc)" sanitize-build
