"""The honest client beside an attack, and measurements of the gateway's process, for the programs of Tests/Attacks."""

import asyncio
import os
import pathlib
import ssl
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Faults" / "lib"))
import bench  # noqa: E402  (the import needs the path above)

ASK = b"GET /auth/whoami HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Basic YWxpY2U6YWxpY2U=\r\n\r\n"
HONEST = "127.0.0.2"


class Honest:
    """A client that repeats a call on one connection and records the latency of each response."""

    def __init__(self, port, source=HONEST):
        self.port = port
        self.source = source
        self.seconds = []
        self.failures = []

    async def run(self, pause=0.005):
        """Repeats the call until it is cancelled. Counts a lost connection as a failure and opens a new one."""
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(self.source, 0))
                try:
                    while True:
                        began = time.monotonic()
                        await self.ask(reader, writer)
                        self.seconds.append(time.monotonic() - began)
                        await asyncio.sleep(pause)
                finally:
                    writer.close()
            except (OSError, asyncio.IncompleteReadError, ValueError) as error:
                self.failures.append(repr(error))
                await asyncio.sleep(0.05)

    @staticmethod
    async def ask(reader, writer):
        """Makes one call, whose response must have status 200."""
        writer.write(ASK)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = int(head.lower().split("content-length: ")[1].split("\r\n")[0])
        await reader.readexactly(length)
        if not head.startswith("HTTP/1.1 200 "):
            raise ValueError(head.split("\r\n", 1)[0])

    async def ask_once(self):
        """Makes one call on a new connection; returns its duration, or None if there was no valid response."""
        began = time.monotonic()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(self.source, 0))
            try:
                await asyncio.wait_for(self.ask(reader, writer), 5)
            finally:
                writer.close()
        except (OSError, asyncio.IncompleteReadError, ValueError, TimeoutError, asyncio.TimeoutError):
            return None
        return time.monotonic() - began

    def percentile(self, share):
        """Returns the latency in milliseconds at the given share, from 0 to 1."""
        ordered = sorted(self.seconds)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("inf")


def established(port, source="127.0.0.1"):
    """Returns the client ports of the connections that the gateway has accepted from an address and not closed."""
    def end(text):
        address, number = text.split(":")
        return ".".join(str(byte) for byte in reversed(bytes.fromhex(address))), int(number, 16)

    ports = set()
    with open("/proc/net/tcp", encoding="ascii") as table:
        next(table)
        for line in table:
            fields = line.split()
            # 01 is ESTABLISHED: the gateway has not closed the connection. A connection in the listen queue has no inode yet.
            if fields[3] == "01" and fields[9] != "0" and end(fields[1]) == ("127.0.0.1", port) and end(fields[2])[0] == source:
                ports.add(end(fields[2])[1])
    return ports


def processor_seconds(pid):
    """Returns the processor time of a process in seconds."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Control:
    """A bare server in its own process, and an honest client of it. They measure the machine's own latency at the moment."""

    SERVER = """
import asyncio
async def serve(reader, writer):
    try:
        while await reader.readuntil(b"\\r\\n\\r\\n"):
            writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
    except (OSError, asyncio.IncompleteReadError):
        writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""

    @classmethod
    async def start(cls):
        """Starts the server and its client."""
        control = cls()
        control.process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", cls.SERVER, stdout=asyncio.subprocess.PIPE)
        control.client = Honest(int(await control.process.stdout.readline()))
        control.asking = asyncio.create_task(control.client.run())
        return control

    async def stop(self):
        """Stops the client and the server."""
        self.asking.cancel()
        await asyncio.gather(self.asking, return_exceptions=True)
        self.process.kill()
        await self.process.wait()

    def check_latency(self, name, honest, problems, limit=50):
        """Compares an honest client's p99 with a limit in milliseconds, to which three times the bare server's p99 is added. Clears
        the measurements; returns a summary."""
        allowed = limit + 3 * self.client.percentile(0.99)
        slow = honest.percentile(0.99)
        if honest.failures:
            problems.append(f"{name}: the honest client failed {len(honest.failures)} times: {honest.failures[0]}")
        if slow >= allowed:
            problems.append(f"{name}: the honest client's p99 is {slow:.1f} ms; the limit on this machine at the moment is {allowed:.1f} ms")
        summary = f"honest p99 {slow:.1f} ms of {len(honest.seconds)} calls, bare server's {self.client.percentile(0.99):.1f} ms"
        for client in (honest, self.client):
            client.failures.clear()
            client.seconds.clear()
        return summary


def certificate(directory):
    """Creates a self-signed certificate for localhost; returns TLS contexts of clients that offer HTTP/1.1 and HTTP/2."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", directory / "key.pem",
         "-out", directory / "cert.pem"], check=True, capture_output=True)
    (directory / "key.pem").chmod(0o600)
    contexts = []
    for protocol in ("http/1.1", "h2"):
        context = ssl.create_default_context(cafile=directory / "cert.pem")
        context.set_alpn_protocols([protocol])
        contexts.append(context)
    return contexts
