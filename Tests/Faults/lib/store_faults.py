"""Faults of a gateway and of its PostgreSQL under a load of phones, which check what was acknowledged."""

import asyncio

import bench
import phones
import postgresql
import registrar

# The time limit of a statement, and what a call may take beyond it.
TIMEOUT, MARGIN = 2, 1
# How long the gateway relies on its right, how long the end of a session waits at most until it has effect everywhere, and what
# docs/postgresql.md promises for the return of the server.
RELIANCE, PATIENCE, RETURN = 10, 11, 6


class Fleet:
    """Phones at one gateway that act without a pause."""

    def __init__(self, gateway, backend, server, database, count=12):
        self.gateway, self.backend, self.server, self.database = gateway, backend, server, database
        self.phones = [phones.Phone(gateway, backend, number, number) for number in range(count)]
        self.problems = []

    def begin(self, pause=0.0):
        """Starts the phones. They wait for `pause` seconds after each call, and for a moment after a failed one."""
        self.is_ending = False
        self.tasks = [asyncio.create_task(self.run(phone, pause)) for phone in self.phones]

    async def run(self, phone, pause):
        while not self.is_ending:
            if not await phone.act():
                await asyncio.sleep(0.05)
            await asyncio.sleep(pause)

    async def end(self):
        self.is_ending = True
        await asyncio.gather(*self.tasks)

    def calls(self, since=0.0, until=float("inf")):
        return [call for phone in self.phones for call in phone.calls if since <= call[0] < until]

    async def check(self, name):
        """Compares what was acknowledged with registrations and sessions."""
        listed = await self.gateway.registrations()
        found = [problem for phone in self.phones for problem in phone.check_registration(listed, self.backend.handles)]
        for phone in self.phones:
            found += await phone.check_sessions()
            found += phone.problems
            phone.problems = []
        handles = [self.backend.handles[id] for id in listed if id in self.backend.handles]
        if len(set(handles)) != len(handles):
            found.append("a handle has two registrations")
        self.problems += [f"{name}: {problem}" for problem in found]

    def check_intents(self, name):
        missing = {call for call, _ in self.backend.sends} - self.gateway.intents()
        self.problems += [f"{name}: call {call} has no intent" for call in sorted(missing)]

    async def recover(self, name, began):
        """Waits until all calls succeed, and returns how long that took since the given time."""
        await asyncio.sleep(RETURN + MARGIN)
        last = max((call for call in self.calls(began) if call[2] not in (200, 204)), default=(began,))
        if last[0] - began > RETURN:
            self.problems.append(f"{name}: a call failed {last[0] - began:.1f} s after the return of the server: {last[1:]}")
        return last[0] - began

    def summary(self):
        """Returns the numbers of acknowledged registrations, logins, logouts and sends."""
        done = [call[1] for call in self.calls() if call[2] in (200, 204)]
        return [done.count(kind) for kind in ("register", "login", "logout", "send")]


async def kills(fleet, rounds, chance):
    """Kills the gateway at random moments."""
    for number in range(rounds):
        fleet.begin()
        await asyncio.sleep(chance.uniform(0.1, 1.0))
        await fleet.gateway.kill()
        await fleet.end()
        await fleet.gateway.start()
        await fleet.check(f"kill {number}")
    fleet.check_intents("kill")


async def outage(fleet, seconds):
    """Kills the server and starts it again. Returns how long sends went on, and how long the return took."""
    fleet.begin(pause=0.05)
    await asyncio.sleep(1)
    await fleet.server.kill()
    killed = bench.now()
    await asyncio.sleep(seconds)
    readiness, _ = await fleet.gateway.readiness()
    if readiness != 503:
        fleet.problems.append(f"outage: readiness is {readiness}")
    away = fleet.calls(killed, bench.now())
    await fleet.server.start()
    back = await fleet.recover("outage", bench.now())
    await fleet.end()
    # A list of sessions is read from memory, as a send.
    changes = [call for call in away if call[1] not in ("send", "sessions")]
    fleet.problems += [f"outage: {call[1:]}" for call in changes if call[2] != 503 or call[3] > MARGIN]
    sends = [(call[0] - killed, call[2]) for call in away if call[1] == "send"]
    last = max((time for time, status in sends if status == 200), default=0.0)
    if last > RELIANCE:
        fleet.problems.append(f"outage: a send succeeded after {last:.1f} s")
    first = min((time for time, status in sends if status == 503), default=0.0)
    # The right was renewed at most three seconds before the server ended, because there were changes.
    if not RELIANCE - 4 < first:
        fleet.problems.append(f"outage: a send was rejected after {first:.1f} s")
    fleet.problems += [f"outage: a send got {status}" for _, status in sends if status not in (200, 503)]
    await fleet.check("outage")
    fleet.check_intents("outage")
    return last, back


async def freeze(fleet, seconds):
    """Freezes the server for some seconds. Returns the duration of the longest call, and how long the return took."""
    fleet.begin(pause=0.05)
    await asyncio.sleep(1)
    fleet.server.freeze()
    frozen = bench.now()
    try:
        await asyncio.sleep(seconds)
    finally:
        fleet.server.thaw()
    back = await fleet.recover("freeze", bench.now())
    await fleet.end()
    calls = fleet.calls(frozen - 1)
    for call in calls:
        # The end of a session that was stored before the freeze waits until the gateway can read that it has effect.
        is_stored = call[1:3] == ("logout", 204) and call[0] < frozen
        if call[3] > (PATIENCE if is_stored else TIMEOUT) + MARGIN:
            fleet.problems.append(f"freeze: a call took {call[3]:.1f} s: {call[1:]}")
    slowest = max(call[3] for call in calls)
    fleet.problems += [f"freeze: {call[1:]}" for call in calls if call[2] not in (200, 204, 503)]
    await fleet.check("freeze")
    fleet.check_intents("freeze")
    return slowest, back


async def cuts(fleet, proxy, seconds):
    """Cuts connections to the server at random, mostly during commits."""
    fleet.begin()
    proxy.is_cutting = True
    began = bench.now()
    await asyncio.sleep(seconds)
    proxy.is_cutting = False
    await fleet.recover("cuts", bench.now())
    await fleet.end()
    fleet.problems += [f"cuts: {call[1:]}" for call in fleet.calls(began) if call[2] not in (200, 204, 503)]
    await fleet.check("cuts")
    fleet.check_intents("cuts")


async def run(program, rounds, is_full, chance):
    """Runs the faults. Returns the problems and the figures."""
    server, backend = postgresql.Server(), await registrar.Backend().start()
    proxy = postgresql.CuttingProxy(server, 1)
    gateways, problems = [], []
    try:
        await server.start()
        await proxy.start()

        async def fleet(database, socket):
            server.create_database(database)
            gateway = phones.Gateway(program, backend, socket, database, f"user: gateway, timeout: {TIMEOUT}s")
            gateways.append(gateway)
            await gateway.start()
            return Fleet(gateway, backend, server, database)

        one = await fleet("ledger", server.directory)
        await kills(one, rounds, chance)
        last, back = await outage(one, 30 if is_full else 11)
        slowest, thawed = await freeze(one, 30 if is_full else 5)
        await one.gateway.stop()
        # The backend of the second fleet is new: its registrations are others.
        backend.handles, backend.sends = {}, []
        two = await fleet("cut", proxy.directory)
        await cuts(two, proxy, 120 if is_full else 8)
        await two.gateway.stop()
        problems = one.problems + two.problems
        if not proxy.cuts:
            problems.append("cuts: no connection was cut")
        counts = [sum(pair) for pair in zip(one.summary(), two.summary())]
        figures = (
            f"{rounds} kills, {proxy.cuts} cut connections; acknowledged: {counts[0]} registrations, {counts[1]} logins, "
            f"{counts[2]} logouts, {counts[3]} sends; server killed: sends for {last:.1f} s, back after {back:.1f} s; frozen: "
            f"longest call {slowest:.1f} s, back after {thawed:.1f} s")
        return problems, figures
    finally:
        for gateway in gateways:
            if getattr(gateway, "process", None) and gateway.process.returncode is None:
                await gateway.kill()
            gateway.remove()
        await proxy.remove()
        await server.remove()
