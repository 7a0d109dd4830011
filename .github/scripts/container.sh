#!/usr/bin/env bash
# Builds the container image of docs/provisioning on a base made here, and runs it. Needs root and mounts.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
apt-get install -y --no-install-recommends buildah debootstrap
TIERBENCH_CONTAINER=1 exec npx -y deno@2.9.6 task test test/container
