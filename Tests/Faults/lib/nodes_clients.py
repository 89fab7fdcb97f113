"""Clients of several nodes behind a balancer: phones, and senders near a limit, with keys, and after the end of a session."""

import asyncio
import json
import random

import bench
import nodes_gateway
import phones
from registrar import Connection, basic

TARGET = "/api/notifications?pns=apns&to_tag=user0"
# Without a response of the gateway: the call may be in a frozen gateway, and be carried out later.
LOST = {0, 502, 504}
# What a fault may cause.
EXPECTED = {0, 200, 204, 502, 503, 504}


class Client:
    """A client that calls any node, through the balancer or directly, in half of the calls each."""

    def __init__(self, world, seed):
        self.world, self.record, self.chance = world, world.record, random.Random(seed)
        self.connections = [Connection(end) for end in (world.balancer, *world.nodes)]

    async def call(self, kind, method, target, credential, body=None, expected=(), more=""):
        """Calls, and returns status, fields and body."""
        direct = self.chance.random() < 0.5
        connection = self.chance.choice(self.connections[1:]) if direct else self.connections[0]
        status, fields, content = await connection.call(method, target, credential, body, 10, more)
        self.record.add_status(kind, status)
        if status not in EXPECTED and status not in expected:
            self.record.say(f"{kind}: {status} {content.decode()[:300]}")
        return status, fields, content


class Device(phones.Phone):
    """A phone behind the balancer. It forgets a registration if an update is lost, which a frozen gateway may still carry out."""

    def __init__(self, world, number):
        super().__init__(world.balancer, world.backend, number, number)
        self.record, self.last = world.record, 0

    async def call(self, kind, method, target, credential, body=None):
        status, fields, content = await self.connection.call(method, target, credential, body)
        self.last = status
        self.record.add_status(kind, status)
        if status == 401:
            self.record.refused(f"{kind} {target}: {content.decode()[:300]}")
        elif status == 503 and "retry-after" not in fields:
            self.record.say(f"{kind}: 503 without Retry-After: {content.decode()[:300]}")
        # A list of sessions may name one whose end another node acknowledged a moment ago.
        elif status not in EXPECTED and not (kind == "logout" and status in (403, 404)):
            self.record.say(f"{kind}: {status} {content.decode()[:300]}")
        return status, content

    async def register(self):
        done = await super().register()
        self.record.registrations += done
        if self.last in LOST:
            self.label, self.handle, self.attempts, self.is_certain = None, None, {}, True
        return done

    async def log_in(self):
        before = len(self.tokens)
        done = await super().log_in()
        self.record.logins += len(self.tokens) > before
        return done

    async def log_out(self):
        if len(self.tokens) < 2:
            return await self.log_in()
        session = self.chance.choice(list(self.tokens))
        token = self.tokens.pop(session)
        status, _ = await self.call("logout", "DELETE", f"/auth/sessions/{session}", token)
        if status == 204:
            self.ended[session] = token
            self.record.ended.append((bench.now(), token, f"logout of {session}"))
            self.record.logouts += 1
        else:
            self.unknown += 1
        return status == 204

    async def send(self):
        session = self.chance.choice(list(self.tokens)) if self.tokens else None
        text = self.record.text(self.owner, session)
        status, _ = await self.call("send", "POST", TARGET, self.tokens[session] if session else basic(self.owner), text)
        self.record.sends[text].statuses.append(status)
        return status == 200


class Reader(Client):
    """Presents valid tokens at any node, where they were not issued."""

    async def act(self):
        device = self.chance.choice(self.world.devices)
        if not device.tokens:
            return False
        session, token = self.chance.choice(list(device.tokens.items()))
        status, _, content = await self.call("whoami", "GET", "/auth/whoami", token, expected=(401,))
        if status == 401 and session in device.tokens:
            self.record.refused(f"whoami of session {session}: {content.decode()[:300]}")
        return status == 200


class Limited(Client):
    """A sender who sends more than twice as often as a limit allows."""

    def __init__(self, world, seed, user):
        super().__init__(world, seed)
        self.user = user

    async def act(self):
        text = self.record.text(self.user)
        status, _, _ = await self.call("limited", "POST", TARGET, basic(self.user), text, expected=(429,))
        self.record.sends[text].statuses.append(status)
        await asyncio.sleep(0.3 / nodes_gateway.RATE)
        return True


class Keyed(Client):
    """A sender who repeats each send with its key at any node, at the same time and later, until it has a response."""

    def __init__(self, world, seed, user):
        super().__init__(world, seed)
        self.user = user
        self.others = Client(world, seed + 1)

    async def act(self):
        text = self.record.text(self.user)
        send = self.record.sends[text]
        for number in range(1, 40):
            clients = [self, self.others] if self.chance.random() < 0.3 else [self]
            responses = await asyncio.gather(*(client.call(
                "keyed", "POST", TARGET, basic(self.user), text, expected=(409,), more=f"Idempotency-Key: {text}\r\n")
                for client in clients))
            send.statuses += [status for status, _, _ in responses]
            # 504 that is repeated: the outcome stays unknown.
            ends = [fields for status, fields, _ in responses if status == 200 or "idempotency-replayed" in fields]
            if ends and (number > 1 or self.chance.random() < 0.7):
                return True
            await asyncio.sleep(self.chance.uniform(0, 0.3))
        return False


class Ghost(Client):
    """Sends with the tokens of sessions that ended lately, which must not work."""

    async def act(self):
        recent = [end for end in self.record.ended[-30:] if bench.now() - end[0] < 40]
        if not recent:
            return False
        ended, token, how = self.chance.choice(recent)
        text = self.record.text("ghost")
        self.record.attempts[text] = (bench.now(), ended, how)
        status, _, _ = await self.call("ghost", "POST", TARGET, token, text, expected=(401,))
        self.record.sends[text].statuses.append(status)
        return True


class Contenders(Client):
    """Two users who register one device at the same time, at any nodes. Each takes it from the other."""

    def __init__(self, world, seed):
        super().__init__(world, seed)
        self.count = 0
        self.clients = [(user, Client(world, seed + n)) for n, user in enumerate(nodes_gateway.CONTENDERS)]

    async def act(self):
        if self.chance.random() < 0.2:
            self.count += 1
        handle = f"C0{self.count:014X}" * 4
        return any(await asyncio.gather(*(register(client, user, handle) for user, client in self.clients)))


async def register(client, user, handle):
    """Registers a new device. Returns whether that was acknowledged."""
    status, _, body = await client.call("reserve", "POST", f"/api/register?handle={handle}", basic(user))
    if status == 200:
        status, _, _ = await client.call(
            "register", "PUT", f"/api/register/{json.loads(body)}", basic(user),
            {"Platform": "apns", "Handle": handle, "Tags": []})
    return status == 200


class Operator(Client):
    """Revokes a user at one node again and again, after logins and a registration of that user."""

    def __init__(self, world, seed, user):
        super().__init__(world, seed)
        self.user, self.tokens, self.count = user, [], 0
        self.handles = []

    async def act(self):
        for _ in range(2):
            status, _, body = await self.call("login", "POST", "/auth/token", basic(self.user))
            if status == 200:
                self.tokens.append("Bearer " + json.loads(body)["access_token"])
        await self.register()
        await asyncio.sleep(self.chance.uniform(0, 0.5))
        for token in self.tokens:
            text = self.record.text(self.user)
            status, _, content = await self.call("send", "POST", TARGET, token, text, expected=(401,))
            self.record.sends[text].statuses.append(status)
            if status == 401:
                self.record.refused(f"send of {self.user}: {content.decode()[:300]}")
        tokens, self.tokens = self.tokens, []
        handles, self.handles = self.handles, []
        running = [node for node in self.world.nodes if node.started.is_set() and node.number not in self.world.frozen]
        if running and tokens:
            node = self.chance.choice(running)
            command = await asyncio.create_subprocess_exec(
                node.program, "tokens", "revoke", "--user", self.user, "--config", str(node.configuration),
                stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)
            if await command.wait() == 0:
                how = f"revocation of {self.user} at node {node.number}"
                self.record.ended += [(bench.now(), token, how) for token in tokens]
                self.record.revoked_handles.update(handles)
                self.record.revocations += 1
        # Tokens state their time in seconds: a login in the second of a revocation belongs to what was revoked.
        await asyncio.sleep(self.chance.uniform(1.1, 2))
        return True

    async def register(self):
        self.count += 1
        handle = f"{len(self.user):04X}{ord(self.user[-1]):04X}{self.count:08X}" * 4
        if await register(self, self.user, handle):
            self.handles.append(handle)
