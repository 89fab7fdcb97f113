"""Gateways whose sends wait: for a connection to a slow backend, for their turn, for the disk, and for the row of their key."""

import asyncio
import base64
import collections
import contextlib
import dataclasses
import json
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import bench
import phones
import postgresql
import registrar

DATABASE, ISSUER = "revocation", "https://issuer.test"
VICTIMS = 24
# The users who are revoked and those who are not; the users of the provider are in no file.
NAMES = [f"victim{number}" for number in range(VICTIMS)] + [f"other{number}" for number in range(VICTIMS)]
MEMBERS = 40
# The connections of a gateway to the backend, and the seconds that the backend takes for a send. Waiting sends therefore still wait
# a second after the revocation.
CONNECTIONS, PAUSE = 4, (0.2, 0.8)
# How long the slow disk takes for a write.
DISK = 1.2
TEXT = re.compile(rb"text-\d+\.")


class Reader(asyncio.StreamReader):
    """A reader that notes when the first byte of a request arrived."""

    first = None

    def feed_data(self, data):
        if self.first is None:
            self.first = bench.now()
        super().feed_data(data)


@dataclasses.dataclass
class Arrival:
    """A notification at the backend: its call, when its first byte arrived, and when it was answered."""

    call: str
    first: float
    answered: float = float("inf")


class Backend(registrar.Backend):
    """A backend that takes its time until it is released, and also notes how late it notes bytes."""

    def __init__(self, seed):
        super().__init__()
        self.arrivals = collections.defaultdict(list)
        # Of the bytes of a thread of its own, the time at which they were written, and how much later they were noted.
        self.lags = []
        self.released, self.is_ending = asyncio.Event(), False
        self.chance = random.Random(seed)

    async def start(self):
        self.server = await asyncio.get_running_loop().create_server(
            lambda: asyncio.StreamReaderProtocol(Reader(), self.serve), "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        self.probing = threading.Thread(target=self.probe, daemon=True)
        self.probing.start()
        return self

    async def serve(self, reader, writer):
        try:
            while True:
                reader.first = None
                method, target, fields, body = await registrar.read_message(reader)
                if target == "/probe":
                    self.lags.append((float(body), bench.now() - float(body)))
                    continue
                arrival = Arrival(fields["x-request-id"], reader.first)
                if found := TEXT.search(body):
                    self.arrivals[found[0].decode()].append(arrival)
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self.released.wait(), self.chance.uniform(*PAUSE))
                writer.write(self.response(method, target, fields, body))
                arrival.answered = bench.now()
                await writer.drain()
        except (OSError, EOFError, asyncio.IncompleteReadError):
            writer.transport.abort()

    def probe(self):
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            while not self.is_ending:
                text = b"%.6f" % bench.now()
                connection.sendall(b"PROBE /probe HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
                time.sleep(0.02)

    def lag(self, begin, end):
        """Returns how late the backend noted bytes of this time at most."""
        return max((late for written, late in self.lags if begin <= written <= end), default=0)

    def end(self):
        self.is_ending = True
        self.probing.join()
        self.server.close()


class Provider:
    """The keys of an OpenID provider, which signs tokens with the openssl command."""

    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="gateway-provider-"))
        self.key, self.keys = self.directory / "key.pem", self.directory / "keys.json"
        self.openssl("genrsa", "-out", self.key, "2048")
        modulus = bytes.fromhex(self.openssl("rsa", "-in", self.key, "-noout", "-modulus").decode().strip().partition("=")[2])
        key = {"kty": "RSA", "kid": "k", "alg": "RS256", "use": "sig", "n": self.encoded(modulus), "e": "AQAB"}
        self.keys.write_text(json.dumps({"keys": [key]}))

    @staticmethod
    def openssl(*arguments, data=b""):
        return subprocess.run(["openssl", *map(str, arguments)], input=data, capture_output=True, check=True).stdout

    @staticmethod
    def encoded(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    def token(self, user, issued, **more):
        claims = {"iss": ISSUER, "aud": "notify", "sub": user, "iat": issued, "exp": issued + 240} | more
        parts = [{"alg": "RS256", "kid": "k", "typ": "JWT"}, claims]
        text = ".".join(self.encoded(json.dumps(part).encode()) for part in parts)
        return text + "." + self.encoded(self.openssl("dgst", "-sha256", "-sign", self.key, data=text.encode()))


class Gateway(phones.Gateway):
    """A gateway with few connections to its backend, and with an authenticator for the provider's tokens."""

    def __init__(self, program, backend, provider, socket=None, keys_of=None):
        super().__init__(program, backend, socket, DATABASE, "user: gateway, timeout: 30s", keys_of)
        oidc = f'{{ oidc: {{ issuer: "{ISSUER}", audience: notify, jwks: "{provider.keys}", logout-audience: notify }} }}'
        members = ", ".join(f"member{number}" for number in range(MEMBERS))
        text = self.configuration.read_text()
        for old, new in (
            ('127.0.0.1:0" }]', '127.0.0.1:0", http2: true }]\nconnections: { per-address: 10000 }\nevent-loops: 2'),
            (f':{backend.port}" }}', f':{backend.port}", connections: {CONNECTIONS} }}'),
            ("token-keys.yaml } }]", f"token-keys.yaml }} }}, {oidc}]"),
            ('to: "*" }] }', f'to: "*" }}, {{ from: "*", to: "audience:crowd" }}] }}\naudiences: {{ crowd: [{members}] }}'),
        ):
            assert old in text, old
            text = text.replace(old, new)
        self.configuration.write_text(text)
        self.write_users()

    def write_users(self, without=None):
        """Replaces the users file."""
        lines = [f'  {name}: {{ hash: "{phones.HASH}" }}\n' for name in NAMES if name != without]
        file = self.directory / "next.yaml"
        file.write_text("users:\n" + "".join(lines))
        file.chmod(0o600)
        file.rename(self.directory / "users.yaml")

    def slow_down(self):
        """Lets each write of the journal take its time: strace delays it, as the tracer of a child that needs no privileges."""
        segment = self.journal / "journal-00000000000000000001.jsonl"
        self.before = [
            "strace", "-D", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e", "signal=none", "-P", str(segment), "-e",
            "trace=pwrite64", "-e", f"inject=pwrite64:delay_enter={int(DISK * 1e6)}"]

    def records(self):
        """Returns the intents of each call, and the results of its outcomes, as `audit` shows them."""
        intents, outcomes = collections.Counter(), collections.defaultdict(collections.Counter)
        options = ["--records", "--json", "--this-node", "--action", "send", "--rows", "10000000"]
        for record in map(json.loads, self.succeed("audit", "list", *options).splitlines()):
            if record["kind"] == "intent":
                intents[record["call"]] += 1
            elif record["kind"] == "outcome":
                outcomes[record["call"]][record["result"]] += 1
        return intents, outcomes


class World:
    """One gateway with SQLite, or three on a PostgreSQL server, of which the last one has a slow disk."""

    def __init__(self, program, is_shared, seed):
        self.program, self.is_shared, self.chance = program, is_shared, random.Random(seed)
        self.name = "three gateways" if is_shared else "one gateway"
        self.gateways, self.server, self.psql, self.slow = [], None, None, None

    async def start(self):
        self.provider = await asyncio.to_thread(Provider)
        self.backend = await Backend(self.chance.random()).start()
        if self.is_shared:
            self.server = postgresql.Server()
            await self.server.start()
            self.server.create_database(DATABASE)
        for number in range(3 if self.is_shared else 1):
            keys_of = self.gateways[0] if self.gateways else None
            socket = self.server.directory if self.server else None
            gateway = await asyncio.to_thread(Gateway, self.program, self.backend, self.provider, socket, keys_of)
            self.gateways.append(gateway)
            if number == 2 and shutil.which("strace"):
                self.slow = gateway
                gateway.slow_down()
            await gateway.start()
        # The gateways at which sends wait for connections, and which acknowledge revocations.
        self.quick = [gateway for gateway in self.gateways if gateway is not self.slow]
        if self.server:
            self.psql = await asyncio.create_subprocess_exec(
                *self.server.command(
                    "psql", "-XqAt", "-h", self.server.directory, "-p", self.server.port, "-U", postgresql.ADMINISTRATOR, DATABASE),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd="/")

    async def sql(self, text):
        """Runs statements, of which the last one has one row, and returns that row."""
        self.psql.stdin.write(text.encode() + b"\n")
        return (await asyncio.wait_for(self.psql.stdout.readline(), 30)).decode().strip()

    async def lock(self):
        await self.sql("BEGIN; LOCK TABLE keyed_send IN ACCESS EXCLUSIVE MODE; SELECT 1;")

    async def unlock(self):
        """Releases the rows of keys, and returns the number of statements that waited for them."""
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'keyed_send'::regclass"
        return int(await self.sql(f"{waiting}; COMMIT;"))

    async def remove(self):
        for gateway in self.gateways:
            if hasattr(gateway, "process") and gateway.process.returncode is None:
                gateway.process.send_signal(signal.SIGCONT)
                await gateway.kill()
            gateway.remove()
        if self.psql and self.psql.returncode is None:
            self.psql.kill()
            await self.psql.wait()
        if self.server:
            await self.server.remove()
        if hasattr(self, "backend"):
            self.backend.end()
            # The backend's connections end with their clients.
            await asyncio.sleep(0.1)
        if hasattr(self, "provider"):
            shutil.rmtree(self.provider.directory)
