"""Revocations at random moments, the sends that wait meanwhile, and the judgement of both."""

import asyncio
import collections
import dataclasses
import json
import shutil
import signal
import time

import bench
import registrar
from revocation_world import DISK, MEMBERS, NAMES, VICTIMS

# How long after the acknowledgement something may arrive: what was written before, and what other gateways write.
LATE = 1.0
# The time in which an account ends: that of looks at the file, of an agreement, and what a busy machine takes.
END = 30
# The members of an audience that a gateway sends to at a time.
AT_A_TIME = 16
SESSION = ["logout", "session by command", "session by API"]
USER = ["user by command", "user by API", "logout at provider", "removal"]
# The sends at the moment of a revocation.
NEAR = {"new connection": 1, "keep-alive": 1, "pipelined": 4}
# The states in which sends must have been at a revocation, of which those of NEAR are requests that the gateway has not read.
STATES = ["connection", "turn", "backend", *NEAR]


@dataclasses.dataclass
class Send:
    """Sends with one text. They must arrive unless they have a victim. `results` has status, call and body of each response."""

    text: str
    kind: str
    victim: object
    count: int
    frozen: bool
    results: list = dataclasses.field(default_factory=list)


async def exchange(gateway, target, kind, body, more="", count=1):
    """Writes equal requests at once, and returns their responses as (status, fields, body)."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    writer.write(count * (
        f"POST {target} HTTP/1.1\r\nHost: gateway.test\r\nContent-Type: application/{kind}\r\n{more}"
        f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
    try:
        answers = [(await registrar.read_message(reader))[1:] for _ in range(count)]
    except (OSError, EOFError):
        answers = []
    writer.transport.abort()
    return [(int(status), fields, answer) for status, fields, answer in answers]


class Victim:
    """A user who loses a session, or everything, while sends wait."""

    def __init__(self, rounds, number, way, is_frozen):
        self.rounds, self.world, self.chance = rounds, rounds.world, rounds.world.chance
        self.way, self.is_frozen, self.number = way, is_frozen, number
        self.is_guest = way == "logout at provider"
        # Each batch removes another user, since rejected passwords are counted.
        self.user = f"guest{number}" if self.is_guest else NAMES[(number + rounds.batches) % VICTIMS]
        self.other = registrar.basic(NAMES[VICTIMS + number])
        self.gateway, self.moment = self.chance.choice(self.world.quick), self.chance.uniform(0.3, 1.5)
        self.tasks, self.begun, self.acknowledged, self.lag = [], 0, 0, 0

    def __str__(self):
        return f"{self.world.name}: {self.way} of {self.user}"

    async def call(self, gateway, *arguments, connection=None, repeats=20):
        """Calls, and calls again while the gateway is overloaded, which a busy machine is."""
        connection = connection or registrar.Connection(gateway)
        status, fields, body = await connection.call(*arguments)
        while status == 503 and b":overloaded" in body and repeats > 0:
            await asyncio.sleep(0.3)
            repeats -= 1
            status, fields, body = await connection.call(*arguments)
        connection.close()
        return status, fields, body

    async def signed(self, seconds=0, **more):
        return await asyncio.to_thread(self.world.provider.token, self.user, int(time.time()) + seconds, **more)

    async def log_in(self, credential):
        status, _, body = await self.call(self.chance.choice(self.world.quick), "POST", "/auth/token", credential)
        if status != 200:
            raise RuntimeError(f"{self}: a login got {status} {body.decode()}")
        login = json.loads(body)
        return "Bearer " + login["access_token"], login["session"]

    async def begin(self):
        """Logs in twice: the second login is revoked only if everything of the user is."""
        self.password = f"Bearer {await self.signed()}" if self.is_guest else registrar.basic(self.user)
        self.token, self.session = await self.log_in(self.password)
        self.second = self.password if self.is_guest else (await self.log_in(self.password))[0]
        self.kept = registrar.Connection(self.rounds.frozen if self.is_frozen else self.chance.choice(self.world.quick))
        await self.kept.call("GET", "/auth/whoami", self.token)

    def send(self, kind, gateways, credential, delay, victim, count=1):
        self.rounds.number += 1
        send = Send(f"text-{self.rounds.number}.", kind, victim, count, self.is_frozen and kind in NEAR)
        self.rounds.sends.append(send)
        self.tasks.append(asyncio.create_task(self.make(send, self.chance.choice(gateways), credential, delay)))

    async def make(self, send, gateway, credential, delay):
        """Makes a send in the way that its kind says."""
        await asyncio.sleep(delay)
        target = "/api/notifications?pns=apns&to_tag=" + ("audience:crowd" if send.kind == "audience" else "bob")
        authorization, text = f"Authorization: {credential}", json.dumps(send.text)
        if send.kind == "HTTP/2":
            # curl makes a connection for each. The fragment stays with it.
            process = await asyncio.create_subprocess_exec(
                "curl", "-sS", "--http2-prior-knowledge", "-Z", "--parallel-immediate", "-o", "/dev/null", "-w",
                "%{http_code} %header{x-request-id}\n", "-H", authorization, "-H", "Content-Type: application/json", "-d", text,
                f"http://127.0.0.1:{gateway.port}{target}#[1-{send.count}]", stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL)
            lines = (await process.communicate())[0].decode().splitlines()
            send.results += [(int(line.split()[0]), line.split()[-1], b"") for line in lines]
        elif send.kind == "pipelined":
            answers = await exchange(gateway, target, "json", text, authorization + "\r\n", send.count)
            send.results += [(status, fields["x-request-id"], answer) for status, fields, answer in answers]
        else:
            key = f"Idempotency-Key: {send.text}\r\n" if send.kind.startswith("key") else ""
            status, fields, answer = await self.call(
                gateway, "POST", target, credential, send.text, 60, key, repeats=0 if send.victim else 20,
                connection=self.kept if send.kind == "keep-alive" else None)
            send.results.append((status, fields.get("x-request-id"), answer))

    async def run(self):
        """Makes sends, revokes at the moment, and returns when nothing may arrive any more."""
        chance, world, rounds = self.chance, self.world, self.rounds
        early = lambda: chance.uniform(0, 0.3)
        self.send("audience", world.quick, self.token, early(), self, MEMBERS)
        for _ in range(2):
            self.send("connection", world.quick, self.token, early(), self)
            self.send("other", world.quick, self.other, early(), None)
        self.send("second", world.quick, self.second, early(), self if self.way in USER else None)
        if self.number % 3 == 0 and rounds.has_curl:
            self.send("HTTP/2", world.quick, self.token, early(), self, 3)
        if world.server:
            self.send("key" if rounds.is_locked else "keyed", world.gateways, self.token, early(), self)
            self.send("key of another", world.gateways, self.other, early(), None)
        for _ in range(2 if world.slow else 0):
            self.send("disk", [world.slow], self.token, max(0, self.moment - chance.uniform(0, 0.5)), self)
        if self.is_frozen:
            await rounds.has_frozen.wait()
            self.moment = chance.uniform(0, 0.05)
        for kind, count in NEAR.items():
            delay = chance.uniform(0, 0.05) if self.is_frozen else max(0, self.moment + chance.uniform(-0.3, 0.05))
            self.send(kind, [rounds.frozen] if self.is_frozen else world.quick, self.token, delay, self, count)
        await asyncio.sleep(self.moment)
        self.begun = bench.now()
        await self.revoke()
        self.acknowledged = bench.now()
        if self.way != "removal":
            self.send("afterwards", world.gateways, self.token, 0, self)
            token, _ = await self.log_in(f"Bearer {await self.signed(1)}" if self.is_guest else self.password)
            self.send("again", [self.gateway], token, 0, None)
        await asyncio.sleep(self.acknowledged + LATE - bench.now())
        self.send("afterwards", world.gateways, self.token, 0, self)
        await asyncio.sleep(0.2)
        self.lag = world.backend.lag(self.acknowledged, bench.now())

    async def revoke(self):
        """Revokes, and returns when that is acknowledged."""
        gateway, kind, status = self.gateway, self.way.partition(" ")[0], 200
        name = self.session if kind == "session" else self.user
        if self.way == "logout":
            status, _, _ = await self.call(gateway, "DELETE", "/auth/token", self.token)
        elif self.way.endswith("by command"):
            await asyncio.to_thread(gateway.succeed, "tokens", "revoke", "--" + kind, name)
        elif self.way.endswith("by API"):
            connection = registrar.Connection(gateway)
            connection.reader, connection.writer = await asyncio.open_unix_connection(gateway.directory / "control.sock")
            status, _, _ = await connection.call("POST", "/v1/revocations", "none", {kind: name})
            connection.close()
        elif self.way == "removal":
            for each in self.world.gateways:
                each.write_users(without=self.user)
            await asyncio.gather(*(asyncio.to_thread(each.succeed, "reload") for each in self.world.gateways))
            # The reload is one look at the file, and the account ends when that counts and all gateways agree.
            while (await self.call(gateway, "GET", "/auth/whoami", self.token))[0] != 401:
                if bench.now() > self.begun + END:
                    raise RuntimeError(f"{self}: the session did not end within {END} s")
                await asyncio.sleep(0.02)
        else:
            event = {"http://schemas.openid.net/event/backchannel-logout": {}}
            token = await self.signed(jti=f"{self.rounds.number}-{self.number}", events=event)
            (status, _, _), = await exchange(
                gateway, "/auth/backchannel-logout", "x-www-form-urlencoded", f"logout_token={token}")
        self.rounds.say(status in (200, 204), f"{self}: the revocation got {status}")


class Rounds:
    """The rounds of a world. Some run at a time, so that their sends wait for each other."""

    def __init__(self, world):
        self.world, self.problems = world, []
        self.number, self.batches, self.sends, self.victims = 0, 0, [], []
        self.has_curl = shutil.which("curl") is not None
        self.states, self.last = collections.Counter(), {}

    def say(self, is_good, problem):
        if not is_good:
            self.problems.append(problem)

    async def run(self, count):
        await self.world.start()
        while len(self.victims) < count:
            await self.batch(min(VICTIMS if self.world.is_shared else VICTIMS // 2, count - len(self.victims)))
        # The last outcomes also have to be on the slow disk.
        await asyncio.sleep(2 * DISK if self.world.slow else 1)
        self.intents, self.outcomes = collections.Counter(), {}
        for gateway in self.world.gateways:
            intents, outcomes = await asyncio.to_thread(gateway.records)
            self.intents.update(intents)
            self.outcomes.update(outcomes)
        for send in self.sends:
            self.judge(send)
        wanted = ["HTTP/2"] * self.has_curl + ["key", "lock"] * self.world.is_shared + ["disk"] * bool(self.world.slow)
        for state in STATES + wanted:
            self.say(self.states[state], f"{self.world.name}: no send was in the state: {state}")

    async def batch(self, size):
        """Makes some revocations, a quarter of them while a gateway is frozen.

        In each second batch one removes a user. In the others the rows of keys are locked, because a removal needs them.
        """
        world, chance = self.world, self.world.chance
        world.backend.released.clear()
        self.frozen, self.has_frozen = chance.choice(world.quick), asyncio.Event()
        self.is_locked = world.is_shared and self.batches % 2 == 1
        ways = [chance.choice(SESSION + USER[:-1]) for _ in range(size)]
        if self.batches % 2 == 0:
            ways[0] = "removal"
        victims = [Victim(self, number, way, 1 <= number <= size // 4) for number, way in enumerate(ways)]
        for victim in victims:
            await victim.begin()
        if self.is_locked:
            await world.lock()
        frozen = self.freeze(chance.uniform(0.3, 1.2), chance.uniform(0.15, 0.4))
        await asyncio.gather(frozen, *(victim.run() for victim in victims))
        if self.is_locked:
            self.states["lock"] += await world.unlock()
        # Whatever still waits and is not stopped arrives now, and so too late.
        world.backend.released.set()
        await asyncio.gather(*(task for victim in victims for task in victim.tasks))
        for gateway in world.gateways:
            gateway.write_users()
        end = bench.now() + END
        for gateway in world.gateways if ways[0] == "removal" else []:
            # Too many passwords of a user who is not back yet would end the logins of this address.
            await asyncio.sleep(0.6)
            while (await victims[0].call(gateway, "GET", "/auth/whoami", victims[0].password))[0] != 200:
                if bench.now() > end:
                    raise RuntimeError(f"{victims[0].user} is not back")
                await asyncio.sleep(1)
        self.victims += victims
        self.batches += 1

    async def freeze(self, delay, seconds):
        await asyncio.sleep(delay)
        self.frozen.process.send_signal(signal.SIGSTOP)
        self.has_frozen.set()
        await asyncio.sleep(seconds)
        self.frozen.process.send_signal(signal.SIGCONT)

    def judge(self, send):
        """Compares what arrived of a send with the responses and the journal."""
        victim, arrivals = send.victim, self.world.backend.arrivals.get(send.text, [])
        name = f"{victim or self.world.name}, {send.kind} {send.text}"
        arrived = collections.Counter(arrival.call for arrival in arrivals)
        stopped = 0
        for status, call, body in send.results:
            outcomes, revoked = dict(self.outcomes.get(call, {})), self.intents[call] - arrived[call]
            stopped += revoked
            ends = {end: number for end, number in (("accepted", arrived[call]), ("revoked", revoked)) if number}
            is_overloaded = status == 503 and (b":overloaded" in body or not body) and not ends
            self.states["overloaded"] += is_overloaded
            self.say(
                outcomes == ends and (status == (200 if arrived[call] else 401) or is_overloaded),
                f"{name}: {self.intents[call]} intents, {arrived[call]} arrived, outcomes {outcomes}, {status} {body.decode()}")
            self.say(status != 401 or not body or b":credentials-rejected" in body, f"{name}: {body.decode()}")
            if send.kind == "audience" and status == 200:
                self.say(json.loads(body)["accepted"] == arrived[call], f"{name}: {arrived[call]} arrivals, {body.decode()}")
        calls = {call for _, call, _ in send.results}
        self.say(len(calls) == (1 if send.kind == "audience" else send.count) and set(arrived) <= calls,
                 f"{name}: {len(send.results)} responses {send.results[:4]}")
        self.say(len(arrivals) <= send.count, f"{name}: {len(arrivals)} arrivals of {send.count}")
        if victim is None:
            self.say(len(arrivals) == send.count, f"{name}: of a user who may send, {len(arrivals)} of {send.count} arrived")
            return
        self.count(send, arrivals, stopped)
        for late in (arrival.first - victim.acknowledged for arrival in arrivals):
            self.last[victim.way] = max(self.last.get(victim.way, late), late)
            self.say(
                late <= LATE + victim.lag,
                f"{name}: arrived {late:.2f} s after the acknowledgement, {victim.lag:.2f} s of it here at most")

    def count(self, send, arrivals, stopped):
        """Counts the states in which sends of a victim were at the revocation. `stopped` have an intent, and did not arrive."""
        self.states["backend"] += sum(each.first < send.victim.begun < each.answered for each in arrivals)
        if send.kind == "audience":
            self.states["turn"] += max(0, stopped - AT_A_TIME)
            self.states["connection"] += min(stopped, AT_A_TIME)
        elif send.kind in ("key", "afterwards"):
            self.states[send.kind] += not arrivals and not stopped
        elif send.frozen:
            self.states[send.kind] += send.count
        else:
            self.states[send.kind if send.kind in ("disk", "HTTP/2") else "connection"] += stopped

    def figures(self):
        listed = lambda items: ", ".join(f"{name} {count}" for name, count in items)
        ways = collections.Counter(victim.way for victim in self.victims)
        times = sorted(victim.acknowledged - victim.begun for victim in self.victims if victim.way != "removal") or [0]
        last = ((way, f"{late * 1000:.0f} ms") for way, late in self.last.items())
        return (
            f"{self.world.name}: {len(self.victims)} revocations: {listed(ways.items())}\n"
            f"    acknowledged, except removals, after {times[len(times) // 2]:.2f} s, {times[-1]:.2f} s at most\n"
            f"    last arrivals, from the acknowledgement: {listed(last)}; bytes noted at most "
            f"{max((victim.lag * 1000 for victim in self.victims), default=0):.0f} ms late\n"
            f"    states of sends: {listed(self.states.items())}; {sum(map(len, self.world.backend.arrivals.values()))} arrived")
