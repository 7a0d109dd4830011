#!/usr/bin/env bash
# Installs Node, npm and the packages of setup/packages.txt in a bare Debian 12 container.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
mapfile -t packages < <(awk '!/^#/ && NF { print $1 }' setup/packages.txt)
apt-get update
apt-get install -y --no-install-recommends ca-certificates curl git nodejs npm "${packages[@]}"
