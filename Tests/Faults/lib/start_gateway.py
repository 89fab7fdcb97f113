"""A gateway with many keyed sends in its journal and many rules, whose starts are measured."""

import asyncio
import json
import os
import pathlib
import re
import typing

import bench
import phones
import registrar

# The gateway keeps 10,000 keyed sends of a user in memory.
USERS, SENDS_OF_USER, RULES = 40, 10_000, 2_000
# A start of a few seconds is beyond each bound; this ends a test whose gateway never becomes ready.
LIMIT = 60


class Cost(typing.NamedTuple):
    """The seconds until a gateway was ready, and until it knew its sends; its processor time until then, and the most memory in MiB."""

    seconds: float
    known: float
    processor: float
    memory: float


class Nobody:
    """The place of a backend, for gateways with the embedded one."""

    port = 9


class Gateway(phones.Gateway):
    """A gateway with the embedded backend."""

    def __init__(self, program):
        super().__init__(program, Nobody)
        self.names = [f"sender{number:02}" for number in range(USERS)]
        users = "".join(f'  {name}: {{ hash: "{phones.HASH}" }}\n' for name in self.names)
        (self.directory / "users.yaml").write_text("users:\n" + users)
        self.change(f'backend: {{ url: "http://127.0.0.1:{Nobody.port}" }}', "backend: { url: embedded }")
        self.change('{ from: "*", to: "*" }', rules())
        self.change("log:", "drain: { grace: 0s }\nlog:")
        self.keyed = 0

    def change(self, old, new):
        text = self.configuration.read_text()
        assert old in text, old
        self.configuration.write_text(text.replace(old, new))

    async def ready(self):
        """Starts the gateway; returns what the start took until it was ready and a send with a key was answered."""
        began = bench.now()
        await asyncio.wait_for(self.start(), LIMIT)
        while (await self.readiness())[0] != 200:
            if bench.now() > began + LIMIT:
                raise RuntimeError(f"the gateway is not ready: {self.log[-1000:]}")
        seconds = bench.now() - began
        connection = registrar.Connection(self)
        status, fields, body = await self.send(connection, 0)
        known = bench.now() - began
        connection.close()
        if status != 200 or (fields.get("idempotency-replayed") == "true") != (self.keyed > 0):
            raise RuntimeError(f"the first send with a key, of {self.keyed}: {status} {fields} {body}")
        self.keyed = max(self.keyed, 1)
        process = pathlib.Path(f"/proc/{self.process.pid}")
        memory = int(re.search(r"VmHWM:\s*(\d+)", (process / "status").read_text())[1]) / 1024
        # The fields after the name: user time and system time are the 14th and the 15th of all.
        times = (process / "stat").read_text().rpartition(")")[2].split()[11:13]
        return Cost(seconds, known, sum(map(int, times)) / os.sysconf("SC_CLK_TCK"), memory)

    async def measure(self, starts):
        """Returns the medians of some starts. Each is that of a gateway which was stopped before."""
        figures = []
        for _ in range(starts):
            figures.append(await self.ready())
            await self.stop()
        return Cost(*(sorted(part)[starts // 2] for part in zip(*figures)))

    async def fill(self, count, connections=64):
        """Makes sends with keys until there are that many. Returns the problems."""
        began, problems = self.keyed, []
        tokens, connection = [], registrar.Connection(self)
        for name in self.names:
            status, _, body = await connection.call("POST", "/auth/token", registrar.basic(name))
            if status != 200:
                return [f"login of {name}: {status} {body}"]
            tokens.append(json.loads(body)["access_token"].encode())
        connection.close()
        numbers = iter(range(began, count))
        loop = asyncio.get_running_loop()
        done = [loop.create_future() for _ in range(connections)]
        clients = []
        for future in done:
            sender = Sender(numbers, tokens, future, problems)
            clients.append((await loop.create_connection(lambda: sender, "127.0.0.1", self.port))[0])
        await asyncio.gather(*done)
        for client in clients:
            client.abort()
        self.keyed = count
        return problems

    async def send(self, connection, number):
        """Makes a send with a key, or repeats it."""
        return await connection.call(
            "POST", "/api/notifications?pns=apns&to_tag=bob", registrar.basic(self.names[number % USERS]), "hi",
            more=f"Idempotency-Key: key-{number}\r\n")

    async def check_replays(self):
        """Repeats some of the sends, the oldest and the newest among them. Returns those that were not known."""
        problems, connection = [], registrar.Connection(self)
        for number in sorted({0, self.keyed // 3, self.keyed // 2, self.keyed - 1}):
            status, fields, _ = await self.send(connection, number)
            if status != 200 or fields.get("idempotency-replayed") != "true":
                problems.append(f"send {number} of {self.keyed} is not known after the start: {status} {fields}")
        connection.close()
        return problems


def rules():
    """Returns the rules of sends: one for each sender, and others."""
    allowed = [f'{{ from: "sender{number:02}", to: "*" }}' for number in range(USERS)] + ['{ from: "carol", to: "*" }']
    others = (f'{{ from: "clerk{number}", to: "customer{number}" }}' for number in range(RULES - len(allowed)))
    return ", ".join([*allowed, *others])


class Sender(asyncio.Protocol):
    """A client that makes sends with keys, each once, until the numbers end."""

    def __init__(self, numbers, tokens, done, problems):
        self.numbers, self.tokens, self.done, self.problems = numbers, tokens, done, problems
        self.rest = b""

    def connection_made(self, transport):
        self.transport = transport
        self.send()

    def send(self):
        number = next(self.numbers, None)
        if number is None:
            if not self.done.done():
                self.done.set_result(None)
            return
        self.transport.write(
            b"POST /api/notifications?pns=apns&to_tag=bob HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Bearer %s\r\n"
            b"Content-Type: application/json\r\nIdempotency-Key: key-%d\r\nContent-Length: 4\r\n\r\n\"hi\""
            % (self.tokens[number % USERS], number))

    def data_received(self, data):
        self.rest += data
        while (end := self.rest.find(b"\r\n\r\n")) >= 0:
            head = self.rest[:end].lower()
            length = int((re.search(rb"\r\ncontent-length: *(\d+)", head) or [0, 0])[1])
            if len(self.rest) < end + 4 + length:
                return
            if head[9:12] != b"200":
                self.problems.append(f"a keyed send: {self.rest[:300]}")
            self.rest = self.rest[end + 4 + length :]
            self.send()

    def connection_lost(self, reason):
        if not self.done.done():
            self.problems.append(f"a connection ended: {reason}")
            self.done.set_result(None)
