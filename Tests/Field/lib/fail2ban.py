"""Failed logins as Debian's fail2ban finds them with the shipped filter and jail. Started by Tests/Field/fail2ban."""

import argparse
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import tempfile
import time

import field

CHECKOUT = pathlib.Path(__file__).resolve().parents[3]
SHIPPED = CHECKOUT / "deploy/fail2ban"
FILTER = SHIPPED / "filter.d/notify-gateway.conf"
UNIT = "notify-gateway.service"
# The address that guesses, and the address of a user who mistypes a password.
GUESSER, USER = "127.0.0.2", "127.0.0.3"
NAMES = ["bob", 'x","peer":"127.0.0.9","reason":"wrong"}', "a\\", 'b\x1b[2J"', "\u00fc"]

CONFIGURATION = """\
listen: [{ address: "127.0.0.1:0" }]
admin: { address: "127.0.0.1:0" }
backend: { url: embedded }
authenticators: [{ static-users: { file: users.yaml } }]
policy: { send: [{ from: "*", to: "*" }] }
journal: { directory: journal, minimum-free: 0 }
ledger: { file: ledger.sqlite }
drain: { grace: 0s }
"""


def logged(program, directory, guesses):
    """Returns all lines of the log of a gateway at which one address guesses, and another mistypes two passwords."""
    (directory / "gateway.yaml").write_text(CONFIGURATION)
    status, printed = field.run(
        program, "users", "add", "alice", "--config", str(directory / "gateway.yaml"), text="a password of some length\n")
    if status != 0:
        raise SystemExit(printed)
    gateway = field.Gateway(program, str(directory))
    try:
        for number in range(guesses):
            name = NAMES[number % len(NAMES)] + str(number)
            gateway.call("GET", "/auth/whoami", user=name, password="wrong", source=GUESSER)
        for password in ("typo", "tipo", "a password of some length"):
            gateway.call("GET", "/auth/whoami", user="alice", password=password, source=USER)
    finally:
        gateway.stop()
    gateway.reader.join()
    return [line.rstrip("\n") for line in gateway.log]


def journal(path, entries):
    """Writes a file of systemd's journal with entries of units: pairs of a unit and a message, one a millisecond until now."""
    start, export = int(time.time() * 1e6) - 1000 * len(entries), b""
    for number, (unit, message) in enumerate(entries):
        members = {
            "__REALTIME_TIMESTAMP": start + 1000 * number, "__MONOTONIC_TIMESTAMP": 1_000_000 + 1000 * number,
            "_BOOT_ID": "0a" * 16, "PRIORITY": 6, "_HOSTNAME": "gate", "SYSLOG_IDENTIFIER": unit.removesuffix(".service"),
            "_PID": 4711, "_SYSTEMD_UNIT": unit, "_TRANSPORT": "stdout", "MESSAGE": message}
        export += "".join(f"{name}={value}\n" for name, value in members.items()).encode() + b"\n"
    subprocess.run(["systemd-journal-remote", "-o", path, "-"], input=export, check=True, capture_output=True)


def matched(*source):
    """Returns the address of each line that the shipped filter matches."""
    done = subprocess.run(
        ["fail2ban-regex", "--out", "ip", *source, str(FILTER)], capture_output=True, text=True, timeout=60)
    return [line for line in done.stdout.splitlines() if line]


def banned(directory, entries):
    """Runs a server with Debian's configuration, the shipped filter and jail, and an action that writes the address.

    Returns the addresses that are banned until half a minute has passed, or until one is and the server has ended; the server's
    messages if there is none.
    """
    bans, settings, log = directory / "bans", directory / "fail2ban", directory / "fail2ban.log"
    os.mkfifo(bans)
    reader = os.open(bans, os.O_RDWR)
    shutil.copytree("/etc/fail2ban", settings, ignore=shutil.ignore_patterns("jail.d"))
    shutil.copytree(SHIPPED, settings, dirs_exist_ok=True)
    (settings / "action.d/record.conf").write_text(f"[Definition]\nactionban = echo <ip> >{bans}\n")
    (settings / "jail.d/notify-gateway.local").write_text(
        "[notify-gateway]\nenabled = true\nignoreself = false\naction = record\n"
        f"backend = systemd[journalfiles={entries}]\n")
    (settings / "fail2ban.local").write_text("[Definition]\ndbfile = None\n")
    with log.open("w") as output:
        server = subprocess.Popen(
            ["fail2ban-server", "-f", "-c", settings, "-s", directory / "socket", "-p", directory / "pid", "--loglevel", "INFO",
             "--logtarget", "STDOUT", "start"],
            stdout=output, stderr=subprocess.STDOUT)
    try:
        ready, _, _ = select.select([reader], [], [], 30)
        server.terminate()
        server.wait(timeout=60)
        return os.read(reader, 4096).decode().split() if ready else log.read_text()
    finally:
        server.kill()
        os.close(reader)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=str(CHECKOUT / ".build/debug/notify-gateway"))
    parser.add_argument("--full", action="store_true", help="more guesses")
    options = parser.parse_args()
    checks = field.Checks()
    with tempfile.TemporaryDirectory(prefix="notify-gateway-fail2ban-") as name:
        directory = pathlib.Path(name)
        maximum = int(re.search(r"(?m)^maxretry = (\d+)$", (SHIPPED / "jail.d/notify-gateway.conf").read_text())[1])
        lines = logged(options.program, directory, 200 if options.full else maximum + 2)
        expected = [
            json.loads(line)["peer"] for line in lines if re.search('"message":"(Login failed|Login ban started)"', line)]
        checks.expect(
            "The log has lines of both addresses, and others",
            expected.count(GUESSER) > maximum and expected.count(USER) in range(1, maximum) and len(lines) > len(expected),
            lines)

        plain = directory / "plain.log"
        plain.write_text("".join(line + "\n" for line in lines))
        found = matched(str(plain))
        checks.expect("The filter finds each failed login in a file", sorted(found) == sorted(expected), found)
        entries = directory / "gateway.journal"
        # Another unit's lines are none of the jail's business.
        other = [("other.service", line.replace(GUESSER, "127.0.0.8")) for line in lines]
        journal(entries, [(UNIT, line) for line in lines] + other)
        found = matched("--journalmatch", f"_SYSTEMD_UNIT={UNIT}", f"systemd-journal[journalfiles={entries}]")
        checks.expect("The filter finds each failed login in systemd's journal", sorted(found) == sorted(expected), found)
        addresses = banned(directory, entries)
        checks.expect("The jail bans the address that guesses, and no other", addresses == [GUESSER], addresses)
    checks.finish()


main()
