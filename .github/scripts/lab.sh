#!/usr/bin/env bash
# Runs the cases of the lab in virtual machines; the task itself installs QEMU and builds the image.
set -euo pipefail
exec npx -y deno@2.9.6 task lab
