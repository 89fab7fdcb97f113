"""Faults of nodes, of PostgreSQL, and of the ways between them. Each ends with all nodes serving."""

import asyncio
import contextlib

import bench
import nodes_link

KILL = "kill of a gateway"


class Faults:
    """The faults of a world. Without `is_full` they are short."""

    def __init__(self, world, is_full):
        self.world, self.chance, self.is_full = world, world.chance, is_full
        self.all = [
            self.kill_node, self.freeze_node, self.kill_server, self.freeze_server, self.cut_one_way, self.cut_both_ways,
            self.refuse, self.second_primary,
        ]
        # The last one includes a failover, and each needs a new standby.
        if is_full:
            self.all.append(self.fail_over)

    async def run(self, until):
        """Causes all faults in a random order, again until the given time, with pauses."""
        while True:
            order = list(self.all)
            self.chance.shuffle(order)
            for fault in order:
                await fault()
                self.world.check_alive()
                await asyncio.sleep(self.chance.uniform(1, 8) if self.is_full else 0.5)
                if self.is_full and bench.now() > until:
                    return
            if bench.now() > until:
                return

    def seconds(self, short, shortest, longest):
        """Returns the duration of a fault."""
        return self.chance.uniform(shortest, longest) if self.is_full else short

    @contextlib.asynccontextmanager
    async def fault(self, name, node=None):
        """Records a fault, at one node or at all, that lasts until the nodes serve again."""
        began = bench.now()
        try:
            yield
        finally:
            ended = bench.now()
            await self.world.recover(name)
            self.world.faults.append((name, node.number if node else None, began, ended))

    async def kill_node(self):
        node = self.chance.choice(self.world.nodes)
        async with self.fault(KILL, node):
            await node.kill()
            await asyncio.sleep(self.seconds(1, 0.1, 25))
            await node.want()

    async def freeze_node(self):
        node = self.chance.choice(self.world.nodes)
        async with self.fault("freeze of a gateway", node):
            self.world.frozen.add(node.number)
            node.freeze()
            await asyncio.sleep(self.seconds(5, 5, 30))
            node.thaw()
            self.world.frozen.discard(node.number)

    async def kill_server(self):
        async with self.fault("kill of PostgreSQL"):
            await self.world.server.kill()
            await asyncio.sleep(self.seconds(2, 0.1, 20))
            await self.world.server.start()

    async def freeze_server(self):
        async with self.fault("freeze of PostgreSQL"):
            self.world.server.freeze()
            await asyncio.sleep(self.seconds(4, 1, 20))
            self.world.server.thaw()

    async def cut_one_way(self):
        direction = self.chance.choice([nodes_link.TO_SERVER, nodes_link.TO_GATEWAY])
        await self.cut(f"cut {direction}", direction)

    async def cut_both_ways(self):
        await self.cut("cut both ways", nodes_link.TO_SERVER, nodes_link.TO_GATEWAY)

    async def cut(self, name, *directions):
        node = self.chance.choice(self.world.nodes)
        is_late = self.chance.random() < 0.5
        async with self.fault(f"{name}, then {'late bytes' if is_late else 'resets'}", node):
            node.link.cut(*directions)
            await asyncio.sleep(self.seconds(4, 1, 30))
            node.link.heal(is_late)

    async def refuse(self):
        node = self.chance.choice(self.world.nodes)
        async with self.fault("refused connections", node):
            node.link.refuse()
            await asyncio.sleep(self.seconds(2, 1, 20))
            node.link.heal(is_late=False)

    async def fail_over(self):
        async with self.fault("failover"):
            former = await self.promote(self.world.links)
        await self.replace(former)

    async def second_primary(self):
        """The former primary runs again, and one node has not been told of the new one."""
        node = self.chance.choice(self.world.nodes)
        async with self.fault("second primary"):
            former = await self.promote([link for link in self.world.links if link is not node.link])
            await former.start()
            await asyncio.sleep(self.seconds(5, 3, 30))
            node.link.switch(self.world.server)
        await self.replace(former)

    async def promote(self, links):
        """Kills the primary, promotes the standby and leads these links to it. Returns the former primary."""
        if not self.world.standby:
            await self.world.add_standby()
        former = self.world.server
        await former.kill()
        await asyncio.to_thread(self.world.standby.sql, "postgres", "SELECT pg_promote()")
        self.world.servers.append(self.world.standby)
        self.world.standby = None
        for link in links:
            link.switch(self.world.server)
        return former

    async def replace(self, former):
        """Removes a former primary, and gives the present one a standby if another failover will follow."""
        await former.remove()
        self.world.servers.remove(former)
        if self.is_full:
            await self.world.add_standby()
