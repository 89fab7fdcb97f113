"""The store, the relay before it, and the gateway of check.py."""

import base64
import contextlib
import http.client
import json
import logging
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import boto3
from moto import settings
from moto.server import ThreadedMotoServer

logging.getLogger("werkzeug").setLevel(logging.ERROR)

BUCKET = "audit-journals"
POLICY = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": ["s3:ListBucket"], "Resource": f"arn:aws:s3:::{BUCKET}"},
        {"Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject"], "Resource": f"arn:aws:s3:::{BUCKET}/node-a/*"},
    ],
}


def wait(what, condition, seconds=60):
    """Returns the first true result of the condition."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise SystemExit(f"waited {seconds} s for {what}")


class Store:
    """moto with a versioned bucket, an administrator, and the gateway's user with the documented permissions."""

    def __init__(self):
        self.server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        self.server.start()
        self.port = self.server.get_host_and_port()[1]
        iam = self.client("iam", "any", "any")
        self.gateway = self.user(iam, "gateway", POLICY)
        self.powerless = self.user(iam, "powerless", {**POLICY, "Statement": POLICY["Statement"][:1]})
        everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        administrator = self.user(iam, "administrator", {**POLICY, "Statement": [everything]})
        self.s3 = self.client("s3", *administrator)
        # From here on moto verifies signatures and policies.
        settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
        self.s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
        self.s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})

    def client(self, service, key, secret):
        return boto3.client(
            service, endpoint_url=f"http://127.0.0.1:{self.port}", region_name="eu-central-1",
            aws_access_key_id=key, aws_secret_access_key=secret)

    @staticmethod
    def user(iam, name, policy):
        iam.create_user(UserName=name)
        iam.put_user_policy(UserName=name, PolicyName="p", PolicyDocument=json.dumps(policy))
        key = iam.create_access_key(UserName=name)["AccessKey"]
        return key["AccessKeyId"], key["SecretAccessKey"]

    def versions(self):
        """Returns the key of each version of each object."""
        pages = self.s3.get_paginator("list_object_versions").paginate(Bucket=BUCKET)
        return sorted(version["Key"] for page in pages for version in page.get("Versions", []))

    def objects(self):
        """Returns the content of each object by its key."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
        keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
        return {key: self.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in keys}

    def put(self, key, content):
        self.s3.put_object(Bucket=BUCKET, Key=key, Body=content)

    def delete(self, key):
        self.s3.delete_object(Bucket=BUCKET, Key=key)


class Relay:
    """A TCP relay to the store that understands one request at a time.

    `mode` is `pass`, `refuse` (connections are closed), `tear` (an upload stops in its middle), or `swallow` (the store
    gets an upload, and its response is lost). `caught` is set when an upload has met `tear` or `swallow`. With `tls`, a context of
    `ssl`, the relay ends TLS.
    """

    def __init__(self, port, tls=None):
        self.target = port
        self.tls = tls
        self.mode = "pass"
        self.caught = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        if self.tls:
            try:
                client = self.tls.wrap_socket(client, server_side=True)
            except OSError:
                return
        with contextlib.suppress(ConnectionResetError), client, client.makefile("rb") as requests:
            while self.mode != "refuse" and (request := self.read(requests, client)):
                server = socket.create_connection(("127.0.0.1", self.target))
                with server, server.makefile("rb") as responses:
                    server.sendall(request)
                    # The server closes the connection after a response, so this is one response.
                    response = responses.read()
                if self.mode == "swallow" and request.startswith(b"PUT "):
                    return self.hold(client)
                try:
                    client.sendall(response)
                except OSError:
                    return

    def read(self, requests, client):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = requests.readline()
            if not line:
                return None
            head += line
        length = int((re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE) or [0, 0])[1])
        if self.mode == "tear" and length:
            requests.read(length // 2)
            return self.hold(client)
        body = requests.read(length)
        if len(body) < length:
            return None
        return head.replace(b"\r\n", b"\r\nConnection: close\r\n", 1) + body

    def hold(self, client):
        """Keeps the connection open until the peer closes it."""
        self.caught.set()
        while client.recv(65536):
            pass


class Gateway:
    """A gateway with the embedded backend in a directory of its own, whose configuration tests may rewrite."""

    def __init__(self, program, endpoint, credentials):
        self.program = program
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="gateway-archive-"))
        self.process = None
        self.runs = 0
        self.write("users.yaml", "users: {}\n")
        self.configure("gateway.yaml", endpoint, credentials)
        subprocess.run(
            [program, "users", "add", "alice", "--config", "gateway.yaml"], cwd=self.directory, input="alice-secret\n",
            text=True, check=True, stderr=subprocess.DEVNULL)

    def configure(self, name, endpoint, credentials, bucket=BUCKET, journal="journal", more=""):
        key, secret = credentials
        self.write("secret", secret + "\n")
        self.write(
            name,
            f"""
listen: [{{ address: "127.0.0.1:0", plaintext-credentials: allow }}]
admin: {{ address: "127.0.0.1:0" }}
control: control.sock
backend: {{ url: embedded }}
authenticators: [{{ static-users: {{ file: users.yaml }} }}]
policy: {{ send: [{{ from: "*", to: "*" }}] }}
limits: []
journal:
  directory: {journal}
  signing-key: journal.key
  minimum-free: 0
  archive:
    s3: {{ endpoint: "{endpoint}", region: eu-central-1, bucket: {bucket}, prefix: node-a, {more}
          access-key-id: {key}, secret-access-key: "${{file:secret}}" }}
ledger: {{ file: {journal}.sqlite }}
log: {{ level: info }}
drain: {{ grace: 0s }}
""")

    def write(self, name, text):
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o600)

    def start(self):
        self.runs += 1
        with open(self.directory / f"log-{self.runs}", "wb") as log:
            self.process = subprocess.Popen(
                [self.program, "serve", "--config", "gateway.yaml"], cwd=self.directory, stderr=log, stdout=log)

        def port(name):
            found = re.search(rf'"{name}":"\[?127\.0\.0\.1:(\d+)', self.log())
            if self.process.poll() is not None:
                raise SystemExit(f"the gateway ended:\n{self.log()}")
            return int(found[1]) if found else None

        self.port = wait("the start", lambda: port("listeners"))
        self.admin = port("admin")

    def log(self):
        return (self.directory / f"log-{self.runs}").read_text()

    def send(self, count):
        """Makes sends and returns their statuses."""
        fields = {
            "Authorization": "Basic " + base64.b64encode(b"alice:alice-secret").decode(),
            "Content-Type": "application/json"}
        statuses = set()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        for _ in range(count):
            connection.request("POST", "/api/notifications?pns=apns&to_tag=alice", '"hi"', fields)
            response = connection.getresponse()
            response.read()
            statuses.add(response.status)
        connection.close()
        return statuses

    def metric(self, name):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=30)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return float((re.search(rf"^{name} (\S+)$", text, re.MULTILINE) or [0, "nan"])[1])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)

    def kill(self):
        self.process.kill()
        self.process.wait(timeout=60)

    def segments(self):
        """Returns the path of each segment, in order."""
        return sorted((self.directory / "journal").glob("journal-*.jsonl"))

    def finished(self):
        """Returns the content of each finished segment by the key of its object."""
        return {f"node-a/{path.name}": path.read_bytes() for path in self.segments()[:-1]}

    def verify(self, configuration="gateway.yaml", *options):
        """Returns the exit status and the output of `audit verify --archive`."""
        done = subprocess.run(
            [self.program, "audit", "verify", "--archive", "--config", configuration, *options], cwd=self.directory,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        return done.returncode, done.stdout

    def remove(self):
        if self.process and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)
