"""Several gateways on one PostgreSQL server behind a balancer, and the load on them."""

import asyncio
import random

import bench
import nodes_clients
import nodes_gateway
import nodes_link
import nodes_record
import phones
import postgresql

# The time in which all nodes must serve after the end of a fault.
RECOVERY = 30


class World:
    """The processes of the test, the clients, and the faults that happened."""

    def __init__(self, program, count, seed):
        self.program, self.count, self.chance = program, count, random.Random(seed)
        self.record = nodes_record.Record()
        self.backend = nodes_record.Backend(self.record)
        self.servers, self.links, self.nodes = [], [], []
        self.standby = self.balancer = None
        # The faults as (name, number of the node or None for all, begin, end), and the nodes that are frozen now.
        self.faults, self.frozen = [], set()
        self.recoveries = []
        self.is_ending, self.tasks = False, []

    @property
    def server(self):
        """The server that accepts writes."""
        return self.servers[-1]

    async def start(self):
        await self.backend.start()
        await self.start_server()
        self.server.create_database("cluster")
        for number in range(self.count):
            self.nodes.append(await self.new_node(number, self.nodes[0] if self.nodes else None))
            # The first one creates the tables and the keys, which the others copy.
            await self.nodes[-1].want()
        self.balancer = nodes_gateway.Balancer(self.nodes)
        await self.balancer.start(self.server.before)
        await self.recover("start")
        await self.add_standby()

    async def start_server(self):
        self.servers.append(postgresql.Server())
        await self.server.start()

    async def new_node(self, number, keys_of):
        """Returns a gateway that does not run yet, with the keys of another one."""
        link = nodes_link.Link(self.server)
        self.links.append(link)
        await link.start()
        return nodes_gateway.Node(self.program, self.backend, link, number, keys_of)

    async def add_standby(self):
        """Gives the server a synchronous standby."""
        self.standby = await asyncio.to_thread(postgresql.Server, self.server)
        await self.standby.start()
        self.server.change("synchronous_standby_names = '*'\n")
        self.server.reload()
        end = bench.now() + 30
        while "sync" not in await asyncio.to_thread(
                self.server.sql, "postgres", "SELECT sync_state FROM pg_stat_replication"):
            if bench.now() > end:
                raise RuntimeError("the standby does not connect")
            await asyncio.sleep(0.1)

    async def recover(self, name):
        """Waits until all nodes serve, and records how long that took."""
        began = bench.now()
        while not all(states := await asyncio.gather(*(node.serves() for node in self.nodes))):
            if bench.now() - began > RECOVERY:
                self.record.say(f"{name}: nodes serve {states} {RECOVERY} s after the end of the fault")
                break
            await asyncio.sleep(0.2)
        if name != "start":
            self.recoveries.append((bench.now() - began, name))

    def losses(self):
        """Returns the times at which a gateway noticed that the store is an older copy, and the log of each."""
        return [(time, log) for node in self.nodes for time, log in node.ends if "older copy" in log]

    def load(self):
        """Starts the clients."""
        self.devices = [nodes_clients.Device(self, number) for number in range(len(phones.USERS))]
        clients = list(self.devices)
        clients += [nodes_clients.Reader(self, 100), nodes_clients.Ghost(self, 101), nodes_clients.Ghost(self, 102)]
        clients += [nodes_clients.Contenders(self, 103)]
        clients += [nodes_clients.Limited(self, 110 + n, user) for n, user in enumerate(nodes_gateway.LIMITED)]
        clients += [nodes_clients.Keyed(self, 120 + 2 * n, user) for n, user in enumerate(nodes_gateway.KEYED)]
        clients += [nodes_clients.Operator(self, 130 + n, user) for n, user in enumerate(nodes_gateway.REVOKED)]
        self.began = bench.now()
        self.tasks = [asyncio.create_task(self.run(client)) for client in clients]

    async def run(self, client):
        while not self.is_ending:
            done = await client.act()
            await asyncio.sleep(0.03 if done else 0.1)

    async def unload(self):
        """Ends the clients."""
        self.is_ending = True
        await asyncio.gather(*self.tasks)
        self.ended = bench.now()

    def check_alive(self):
        """Raises what a client of the test raised."""
        for task in self.tasks:
            if task.done() and not task.cancelled() and task.exception():
                raise task.exception()

    async def remove(self):
        for task in self.tasks:
            task.cancel()
        for node in self.nodes:
            await node.end()
        if self.balancer:
            await self.balancer.remove()
        for link in self.links:
            await link.remove()
        for server in {*self.servers, self.standby} - {None}:
            await server.remove()
