"""Fail-overs that lose acknowledged commits, and what gateways must make of them."""

import asyncio
import json

import bench
import nodes_gateway
import registrar

TARGET = "/api/notifications?pns=apns&to_tag=bob"


class Lag:
    """A world whose standby is asynchronous, without load by the user of these calls."""

    user = nodes_gateway.KEYED[0]

    def __init__(self, world, is_full):
        self.world, self.is_full = world, is_full
        self.connections = [registrar.Connection(node) for node in world.nodes]
        self.problems = world.record.problems

    async def call(self, number, method, target, credential, body=None, more=""):
        answer = await self.connections[number].call(method, target, credential, body, more=more)
        # The connection may be one to a process that has ended.
        return answer if answer[0] else await self.connections[number].call(method, target, credential, body, more=more)

    def expect(self, what, found, *expected):
        if found not in expected:
            self.problems.append(f"{what}: {found}, expected {' or '.join(map(str, expected))}")

    async def send(self, number, key):
        status, fields, _ = await self.call(
            number, "POST", TARGET, registrar.basic(self.user), key, more=f"Idempotency-Key: {key}\r\n")
        return status, "idempotency-replayed" in fields

    async def register(self, number, handle):
        status, _, body = await self.call(number, "POST", f"/api/register?handle={handle}", registrar.basic(self.user))
        self.expect("registration", status, 200)
        label = body.decode().strip('"')
        status, _, _ = await self.call(
            number, "PUT", f"/api/register/{label}", registrar.basic(self.user), {"Platform": "apns", "Handle": handle, "Tags": []})
        self.expect("update", status, 200)

    async def stop_replication(self):
        """Makes the standby asynchronous, and lets it get nothing any more."""
        server, standby = self.world.server, self.world.standby
        server.change("synchronous_standby_names = ''\n")
        server.reload()
        standby.change("primary_conninfo = ''\n")
        standby.reload()
        end = bench.now() + 30
        while await asyncio.to_thread(server.sql, "postgres", "SELECT 1 FROM pg_stat_replication"):
            if bench.now() > end:
                raise RuntimeError("the standby does not disconnect")
            await asyncio.sleep(0.05)

    async def promote(self, pause):
        """Lets the standby take over, after a pause. Returns once all gateways have noticed it and serve again."""
        before = [len(node.ends) for node in self.world.nodes]
        await self.fail_over(pause)
        end = bench.now() + 60
        while any(len(node.ends) == count for node, count in zip(self.world.nodes, before)):
            if bench.now() > end:
                self.problems.append("a fail-over that lost a commit was not noticed by each gateway")
                break
            await asyncio.sleep(0.1)
        await self.world.recover("lost commits")

    async def fail_over(self, pause):
        former = self.world.server
        await former.kill()
        await asyncio.sleep(pause)
        await asyncio.to_thread(self.world.standby.sql, "postgres", "SELECT pg_promote()")
        self.world.servers.append(self.world.standby)
        self.world.standby = None
        for link in self.world.links:
            link.switch(self.world.server)
        await former.remove()
        self.world.servers.remove(former)

    async def round(self, number, kinds):
        """Loses a commit of each of these kinds."""
        backend = self.world.backend
        key, handle = f"key-{number}", f"{number + 1:064X}"
        if "revocation" in kinds and "registration" not in kinds:
            await self.register(0, handle)
        status, _, body = await self.call(1, "POST", "/auth/token", registrar.basic(self.user))
        self.expect("login", status, 200)
        token = "Bearer " + json.loads(body)["access_token"]
        await self.stop_replication()
        if "send" in kinds:
            self.expect("keyed send", await self.send(0, key), (200, False))
        if "registration" in kinds:
            await self.register(0, handle)
        if "revocation" in kinds:
            await asyncio.to_thread(self.world.nodes[0].succeed, "tokens", "revoke", "--user", self.user)
        # Longer than a gateway counts as live.
        await self.promote(20 if number % 2 and self.is_full else 0)
        if "send" in kinds:
            for place in (0, 1):
                self.expect("repeated keyed send", (await self.send(place, key))[1], True)
            self.expect("arrivals of the keyed send", len(backend.arrivals.get(key, [])), 1)
        if handle in backend.ids:
            end = bench.now() + 30
            while handle in backend.handles.values() and bench.now() < end:
                await asyncio.sleep(0.1)
            self.expect("registration at the backend", handle in backend.handles.values(), False)
        for place in (0, 1):
            status, _, _ = await self.call(place, "GET", "/auth/whoami", token)
            self.expect("token of before", status, 401)
        await self.world.add_standby()
