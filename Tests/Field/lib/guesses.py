"""Guesses of passwords at gateways with each authenticator, in each way in which it does not accept a wrong password. One address guesses the
password of a user, many addresses guess it too, and one tries many names; meanwhile that user and a neighbour log in, and use a
token from the address of the guesses. Started by Tests/Field/guesses."""

import argparse
import atexit
import base64
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import field
import pam

ROOT = pathlib.Path(__file__).resolve().parents[3]
KEY = base64.b64encode(os.urandom(48)).decode()
HOME, NEIGHBOUR, ATTACKER, SPRAYER = "127.0.0.1", "127.0.0.2", "127.0.0.66", "127.0.0.67"
# The guesses that docs/request-lifecycle.md allows at once, and the seconds after which it allows another one: for a user from one
# address, for an address, and for a user from all strangers.
PAIR, ADDRESS, USER = (10, 30), (20, 15), (100, 36)
USERS = ["bob", "carol"]

GATEWAY = """\
listen: [{{ address: "127.0.0.1:0" }}]
admin: {{ address: "127.0.0.1:0" }}
backend: {{ url: embedded }}
authenticators:
  - hmac-token: {{ keys: token-keys.yaml, issuer: notify-gateway, audience: notify }}
  - {authenticator}
policy: {{ send: [], tags: [] }}
limits: {limits}
journal: {{ directory: journal, minimum-free: 1MiB }}
ledger: {{ file: ledger.sqlite }}
control: control.sock
drain: {{ grace: 0s }}
"""


# The services that verify passwords. Each accepts `right` for the users. A service that can be away has `stop` and `start`.


class File:
    """static-users."""

    wrong, result, authenticator = 401, "login-failed", "static-users: { file: users.yaml }"

    def __init__(self, directory, program):
        self.program, self.directory = program, directory
        pathlib.Path(directory, "users.yaml").write_text("users: {}\n")
        os.chmod(f"{directory}/users.yaml", 0o600)

    def prepare(self):
        for user in USERS:
            command = [self.program, "users", "add", user, "--config", f"{self.directory}/gateway.yaml"]
            subprocess.run(command, input="right\n", text=True, check=True, stderr=subprocess.DEVNULL)


class PAM:
    """Linux-PAM with accounts of a copy of /etc."""

    def __init__(self, directory, stack, wrong, result):
        self.wrong, self.result = wrong, result
        self.authenticator = f"pam: {{ service: ng-{stack}, workers: 4 }}"

    def prepare(self):
        pass


def accounts():
    """Makes the users accounts of the system, and the stacks of their logins."""
    for user in USERS:
        pam.tool("useradd", "--no-create-home", "--shell", "/usr/sbin/nologin", user)
        pam.tool("chpasswd", "--crypt-method", "SHA512", text=f"{user}:right\n")
    verify = pathlib.Path("/etc/security/ng-verify")
    verify.write_text("#!/bin/sh\ntr -d '\\000' | grep -qx right\n")
    verify.chmod(0o755)
    for name, auth in {
        "common": pam.DEBIAN_AUTH, "exec": f"auth required pam_exec.so quiet expose_authtok {verify}\n",
        # A wrong password goes on to a directory that cannot be reached.
        "unavailable": "auth sufficient pam_unix.so\nauth required pam_debug.so auth=authinfo_unavail\n",
    }.items():
        pam.write(f"ng-{name}", auth + pam.DEBIAN_ACCOUNT)


class Slapd:
    """OpenLDAP's server with a socket."""

    wrong, result = 401, "login-failed"

    CONFIGURATION = """\
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
database mdb
suffix "dc=example,dc=com"
directory {directory}/data
access to attrs=userPassword by anonymous auth by * none
access to * by * read
"""
    ENTRIES = "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\no: example\ndc: example\n\n" + "".join(
        f"dn: uid={user},dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: {user}\ncn: {user}\nsn: {user}\nuserPassword: right\n\n"
        for user in USERS)

    def __init__(self, directory):
        self.directory, self.url = directory, f"ldapi://{directory}/ldapi".replace(f"{directory}/", f"{directory}/".replace("/", "%2F"))
        self.authenticator = f'ldap: {{ url: "{self.url}", base: "dc=example,dc=com", timeout: 1s, workers: 16 }}'
        os.mkdir(f"{directory}/data")
        pathlib.Path(directory, "slapd.conf").write_text(self.CONFIGURATION.format(directory=directory))
        subprocess.run(["slapadd", "-q", "-f", f"{directory}/slapd.conf"], input=self.ENTRIES, text=True, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.start()

    def prepare(self):
        pass

    def start(self):
        self.process = subprocess.Popen(
            ["slapd", "-d", "0", "-f", f"{self.directory}/slapd.conf", "-h", self.url], stderr=subprocess.DEVNULL)
        connected(f"{self.directory}/ldapi")

    def stop(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait(timeout=30)


class FrozenSlapd(Slapd):
    """A server that stops in the middle of its work: no password has a result."""

    wrong, result = 503, "login-undecided"

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)


class Nginx:
    """Basic authentication of nginx, with what it sends for a wrong password: its 401, a redirect to a login page, or an error."""

    CONFIGURATION = """\
daemon off;
worker_processes 1;
pid {directory}/nginx.pid;
error_log {directory}/nginx.log;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {directory}; proxy_temp_path {directory}; fastcgi_temp_path {directory};
    uwsgi_temp_path {directory}; scgi_temp_path {directory};
    server {{
        listen unix:{directory}/nginx.sock;
        root {directory}/pages;
        auth_basic "people";
        auth_basic_user_file {directory}/people;
        add_header X-Forwarded-User $remote_user;
        location /rejects {{ try_files /verify =500; }}
        location /redirects {{ error_page 401 = @login; try_files /verify =500; }}
        location /fails {{ error_page 401 = @error; try_files /verify =500; }}
        location @login {{ auth_basic off; return 302 /login; }}
        location @error {{ auth_basic off; return 500; }}
    }}
}}
"""

    def __init__(self, directory, path, wrong, result, more=""):
        self.wrong, self.result, self.directory = wrong, result, directory
        socket_path = f"{directory}/nginx.sock".replace("/", "%2F")
        self.authenticator = f'forward-auth: {{ url: "http+unix://{socket_path}/{path}", kinds: [password]{more} }}'
        os.makedirs(f"{directory}/pages")
        pathlib.Path(directory, "pages/verify").touch()
        pathlib.Path(directory, "people").write_text("".join(f"{user}:{{PLAIN}}right\n" for user in USERS))
        pathlib.Path(directory, "nginx.conf").write_text(
            ("" if os.geteuid() else "user root;\n") + self.CONFIGURATION.format(directory=directory))
        self.start()

    def prepare(self):
        pass

    def start(self):
        command = ["nginx", "-c", f"{self.directory}/nginx.conf", "-e", f"{self.directory}/nginx.log"]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        connected(f"{self.directory}/nginx.sock")

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=10)


class OwnProcess:
    """The example of external-process, which may treat a wrong password in a way of its own."""

    def __init__(self, directory, wrong, result, treatment=None):
        self.wrong, self.result = wrong, result
        self.authenticator = "external-process: { socket: process.sock, kinds: [password], timeout: 500ms, connections: 64 }"
        spec = importlib.util.spec_from_file_location("authenticator", ROOT / "plugins/ExternalProcess/Examples/authenticator.py")
        self.example = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.example)
        if treatment:
            self.verified = []

            def verify(_, request):
                if request["password"] == "right":
                    return {"verdict": "accepted", "user": request["user"], "groups": []}
                self.verified.append((request["user"], request["peer"]))
                return treatment(self.example)

            self.example.verify = verify
        arguments = argparse.Namespace(users=f"{directory}/people.json", socket=f"{directory}/process.sock", group_may=False)
        for user in USERS:
            with tempfile.TemporaryFile("w+") as password:
                password.write("right")
                password.seek(0)
                self.example.add(argparse.Namespace(
                    password_file=password, cost=2, group=[], users=arguments.users, name=user))
        self.example.print = lambda *_, **__: None
        threading.Thread(target=self.example.serve, args=(arguments,), daemon=True).start()
        connected(arguments.socket)

    def prepare(self):
        pass


def breaks_off(example):
    raise example.Fault("broken off")


def hangs(example):
    time.sleep(10)
    raise example.Fault("too late")


def connected(path):
    """Waits until a server listens."""
    for _ in range(1000):
        with socket.socket(socket.AF_UNIX) as attempt:
            try:
                return attempt.connect(path)
            except OSError:
                time.sleep(0.02)
    raise SystemExit(f"nothing listens at {path}")


# The checks.


def started(program, directory, service, limits="[]"):
    pathlib.Path(directory, "token-keys.yaml").write_text(f'keys:\n  - {{ id: k1, algorithm: HS256, secret: "{KEY}" }}\n')
    os.chmod(f"{directory}/token-keys.yaml", 0o600)
    pathlib.Path(directory, "gateway.yaml").write_text(GATEWAY.format(authenticator=service.authenticator, limits=limits))
    service.prepare()
    return field.Gateway(program, directory)


def counted(answers):
    return {status: answers.count(status) for status in sorted(set(answers))}


def refusals(gateway):
    """Returns the numbers of refused logins in the journal, by result."""
    _, out = gateway.run("audit", "list", "--records", "--json", "--limit", "10000")
    found = {}
    for line in out.splitlines():
        record = json.loads(line) if line.startswith("{") else {}
        if record.get("kind") == "refusal":
            found[record["result"]] = found.get(record["result"], 0) + record.get("count", 1)
    return found


class Attack:
    """The guesses at one gateway, and the calls of its users meanwhile."""

    def __init__(self, gateway, seconds):
        self.gateway, self.seconds, self.began = gateway, seconds, time.monotonic()
        self.isOver = threading.Event()

    def login(self, user, password, source):
        return self.gateway.call("GET", "/auth/whoami", user, password, source=source)[0]

    def repeat(self, count, pause, call):
        """Calls `count` times at once, and after pauses until the end."""
        answers = [call(number) for number in range(count)]
        while time.monotonic() < self.began + self.seconds:
            answers.append(call(len(answers)))
            time.sleep(pause)
        return answers

    def neighbours(self, call):
        answers = [call()]
        while not self.isOver.wait(0.5):
            answers.append(call())
        return answers

    def most(self, limit):
        """Returns how many guesses a limit has allowed by now."""
        burst, period = limit
        return burst + int((time.monotonic() - self.began) / period) + 1


def mode(checks, program, name, service, seconds):
    """Guesses while the service treats wrong passwords in its way."""
    with tempfile.TemporaryDirectory(prefix="notify-gateway-guesses-") as directory, concurrent.futures.ThreadPoolExecutor(16) as pool:
        verifier = service(directory)
        gateway = started(program, directory, verifier)
        try:
            logins = {user: gateway.call("POST", "/auth/token", user, "right", source=source)
                      for user, source in [("bob", HOME), ("carol", NEIGHBOUR)]}
            checks.expect(f"{name}: the right passwords are accepted", all(status == 200 for status, _ in logins.values()), logins)
            token = json.loads(logins["bob"][1]).get("access_token")
            isFrozen = hasattr(verifier, "freeze")
            if isFrozen:
                verifier.freeze()
            attack = Attack(gateway, seconds)
            calm = [pool.submit(attack.neighbours, lambda source=source: gateway.call(
                "GET", "/auth/whoami", token=token, source=source)[0]) for source in [HOME, ATTACKER]]
            if not isFrozen:
                calm += [pool.submit(attack.neighbours, lambda user=user, source=source: attack.login(user, "right", source))
                         for user, source in [("bob", HOME), ("carol", NEIGHBOUR)]]
            pair = pool.submit(
                attack.repeat, 40, 0.5, lambda number: attack.login("bob", f"guess {number}", ATTACKER))
            many = [pool.submit(
                attack.repeat, 20, 2, lambda number, row=row: attack.login(
                    "bob", f"guess {row} {number}", f"127.66.{row}.{number % 250 + 1}")) for row in range(8)]
            spray = pool.submit(
                attack.repeat, 60, 0.5, lambda number: attack.login(f"user-{number % 1000}", f"guess {number}", SPRAYER))
            pair, spray = pair.result(), spray.result()
            many = [status for row in many for status in row.result()]
            attack.isOver.set()
            calm = [status for one in calm for status in one.result()]
            answered = [answers.count(verifier.wrong) for answers in (pair, pair + many, spray)]
            verified, least = answered, 1
            if hasattr(verifier, "verified"):
                # A guess that reached nothing, because the connections broke, is free.
                least = 0
                verified = [
                    sum(peer == ATTACKER for _, peer in verifier.verified), sum(user == "bob" for user, _ in verifier.verified),
                    sum(peer == SPRAYER for _, peer in verifier.verified)]
            checks.expect(f"{name}: guesses are verified or throttled", set(pair + many + spray) == {verifier.wrong, 429},
                          counted(pair + many + spray))
            for who, found, limit in zip(["one address", "all strangers", "an address that tries many names"], verified,
                                         [PAIR, USER, ADDRESS]):
                most = attack.most(limit)
                checks.expect(f"{name}: {who}: {found} of at most {most} guesses verified", least * limit[0] <= found <= most)
            checks.expect(f"{name}: users and neighbours are served, {len(calm)} calls", set(calm) == {200}, counted(calm))
            while attack.login("bob", "one more guess", ATTACKER) == verifier.wrong:
                answered[1] += 1
            status = attack.login("bob", "right", ATTACKER)
            checks.expect(f"{name}: the right password does not stand out", status == 429, status)
        finally:
            gateway.stop()
            if hasattr(verifier, "stop"):
                verifier.stop()
        found = refusals(gateway)
        checks.expect(f"{name}: the journal counts the guesses",
                      found.get(verifier.result, 0) + found.get("several", 0) == answered[1] + answered[2], f"{answered} {found}")
        checks.expect(f"{name}: the journal has the bans", found.get("banned", 0) >= (2 if least else 1), found)


def away(checks, program, service):
    """Guesses while the service does not run. Nothing verifies them, so they are free."""
    with tempfile.TemporaryDirectory(prefix="notify-gateway-guesses-") as directory:
        verifier = service(directory)
        gateway = started(program, directory, verifier)
        try:
            verifier.stop()
            answers = [gateway.call("GET", "/auth/whoami", "bob", f"guess {number}", source=ATTACKER)[0] for number in range(60)]
            checks.expect("away: no guess is throttled", counted(answers) == {503: 60}, counted(answers))
            verifier.start()
            status = gateway.call("GET", "/auth/whoami", "bob", "right", source=ATTACKER)[0]
            checks.expect("away: the right password is accepted at once when the service is back", status == 200, status)
        finally:
            gateway.stop()
            verifier.stop()
        found = refusals(gateway)
        checks.expect("away: the journal counts the guesses", found.get("login-undecided") == 60, found)


def tokens(checks, program, service):
    """Invalid tokens and malformed fields beside a valid token of the same address."""
    with tempfile.TemporaryDirectory(prefix="notify-gateway-guesses-") as directory:
        verifier = service(directory)
        gateway = started(program, directory, verifier, "[{ name: login, per: address, rate: 100/h }]")
        try:
            body = gateway.call("POST", "/auth/token", "bob", "right", source=HOME)[1]
            token = json.loads(body).get("access_token")
            answers = [gateway.call("GET", "/auth/whoami", token="garbage", source=ATTACKER)[0] for _ in range(120)]
            checks.expect("tokens: invalid ones are limited", answers[0] == 401 and answers[-1] == 429, counted(answers))
            status = gateway.call("GET", "/auth/whoami", token=token, source=ATTACKER)[0]
            checks.expect("tokens: a valid one of the same address is not affected", status == 200, status)
        finally:
            gateway.stop()
            verifier.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default=".build/debug/notify-gateway")
    parser.add_argument("--full", action="store_true", help="guess for ten minutes")
    parser.add_argument("--accounts", action="store_true", help="put a copy of /etc in its place and make accounts there")
    parser.add_argument("--only", default="", help="the modes whose name contains this")
    options = parser.parse_args()
    program, seconds = os.path.abspath(options.program), 600 if options.full else 0
    checks = field.Checks()
    if options.accounts:
        copy = pam.private_etc(ROOT)
        atexit.register(lambda: (field.run("umount", "--lazy", "/etc"), shutil.rmtree(copy)))
        accounts()
    rejected, undecided = (401, "login-failed"), (503, "login-undecided")
    modes = {
        "static-users": lambda directory: File(directory, program),
        "ldap": Slapd,
        "ldap, frozen": FrozenSlapd,
        "forward-auth, 401": lambda directory: Nginx(directory, "rejects", *rejected),
        "forward-auth, 302": lambda directory: Nginx(directory, "redirects", *undecided),
        "forward-auth, 302 as a rejection": lambda directory: Nginx(directory, "redirects", *rejected, ", rejected-statuses: [302]"),
        "forward-auth, 500": lambda directory: Nginx(directory, "fails", *undecided),
        "external-process": lambda directory: OwnProcess(directory, *rejected),
        "external-process, breaks off": lambda directory: OwnProcess(directory, *undecided, breaks_off),
        "external-process, hangs": lambda directory: OwnProcess(directory, *undecided, hangs),
    }
    if options.accounts:
        modes |= {
            "pam": lambda directory: PAM(directory, "common", *rejected),
            "pam_exec": lambda directory: PAM(directory, "exec", *rejected),
            "pam, unavailable": lambda directory: PAM(directory, "unavailable", *undecided),
        }
    else:
        print("skipped the modes with Linux-PAM: this system allows no mount namespaces")
    modes = {name: service for name, service in modes.items() if options.only in name}
    # Most of the time is the delay of rejected passwords.
    with concurrent.futures.ThreadPoolExecutor(len(modes) if seconds else 5) as pool:
        for done in [pool.submit(mode, checks, program, name, service, seconds) for name, service in modes.items()]:
            done.result()
    if not options.only:
        away(checks, program, lambda directory: Nginx(directory, "rejects", *rejected))
        tokens(checks, program, lambda directory: Nginx(directory, "rejects", *rejected))
    checks.finish()


if __name__ == "__main__":
    main()
