#!/usr/bin/env bash
# Installs what is missing on a Debian machine: Node with npm, system packages, npm packages.
# Sourced by ./quickstart and ./check after they set `packages`, the Debian packages that they need.
# Says what it installs; when nothing is missing it takes a fraction of a second.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else
    echo "These packages are missing and need root: ${missing[*]}" >&2
    echo "Run as root or install sudo, or install them yourself and run this again." >&2
    exit 2
  fi
}

missing=()
command -v npm >/dev/null || missing+=(nodejs npm)
for package in ${packages[@]+"${packages[@]}"}; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
done

if [ ${#missing[@]} -gt 0 ]; then
  command -v apt-get >/dev/null || {
    echo "Missing: ${missing[*]}. This script installs them on Debian only; install them and run it again." >&2
    exit 2
  }
  echo "Installing Debian packages: ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

lock_stamp="$root/node_modules/.imago-lock"
lock_sum=$(sha256sum "$root/package-lock.json" | cut -d' ' -f1)
if [ "$(cat "$lock_stamp" 2>/dev/null || true)" != "$lock_sum" ]; then
  echo "Installing npm packages of package-lock.json"
  (cd "$root" && npm ci --no-audit --no-fund --loglevel=error)
  echo "$lock_sum" >"$lock_stamp"
fi

export PATH="$root/node_modules/.bin:$PATH"
