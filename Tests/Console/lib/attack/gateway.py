"""A `notify-gateway serve` process with a console and the embedded backend, in a directory of its own."""

import base64
import contextlib
import http.client
import json
import pathlib
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from client import Address, Browser

CONFIGURATION = """
listen: [{{ address: "127.0.0.1:0" }}]
admin: {{ address: "127.0.0.1:0" }}
console: {{ address: "127.0.0.1:{console_port}", {tls} {origin} viewers: [{viewers}], operators: [alice] }}
control: control.sock
backend: {{ url: embedded }}
authenticators:
  - hmac-token: {{ keys: token-keys.yaml }}
  - static-users: {{ file: users.yaml }}
policy:
  send: [{{ from: "*", to: "*" }}{rules}]
  tags: [{{ user: "*", allow: ["topic:*"] }}]
{more}
journal: {{ directory: journal, minimum-free: 0 }}
ledger: {{ file: ledger.sqlite }}
drain: {{ grace: 0s }}
"""


class Gateway:
    """The process, its commands, its operator API and its journal. Each user's password is the name."""

    def __init__(self, program, users=("alice", "bob", "carol", "dave"), secure=False, more="", rules="", origin=None):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="gateway-console-"))
        self.program = str(program)
        self.secure, self.more, self.rules, self.origin = secure, more, rules, origin
        self.console = None
        secret = base64.b64encode(secrets.token_bytes(48)).decode()
        self.write("token-keys.yaml", f'keys: [{{ id: k, algorithm: HS256, secret: "{secret}" }}]\n')
        self.write("users.yaml", "users: {}\n")
        if secure:
            self.make_certificate()
        self.configure("bob, carol, dave")
        for user in users:
            self.command("users", "add", user, input=f"{user}\n")
        self.start()

    def start(self):
        """Starts the process; the console gets the port of the last time."""
        self.configure("bob, carol, dave", self.console.port if self.console else 0)
        self.log = open(self.directory / "log", "w+b")
        self.process = subprocess.Popen(
            [self.program, "serve", "--config", "gateway.yaml"], cwd=self.directory, stderr=self.log, stdout=self.log)
        self.port = self.started()
        self.console = self.console or self.find_console()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def write(self, name, text):
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o600)

    def configure(self, viewers, console_port=0):
        tls = "tls: { certificate: certificate.pem, key: key.pem }," if self.secure else ""
        origin = f'origin: "{self.origin}",' if self.origin else ""
        self.write("gateway.yaml", CONFIGURATION.format(
            tls=tls, origin=origin, viewers=viewers, more=self.more, rules=self.rules, console_port=console_port))

    def make_certificate(self):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
             "key.pem", "-out", "certificate.pem", "-days", "2", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=DNS:localhost,IP:127.0.0.1"],
            cwd=self.directory, check=True, capture_output=True)
        (self.directory / "key.pem").chmod(0o600)

    def command(self, *arguments, input=None, check=True):
        """Runs a command of the program with this gateway's configuration."""
        return subprocess.run(
            [self.program, *arguments, "--config", "gateway.yaml"], cwd=self.directory, input=input, text=True,
            check=check, capture_output=True)

    def started(self):
        """Returns the port of the public listener once the gateway has started."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            if found := re.search(r'"listeners":"\[127\.0\.0\.1:(\d+)\]"', self.text()):
                return int(found.group(1))
            time.sleep(0.05)
        sys.exit(f"The gateway did not start:\n{self.text()}")

    def find_console(self):
        """Returns the address of the console: of the ports on which the process listens, the one with its pages."""
        inodes = set()
        for link in pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir():
            # The gateway may close a file after it was listed.
            with contextlib.suppress(FileNotFoundError):
                if found := re.fullmatch(r"socket:\[(\d+)\]", str(link.readlink())):
                    inodes.add(found.group(1))
        for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                address = Address(int(fields[1].split(":")[1], 16), self.secure)
                if "notify-gateway</title>" in Browser(address).request("GET", "/login", {"Connection": "close"}, timeout=5).text:
                    return address
        sys.exit("The gateway has no console.")

    def text(self):
        return (self.directory / "log").read_text()

    def call(self, method, target, user, body=None, fields=(), source=None, timeout=30):
        """Makes a call at the public listener and returns its status and body."""
        credential = base64.b64encode(f"{user}:{user}".encode("utf-8", "surrogatepass")).decode()
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=timeout, source_address=(source, 0) if source else None)
        given = {"Authorization": f"Basic {credential}", "Content-Type": "application/json", **dict(fields)}
        try:
            connection.request(method, target, body, given)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def ask(self, target):
        """Returns the document of a GET of the operator API."""
        connection = http.client.HTTPConnection("gateway", timeout=60)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(self.directory / "control.sock"))
        connection.request("GET", target)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return json.loads(text)

    def records(self, kind=None):
        """Returns the records of the journal."""
        found = []
        for path in sorted((self.directory / "journal").glob("*.jsonl")):
            for line in path.read_bytes().split(b"\n"):
                if line.startswith(b"{"):
                    try:
                        found.append(json.loads(line))
                    except ValueError:
                        pass
        return [record for record in found if kind in (None, record.get("kind"))]

    def token(self, user, device="a phone"):
        """Begins a session of the API, and returns its token; None if it was refused."""
        status, body = self.call("POST", "/auth/token", user, json.dumps({"device": device}))
        return json.loads(body).get("access_token") if status == 200 else None

    def register(self, user):
        """Registers a device."""
        handle = secrets.token_hex(32)
        _, reserved = self.call("POST", f"/api/register?handle={handle}", user)
        device = {"Platform": "apns", "Handle": handle, "Tags": []}
        return self.call("PUT", f"/api/register/{json.loads(reserved)}", user, json.dumps(device))[0]

    def send(self, sender, recipient, fields=()):
        return self.call("POST", f"/api/notifications?pns=apns&to_tag={recipient}", sender, '"hello"', fields)[0]

    def resident(self):
        """The resident memory of the process in MiB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024

    def stop(self):
        """Stops the process, and removes its directory. Returns the status of its exit."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            status = self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        return status
