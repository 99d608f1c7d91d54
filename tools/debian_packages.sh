#!/usr/bin/env bash
# Usage: tools/debian_packages.sh PACKAGE...
#
# Installs the Debian packages that are missing, as root or by a sudo that asks for no password. Where that cannot
# be, it says what is missing and succeeds: what needs it says so itself. OFFBEAT_APT=no keeps it from installing.
set -euo pipefail

missing=()
for package in "$@"; do
    if [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
        missing+=("$package")
    fi
done
if ((${#missing[@]} == 0)); then
    exit 0
fi

as_root=()
if [[ ${OFFBEAT_APT:-yes} == no ]] || ! command -v apt-get >/dev/null; then
    echo "Not installed, as apt-get is not to be used here: ${missing[*]}"
    exit 0
elif [[ $(id -u) != 0 ]]; then
    if ! sudo -n true 2>/dev/null; then
        echo "Not installed, as that needs root (apt-get install ${missing[*]})"
        exit 0
    fi
    as_root=(sudo -n)
fi

echo "Installing Debian packages: ${missing[*]}"
log=$(mktemp)
install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}")
if "${as_root[@]}" apt-get update >"$log" 2>&1 && "${as_root[@]}" "${install[@]}" >>"$log" 2>&1 </dev/null; then
    rm -f "$log"
else
    tail -n 20 "$log" >&2
    echo "Not installed, as apt-get failed (the whole log: $log): ${missing[*]}"
fi
