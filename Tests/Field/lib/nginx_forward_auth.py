"""Guesses of passwords and tokens while nginx, as the service of forward-auth, gives no result. Started by
Tests/Field/nginx-forward-auth."""

import argparse
import base64
import json
import os
import subprocess
import tempfile
import time

import field

KEY = base64.b64encode(os.urandom(48)).decode()
ATTACKER, HOME = "127.0.0.66", "127.0.0.1"

# Basic authentication of nginx, with what it sends for a wrong password: its 401, a redirect to a login page, or an error.
NGINX = """\
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

GATEWAY = """\
listen: [{{ address: "127.0.0.1:0" }}]
admin: {{ address: "127.0.0.1:0" }}
backend: {{ url: embedded }}
authenticators:
  - hmac-token: {{ keys: token-keys.yaml, issuer: notify-gateway, audience: notify }}
  - forward-auth: {{ url: "http+unix://{socket}/{path}", kinds: [password]{more} }}
policy: {{ send: [], tags: [] }}
limits: [{{ name: login, per: address, rate: 100/h }}]
journal: {{ directory: journal, minimum-free: 1MiB }}
ledger: {{ file: ledger.sqlite }}
control: control.sock
drain: {{ grace: 0s }}
"""


class Nginx:
    def __init__(self, directory):
        os.makedirs(f"{directory}/pages")
        open(f"{directory}/pages/verify", "w").close()
        with open(f"{directory}/people", "w") as file:
            file.write("bob:{PLAIN}right\nalice:{PLAIN}right\n")
        with open(f"{directory}/nginx.conf", "w") as file:
            file.write(("" if os.geteuid() else "user root;\n") + NGINX.format(directory=directory))
        self.command = ["nginx", "-c", f"{directory}/nginx.conf", "-e", f"{directory}/nginx.log"]
        self.socket = f"{directory}/nginx.sock"
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stderr=subprocess.DEVNULL)
        for _ in range(500):
            if os.path.exists(self.socket):
                return
            time.sleep(0.02)
        raise SystemExit("nginx did not start")

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=10)


def started(program, directory, nginx, path, more=""):
    with open(f"{directory}/token-keys.yaml", "w") as file:
        file.write(f'keys:\n  - {{ id: k1, algorithm: HS256, secret: "{KEY}" }}\n')
    os.chmod(f"{directory}/token-keys.yaml", 0o600)
    with open(f"{directory}/gateway.yaml", "w") as file:
        file.write(GATEWAY.format(socket=nginx.socket.replace("/", "%2F"), path=path, more=more, directory=directory))
    return field.Gateway(program, directory)


def statuses(answers):
    return {status: answers.count(status) for status in sorted(set(answers))}


def refusals(gateway):
    """Returns the numbers of refused logins in the journal, by result."""
    _, out = gateway.run("audit", "list", "--records", "--json")
    found = {}
    for line in out.splitlines():
        record = json.loads(line) if line.startswith("{") else {}
        if record.get("kind") == "refusal":
            found[record["result"]] = found.get(record["result"], 0) + record.get("count", 1)
    return found


def guess(gateway, count, user="bob"):
    return [gateway.call("GET", "/auth/whoami", user, f"guess-{n}", source=ATTACKER)[0] for n in range(count)]


def mode(checks, program, nginx, count, path, more, wrong, result):
    """Guesses while nginx responds to wrong passwords as the path says."""
    name = path + (" as a rejection" if more else "")
    with tempfile.TemporaryDirectory(prefix="notify-gateway-field-") as directory:
        gateway = started(program, directory, nginx, path, more)
        try:
            status, body = gateway.call("POST", "/auth/token", "bob", "right", source=HOME)
            checks.expect(f"{name}: the right password is accepted", status == 200, f"{status} {body}")
            token = json.loads(body).get("access_token") if status == 200 else None
            answers = guess(gateway, count)
            checks.expect(
                f"{name}: 10 of {count} guesses are verified", statuses(answers) == {wrong: 10, 429: count - 10},
                statuses(answers))
            status = gateway.call("GET", "/auth/whoami", "bob", "right", source=ATTACKER)[0]
            checks.expect(f"{name}: the right password does not stand out", status == 429, status)
            for source in [HOME, ATTACKER]:
                status = gateway.call("GET", "/auth/whoami", token=token, source=source)[0]
                checks.expect(f"{name}: the owner's token is accepted from {source}", status == 200, status)
            status = gateway.call("GET", "/auth/whoami", "bob", "right", source=HOME)[0]
            checks.expect(f"{name}: the owner's password is accepted at home", status == 200, status)
        finally:
            gateway.stop()
        found = refusals(gateway)
        checks.expect(f"{name}: the journal counts the guesses", found.get(result) == 10 and "banned" in found, found)


def away(checks, program, nginx, count):
    """Guesses while nginx does not run. Nothing verifies them, so they are free."""
    with tempfile.TemporaryDirectory(prefix="notify-gateway-field-") as directory:
        gateway = started(program, directory, nginx, "rejects")
        try:
            nginx.stop()
            answers = guess(gateway, count)
            checks.expect("away: no guess is throttled", statuses(answers) == {503: count}, statuses(answers))
            nginx.start()
            status = gateway.call("GET", "/auth/whoami", "bob", "right", source=ATTACKER)[0]
            checks.expect("away: the right password is accepted at once when nginx is back", status == 200, status)
        finally:
            gateway.stop()
        found = refusals(gateway)
        checks.expect("away: the journal counts the guesses", found.get("login-undecided") == count, found)


def tokens(checks, program, nginx):
    """Invalid tokens and malformed fields beside a valid token of the same address."""
    with tempfile.TemporaryDirectory(prefix="notify-gateway-field-") as directory:
        gateway = started(program, directory, nginx, "rejects")
        try:
            body = gateway.call("POST", "/auth/token", "bob", "right", source=HOME)[1]
            token = json.loads(body).get("access_token")
            answers = [gateway.call("GET", "/auth/whoami", token="garbage", source=ATTACKER)[0] for _ in range(120)]
            checks.expect("tokens: invalid ones are limited", answers[0] == 401 and answers[-1] == 429, statuses(answers))
            status = gateway.call("GET", "/auth/whoami", token=token, source=ATTACKER)[0]
            checks.expect("tokens: a valid one of the same address is not affected", status == 200, status)
        finally:
            gateway.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default=".build/debug/notify-gateway")
    parser.add_argument("--full", action="store_true", help="500 guesses in each mode in place of 60")
    options = parser.parse_args()
    program, count = os.path.abspath(options.program), 500 if options.full else 60
    checks = field.Checks()
    with tempfile.TemporaryDirectory(prefix="notify-gateway-nginx-") as directory:
        nginx = Nginx(directory)
        try:
            mode(checks, program, nginx, count, "rejects", "", 401, "login-failed")
            mode(checks, program, nginx, count, "redirects", "", 503, "login-undecided")
            mode(checks, program, nginx, count, "redirects", ", rejected-statuses: [302]", 401, "login-failed")
            mode(checks, program, nginx, count, "fails", "", 503, "login-undecided")
            away(checks, program, nginx, count)
            tokens(checks, program, nginx)
        finally:
            nginx.stop()
    checks.finish()


main()
