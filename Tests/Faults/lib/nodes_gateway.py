"""A gateway that is one of several nodes on one store, started again whenever it ends, and the balancer before the nodes."""

import asyncio
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile

import bench
import phones
import registrar

# Users beside those of the phones: senders near a limit, senders with idempotency keys, users whom operators revoke, and users who
# register the same device at the same time.
LIMITED = ["limited0", "limited1"]
KEYED = ["keyed0", "keyed1"]
REVOKED = ["revoked0", "revoked1"]
CONTENDERS = ["contender0", "contender1"]
# The user whose logins show that a node changes the ledger.
PROBE = "probe"
OTHERS = KEYED + REVOKED + CONTENDERS + [PROBE]
# The limit of LIMITED: sends a second, and the burst. A gateway that is cut off allows the rate by itself for a second and a half,
# for which the bound has room.
RATE, BURST = 1, 10


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Node(phones.Gateway):
    """A gateway with fixed ports whose way to PostgreSQL is `link`."""

    # The users without a limit beside those of the phones.
    others = OTHERS

    def __init__(self, program, backend, link, number, keys_of=None):
        super().__init__(program, backend, link.directory, "cluster", "user: gateway, timeout: 2s", keys_of)
        self.link, self.number = link, number
        self.port, self.admin_port = free_port(), free_port()
        users = "".join(f'  {user}: {{ hash: "{phones.HASH}" }}\n' for user in phones.USERS + LIMITED + self.others)
        (self.directory / "users.yaml").write_text("users:\n" + users)
        exempt = ", ".join(phones.USERS + self.others)
        text = self.configuration.read_text()
        for old, new in (
            ('listen: [{ address: "127.0.0.1:0" }]', f'listen: [{{ address: "127.0.0.1:{self.port}" }}]'),
            ('admin: { address: "127.0.0.1:0" }', f'admin: {{ address: "127.0.0.1:{self.admin_port}" }}'),
            ("limits: []", f"limits: [{{ name: sends, per: sender, rate: {RATE}/s, burst: {BURST}, exempt: [{exempt}] }}]"),
        ):
            assert old in text, old
            text = text.replace(old, new)
        self.configuration.write_text(text)
        # The last lines of the log for each time that the gateway ended by itself, and the log of the runs before this one.
        self.ends, self.logs = [], ""
        self.is_wanted = False
        self.started = asyncio.Event()

    async def keep(self):
        """Starts the gateway, and again whenever it ends, as systemd does."""
        while True:
            while not self.is_wanted:
                await asyncio.sleep(0.05)
            try:
                await self.start()
                self.started.set()
                await self.process.wait()
                await self.reading
            except SystemExit:
                pass
            self.started.clear()
            self.logs += self.log
            if self.is_wanted:
                self.ends.append((bench.now(), self.log[-300:]))
                await asyncio.sleep(0.5)

    async def want(self):
        """Starts the gateway and returns once it listens."""
        self.is_wanted = True
        if not hasattr(self, "keeper"):
            self.keeper = asyncio.create_task(self.keep())
        try:
            await asyncio.wait_for(self.started.wait(), 60)
        except asyncio.TimeoutError:
            raise RuntimeError(f"node {self.number} does not start: {(self.logs + self.log)[-2000:]}") from None

    async def serves(self):
        """Returns whether the gateway is ready and makes a change in the ledger."""
        if not self.started.is_set() or (await self.readiness(2))[0] != 200:
            return False
        connection = registrar.Connection(self)
        status, _, _ = await connection.call("POST", "/auth/token", registrar.basic(PROBE), seconds=3)
        connection.close()
        return status == 200

    async def kill(self):
        self.is_wanted = False
        self.started.clear()
        self.signal(signal.SIGKILL)
        await self.process.wait()

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)

    def signal(self, number):
        # It may have ended by itself.
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    async def end(self):
        """Ends the gateway and removes its files."""
        if hasattr(self, "keeper"):
            self.keeper.cancel()
        if getattr(self, "process", None) and self.process.returncode is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            await self.process.wait()
        if not os.environ.get("KEEP"):
            self.remove()


class Balancer:
    """HAProxy before the nodes, as an unprivileged user. Calls go to nodes that are ready, and to any live one if none is."""

    def __init__(self, nodes):
        self.port = free_port()
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="gateway-haproxy-"))
        servers = "\n".join(
            f"    server node{node.number} 127.0.0.1:{node.port} check port {node.admin_port}" for node in nodes)
        # Beside a gateway's response, 503 is HAProxy's own when no node is live.
        (self.directory / "haproxy.cfg").write_text(f"""
global
    maxconn 1000
defaults
    mode http
    timeout connect 1s
    timeout client 60s
    timeout server 20s
    timeout check 1s
    retries 2
    option redispatch 1
    http-error status 503 content-type text/plain string "no node" hdr Retry-After 1
frontend calls
    bind 127.0.0.1:{self.port}
    use_backend live if {{ nbsrv(ready) eq 0 }}
    default_backend ready
backend ready
    balance roundrobin
    option httpchk GET /health/ready
    default-server inter 500ms fall 2 rise 1
{servers}
backend live
    balance roundrobin
    option httpchk GET /health/live
    default-server inter 500ms fall 2 rise 1
{servers}
""")

    @staticmethod
    def obstacle():
        """Returns why this machine cannot run it; None if it can."""
        return None if Balancer.program() else "the package haproxy is missing"

    @staticmethod
    def program():
        return shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")

    async def start(self, before):
        """Starts it with a command that gives up privileges."""
        if before:
            os.chown(self.directory, 65534, 65534)
        self.process = await asyncio.create_subprocess_exec(
            *before, self.program(), "-db", "-f", str(self.directory / "haproxy.cfg"), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd="/")
        end = bench.now() + 10
        while bench.now() < end:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.close()
                return
            except OSError:
                await asyncio.sleep(0.05)
        raise RuntimeError("HAProxy did not start")

    async def remove(self):
        if getattr(self, "process", None) and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
