"""Gateways with sessions and a store in PostgreSQL, and phones that remember each acknowledged change."""

import asyncio
import json
import os
import random
import shutil
import subprocess

import bench
import postgresql
from registrar import Connection, basic

USERS = [f"user{number}" for number in range(12)]
# The gateway ends the oldest of more than 20 sessions of a user.
SESSIONS = 8
# The hash of registrar.PASSWORD.
HASH = "$5$rounds=1000$alice$20.kuhUgjZX.hvUjrGqQVL1XUbt.G8CccOg9cU1M3/3"


class Gateway(bench.Gateway):
    """A gateway with sessions and a store in PostgreSQL, or in SQLite if there is no socket."""

    def __init__(self, program, backend, socket=None, database="ledger", role="user: gateway", keys_of=None):
        super().__init__(program, backend.port)
        users = "".join(f'  {user}: {{ hash: "{HASH}" }}\n' for user in USERS)
        (self.directory / "users.yaml").write_text("users:\n" + users)
        self.configuration = self.directory / "gateway.yaml"
        text = self.configuration.read_text()
        text = text.replace("users.yaml } }]", "users.yaml } }, { hmac-token: { keys: token-keys.yaml } }]")
        text = text.replace("ledger.sqlite }", "ledger.sqlite, registrations-per-user: 1000, hand-overs-per-day: 1000 }")
        text += "control: control.sock\n"
        self.configuration.write_text(text)
        self.use(socket, database, role)
        if keys_of:
            for file in [*keys_of.directory.glob("*.key"), keys_of.directory / "token-keys.yaml"]:
                if file.name != "journal.key":
                    shutil.copy(file, self.directory)
        else:
            self.succeed("keys", "rotate")

    def use(self, socket, database="ledger", role="user: gateway"):
        """Changes the store. `role` is the rest of its section."""
        text = self.configuration.read_text().partition("store:")[0]
        if socket:
            section = f"socket: {socket}, database: {database}, schema: {postgresql.SCHEMA}, {role}"
            text += f"store: {{ postgresql: {{ {section} }} }}\n"
        self.configuration.write_text(text)

    def command(self, *arguments, environment=None):
        """Runs a command of the gateway's program."""
        return subprocess.run(
            [self.program, *arguments, "--config", str(self.configuration)], capture_output=True, text=True, check=False,
            env=os.environ | (environment or {}))

    def succeed(self, *arguments):
        done = self.command(*arguments)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    async def registrations(self):
        """Returns the listed registrations by id."""
        lines = (await asyncio.to_thread(self.succeed, "registrations", "list", "--json")).splitlines()
        return {item["registration"]: item for item in map(json.loads, lines)}


class Phone:
    """A device of one user that acts at random, and remembers what was acknowledged.

    A change without a response is not known to be done or undone: `is_certain` is false until the next one.
    """

    def __init__(self, gateway, backend, number, chance):
        self.number = number
        # The user who logs in, and the one who registered the phone last.
        self.owner = self.user = USERS[number % len(USERS)]
        self.connection, self.backend = Connection(gateway), backend
        self.chance = random.Random(chance)
        self.label = None
        self.handle, self.handles, self.is_certain = None, 0, True
        # The users who made an update without a known outcome, each with the ids of the registrations that they have updated
        # since. At any other registration their update is in doubt for the gateway too, and stays so for five minutes if it
        # is another user's (docs/contract.md).
        self.attempts = {}
        # The tokens by session: acknowledged and not ended, and ended. Of others the end is not known.
        self.tokens, self.ended, self.unknown = {}, {}, 0
        self.problems, self.sends = [], 0
        # The calls as (begin, kind, status, seconds).
        self.calls = []

    async def call(self, kind, method, target, credential, body=None):
        began = bench.now()
        status, fields, content = await self.connection.call(method, target, credential, body)
        self.calls.append((began, kind, status, bench.now() - began))
        if status == 503 and "retry-after" not in fields:
            self.problems.append(f"{kind}: 503 without Retry-After: {content.decode()}")
        if status not in (0, 200, 204, 503):
            self.problems.append(f"{kind}: {status} {content.decode()}")
        return status, content

    async def act(self):
        """Makes one call, or the two of a registration. Returns whether it succeeded."""
        actions = [self.register] * 3 + [self.log_in] + [self.log_out] + [self.send] * 5
        return await self.chance.choice(actions)()

    async def register(self):
        """Registers a new handle in place of the former, or the same one, or the same one for another user."""
        choice = self.chance.random()
        if self.handle and self.is_certain and choice < 0.1:
            self.user = self.chance.choice(USERS)
        handle = self.handle
        if handle is None or choice > 0.3:
            self.handles += 1
            handle = f"{self.number:08X}{self.handles:08X}" * 4
        credential = basic(self.user)
        if self.label is None:
            status, body = await self.call("reserve", "POST", f"/api/register?handle={handle}", credential)
            if status != 200:
                return False
            self.label = json.loads(body)
        self.is_certain = False
        updated, self.attempts[self.user] = self.attempts.pop(self.user, None), set()
        status, _ = await self.call(
            "register", "PUT", f"/api/register/{self.label}", credential, {"Platform": "apns", "Handle": handle, "Tags": []})
        if status == 200:
            self.handle, self.is_certain = handle, True
            if updated is None:
                del self.attempts[self.user]
            else:
                self.attempts[self.user] = updated | {self.backend.ids[handle]}
        return status == 200

    async def log_in(self):
        if len(self.tokens) + self.unknown >= SESSIONS:
            return await self.end_others()
        status, body = await self.call("login", "POST", "/auth/token", basic(self.owner))
        if status != 200:
            self.unknown += 1
            return False
        login = json.loads(body)
        self.tokens[login["session"]] = "Bearer " + login["access_token"]
        return True

    async def log_out(self):
        if len(self.tokens) < 2:
            return await self.log_in()
        session = self.chance.choice(list(self.tokens))
        token = self.tokens.pop(session)
        status, _ = await self.call("logout", "DELETE", f"/auth/sessions/{session}", token)
        if status == 204:
            self.ended[session] = token
        else:
            self.unknown += 1
        return status == 204

    async def end_others(self):
        """Ends the sessions of the phone's user whose login was not acknowledged or whose end is not known."""
        status, body = await self.call("sessions", "GET", "/auth/sessions", basic(self.owner))
        if status != 200:
            return False
        others = {session["id"] for session in json.loads(body)["sessions"]} - set(self.tokens)
        for session in others:
            if (await self.call("logout", "DELETE", f"/auth/sessions/{session}", basic(self.owner)))[0] != 204:
                return False
        self.unknown = 0
        if len(self.tokens) >= SESSIONS:
            return await self.log_out()
        return True

    async def send(self):
        token = self.chance.choice(list(self.tokens.values())) if self.tokens else basic(self.owner)
        target, text = "/api/notifications?pns=apns&to_tag=user0", f"{self.number}-{self.sends}"
        status, _ = await self.call("send", "POST", target, token, text)
        self.sends += 1
        return status == 200

    async def check_sessions(self):
        """Returns the sessions that are open or refused against what was acknowledged."""
        self.connection.close()
        problems = []
        for expected, tokens in ((200, self.tokens), (401, self.ended)):
            for session, token in tokens.items():
                status, _, body = await self.connection.call("GET", "/auth/whoami", token)
                if status != expected:
                    problems.append(f"session {session}: {status} instead of {expected}: {body.decode()}")
        return problems

    def check_registration(self, listed, handles):
        """Returns the problems of the phone's registration, given those of the gateway and the handles at the backend."""
        if not self.handle or not self.is_certain:
            return []
        found = [listed[id] for id, handle in handles.items() if handle == self.handle and id in listed]
        if len(found) == 1 and found[0]["user"] == self.user:
            is_in_doubt = any(found[0]["registration"] not in updated for updated in self.attempts.values())
            if found[0]["state"] == "live" or (is_in_doubt and found[0]["state"] == "unknown"):
                return []
        return [f"the registration {self.handle[:16]} of {self.user} is {found}"]
