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

# The users of a login storm with fewer logins each than a user may have sessions, the one of a storm with more, and the one of the
# commits that are lost.
STORM, ALONE, LAGGED = [f"storm{number}" for number in range(10)], "alone", "lagged"
# The seconds in which all gateways serve after another server has begun to accept writes, and those until one does.
BOUND, PROMOTION = 10, 30
# The promises of docs/postgresql.md as the checks word a breach.
PROMISES = {
    "sends without a record in one journal": "has no intent|has intents at two nodes",
    "sends delivered twice": "the text .* was sent|was sent twice|arrivals of the keyed send|keyed send .* repeated",
    "handles with two live registrations": "has two registrations",
    "sends of a revoked user later than a second": "with a token that ended",
}


class Node(nodes_gateway.Node):
    """A gateway whose configuration has all servers of a cluster as `hosts`."""

    others = nodes_gateway.OTHERS + [*STORM, ALONE, LAGGED]

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
    """Many logins at once, at all gateways: in turn of ten users and of one."""

    def __init__(self, world, seed, count):
        super().__init__(world, seed)
        self.count, self.is_of_one = count, False

    async def act(self):
        users, kind = ([ALONE], "storm of one user") if self.is_of_one else (STORM, "storm")
        # The newest logins of one user end the sessions of the others, also before the response, which is 401 `revoked` then.
        expected = {401} if self.is_of_one else set()
        self.is_of_one = not self.is_of_one
        connections = [registrar.Connection(self.chance.choice(self.world.nodes)) for _ in range(self.count)]
        answers = await asyncio.gather(*(
            connection.call("POST", "/auth/token", registrar.basic(users[number % len(users)]), seconds=15)
            for number, connection in enumerate(connections)))
        for connection, (status, _, content) in zip(connections, answers):
            connection.close()
            self.record.add_status(kind, status)
            if status not in nodes_clients.EXPECTED | expected:
                self.record.say(f"{kind}: {status} {content.decode()[:300]}")
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
        """Does nothing: each fault waits for the standbys that it needs."""

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

    def __init__(self, world, is_full, lose_primary):
        super().__init__(world, is_full)
        self.lose_primary = lose_primary
        # For each round, the seconds between the new primary and the end of its effects.
        self.times = []

    async def stop_replication(self):
        """Stops the processes that send commits to the standbys, which nobody notices, and makes keyed sends at each gateway."""
        for pid in await asyncio.to_thread(self.world.server.sql, "postgres", "SELECT pid FROM pg_stat_replication"):
            os.kill(int(pid), signal.SIGSTOP)
        places = range(len(self.world.nodes))
        self.keys = [(place, f"lost-{len(self.times)}-{place}-{number}") for place in places for number in range(4)]
        for place, key in self.keys:
            self.expect("keyed send", await self.send(place, key), (200, False))

    async def repeat(self, place, key):
        """Repeats a keyed send at a gateway until that has an answer."""
        connection, end = registrar.Connection(self.world.nodes[place]), bench.now() + 60
        while bench.now() < end:
            status, fields, _ = await connection.call(
                "POST", nodes_lag.TARGET, registrar.basic(self.user), key, more=f"Idempotency-Key: {key}\r\n")
            if status == 200 or "idempotency-replayed" in fields:
                break
            await asyncio.sleep(0.05)
        connection.close()
        self.expect(f"keyed send {key} repeated at another gateway", (status, "idempotency-replayed" in fields), (504, True))

    async def fail_over(self, pause):
        # Patroni decides how long there is no primary.
        self.former = await self.lose_primary("fail-over that loses commits")
        self.promoted = bench.now()
        # The clients do not wait until both gateways have noticed it.
        count = len(self.world.nodes)
        self.repeats = [asyncio.create_task(self.repeat((place + 1) % count, key)) for place, key in self.keys]

    async def promote(self, pause):
        await super().promote(pause)
        self.times.append(bench.now() - self.promoted)
        await asyncio.gather(*self.repeats)


class Faults(nodes_faults.Faults):
    """What Patroni does, and what it is for."""

    def __init__(self, world, is_full):
        super().__init__(world, is_full)
        self.cluster, self.promotions, self.former_sessions = world.cluster, [], []
        self.attempts = 0
        self.lag = Lag(world, is_full, self.lose_primary)
        self.all = [self.switch_over]
        if self.cluster.is_synchronous or is_full:
            self.all.append(self.former_primary)
        if not self.cluster.is_synchronous:
            self.all.append(self.lose_commits)
        if is_full:
            self.all += [self.fail_over, self.freeze_etcd, self.kill_node]

    async def run_once(self):
        """Causes each fault once, in order."""
        for fault in self.all:
            await fault()
            self.world.check_alive()
            await asyncio.sleep(0.5)

    async def switch_over(self):
        await self.cluster.settle()
        async with self.fault("switch-over"):
            began = bench.now()
            await self.cluster.switch_over()
            self.promotions.append((bench.now() - began, "switch-over"))

    async def lose_primary(self, name):
        """Kills the primary with its Patroni, and returns it once there is another one."""
        began = bench.now()
        former = await self.cluster.fail_over()
        self.promotions.append((bench.now() - began, name))
        return former

    async def fail_over(self):
        await self.cluster.settle()
        async with self.fault("fail-over"):
            await self.lose_primary("fail-over")
        await asyncio.sleep(self.seconds(0, 0, 15))

    async def former_primary(self):
        """The primary is killed and returns."""
        await self.cluster.settle()
        async with self.fault("fail-over"):
            former = await self.lose_primary("fail-over")
        await self.let_return(former)

    async def lose_commits(self):
        """The primary is killed with commits that no other server has, and returns with them."""
        await self.cluster.settle()
        began, number = bench.now(), len(self.lag.times)
        kinds = ["send", "registration", "revocation"]
        await self.lag.round(number, [kinds[number % 3]] if self.is_full else kinds)
        self.world.faults.append(("lost commits", None, began, bench.now()))
        await self.let_return(self.lag.former)

    async def let_return(self, former):
        """Starts a former primary: read-only without Patroni, as the first one in a gateway's list, and then as a standby."""
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
        await self.cluster.settle()
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
        await self.cluster.settle()
        async with self.fault("frozen etcd"):
            self.cluster.etcd.send_signal(signal.SIGSTOP)
            await asyncio.sleep(self.seconds(8, 8, 15))
            self.cluster.etcd.send_signal(signal.SIGCONT)
            await self.cluster.find_leader()


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
    for name in sorted({name for _, name in world.recoveries} - {"end", "lost commits"}):
        found = [time for time, other in world.recoveries if other == name]
        checks.expect(
            f"{mode}: all gateways make changes {max(found):.1f} s after {'a new primary accepts writes' if 'over' in name else 'the end'}, "
            f"at most {BOUND} s: {name}, {len(found)} times", max(found) <= BOUND)
    for name in sorted({name for _, name in faults.promotions}):
        found = [time for time, other in faults.promotions if other == name]
        checks.expect(
            f"{mode}: another server is the primary after {max(found):.1f} s, at most {PROMOTION} s: {name}", max(found) <= PROMOTION)
    checks.expect(
        f"{mode}: of {faults.attempts} sessions at a former primary, none stays",
        not any(faults.former_sessions) and (faults.attempts or not faults.former_sessions),
        faults.former_sessions)
    losses = len(world.losses())
    if world.cluster.is_synchronous:
        checks.expect(f"{mode}: no gateway misses a commit", losses == 0, world.losses())
    else:
        times = faults.lag.times
        checks.expect(
            f"{mode}: {len(times)} times lost commits: each gateway has noticed it and makes changes {max(times, default=0):.1f} s after "
            f"a new primary accepts writes, at most {BOUND} s", max(times, default=0) <= BOUND and losses >= len(times) * len(world.nodes), losses)
    rest = list(dict.fromkeys(check.problems))
    for name, breach in PROMISES.items():
        found = [problem for problem in rest if re.search(breach, problem)]
        rest = [problem for problem in rest if problem not in found]
        checks.expect(f"{mode}: {name}: {len(found)}", not found, "\n  ".join(nodes_check.abridged(found)))
    what = "nothing acknowledged is missing, journals verify, no answer is unexpected"
    checks.expect(
        f"{mode}: " + (what if world.cluster.is_synchronous else what.partition(", ")[2]), not rest,
        "\n  ".join(["", *nodes_check.abridged(rest)[:19], check.times()]))
    storms = "; ".join(
        f"responses to a {name}: { {status: count for (kind, status), count in sorted(world.record.statuses.items()) if kind == name} }"
        for name in ("storm", "storm of one user"))
    print(f"        {check.figures()}; {storms}; sessions refused after lost commits: "
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
    try:
        asyncio.run(run(options, checks))
    except asyncio.CancelledError:
        sys.exit("ended by a signal")
    checks.finish()


if __name__ == "__main__":
    main()
