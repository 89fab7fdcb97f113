"""Two gateways that use one store, of which one is killed, frozen and stopped, and stores restored from an older copy."""

import asyncio
import signal

import bench
import phones
import postgresql
import registrar

# How long a start takes at most beside another gateway, and how soon a gateway serves after it was frozen.
START, RETURN = 15, 6


class Pair:
    """Two gateways with the same users and keys, and a phone that uses one after the other."""

    def __init__(self, backend, first, second):
        self.backend, self.first, self.second = backend, first, second
        self.phone = phones.Phone(first, backend, 1, 1)
        self.problems = []

    def say(self, is_good, problem):
        if not is_good:
            self.problems.append(problem)

    async def use(self, gateway, name):
        """Moves the phone to a gateway, which must know what was acknowledged, and change it."""
        self.phone.connection.close()
        self.phone.connection = registrar.Connection(gateway)
        found = await self.phone.check_sessions()
        found += self.phone.check_registration(await gateway.registrations(), self.backend.handles)
        for what, call in (("registration", self.phone.register), ("login", self.phone.log_in), ("send", self.phone.send)):
            if not await call():
                found.append(f"a {what} failed: {self.phone.calls[-1][1:]}")
        self.problems += [f"{name}: {problem}" for problem in found]

    async def freeze(self, seconds):
        """Ends sessions at the first gateway while the second one is frozen. Returns how long that took."""
        # Another user than the owner of the phone's registration.
        revoked = phones.Phone(self.second, self.backend, 2 if self.phone.user != phones.USERS[2] else 3, 3)
        self.say(await revoked.log_in() and await revoked.register(), "calls of the user to be revoked failed")
        ended, token = self.phone.tokens.popitem()
        self.second.process.send_signal(signal.SIGSTOP)
        began = bench.now()
        status, _, _ = await registrar.Connection(self.first).call("DELETE", f"/auth/sessions/{ended}", token)
        self.say(status == 204, f"the end of a session beside a frozen gateway: {status}")
        took = bench.now() - began
        await asyncio.to_thread(self.first.succeed, "tokens", "revoke", "--user", revoked.owner)
        self.phone.ended[ended] = token
        revoked.ended, revoked.tokens = revoked.tokens, {}
        # These calls wait in the sockets of the frozen gateway, and others are made once it runs again.
        before, tokens = len(self.backend.sends), [token, *revoked.ended.values()]
        waiting = [asyncio.create_task(send(self.second, token)) for token in tokens]
        await asyncio.sleep(max(0, seconds - (bench.now() - began)))
        self.second.process.send_signal(signal.SIGCONT)
        thawed, statuses = bench.now(), []
        while bench.now() - thawed < RETURN:
            statuses += [await send(self.second, token) for token in tokens]
        statuses += await asyncio.gather(*waiting)
        self.say(not set(statuses) - {0, 401, 503}, f"ended sessions got {sorted(set(statuses))} after the freeze")
        self.say(len(self.backend.sends) == before, f"ended sessions sent {self.backend.sends[before:]} after the freeze")
        self.say(self.second.process.returncode is None, f"the frozen gateway ended: {self.second.log[-2000:]}")
        revoked.connection.close()
        self.problems += await revoked.check_sessions()
        return took


async def together(program, server, is_full, figures):
    """Kills, freezes and stops gateways beside another one. Returns the problems."""
    backend = await registrar.Backend().start()
    server.create_database("together")
    first = phones.Gateway(program, backend, server.directory, "together")
    await first.start()
    second = phones.Gateway(program, backend, server.directory, "together", keys_of=first)
    pair = Pair(backend, first, second)
    try:
        for _ in range(30):
            await pair.phone.act()
        await pair.phone.log_in()
        began = bench.now()
        await second.start()
        figures["a second gateway serves after"] = bench.now() - began
        pair.say(bench.now() - began < START, f"the second gateway serves after {bench.now() - began:.1f} s")
        await pair.use(second, "second")
        await pair.use(first, "first")
        await first.kill()
        await pair.use(second, "second after a kill")
        await first.start()
        await pair.use(first, "first after a kill")
        figures["a session ends beside a frozen one in"] = await pair.freeze(30 if is_full else 17)
        await pair.use(second, "second after a freeze")
        await first.stop()
        await pair.use(second, "second after a stop")
        pair.problems += pair.phone.problems
        missing = {call for call, _ in backend.sends} - first.intents() - second.intents()
        pair.problems += [f"call {call} has no intent" for call in sorted(missing)]
        pair.phone.connection.close()
        await second.stop()
        return [f"together: {problem}" for problem in pair.problems]
    finally:
        await remove(first, second)


async def send(gateway, token):
    """Sends a notification that no gateway may forward. Returns the status."""
    call = registrar.Connection(gateway).call("POST", "/api/notifications?pns=apns&to_tag=user0", token, "ended", seconds=60)
    return (await call)[0]


async def restore(program, server):
    """Restores older copies of the store after a stop, and after a kill. Returns the problems."""
    problems, backend = [], await registrar.Backend().start()
    server.create_database("restored")
    gateway = phones.Gateway(program, backend, server.directory, "restored")
    try:
        await gateway.start()
        for is_killed in (False, True):
            name = "restored after a kill" if is_killed else "restored after a stop"
            phone = phones.Phone(gateway, backend, 1 + is_killed, 5)
            for done in (await phone.register(), await phone.log_in(), await phone.log_in()):
                if not done:
                    problems.append(f"{name}: a call failed")
            copy = server.client("pg_dump", "-d", "restored")
            await phone.log_out()
            phone.connection.close()
            await (gateway.kill() if is_killed else gateway.stop())
            server.client("dropdb", "--force", "restored")
            server.client("createdb", "--owner", postgresql.ROLE, "restored")
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
        problems = await together(program, server, is_full, figures) + await restore(program, server)
        words = ", ".join(f"{name} {figures[name]:.1f} s" for name in figures)
        return problems, words
    finally:
        await server.remove()
