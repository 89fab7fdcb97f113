"""Clients, a counting backend and restarts, for the scripts that put a proxy or a client library before the gateway."""

import argparse
import asyncio
import base64
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

USERS = 'users:\n  alice: { hash: "$5$rounds=1000$alice$20.kuhUgjZX.hvUjrGqQVL1XUbt.G8CccOg9cU1M3/3" }\n'
LOGIN = "Basic " + base64.b64encode(b"alice:alice").decode()
TARGET = "/api/notifications?pns=apns&to_tag=bob"
STRANGER = "127.0.9.9"


class Backend:
    """A backend that counts how often each message reaches it. A message is `id NUMBER`."""

    def __init__(self):
        self.received = {}

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=1024)
        self.port = self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = int((re.search(r"(?i)\r\ncontent-length: *(\d+)", head) or [0, 0])[1])
                body = (await reader.readexactly(length)).decode("utf-8", "replace")
                for name in re.findall(r"id [\w.-]+", body):
                    self.received[name] = self.received.get(name, 0) + 1
                await asyncio.sleep(random.uniform(0, 0.02))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


class Gateway:
    """A gateway whose listening socket outlives its process, as under systemd."""

    def __init__(self, program, backend, tls=False):
        self.program = str(pathlib.Path(program).resolve())
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="gateway-field-"))
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(4096)
        self.port = self.socket.getsockname()[1]
        (self.directory / "users.yaml").write_text(USERS)
        (self.directory / "users.yaml").chmod(0o600)
        if tls:
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                 "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                 "-keyout", self.directory / "key.pem", "-out", self.directory / "cert.pem"],
                check=True, stderr=subprocess.DEVNULL)
            (self.directory / "key.pem").chmod(0o600)
        layer = "tls: { certificate: cert.pem, key: key.pem }" if tls else "http2: true, trusted-proxies: [127.0.0.1/32], plaintext-credentials: allow"
        (self.directory / "gateway.yaml").write_text(f"""
listen: [{{ address: "127.0.0.1:{self.port}", {layer} }}]
admin: {{ address: "127.0.0.1:0" }}
backend: {{ url: "http://127.0.0.1:{backend.port}" }}
authenticators: [{{ static-users: {{ file: users.yaml }} }}]
policy: {{ send: [{{ from: "*", to: "*" }}] }}
limits: []
overload: {{ calls-per-user: 100000, calls-per-address: 100000 }}
journal: {{ directory: journal, minimum-free: 0 }}
ledger: {{ file: ledger.sqlite }}
drain: {{ grace: 1s }}
log: {{ level: notice }}
""")

    async def start(self):
        descriptor = self.socket.fileno()
        launch = f'exec 3<&{descriptor}; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"'
        self.process = await asyncio.create_subprocess_exec(
            "bash", "-c", launch, "bash", self.program, "serve", "--config", str(self.directory / "gateway.yaml"),
            pass_fds=[descriptor], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        log = ""
        while line := (await self.process.stderr.readline()).decode():
            log += line
            if "Gateway started" in line:
                self.reading = asyncio.create_task(self.process.stderr.read())
                return
        raise SystemExit("the gateway did not start:\n" + log)

    async def stop(self):
        """Returns the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return await asyncio.wait_for(self.process.wait(), 90)

    async def restart(self):
        status = await self.stop()
        await self.start()
        return status

    def remove(self):
        if self.process.returncode is None:
            self.process.kill()
        self.socket.close()
        shutil.rmtree(self.directory, ignore_errors=True)


class Result:
    """What clients sent and what they got."""

    def __init__(self):
        self.sent, self.repeated, self.answered, self.failures = 0, 0, set(), {}

    def failed(self, reason):
        self.failures[reason] = self.failures.get(reason, 0) + 1

    def judge(self, checks, name, backend):
        """Checks that every call was answered with 200, and that the backend got each message once."""
        twice = sum(1 for count in backend.received.values() if count > 1)
        missing = sum(1 for message in self.answered if message not in backend.received)
        lost = self.sent - len(self.answered)
        checks.expect(
            f"{name}: {self.sent} calls, 0 lost, 0 twice", self.sent > 0 and lost == twice == missing == 0,
            f"{lost} lost {self.failures}, {twice} twice, {missing} answered but not delivered")


class Honest:
    """A client with a login on a persistent HTTP/1.1 connection, from an address of its own."""

    def __init__(self, number, port, result, pause):
        self.number, self.port, self.result, self.pause = number, port, result, pause
        self.source = f"127.0.{1 + number // 250}.{1 + number % 250}"

    async def run(self, until):
        reader = writer = None
        count = 0
        while time.monotonic() < until():
            count += 1
            message = f"id {os.getpid()}-{self.number}-{count}"
            body = f'"{message}"'.encode()
            request = (
                f"POST {TARGET} HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: {LOGIN}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body
            self.result.sent += 1
            try:
                if writer is None:
                    reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(self.source, 0))
                writer.write(request)
                head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)).decode("latin-1").lower()
                length = re.search(r"\r\ncontent-length: *(\d+)", head)
                await reader.readexactly(int(length[1]) if length else 0)
                if head.split()[1] == "200":
                    self.result.answered.add(message)
                else:
                    self.result.failed(head.split()[1])
                if "connection: close" in head or not length:
                    writer.close()
                    writer = None
            except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, TimeoutError) as error:
                self.result.failed(type(error).__name__)
                if writer is not None:
                    writer.close()
                writer = None
            await asyncio.sleep(random.uniform(0, 2 * self.pause))
        if writer is not None:
            writer.close()


async def stranger(port, request, until, pause):
    """Repeats a request that `request(reader, writer)` performs, from one address without a login. Returns the count."""
    count = 0
    while time.monotonic() < until():
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(STRANGER, 0))
        except OSError:
            await asyncio.sleep(0.05)
            continue
        try:
            await asyncio.wait_for(request(reader, writer), 10)
        except (OSError, asyncio.IncompleteReadError, asyncio.TimeoutError, TimeoutError):
            pass
        count += 1
        writer.transport.abort()
        await asyncio.sleep(random.uniform(0, 2 * pause))
    return count


def reset_on_close(writer):
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def abort(reader, writer):
    """Disconnects within a request, or before its response."""
    reset_on_close(writer)
    is_complete = random.random() < 0.5
    writer.write(
        f"POST {TARGET} HTTP/1.1\r\nHost: gateway.test\r\nContent-Type: application/json\r\n"
        f"Content-Length: 2000\r\n\r\n".encode() + b"x" * (2000 if is_complete else 1000))
    await writer.drain()
    await asyncio.sleep(random.choice([0, 0.001, 0.005]))


async def rejected_with_trailers(reader, writer):
    """Sends a request that is rejected at its head or in its body, and its trailers a moment later."""
    writer.write(
        f"POST {TARGET} HTTP/1.1\r\nHost: gateway.test\r\nTransfer-Encoding: chunked\r\nTrailer: x-end\r\n".encode()
        + random.choice([b"Expect: miracles\r\n\r\n", b"X-Large: " + b"v" * 9000 + b"\r\n\r\n", b"\r\n"]))
    for _ in range(random.choice([1, 2])):
        writer.write(b"2328\r\n" + b"x" * 9000 + b"\r\n")
        await writer.drain()
        await asyncio.sleep(random.choice([0, 0.0005, 0.002, 0.01]))
    if random.random() < 0.1:
        await asyncio.sleep(2)
    writer.write(b"0\r\nX-End: 1\r\n\r\n")
    await writer.drain()
    await reader.read(100)


async def small_pieces(reader, writer):
    """Sends a body byte by byte."""
    reset_on_close(writer)
    writer.write(f"POST {TARGET} HTTP/1.1\r\nHost: gateway.test\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    for _ in range(60):
        writer.write(b"1\r\nx\r\n")
        await writer.drain()
        await asyncio.sleep(0.002)


async def beside(front, backend, attack, seconds, clients, attackers=4):
    """Runs honest clients beside attackers. Returns what the honest ones got, and the number of attacks."""
    backend.received.clear()
    end = time.monotonic() + seconds
    result = Result()
    honest = [Honest(number, front, result, 0.25).run(lambda: end) for number in range(clients)]
    attacks = [stranger(front, attack, lambda: end, 0.01) for _ in range(attackers)]
    counts = await asyncio.gather(*honest, *attacks)
    return result, sum(counts[clients:])


async def through_restarts(front, gateway, backend, count, clients):
    """Runs honest clients while the gateway restarts. Returns what they got, and the exit statuses."""
    backend.received.clear()
    end = [float("inf")]
    result = Result()
    honest = [asyncio.create_task(Honest(number, front, result, 0.1).run(lambda: end[0])) for number in range(clients)]
    await asyncio.sleep(1)
    statuses = []
    for _ in range(count):
        statuses.append(await gateway.restart())
        await asyncio.sleep(0.5)
    end[0] = time.monotonic()
    await asyncio.gather(*honest)
    return result, statuses


async def proxy(command, port, directory):
    """Starts a proxy and waits until it accepts connections."""
    log = open(pathlib.Path(directory) / "proxy.log", "wb")
    process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log)
    for _ in range(200):
        try:
            (await asyncio.open_connection("127.0.0.1", port))[1].close()
            return process
        except OSError:
            if process.returncode is not None:
                break
            await asyncio.sleep(0.1)
    raise SystemExit("the proxy did not start:\n" + (pathlib.Path(directory) / "proxy.log").read_text())


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def check_proxy(options, checks, name, configure, protocols=("h2", "h1")):
    """Checks a proxy. `configure(protocol, port, gateway_port, directory)` writes its configuration and returns its
    command."""
    seconds, clients, restarts = (60, 100, 20) if options.full else (4, 25, 2)
    backend = Backend()
    await backend.start()
    for protocol in protocols:
        gateway = Gateway(options.program, backend)
        await gateway.start()
        front, process = free_port(), None
        try:
            process = await proxy(configure(protocol, front, gateway.port, gateway.directory), front, gateway.directory)
            if protocol == "h2":
                for attack in (abort, rejected_with_trailers, small_pieces):
                    result, count = await beside(front, backend, attack, seconds, clients)
                    what = attack.__name__.replace("_", " ")
                    result.judge(checks, f"{name}, {protocol}, beside {count} times: {what}", backend)
            result, statuses = await through_restarts(front, gateway, backend, restarts, clients)
            result.judge(checks, f"{name}, {protocol}, {restarts} restarts", backend)
            checks.expect(f"{name}, {protocol}: every stop exits with 0", not any(statuses), str(statuses))
        finally:
            if process is not None:
                process.terminate()
                await process.wait()
            gateway.remove()
    backend.server.close()


def arguments():
    """Parses the options that all scripts have in common."""
    parser = argparse.ArgumentParser()
    root = pathlib.Path(__file__).resolve().parents[3]
    parser.add_argument("--program", default=root / ".build/debug/notify-gateway", help="the gateway's program")
    parser.add_argument("--full", action="store_true", help="run full counts")
    return parser.parse_args()
