"""Sends that wait while their caller is revoked: in an audience, for a connection to the backend, and for an idempotency key."""

import asyncio
import json

import bench
import phones
import postgresql
import registrar
from store_changes import remove

DATABASE = "revocations"
MEMBERS = 160
# How long the backend takes for a send, and what may still arrive after a revocation was acknowledged: what was written before.
PAUSE, LATE = 0.2, 1.0


class SlowBackend(registrar.Backend):
    """A backend that takes its time for each send, and knows when each arrived."""

    def __init__(self):
        super().__init__()
        self.arrivals = []
        self.has_arrived = asyncio.Event()

    async def serve(self, reader, writer):
        try:
            while True:
                method, target, fields, body = await registrar.read_message(reader)
                if target.startswith("/api/notifications"):
                    self.arrivals.append(bench.now())
                    self.has_arrived.set()
                    await asyncio.sleep(PAUSE)
                writer.write(self.response(method, target, fields, body))
                await writer.drain()
        except (OSError, EOFError, asyncio.IncompleteReadError):
            writer.transport.abort()


class Revocations:
    """A gateway with few connections to a slow backend."""

    def __init__(self, server, gateway, backend):
        self.server, self.gateway, self.backend = server, gateway, backend
        self.problems = []

    def say(self, is_good, problem):
        if not is_good:
            self.problems.append(problem)

    async def call(self, method, target, credential, body=None, more=""):
        connection = registrar.Connection(self.gateway)
        try:
            return await connection.call(method, target, credential, body, more=more)
        finally:
            connection.close()

    def send(self, to, credential, more=""):
        return asyncio.create_task(self.call("POST", f"/api/notifications?pns=apns&to_tag={to}", credential, "hi", more))

    async def log_in(self, user):
        status, _, body = await self.call("POST", "/auth/token", registrar.basic(user))
        self.say(status == 200, f"a login got {status}")
        return "Bearer " + json.loads(body)["access_token"]

    async def begun(self, tasks):
        """Waits until the backend has the first of these sends."""
        await asyncio.wait([asyncio.create_task(self.backend.has_arrived.wait()), *tasks], return_when=asyncio.FIRST_COMPLETED)

    def check(self, name, acknowledged, before, count):
        """Checks that the sends stopped. Returns the number of those that arrived."""
        arrived = self.backend.arrivals[before:]
        late = [f"{time - acknowledged:.1f} s" for time in arrived if time > acknowledged + LATE]
        self.say(not late, f"{name}: {len(late)} sends arrived late, the last one after {late[-1:]}")
        self.say(0 < len(arrived) < count, f"{name}: {len(arrived)} of {count} sends arrived")
        self.backend.has_arrived.clear()
        return len(arrived)

    async def audience(self):
        """Revokes the sender of a send to an audience."""
        token = await self.log_in(phones.USERS[1])
        before, send = len(self.backend.arrivals), self.send("audience:crowd", token)
        await self.begun([send])
        await asyncio.to_thread(self.gateway.succeed, "tokens", "revoke", "--user", phones.USERS[1])
        acknowledged = bench.now()
        status, _, body = await send
        arrived = self.check("audience", acknowledged, before, MEMBERS)
        self.say(status == 200 and f'"accepted":{arrived}' in body.decode().replace(" ", ""), f"audience: {status} {body}")
        return arrived

    async def pool(self):
        """Logs the sender of waiting sends out."""
        token = await self.log_in(phones.USERS[2])
        before, sends = len(self.backend.arrivals), [self.send("user0", token) for _ in range(6)]
        await self.begun(sends)
        status, _, _ = await self.call("DELETE", "/auth/token", token)
        acknowledged = bench.now()
        statuses = sorted([(await send)[0] for send in sends])
        arrived = self.check("pool", acknowledged, before, 6)
        self.say(status == 204 and statuses == [200] * arrived + [401] * (6 - arrived), f"pool: {status}, {statuses}")
        return arrived

    async def key(self):
        """Logs the sender of a send out that waits for the row of its key."""
        token, before = await self.log_in(phones.USERS[3]), len(self.backend.arrivals)
        locked = asyncio.create_task(asyncio.to_thread(
            self.server.sql, DATABASE, "BEGIN; LOCK TABLE keyed_send IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(2); COMMIT"))
        lock = "SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 'keyed_send'::regclass"
        while not locked.done() and not await asyncio.to_thread(self.server.sql, DATABASE, lock):
            await asyncio.sleep(0.05)
        send = self.send("user0", token, "Idempotency-Key: k-1\r\n")
        waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'keyed_send'::regclass"
        while not locked.done() and not await asyncio.to_thread(self.server.sql, DATABASE, waits):
            await asyncio.sleep(0.05)
        self.say(not locked.done(), "key: the send did not wait for its row")
        status, _, _ = await self.call("DELETE", "/auth/token", token)
        self.say(status == 204 and not locked.done(), f"key: the logout got {status}")
        intents = len(self.gateway.intents())
        await locked
        status, _, _ = await send
        self.say(status == 401, f"key: the send got {status}")
        self.say(len(self.backend.arrivals) == before, "key: the send arrived")
        self.say(len(self.gateway.intents()) == intents, "key: the send was recorded after the logout")
        status, fields, _ = await self.send("user0", registrar.basic(phones.USERS[3]), "Idempotency-Key: k-1\r\n")
        self.say(status == 200 and "idempotency-replayed" not in fields, f"key: the same key got {status} afterwards")


async def run(program):
    """Runs the revocations. Returns the problems and the figures."""
    server = postgresql.Server()
    backend = await SlowBackend().start()
    gateway = None
    try:
        await server.start()
        server.create_database(DATABASE)
        gateway = phones.Gateway(program, backend, server.directory, DATABASE)
        members = ", ".join(f"member{number}" for number in range(MEMBERS))
        text = gateway.configuration.read_text()
        text = text.replace('to: "*" }] }', 'to: "*" }, { from: "*", to: "audience:crowd" }] }\n' + f"audiences: {{ crowd: [{members}] }}")
        text = text.replace(f':{backend.port}" }}', f':{backend.port}", connections: 2 }}')
        gateway.configuration.write_text(text)
        await gateway.start()
        revocations = Revocations(server, gateway, backend)
        audience, pool = await revocations.audience(), await revocations.pool()
        await revocations.key()
        await gateway.stop()
        return revocations.problems, f"revocations stopped {MEMBERS - audience} of {MEMBERS} and {6 - pool} of 6 sends"
    finally:
        if gateway:
            await remove(gateway)
        await server.remove()
