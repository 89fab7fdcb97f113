"""A gateway process, a counting backend, and clients that send without a pause, for the programs of Tests/Faults."""

import argparse
import asyncio
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

USERS = 'users:\n  alice: { hash: "$5$rounds=1000$alice$20.kuhUgjZX.hvUjrGqQVL1XUbt.G8CccOg9cU1M3/3" }\n'
REQUEST = (
    b"POST /api/notifications?pns=apns&to_tag=bob HTTP/1.1\r\nHost: gateway.test\r\n"
    b"Authorization: Basic YWxpY2U6YWxpY2U=\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n\"hi\""
)
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


def arguments(full, reduced):
    """Parses the options that all programs have in common."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, help="the gateway's program")
    parser.add_argument("--full", action="store_true", help=f"run {full} rounds instead of {reduced}")
    parser.add_argument("--rounds", type=int, help="run this many rounds")
    options = parser.parse_args()
    options.rounds = options.rounds or (full if options.full else reduced)
    options.program = str(pathlib.Path(options.program).resolve())
    return options


class Counter(asyncio.Protocol):
    """The backend, which records the id of every call that reaches it."""

    seen = []

    def connection_made(self, transport):
        self.transport = transport
        self.rest = b""

    def data_received(self, data):
        self.rest += data
        while (end := self.rest.find(b"\r\n\r\n")) >= 0:
            head = self.rest[:end].decode("latin-1")
            length = int(re.search(r"(?i)\r\ncontent-length: *(\d+)", head)[1])
            if len(self.rest) < end + 4 + length:
                return
            self.rest = self.rest[end + 4 + length :]
            Counter.seen.append(re.search(r"(?i)\r\nx-request-id: *(\S+)", head)[1])
            self.transport.write(RESPONSE)


class Client(asyncio.Protocol):
    """A client that sends again as soon as it receives a response."""

    statuses = {}

    def connection_made(self, transport):
        self.transport = transport
        self.rest = b""
        transport.write(REQUEST)

    def data_received(self, data):
        self.rest += data
        while (end := self.rest.find(b"\r\n\r\n")) >= 0:
            head = self.rest[:end].decode("latin-1")
            length = int((re.search(r"(?i)\r\ncontent-length: *(\d+)", head) or [0, 0])[1])
            if len(self.rest) < end + 4 + length:
                return
            self.rest = self.rest[end + 4 + length :]
            status = int(head[9:12])
            Client.statuses[status] = Client.statuses.get(status, 0) + 1
            if status == 200:
                self.transport.write(REQUEST)
            else:
                # A rejection is immediate: without a pause the load would consist of rejections only.
                asyncio.get_running_loop().call_later(0.02, self.again)

    def again(self):
        if not self.transport.is_closing():
            self.transport.write(REQUEST)


class Gateway:
    """A `notify-gateway serve` process with its own directory; its journal may be elsewhere."""

    def __init__(
        self, program, backend_port, journal=None, minimum_free="0", listen='[{ address: "127.0.0.1:0" }]', more="",
        before=(),
    ):
        """`listen` and `more` are parts of the configuration; `before` is a command that starts the gateway."""
        self.before = list(before)
        self.program = program
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="gateway-faults-"))
        self.journal = pathlib.Path(journal) if journal else self.directory / "journal"
        (self.directory / "users.yaml").write_text(USERS)
        (self.directory / "users.yaml").chmod(0o600)
        (self.directory / "gateway.yaml").write_text(
            f"""
listen: {listen}
admin: {{ address: "127.0.0.1:0" }}
backend: {{ url: "http://127.0.0.1:{backend_port}" }}
authenticators: [{{ static-users: {{ file: users.yaml }} }}]
policy: {{ send: [{{ from: "*", to: "*" }}] }}
limits: []
overload: {{ calls-per-user: 100000, calls-per-address: 100000 }}
journal: {{ directory: "{self.journal}", signing-key: journal.key, minimum-free: {minimum_free} }}
ledger: {{ file: ledger.sqlite }}
log: {{ level: notice }}
{more}
"""
        )

    async def start(self, *options):
        self.process = await asyncio.create_subprocess_exec(
            *self.before, self.program, "serve", "--config", str(self.directory / "gateway.yaml"), *options,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )
        self.log = ""
        while line := (await self.process.stderr.readline()).decode():
            self.log += line
            if "Gateway started" in line:
                listeners = re.search(r'"listeners":"([^"]*)"', line)[1]
                self.ports = [int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", listeners)]
                self.port = self.ports[0]
                self.admin_port = int(re.search(r'"admin":"127\.0\.0\.1:(\d+)"', line)[1])
                self.reading = asyncio.create_task(self.drain())
                return
        raise SystemExit(f"the gateway did not start:\n{self.log}")

    async def drain(self):
        while data := await self.process.stderr.read(65536):
            self.log += data.decode()

    async def readiness(self, seconds=10):
        """Returns the status of GET /health/ready, or 0 without a response, and the duration of the request."""
        began = now()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.admin_port)
            writer.write(b"GET /health/ready HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            line = await asyncio.wait_for(reader.readline(), seconds)
            writer.close()
            return int(line.split()[1]), now() - began
        except (asyncio.TimeoutError, OSError, IndexError):
            return 0, now() - began

    async def load(self, connections):
        """Opens the given number of clients and returns their transports."""
        loop = asyncio.get_running_loop()
        return [(await loop.create_connection(Client, "127.0.0.1", self.port))[0] for _ in range(connections)]

    async def kill(self):
        self.process.kill()
        await self.process.wait()

    async def stop(self):
        self.process.terminate()
        await self.process.wait()

    def intents(self):
        """Returns the calls that have an intent in an intact line, whose hash is valid. Ignores a torn last line."""
        found = set()
        for segment in sorted(self.journal.glob("journal-*.jsonl")):
            for line in segment.read_bytes().split(b"\n"):
                body, _, tail = line.rpartition(b',"hash":"')
                if b'"kind":"intent"' in body and tail == hashlib.sha256(body).hexdigest().encode() + b'"}':
                    found.add(json.loads(line)["call"])
        return found

    def verify(self):
        """Runs `audit verify`; returns whether the journal is intact, and the command's output."""
        done = subprocess.run(
            [self.program, "audit", "verify", "--config", str(self.directory / "gateway.yaml")],
            capture_output=True, text=True, check=False,
        )
        return done.returncode == 0, (done.stdout if done.returncode == 0 else done.stdout + done.stderr).strip()

    def remove(self):
        shutil.rmtree(self.directory, ignore_errors=True)


async def backend():
    """Starts the backend; returns it and its port."""
    server = await asyncio.get_running_loop().create_server(Counter, "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1]


def finish(name, problems, figures):
    """Prints the result and exits."""
    print(f"{name}: {figures}" + "".join(f"\n  {problem}" for problem in problems[:20]))
    sys.exit(1 if problems else 0)


def skip(name, reason):
    """Prints the reason why this machine cannot run the test, and exits with 0."""
    print(f"{name}: skipped: {reason}")
    sys.exit(0)


class LoopDisk:
    """A mounted ext4 file system in a file. It needs root."""

    def __init__(self, mebibytes):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="gateway-disk-"))
        self.image = self.directory / "image"
        self.mount = self.directory / "mount"
        self.mount.mkdir()
        self.mounted = False
        with self.image.open("wb") as file:
            file.truncate(mebibytes << 20)

    def obstacle(self):
        """Mounts the file system; returns None, or the reason why that failed."""
        for command in (
            ["mkfs.ext4", "-q", "-F", "-m", "0", str(self.image)], ["mount", "-o", "loop", str(self.image), str(self.mount)],
        ):
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
            except FileNotFoundError:
                return f"{command[0]} is missing"
            if done.returncode != 0:
                return f"{command[0]}: {done.stderr.strip()}"
        self.mounted = True
        return None

    def remove(self):
        if self.mounted:
            subprocess.run(["umount", str(self.mount)], check=False)
        shutil.rmtree(self.directory, ignore_errors=True)


def now():
    return time.monotonic()
