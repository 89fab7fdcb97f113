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

# Installs the packages of the named commands that are not in PATH. The packages have the names of the commands.
need_commands() {
    local command missing=()
    for command in "$@"; do
        command -v "$command" >/dev/null || missing+=("$command")
    done
    ((${#missing[@]} == 0)) || need_packages "${missing[@]}"
}

# Installs what the build needs beside Swift: headers of libcrypto, libpam, SQLite and libcrypt; pkg-config and git for SwiftPM.
need_build_packages() {
    need_packages libssl-dev libpam0g-dev libsqlite3-dev libcrypt-dev pkg-config
    need_commands git
}
