# shellcheck shell=bash
# Sourced by quickstart, test and .ci/run: progress lines, and what has to be on the machine before Swift can build.

# One line of progress. Standard output is for results alone.
say() { printf '==> %s\n' "$*" >&2; }

# Ends the script with a reason; 69 says that something needed is not to be had.
fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 69
}

# Ends the script where there is no Swift.
need_swift() {
    command -v swift >/dev/null || fail \
        "swift is not in PATH. Install Swift 6.3 or later (https://www.swift.org/install/linux/) and run this again."
}

# Installs those of the named Debian packages that dpkg does not know as installed; asks nobody where none is missing.
need_packages() {
    local package missing=() as_root=()
    command -v dpkg-query >/dev/null || fail \
        "this is no Debian, so packages cannot be installed from here. Needed are what Debian calls: $*"
    for package in "$@"; do
        [[ "$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null)" == installed* ]] ||
            missing+=("$package")
    done
    ((${#missing[@]} > 0)) || return 0
    if ((EUID != 0)); then
        command -v sudo >/dev/null || fail "neither root nor sudo: have an administrator install ${missing[*]}."
        as_root=(sudo)
    fi
    say "Installing Debian packages: ${missing[*]}"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update --quiet=2 >&2 ||
        fail "apt-get update failed."
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install --yes --quiet=2 --no-install-recommends "${missing[@]}" >&2 ||
        fail "apt-get could not install ${missing[*]}."
}

# The packages of commands that are missing, whoever installed those that are there.
need_commands() {
    local command missing=()
    for command in "$@"; do
        command -v "$command" >/dev/null || missing+=("$command")
    done
    ((${#missing[@]} == 0)) || need_packages "${missing[@]}"
}

# What the build needs beside Swift: headers of libcrypto, SQLite and libcrypt; pkg-config and git for SwiftPM.
need_build_packages() {
    need_packages libssl-dev libpam0g-dev libsqlite3-dev libcrypt-dev pkg-config
    need_commands git
}
