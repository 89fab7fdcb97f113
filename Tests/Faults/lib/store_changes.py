"""Two gateways that take turns at one store, and stores that were restored from an older copy."""

import asyncio
import signal

import bench
import phones
import postgresql
import registrar

# How long the right of a gateway that is gone lasts at most, with the time of a start.
TAKE_OVER = 20
WAITING = "Waiting for another gateway that uses the store"


class Turn:
    """A gateway whose service starts it again until it serves, as systemd does."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.task = asyncio.create_task(self.wait())

    async def wait(self):
        while True:
            try:
                await self.gateway.start()
                return bench.now()
            except SystemExit:
                self.log = self.gateway.log
                if "uses the store" not in self.log:
                    raise RuntimeError(self.log) from None

    async def until_waiting(self):
        """Returns once the gateway has logged that it waits."""
        end = bench.now() + 10
        while WAITING not in getattr(self.gateway, "log", ""):
            if self.task.done() or bench.now() > end:
                raise RuntimeError("the second gateway does not wait: " + self.gateway.log)
            await asyncio.sleep(0.05)


async def expect(problems, what, phone, wanted):
    """Compares the result of a phone's call."""
    if await phone != wanted:
        problems.append(what)


async def take_over(program, server, is_full, figures):
    """Kills, freezes and stops gateways while another one waits. Returns the problems."""
    problems, backend, seconds = [], await registrar.Backend().start(), 30 if is_full else 17
    server.client("createdb", "turns")
    first = phones.Gateway(program, backend, server.directory, "turns")
    await first.start()
    second = phones.Gateway(program, backend, server.directory, "turns", keys_of=first)
    try:
        at_first, at_second = phones.Phone(first, 1, 1), phones.Phone(second, 1, 2)
        for _ in range(30):
            await at_first.act()
        await at_first.log_in()
        turn = Turn(second)
        await turn.until_waiting()
        if is_full:
            # Longer than a start waits.
            await asyncio.sleep(25)
            if "the gateway on" not in getattr(turn, "log", ""):
                problems.append("the second gateway waits for longer than 20 s")
        await first.kill()
        killed = bench.now()
        figures["killed"] = await turn.task - killed
        if figures["killed"] > TAKE_OVER:
            problems.append(f"the second gateway serves {figures['killed']:.1f} s after the first was killed")

        # The phone goes on at the second gateway.
        at_second.__dict__.update({**at_first.__dict__, "connection": at_second.connection})
        problems += await at_second.check_sessions()
        problems += at_second.check_registration(await second.registrations(), backend.handles)
        await expect(problems, "a registration at the second gateway failed", at_second.register(), True)
        await expect(problems, "a login at the second gateway failed", at_second.log_in(), True)
        # A user whom the test revokes, and a session that it ends.
        revoked = phones.Phone(second, 2, 3)
        await expect(problems, "a login at the second gateway failed", revoked.log_in(), True)
        await expect(problems, "a registration failed", revoked.register(), True)
        ended, token = at_second.tokens.popitem()
        await expect(problems, "a login at the second gateway failed", at_second.log_in(), True)

        turn = Turn(first)
        await turn.until_waiting()
        second.process.send_signal(signal.SIGSTOP)
        frozen = bench.now()
        figures["frozen"] = await turn.task - frozen
        if figures["frozen"] > TAKE_OVER:
            problems.append(f"the first gateway serves {figures['frozen']:.1f} s after the second was frozen")
        at_first = phones.Phone(first, 1, 4)
        at_first.__dict__.update({**at_second.__dict__, "connection": at_first.connection})
        if (await at_first.connection.call("DELETE", f"/auth/sessions/{ended}", token))[0] != 204:
            problems.append("the session could not be ended")
        await asyncio.to_thread(first.succeed, "tokens", "revoke", "--user", revoked.owner)
        # The first gateway deletes those of the revoked user.
        query = f"SELECT id, owner, state, handle FROM registration WHERE owner <> '{revoked.user}' ORDER BY id"
        state = server.sql("turns", query)
        # These calls wait in the sockets of the frozen gateway, and others are made once it runs again.
        before = len(backend.sends)
        tokens = [token, *revoked.tokens.values(), *at_first.tokens.values()]
        waiting = [asyncio.create_task(send(second, token)) for token in tokens]
        waiting += [asyncio.create_task(change(second))]
        await asyncio.sleep(max(0, seconds - (bench.now() - frozen)))
        second.process.send_signal(signal.SIGCONT)
        continued = bench.now()
        statuses = []
        while second.process.returncode is None and bench.now() - continued < 30:
            statuses += [await send(second, token) for token in tokens]
            statuses.append(await change(second))
        if second.process.returncode is None:
            problems.append(f"the frozen gateway does not end: {second.log[-2000:]}")
            await second.kill()
        else:
            if second.process.returncode == 0:
                problems.append("the frozen gateway exits with 0")
            figures["ended"] = bench.now() - continued
            statuses += await asyncio.gather(*waiting)
            if set(statuses) - {0, 503}:
                problems.append(f"the frozen gateway responded {sorted(set(statuses))}")
            if len(backend.sends) != before:
                problems.append(f"the frozen gateway sent {backend.sends[before:]}")
            if state != server.sql("turns", query):
                problems.append("the frozen gateway changed registrations")
        problems += await at_first.check_sessions()
        for refused in [token, *revoked.tokens.values()]:
            if (await at_first.connection.call("GET", "/auth/whoami", refused))[0] != 401:
                problems.append("a revoked token is accepted")

        turn = Turn(second)
        await turn.until_waiting()
        at_first.connection.close()
        await first.stop()
        stopped = bench.now()
        figures["stopped"] = await turn.task - stopped
        if figures["stopped"] > 3:
            problems.append(f"the second gateway serves {figures['stopped']:.1f} s after the first one stopped")
        missing = {call for call, _ in backend.sends} - first.intents() - second.intents()
        problems += [f"call {call} has no intent" for call in sorted(missing)]
        await second.stop()
        return [f"turns: {problem}" for problem in problems]
    finally:
        await remove(first, second)


async def send(gateway, token):
    """Sends a notification that no gateway may forward. Returns the status."""
    call = registrar.Connection(gateway).call("POST", "/api/notifications?pns=apns&to_tag=user0", token, "frozen", seconds=60)
    return (await call)[0]


async def change(gateway):
    """Registers a device, which no gateway may do. Returns the status."""
    body = {"Platform": "apns", "Handle": "F" * 64, "Tags": []}
    call = registrar.Connection(gateway).call("PUT", "/api/register/9-9-1", registrar.basic("user3"), body, seconds=60)
    return (await call)[0]


async def restore(program, server):
    """Restores older copies of the store after a stop, and after a kill. Returns the problems."""
    problems, backend = [], await registrar.Backend().start()
    server.client("createdb", "restored")
    gateway = phones.Gateway(program, backend, server.directory, "restored")
    try:
        await gateway.start()
        for is_killed in (False, True):
            name = "restored after a kill" if is_killed else "restored after a stop"
            phone = phones.Phone(gateway, 1 + is_killed, 5)
            for done in (await phone.register(), await phone.log_in(), await phone.log_in()):
                if not done:
                    problems.append(f"{name}: a call failed")
            copy = server.client("pg_dump", "-d", "restored")
            await phone.log_out()
            phone.connection.close()
            await (gateway.kill() if is_killed else gateway.stop())
            server.client("dropdb", "--force", "restored")
            server.client("createdb", "restored")
            server.sql("restored", copy)
            await gateway.start(*(["--restored-store"] if is_killed else []))
            if "Ledger restored from a backup" not in gateway.log:
                problems.append(f"{name}: the log does not say it")
            # All sessions are ended, also those that the copy has.
            phone.ended.update(phone.tokens)
            phone.tokens = {}
            problems += [f"{name}: {problem}" for problem in await phone.check_sessions()]
            problems += phone.check_registration(await gateway.registrations(), backend.handles)
            if not await phone.log_in() or not await phone.register():
                problems.append(f"{name}: the gateway does not work")
        await gateway.stop()
        return problems
    finally:
        await remove(gateway)


async def remove(*gateways):
    for gateway in gateways:
        if getattr(gateway, "process", None) and gateway.process.returncode is None:
            gateway.process.send_signal(signal.SIGCONT)
            await gateway.kill()
        gateway.remove()


async def run(program, is_full):
    """Runs the changes. Returns the problems and the figures."""
    server, figures = postgresql.Server(), {}
    try:
        await server.start()
        problems = await take_over(program, server, is_full, figures) + await restore(program, server)
        words = ", ".join(f"{name} {figures[name]:.1f} s" for name in figures)
        return problems, f"taken over after: {words}"
    finally:
        await server.remove()
