"""Gateways on three PostgreSQL servers under Debian's Patroni. Started by Tests/Field/patroni.

Clients of Tests/Faults/nodes register, log in, send, repeat sends and revoke while Patroni makes another server the primary: once
with `synchronous_mode`, where nothing that was acknowledged may be missing afterwards, and once without it, where gateways must
notice what is missing.
"""

import argparse
import asyncio
import os
import pathlib
import re
import signal
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Faults/lib"))
import bench
import field
import nodes_check
import nodes_clients
import nodes_faults
import nodes_gateway
import nodes_lag
import nodes_record
import nodes_world
import patroni_cluster
import postgresql
import registrar

# The users of the login storm and of the commits that are lost.
STORM, LAGGED = "storm", "lagged"
# The seconds in which all gateways serve after another server has begun to accept writes, and those until one does.
BOUND, PROMOTION = 10, 30
# The promises of docs/postgresql.md as the checks word a breach.
PROMISES = {
    "sends without a record in one journal": "has no intent|has intents at two nodes",
    "sends delivered twice": "the text .* was sent|was sent twice|arrivals of the keyed send",
    "handles with two live registrations": "has two registrations",
    "sends of a revoked user later than a second": "with a token that ended",
}


class Node(nodes_gateway.Node):
    """A gateway whose configuration has all servers of a cluster as `hosts`."""

    others = nodes_gateway.OTHERS + [STORM, LAGGED]

    def __init__(self, program, backend, cluster, number, keys_of):
        self.cluster, self.members = cluster, cluster.members
        super().__init__(program, backend, cluster, number, keys_of)

    def use(self, socket, database="cluster", role="user: gateway, timeout: 2s"):
        """Writes the store's section with the servers in the present order."""
        text = self.configuration.read_text().partition("store:")[0]
        hosts = ", ".join(f'"{member.host}"' for member in self.members)
        section = (
            f'hosts: [{hosts}], ca: {self.cluster.certificates.authority}, database: {database}, '
            f'schema: {postgresql.SCHEMA}, {role}, password: "{patroni_cluster.PASSWORD}"')
        self.configuration.write_text(text + f"store: {{ postgresql: {{ {section} }} }}\n")

    def prefer(self, member):
        """Puts a server before the others, from the next start on."""
        self.members = [member] + [other for other in self.members if other is not member]
        self.use(None)


class Record(nodes_record.Record):
    """What clients were told. A fail-over that loses commits ends all sessions, so the check judges each 401 at the end."""

    def __init__(self):
        super().__init__()
        self.refusals = []

    def refused(self, what):
        self.unauthorized += 1
        self.refusals.append((bench.now(), what))


class Storm(nodes_clients.Client):
    """Many logins at once, at all gateways."""

    def __init__(self, world, seed, count):
        super().__init__(world, seed)
        self.count = count

    async def act(self):
        connections = [registrar.Connection(self.chance.choice(self.world.nodes)) for _ in range(self.count)]
        answers = await asyncio.gather(*(
            connection.call("POST", "/auth/token", registrar.basic(STORM), seconds=15) for connection in connections))
        for connection, (status, _, content) in zip(connections, answers):
            connection.close()
            self.record.add_status("storm", status)
            if status not in nodes_clients.EXPECTED:
                self.record.say(f"storm: {status} {content.decode()[:300]}")
        await asyncio.sleep(self.chance.uniform(1, 3))
        return True


class World(nodes_world.World):
    """Gateways on the servers of a cluster."""

    def __init__(self, program, count, cluster, is_full):
        super().__init__(program, count, 1)
        self.cluster, self.is_full, self.cleared = cluster, is_full, 0
        self.record = Record()
        self.backend = nodes_record.Backend(self.record)
        self.devices = []

    @property
    def server(self):
        return self.cluster.leader

    async def start_server(self):
        """Removes the database of a world before this one."""
        await asyncio.to_thread(self.server.sql, "postgres", "DROP DATABASE IF EXISTS cluster (FORCE)")

    async def new_node(self, number, keys_of):
        return Node(self.program, self.backend, self.cluster, number, keys_of)

    async def add_standby(self):
        """Lets servers that were killed return."""
        for member in self.cluster.members:
            if member.patroni.returncode is not None:
                await member.join()
        await self.cluster.settle()

    async def recover(self, name):
        await super().recover(name)
        if (count := len(self.losses())) > self.cleared:
            self.cleared = count
            for device in self.devices:
                device.tokens.clear()

    def load(self):
        super().load()
        self.tasks.append(asyncio.create_task(self.run(Storm(self, 140, 100 if self.is_full else 20))))


class Lag(nodes_lag.Lag):
    """Acknowledged commits that no standby gets."""

    user = LAGGED

    async def stop_replication(self):
        """Stops the processes that send commits to the standbys. Nobody else notices."""
        for pid in await asyncio.to_thread(self.world.server.sql, "postgres", "SELECT pid FROM pg_stat_replication"):
            os.kill(int(pid), signal.SIGSTOP)

    async def fail_over(self, pause):
        former = self.world.server
        await former.kill()
        # Without a pause, the gateways find the new primary by themselves.
        await asyncio.sleep(pause)
        await self.world.cluster.find_leader(former)


class Faults(nodes_faults.Faults):
    """What Patroni does, and what it is for."""

    def __init__(self, world, is_full):
        super().__init__(world, is_full)
        self.cluster, self.promotions, self.former_sessions = world.cluster, [], []
        self.attempts, self.rounds = 0, 0
        self.lag = Lag(world, is_full)
        self.all = [self.switch_over, self.former_primary]
        if is_full:
            self.all += [self.fail_over, self.freeze_etcd, self.kill_node]
        if not self.cluster.is_synchronous:
            self.all.append(self.lose_commits)

    async def run_once(self):
        """Causes each fault once, in order."""
        for fault in self.all:
            await fault()
            self.world.check_alive()
            await asyncio.sleep(0.5)

    async def switch_over(self):
        began = bench.now()
        async with self.fault("switch-over"):
            await self.cluster.switch_over()
            self.promotions.append((bench.now() - began, "switch-over"))
        await self.cluster.settle()

    async def lose_primary(self, name):
        began = bench.now()
        former = await self.cluster.fail_over()
        self.promotions.append((bench.now() - began, name))
        return former

    async def fail_over(self):
        async with self.fault("fail-over"):
            await self.lose_primary("fail-over")
        await asyncio.sleep(self.seconds(0, 0, 15))
        await self.world.add_standby()

    async def former_primary(self):
        """The primary is killed, and returns: read-only without Patroni, the first one in a gateway's list, then as a standby."""
        async with self.fault("fail-over"):
            former = await self.lose_primary("fail-over")
        node = self.chance.choice(self.world.nodes)
        async with self.fault("read-only former primary", node):
            await former.start_fenced()
            await node.kill()
            node.prefer(former)
            # The others look for a primary while the former one accepts sessions.
            await asyncio.to_thread(
                self.cluster.leader.sql, "postgres",
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{postgresql.ROLE}'")
            await node.want()
        await asyncio.sleep(self.seconds(1, 1, 10))
        await self.count_sessions(former)
        await former.stop_fenced()
        await self.world.add_standby()
        await self.count_sessions(former)

    async def count_sessions(self, former):
        """Counts sessions of gateways at a server that does not accept writes, and those that there were since its start."""
        found = await asyncio.to_thread(former.sql, "postgres", f"""
            SELECT count(*) FROM pg_stat_activity WHERE usename = '{postgresql.ROLE}';
            SELECT sessions FROM pg_stat_database WHERE datname = 'cluster'""")
        self.former_sessions.append(int(found[0]))
        self.attempts += int(found[1])

    async def freeze_etcd(self):
        """Patroni cannot reach its store and makes the primary a standby, until it can."""
        async with self.fault("frozen etcd"):
            self.cluster.etcd.send_signal(signal.SIGSTOP)
            await asyncio.sleep(self.seconds(8, 8, 15))
            self.cluster.etcd.send_signal(signal.SIGCONT)
            await self.cluster.find_leader()
        await self.cluster.settle()

    async def lose_commits(self):
        began = bench.now()
        kinds = ["send", "registration", "revocation"]
        if self.is_full:
            kinds = [kinds[self.rounds % 3]]
        await self.lag.round(self.rounds, kinds)
        self.rounds += 1
        self.world.faults.append(("lost commits", None, began, bench.now()))


class Check(nodes_check.Check):
    """The promises, also of fail-overs that lost commits."""

    async def run(self):
        losses = self.world.losses()
        first = min((time for time, _ in losses), default=None)
        self.problems += [f"401 to a valid credential: {what} [at {time - self.record.began:.1f} s]"
                          for time, what in self.record.refusals if first is None or time < first]
        if losses:
            # Sessions have ended, and devices that the store lacked are not registered.
            for device in self.world.devices:
                device.tokens.clear()
                device.is_certain = False
        await super().run()


async def check_mode(options, checks, cluster, mode):
    """Runs the clients and the faults in one mode, and checks what came of it."""
    world = World(options.program, 3 if options.full else 2, cluster, options.full)
    try:
        await world.start()
        world.load()
        await asyncio.sleep(1)
        faults = Faults(world, options.full)
        await (faults.run(world.began + options.seconds / 2) if options.full else faults.run_once())
        await asyncio.sleep(1)
        await world.unload()
        await world.recover("end")
        check = Check(world)
        await check.run()
        report(checks, mode, world, faults, check)
    finally:
        await world.remove()


def report(checks, mode, world, faults, check):
    for name in sorted({name for _, name in world.recoveries} - {"end"}):
        found = [time for time, other in world.recoveries if other == name]
        checks.expect(
            f"{mode}: all gateways make changes {max(found):.1f} s after a new primary accepts writes, at most {BOUND} s: {name}, "
            f"{len(found)} times", max(found) <= BOUND)
    for name in sorted({name for _, name in faults.promotions}):
        found = [time for time, other in faults.promotions if other == name]
        checks.expect(f"{mode}: another server is the primary after {max(found):.1f} s: {name}", max(found) <= PROMOTION)
    checks.expect(
        f"{mode}: of {faults.attempts} sessions at a former primary, none stays", not any(faults.former_sessions) and faults.attempts,
        faults.former_sessions)
    losses = len(world.losses())
    if world.cluster.is_synchronous:
        checks.expect(f"{mode}: no gateway misses a commit", losses == 0, world.losses())
    else:
        checks.expect(f"{mode}: {faults.rounds} times lost commits, noticed by each gateway", losses >= faults.rounds * len(world.nodes))
    rest = list(dict.fromkeys(check.problems))
    for name, breach in PROMISES.items():
        found = [problem for problem in rest if re.search(breach, problem)]
        rest = [problem for problem in rest if problem not in found]
        checks.expect(f"{mode}: {name}: {len(found)}", not found, "\n  ".join(nodes_check.abridged(found)))
    what = "nothing acknowledged is missing, journals verify, no answer is unexpected"
    checks.expect(
        f"{mode}: " + (what if world.cluster.is_synchronous else what.partition(", ")[2]), not rest,
        "\n  ".join(["", *nodes_check.abridged(rest)[:19], check.times()]))
    storm = {status: count for (kind, status), count in sorted(world.record.statuses.items()) if kind == "storm"}
    print(f"        {check.figures()}; responses to the login storm: {storm}; sessions refused after lost commits: "
          f"{len(world.record.refusals)}", flush=True)


async def run(options, checks):
    # The end of this process by a signal also ends the processes that it started.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)
    cluster = patroni_cluster.Cluster()
    try:
        await cluster.start()
        await cluster.set_synchronous(True)
        await check_mode(options, checks, cluster, "synchronous")
        await cluster.set_synchronous(False)
        await check_mode(options, checks, cluster, "asynchronous")
    finally:
        await cluster.remove()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    root = pathlib.Path(__file__).resolve().parents[3]
    parser.add_argument("--program", default=root / ".build/debug/notify-gateway", help="the gateway's program")
    parser.add_argument("--full", action="store_true", help="three gateways and faults for as long as --seconds says")
    parser.add_argument("--seconds", type=int, default=1000, help="the duration with --full, half of it in each mode")
    options = parser.parse_args()
    options.program = str(pathlib.Path(options.program).resolve())
    return options


def main():
    options, checks = arguments(), field.Checks()
    if reason := postgresql.obstacle():
        print(f"Skipped: {reason}")
        return
    asyncio.run(run(options, checks))
    checks.finish()


main()
