"""Accounts that end, and broken files of services, with the system's own Linux-PAM. Started by Tests/Field/pam in a mount
namespace of its own."""

import argparse
import ctypes
import glob
import itertools
import json
import os
import pathlib
import shutil
import tempfile

import field

PASSWORD = "correct horse"
OPEN = "auth required pam_permit.so\naccount required pam_permit.so\n"

# What pam-auth-update of Debian 12 writes with its profile "unix", and with "sss" beside it.
DEBIAN_AUTH = """\
auth\t[success=1 default=ignore]\tpam_unix.so nullok
auth\trequisite\t\t\tpam_deny.so
auth\trequired\t\t\tpam_permit.so
"""
DEBIAN_ACCOUNT = """\
account\t[success=1 new_authtok_reqd=done default=ignore]\tpam_unix.so 
account\trequisite\t\t\tpam_deny.so
account\trequired\t\t\tpam_permit.so
"""
DEBIAN_SSS_AUTH = """\
auth\t[success=2 default=ignore]\tpam_unix.so nullok
auth\t[success=1 default=ignore]\tSSS use_first_pass
auth\trequisite\t\t\tpam_deny.so
auth\trequired\t\t\tpam_permit.so
"""
DEBIAN_SSS_ACCOUNT = DEBIAN_ACCOUNT + """\
account\tsufficient\t\t\tpam_localuser.so
account\t[default=bad success=ok user_unknown=ignore]\tSSS
"""
# What authselect of RHEL 9 writes as system-auth with its profiles "minimal" and "sssd".
RHEL = """\
auth        required                                     pam_env.so
auth        required                                     pam_faildelay.so delay=2000000
auth        sufficient                                   pam_unix.so nullok
auth        required                                     pam_deny.so

account     required                                     pam_unix.so

password    sufficient                                   pam_unix.so yescrypt shadow nullok use_authtok
password    required                                     pam_deny.so

session     optional                                     pam_keyinit.so revoke
session     required                                     pam_limits.so
session     required                                     pam_unix.so
"""
RHEL_SSSD = """\
auth        required                                     pam_env.so
auth        required                                     pam_faildelay.so delay=2000000
auth        [default=1 ignore=ignore success=ok]         pam_usertype.so isregular
auth        [default=1 ignore=ignore success=ok]         pam_localuser.so
auth        sufficient                                   pam_unix.so nullok
auth        [default=1 ignore=ignore success=ok]         pam_usertype.so isregular
auth        sufficient                                   SSS forward_pass
auth        required                                     pam_deny.so

account     required                                     pam_unix.so
account     sufficient                                   pam_localuser.so
account     sufficient                                   pam_usertype.so issystem
account     [default=bad success=ok user_unknown=ignore] SSS
account     required                                     pam_permit.so
"""


def private_etc(checkout):
    """Puts a copy of /etc in its place, for this process and those that it starts."""
    copy = tempfile.mkdtemp(prefix="notify-gateway-etc-")
    for name in ["passwd", "shadow", "group", "gshadow", "login.defs", "nsswitch.conf", "hosts", "resolv.conf", "ld.so.cache",
                 "localtime", "default", "pam.d", "security", "ssl", "ldap"]:
        source = os.path.join("/etc", name)
        if os.path.isdir(source):
            shutil.copytree(source, os.path.join(copy, name), symlinks=True, ignore=lambda folder, names: [
                entry for entry in names if not os.access(os.path.join(folder, entry), os.R_OK)])
        elif os.access(source, os.R_OK):
            shutil.copyfile(source, os.path.join(copy, name))
    for name in ["shadow", "gshadow"]:
        path = pathlib.Path(copy, name)
        # Another user than root cannot read the system's own; the accounts of the checks are all that matters.
        path.touch()
        path.chmod(0o600)
    os.chmod(copy, 0o755)
    library = ctypes.CDLL(None, use_errno=True)
    if library.mount(copy.encode(), b"/etc", None, 4096, None) != 0:  # MS_BIND
        raise SystemExit(f"cannot mount a copy of /etc: {os.strerror(ctypes.get_errno())}")
    shutil.copyfile(checkout / "deploy/debian/pam", "/etc/pam.d/notify-gateway")
    return copy


class Site:
    """A backend, a gateway before it and the accounts of one stack."""

    def __init__(self, options, stack="notify-gateway", text=None):
        self.directory = tempfile.mkdtemp(prefix="notify-gateway-pam-")
        self.backend = field.Process(
            [options.program, "backend", "--port", "0"], r"127\.0\.0\.1:(\d+)") if text is None else None
        port = self.backend.match[1] if self.backend else 1
        pathlib.Path(self.directory, "gateway.yaml").write_text(text or f"""\
backend: {{ url: "http://127.0.0.1:{port}", profile: classic }}
listen: [{{ address: "127.0.0.1:0" }}]
admin: {{ address: "127.0.0.1:0" }}
control: control.sock
authenticators:
  - hmac-token: {{ keys: keys.yaml, issuer: notify-gateway, audience: notify }}
  - pam: {{ service: {stack} }}
policy: {{ send: [{{ from: "*", to: "*" }}] }}
journal: {{ directory: journal, minimum-free: 1MiB }}
ledger: {{ file: ledger.sqlite }}
""")
        secret = field.base64.b64encode(os.urandom(48)).decode()
        keys = pathlib.Path(self.directory, "keys.yaml")
        keys.write_text(f'keys: [{{ id: k1, algorithm: HS256, secret: "{secret}" }}]\n')
        keys.chmod(0o600)
        self.gateway = field.Gateway(options.program, self.directory)

    def registered(self):
        return {one["handle"] for one in json.loads(field.call("GET", f"http://127.0.0.1:{self.backend.match[1]}/registrations")[1])}

    def close(self):
        self.gateway.stop()
        if self.backend:
            self.backend.stop()
        shutil.rmtree(self.directory)


def tool(*command, text=None):
    status, output = field.run(*command, text=text)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} failed: {output}")


def write(name, text):
    pathlib.Path("/etc/pam.d", name).write_bytes(text if isinstance(text, bytes) else text.encode())


def ended_accounts(checks, options, title, number):
    """Ends accounts in three ways. Each has a session and a device; another account keeps both."""
    users = {way: f"ngf{number}{way}" for way in ["kept", "expired", "locked", "deleted"]}
    for user in users.values():
        tool("useradd", "--no-create-home", "--shell", "/usr/sbin/nologin", user)
        tool("chpasswd", "--crypt-method", "SHA512", text=f"{user}:{PASSWORD}\n")
    site = Site(options)
    gateway, tokens, handles = site.gateway, {}, {}
    for index, (way, user) in enumerate(users.items()):
        status, body = gateway.call("POST", "/auth/token", user, PASSWORD)
        tokens[way] = json.loads(body)["access_token"] if status == 200 else ""
        handles[way] = f"{index + 10:02d}{number:02d}" * 16
        created, identifier = gateway.call("POST", f"/api/register?handle={handles[way]}", token=tokens[way])
        stored, _ = gateway.call("PUT", f"/api/register/{identifier.strip(chr(34))}", token=tokens[way],
                                 body={"Platform": "apns", "Handle": handles[way], "Tags": []})
        checks.expect(f"{title}: {way} logs in and registers", (status, created, stored) == (200, 200, 200),
                      f"{status} {created} {stored} {body}")
    checks.expect(f"{title}: a wrong password is 401", gateway.call("GET", "/auth/whoami", users["kept"], "wrong")[0] == 401)
    tool("usermod", "--expiredate", "1", users["expired"])
    tool("passwd", "--quiet", "--lock", users["locked"])
    tool("userdel", users["deleted"])
    # A read of the configuration checks all accounts. Devices go when a second check agrees.
    wanted = {handles["kept"]}
    for _ in range(100):
        status, output = gateway.run("reload")
        if site.registered() == wanted:
            break
    left = site.registered()
    for way in users:
        session = gateway.call("GET", "/auth/whoami", token=tokens[way])[0]
        if way == "kept":
            checks.expect(f"{title}: {way} keeps session and device", session == 200 and handles[way] in left, session)
        else:
            checks.expect(f"{title}: {way} loses its session", session == 401, session)
            checks.expect(f"{title}: {way} loses its device", handles[way] not in left)
            login = gateway.call("GET", "/auth/whoami", users[way], PASSWORD)[0]
            checks.expect(f"{title}: {way} cannot log in", login == 401, login)
    site.close()
    for way in ["kept", "expired", "locked"]:
        tool("userdel", users[way])


LONG = "# " + "x" * 1021 + " auth sufficient pam_permit.so\n"
BROKEN = {
    "empty": "", "comments only": "# auth required pam_unix.so\n# account required pam_unix.so\n", "blank lines": "\n \t\n",
    "auth-less": DEBIAN_ACCOUNT, "account-less": DEBIAN_AUTH, "session and password only": RHEL[RHEL.index("password"):],
    "cut in a word": DEBIAN_AUTH + "acco", "cut in a continued line": DEBIAN_AUTH + "account required \\\n",
    "cut in a control": DEBIAN_AUTH + "account\t[success=1 new_au", "CRLF": (DEBIAN_AUTH + DEBIAN_ACCOUNT).replace("\n", "\r\n"),
    "CR only": (DEBIAN_AUTH + DEBIAN_ACCOUNT).replace("\n", "\r"), "NUL": DEBIAN_AUTH + "account\0 required pam_unix.so\n",
    "typo in a facility": "atuh required pam_unix.so\n" + DEBIAN_ACCOUNT,
    "typo in a control": "auth requierd pam_unix.so\n" + DEBIAN_ACCOUNT,
    "typo in a return code": DEBIAN_AUTH.replace("success=1", "sucess=1") + DEBIAN_ACCOUNT,
    "typo in an action": DEBIAN_AUTH.replace("default=ignore", "default=ignroe") + DEBIAN_ACCOUNT,
    "typo in a module": "auth optional pam_faillokc.so\n" + DEBIAN_AUTH + DEBIAN_ACCOUNT,
    "typo in an include": "@include common-atuh\n@include common-account\n",
    "typo in @include": "@inclde common-auth\n@include common-account\n",
    "include of an empty file": "auth include ng-empty\naccount include ng-empty\n",
    "@include of an empty file": "@include ng-empty\n", "substack of an empty file": "auth substack ng-empty\naccount substack ng-empty\n",
    "include of the wrong facility": "auth include common-account\naccount include common-auth\n",
    "include without a file": "auth include\n" + DEBIAN_ACCOUNT, "include of itself": "@include ng-broken\n",
    "include of a directory": "auth include /etc\naccount include /etc\n", "modules that may be missing": "-auth required pam_x.so\n-account required pam_x.so\n",
    "a jump over the end": DEBIAN_AUTH.replace("success=1", "success=4") + DEBIAN_ACCOUNT,
    "a long comment": LONG + DEBIAN_AUTH + DEBIAN_ACCOUNT,
}


def broken_files(checks, options):
    """`other` admits everybody. No file of the service may make libpam use it."""
    write("other", OPEN)
    write("ng-empty", "# nothing\n")
    write("ng-broken", DEBIAN_AUTH + DEBIAN_ACCOUNT)
    tool("useradd", "--no-create-home", "--shell", "/usr/sbin/nologin", "ngfuser")
    tool("chpasswd", "--crypt-method", "SHA512", text=f"ngfuser:{PASSWORD}\n")
    site = Site(options, "ng-broken")
    addresses = (f"127.0.{number // 250 + 1}.{number % 250 + 1}" for number in itertools.count())

    def login(password, user="ngfuser"):
        # From an address of its own, which no earlier login has a debt at.
        return site.gateway.call("GET", "/auth/whoami", user, password, source=next(addresses))[0]

    checks.expect("files: a valid file admits its user", login(PASSWORD) == 200)
    for number, (title, text) in enumerate(BROKEN.items()):
        write("ng-broken", text)
        status, output = site.gateway.run("check")
        errors = [line for line in output.splitlines() if "pam.service" in line and "/etc" in line]
        checks.expect(f"files: {title}: check fails and names the file", status == 1 and errors, f"{status} {output}")
        answers = [login(f"guess {number}"), login(PASSWORD)]
        checks.expect(f"files: {title}: the running gateway calls no module", answers == [503, 503], answers)
        write("ng-broken", DEBIAN_AUTH + DEBIAN_ACCOUNT)
    checks.expect("files: the valid file again admits its user", login(PASSWORD) == 200, login(PASSWORD))
    os.unlink("/etc/pam.d/ng-broken")
    checks.expect("files: a missing file admits nobody", [login("guess"), login(PASSWORD)] == [503, 503])
    for title, target in [("a link to /dev/null", "/dev/null"), ("a link to a directory", "/etc")]:
        os.symlink(target, "/etc/pam.d/ng-broken")
        checks.expect(f"files: {title} admits nobody", [login("guess x"), login(PASSWORD)] == [503, 503])
        os.unlink("/etc/pam.d/ng-broken")
    # An editor that truncates the file before it writes, while somebody guesses.
    whole = (DEBIAN_AUTH + DEBIAN_ACCOUNT).encode()
    write("ng-broken", whole)
    rounds, writer = (90 if options.full else 40), os.fork()
    if writer == 0:
        while True:
            descriptor = os.open("/etc/pam.d/ng-broken", os.O_WRONLY | os.O_TRUNC)
            for start in range(0, len(whole), 16):
                os.write(descriptor, whole[start:start + 16])
            os.close(descriptor)
    answers = [login(f"moment {number}", "nobody") for number in range(rounds)]
    os.kill(writer, 9)
    os.waitpid(writer, 0)
    checks.expect(f"files: {rounds} guesses while the file is rewritten admit nobody", 200 not in answers,
                  {status: answers.count(status) for status in set(answers)})
    site.close()
    tool("userdel", "ngfuser")


def commands(checks, options):
    """pam_exec reports a command that rejects a password as PAM_SYSTEM_ERR."""
    program = pathlib.Path("/etc/pam.d/../security/ng-verify").resolve()
    program.write_text("#!/bin/sh\ntr -d '\\000' | grep -qx 'correct horse'\n")
    program.chmod(0o755)
    write("ng-exec", f"auth required pam_exec.so quiet expose_authtok {program}\naccount required pam_permit.so\n")
    tool("useradd", "--no-create-home", "--shell", "/usr/sbin/nologin", "ngfexec")
    site = Site(options, "ng-exec")
    answers = [site.gateway.call("GET", "/auth/whoami", "ngfexec", password)[0] for password in ["wrong", PASSWORD]]
    checks.expect("pam_exec: a wrong password is 401 and the right one 200", answers == [401, 200], answers)
    site.close()
    tool("userdel", "ngfexec")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default=".build/debug/notify-gateway")
    parser.add_argument("--modules", required=True)
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    options.program = os.path.abspath(options.program)
    checks = field.Checks()
    copy = private_etc(pathlib.Path(__file__).resolve().parents[3])
    try:
        found = glob.glob(f"{options.modules}/libpam-sss/**/pam_sss.so", recursive=True)
        stacks = [("package on this system", {}),
                  ("package on Debian", {"common-auth": DEBIAN_AUTH, "common-account": DEBIAN_ACCOUNT}),
                  ("RHEL", {"system-auth": RHEL, "notify-gateway": "auth substack system-auth\naccount include system-auth\n"})]
        if found:
            stacks += [
                ("package on Debian with SSSD", {"common-auth": DEBIAN_SSS_AUTH, "common-account": DEBIAN_SSS_ACCOUNT}),
                ("RHEL with SSSD", {"system-auth": RHEL_SSSD,
                                    "notify-gateway": "auth include system-auth\naccount include system-auth\n"})]
        else:
            print("skipped the stacks with SSSD: libpam-sss cannot be downloaded")
        package = pathlib.Path("/etc/pam.d/notify-gateway").read_text()
        for number, (title, files) in enumerate(stacks):
            write("notify-gateway", package)
            for name, text in files.items():
                write(name, text.replace("SSS", found[0] if found else ""))
            ended_accounts(checks, options, title, number)
        broken_files(checks, options)
        commands(checks, options)
    finally:
        field.run("umount", "--lazy", "/etc")
        shutil.rmtree(copy)
    checks.finish()


if __name__ == "__main__":
    main()
