"""Compares the operator API of a gateway with its description. See ../README.md."""

import argparse
import base64
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
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
problems = []


def expect(what, found, wanted):
    """Records a problem unless both are equal."""
    if found != wanted:
        problems.append(f"{what}: {found!r}, not {wanted!r}")


class Gateway:
    """A `notify-gateway serve` process with the embedded backend, in a directory of its own."""

    def __init__(self, program):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="gateway-operators-"))
        self.program = program
        secret = base64.b64encode(secrets.token_bytes(48)).decode()
        self.write("token-keys.yaml", f'keys: [{{ id: k, algorithm: HS256, secret: "{secret}" }}]\n')
        self.write("users.yaml", "users: {}\n")
        self.write(
            "gateway.yaml",
            """
listen: [{ address: "127.0.0.1:0" }]
admin: { address: "127.0.0.1:0" }
control: control.sock
backend: { url: embedded }
authenticators:
  - hmac-token: { keys: token-keys.yaml }
  - static-users: { file: users.yaml }
policy: { send: [{ from: "*", to: "*" }] }
limits: [{ name: pair, per: [sender, recipient], rate: 2/h }]
journal: { directory: journal, minimum-free: 0 }
ledger: { file: ledger.sqlite }
drain: { grace: 0s }
""",
        )
        for user in ("alice", "bob"):
            subprocess.run(
                [program, "users", "add", user, "--config", "gateway.yaml"],
                cwd=self.directory, input=f"{user}-secret\n", text=True, check=True, stderr=subprocess.DEVNULL,
            )
        self.log = open(self.directory / "log", "w+b")
        self.process = subprocess.Popen(
            [program, "serve", "--config", "gateway.yaml"], cwd=self.directory, stderr=self.log, stdout=self.log
        )
        self.port = self.started()

    def write(self, name, text):
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o600)

    def started(self):
        """Returns the port of the listener once the gateway has started."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            found = re.search(r'"listeners":"\[127\.0\.0\.1:(\d+)\]"', self.text())
            if found:
                return int(found.group(1))
            time.sleep(0.05)
        sys.exit(f"The gateway did not start:\n{self.text()}")

    def text(self):
        return (self.directory / "log").read_text()

    def call(self, method, target, user, password=None, body=None):
        """Makes a call at the public listener and returns its status and body."""
        credential = base64.b64encode(f"{user}:{password or user + '-secret'}".encode()).decode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        fields = {"Authorization": f"Basic {credential}", "Content-Type": "application/json"}
        connection.request(method, target, body, fields)
        response = connection.getresponse()
        result = response.status, response.read()
        connection.close()
        return result

    def request(self, method, target, body=None):
        """Makes a request of the operator API and returns its status and document."""
        connection = http.client.HTTPConnection("gateway", timeout=60)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(self.directory / "control.sock"))
        headers = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, target, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, json.loads(text) if text else None

    def fill(self):
        """Makes calls, so that the lists have items."""
        for user in ("alice", "bob"):
            handle = secrets.token_hex(32)
            _, reserved = self.call("POST", f"/api/register?handle={handle}", user)
            device = {"Platform": "apns", "Handle": handle, "Tags": []}
            self.call("PUT", f"/api/register/{json.loads(reserved)}", user, body=json.dumps(device))
            self.call("POST", "/auth/token", user, body='{"device":"a phone"}')
        for _ in range(4):
            self.call("POST", "/api/notifications?pns=apns&to_tag=bob", "alice", body='"hello"')
        for number in range(12):
            self.call("GET", "/auth/whoami", "bob", password=f"wrong-{number}")

    def stop(self):
        self.process.terminate()
        expect("the exit status of the gateway", self.process.wait(timeout=60), 0)
        shutil.rmtree(self.directory)


def proxy(path):
    """Forwards connections from a port of 127.0.0.1 to the Unix socket, and returns the port."""

    def copy(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def serve(client):
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(path)
            forward = threading.Thread(target=copy, args=(client, server), daemon=True)
            forward.start()
            copy(server, client)
            client.close()

    def accept():
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def check_backup(gateway):
    expect("a backup", gateway.request("POST", "/v1/backups", {"target": "/var/backups"}), (204, None))
    for body, status in [({"file": "/copy"}, 400), ({"target": 1}, 400), ([], 400)]:
        found, document = gateway.request("POST", "/v1/backups", body)
        expect(f"the status of a backup with {body}", found, status)
        expect(f"the document of a backup with {body}", document["status"], status)


def check_events(gateway):
    """Follows the journal, makes a change, and connects again after the event."""

    def follow(fields):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(30)
        client.connect(str(gateway.directory / "control.sock"))
        client.sendall(f"GET /v1/events HTTP/1.1\r\nHost: gateway\r\n{fields}\r\n".encode())
        return client

    def receive(client, wanted):
        text = ""
        while wanted not in text:
            piece = client.recv(65536)
            if not piece:
                problems.append(f"the events ended before {wanted!r}: {text[-500:]!r}")
                break
            text += piece.decode()
        return text

    with follow("") as client:
        receive(client, ":\n\n")
        expect("a lift", gateway.request("DELETE", "/v1/bans?address=192.0.2.7")[0], 200)
        event = receive(client, "192.0.2.7")
    number = int(re.search(r"id: (\d+)\nevent: record\ndata: {\"seq\":\1,", event).group(1))
    with follow(f"Last-Event-ID: {number - 1}\r\n") as client:
        again = receive(client, "192.0.2.7")
        expect("the first event after a new connection", f"id: {number}\n" in again, True)
    with follow("Last-Event-ID: x\r\n") as client:
        receive(client, "HTTP/1.1 400 ")
    crowd = [follow("") for _ in range(8)]
    for client in crowd:
        receive(client, ":\n\n")
    with follow("") as client:
        receive(client, "HTTP/1.1 503 ")
    for client in crowd:
        client.close()


def check_pages(gateway):
    """Reads the sends one by one, and compares them with a page of all."""
    _, everything = gateway.request("GET", "/v1/sends?limit=1000")
    found, cursor = [], ""
    while True:
        _, page = gateway.request("GET", f"/v1/sends?limit=1{cursor}")
        found += page["items"]
        if "next" not in page:
            break
        cursor = f"&cursor={page['next']}"
    expect("the sends in pages of one", found, everything["items"])
    expect("their results", sorted(send["result"] for send in found), ["accepted"] * 2 + ["rate-limited"] * 2)
    expect("their recipients", {tuple(send["to"]) for send in found}, {("bob",)})
    for query, count in [
        ("from=alice", 4), ("from=bob", 0), ("to=BOB", 4), ("platform=apns", 4), ("platform=wns", 0),
        ("result=accepted", 2), ("since=2020-01-01T00:00:00Z", 4), ("until=2020-01-01T00:00:00Z", 0),
    ]:
        _, page = gateway.request("GET", f"/v1/sends?{query}")
        expect(f"the number of sends with {query}", len(page["items"]), count)
    status, call = gateway.request("GET", f"/v1/calls/{found[0]['call']}")
    expect("a call", (status, call["call"], len(call["records"]) > 0), (200, found[0]["call"], True))
    status, pairs = gateway.request("GET", "/v1/statistics/pairs?from=alice")
    expect("the pairs of alice", status, 200)
    expect("the minutes", gateway.request("GET", "/v1/statistics/minutes")[0], 200)
    expect("the segments", len(gateway.request("GET", "/v1/journal/segments")[1]["items"]), 1)
    expect("the verification", gateway.request("GET", "/v1/journal/verification")[1]["good"], True)
    _, user = gateway.request("GET", "/v1/users/bob")
    counts = {name: len(user[name]) for name in ("registrations", "sessions", "received")}
    expect("what bob has", counts, {"registrations": 1, "sessions": 1, "received": 2})
    expect("whether bob is banned", bool(user["bans"]), True)


def check_schema(gateway, examples):
    port = proxy(str(gateway.directory / "control.sock"))
    checks = [
        "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
        "response_schema_conformance", "negative_data_rejection", "unsupported_method",
    ]
    command = [
        str(pathlib.Path(sys.executable).parent / "schemathesis"), "run", str(ROOT / "docs/operator-api.yaml"),
        "--url", f"http://127.0.0.1:{port}", "--checks", ",".join(checks), "--max-examples", str(examples),
        "--exclude-operation-id", "followJournal", "--workers", "1",
        "--phases", "examples,coverage,fuzzing", "--generation-deterministic", "--request-timeout", "30", "--no-color",
    ]
    result = subprocess.run(command, cwd=gateway.directory, capture_output=True, text=True)
    print(result.stdout, file=sys.stderr)
    if result.returncode:
        problems.append(f"schemathesis exited with {result.returncode}: {result.stderr[-2000:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--full", action="store_true", help="generate ten times as many requests")
    arguments = parser.parse_args()
    gateway = Gateway(arguments.program.resolve())
    try:
        gateway.fill()
        for resource in ("bans", "limits", "sessions", "registrations", "sends", "refusals"):
            status, document = gateway.request("GET", f"/v1/{resource}")
            expect(f"whether {resource} are listed", (status, bool(document["items"])), (200, True))
        check_backup(gateway)
        check_pages(gateway)
        check_events(gateway)
        check_schema(gateway, 500 if arguments.full else 50)
        expect("whether the gateway still runs", gateway.process.poll(), None)
    finally:
        if gateway.process.poll() is None:
            gateway.stop()
        else:
            problems.append(f"the gateway ended: {gateway.text()[-2000:]}")
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


main()
