# shellcheck shell=bash
# Functions for the scripts of the repository: progress lines, errors, and the installation of what a build needs.

# Prints one line of progress to standard error; standard output is only for results.
say() { printf '==> %s\n' "$*" >&2; }

# Prints a reason and exits with 69: something that the script needs is not available.
fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 69
}

# Exits with 69 if Swift is not installed.
need_swift() {
    command -v swift >/dev/null || fail \
        "swift is not in PATH. Install Swift 6.3 or later (https://www.swift.org/install/linux/) and run this again."
}

# Installs the named Debian packages that dpkg does not list as installed. Needs neither root nor a network if none is missing.
need_packages() {
    local package missing=() as_root=()
    command -v dpkg-query >/dev/null || fail \
        "dpkg-query is missing: this system is not Debian. Install the equivalents of these Debian packages: $*"
    for package in "$@"; do
        [[ "$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null)" == installed* ]] ||
            missing+=("$package")
    done
    ((${#missing[@]} > 0)) || return 0
    if ((EUID != 0)); then
        command -v sudo >/dev/null || fail "these Debian packages are missing: ${missing[*]}. Run this script as root, or install sudo."
        as_root=(sudo)
    fi
    say "Installing Debian packages: ${missing[*]}"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update --quiet=2 >&2 ||
        fail "apt-get update failed; the lines above have its reason."
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install --yes --quiet=2 --no-install-recommends "${missing[@]}" >&2 ||
        fail "apt-get cannot install ${missing[*]}; the lines above have its reason."
}

# Installs the named Debian packages like need_packages, without starting their services, now or at the next boot.
need_packages_without_service() {
    local package unit policy=/usr/sbin/policy-rc.d as_root=() missing=()
    for package in "$@"; do
        [[ "$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null)" == installed* ]] ||
            missing+=("$package")
    done
    ((${#missing[@]} > 0)) || return 0
    ((EUID == 0)) || as_root=(sudo)
    # invoke-rc.d(8) starts nothing if this program exits with 101. An existing policy of the machine is kept.
    if [[ ! -e "$policy" ]]; then
        printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" install --mode=755 /dev/stdin "$policy"
        (need_packages "${missing[@]}") || { "${as_root[@]}" rm -f -- "$policy" && exit 69; }
        "${as_root[@]}" rm -f -- "$policy"
    else
        need_packages "${missing[@]}"
    fi
    for package in "${missing[@]}"; do
        # A unit may have another name than its package.
        for unit in "$package" $(dpkg-query --listfiles "$package" | sed -n 's|^.*/systemd/system/\([^@/]*\)\.service$|\1|p'); do
            command -v systemctl >/dev/null && "${as_root[@]}" systemctl disable --quiet "$unit" >&2 || true
        done
    done
}

# Installs the packages of the named commands that are not in PATH. The packages have the names of the commands.
need_commands() {
    local command missing=()
    for command in "$@"; do
        command -v "$command" >/dev/null || missing+=("$command")
    done
    ((${#missing[@]} == 0)) || need_packages "${missing[@]}"
}

# Installs what the build needs beside Swift: headers of libcrypto, libpam, libldap, libpq, SQLite and libcrypt; pkg-config and git for SwiftPM.
need_build_packages() {
    need_packages libssl-dev libpam0g-dev libldap-dev libpq-dev libsqlite3-dev libcrypt-dev pkg-config
    need_commands git
}
