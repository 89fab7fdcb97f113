"""Moves of a ledger between SQLite and PostgreSQL, and starts with a store that cannot be used."""

import asyncio
import json
import shutil

import phones
import postgresql
import registrar

# sysexits(3), as for other stores that cannot be opened.
UNAVAILABLE = 69
IN_USE = "another process has this store open"
ENTRY = (
    '<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><AppleRegistrationDescription '
    'xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><RegistrationId>77-77-1</RegistrationId>'
    "<Tags>username:user7</Tags><DeviceToken>{handle}</DeviceToken></AppleRegistrationDescription></content></entry>\n"
)
# Environment variables of libpq that would change each connection.
VARIABLES = {
    "PGHOST": "/nonexistent", "PGPORT": "1", "PGUSER": "nobody", "PGDATABASE": "none", "PGPASSWORD": "wrong",
    "PGOPTIONS": "-c search_path=none", "PGSERVICE": "none", "PGTARGETSESSIONATTRS": "standby", "PGSSLMODE": "require",
}


class Moves:
    """Exports and imports of one gateway's ledger, and the problems that were found."""

    def __init__(self, program, server, backend):
        self.server, self.backend, self.problems = server, backend, []
        self.gateway = phones.Gateway(program, backend)
        self.other = phones.Gateway(program, backend)
        self.number = 0

    def file(self):
        self.number += 1
        return self.gateway.directory / f"export-{self.number}.jsonl"

    def database(self):
        self.number += 1
        name = f"moves{self.number}"
        self.server.create_database(name)
        return name

    def export(self, gateway):
        file = self.file()
        gateway.succeed("ledger", "export", str(file))
        if file.stat().st_mode & 0o777 != 0o600:
            self.problems.append(f"the mode of an export is {file.stat().st_mode:o}")
        return file

    def refused(self, gateway, status, words, *arguments):
        """Runs a command that must fail with one sentence and the exit status."""
        done = gateway.command(*arguments)
        lines = [line for line in done.stderr.splitlines() if "warning: limits" not in line]
        if done.returncode != status or len(lines) != 1 or words not in lines[0]:
            self.problems.append(f"{' '.join(arguments[:2])}: exit status {done.returncode}, without \"{words}\": {lines}")

    def refused_import(self, words, lines):
        """Imports an export of these lines into an empty store, which must fail and store nothing."""
        name, file = self.database(), self.file()
        file.write_text("".join(lines))
        self.gateway.use(self.server.directory, name)
        self.refused(self.gateway, 1, words, "ledger", "import", str(file))
        if self.server.sql(name, "SELECT count(*) FROM registration, session") != ["0"]:
            self.problems.append(f"an import that failed ({words}) stored something")

    async def fill(self):
        """Fills the ledger in SQLite with registrations, labels, sessions, revocations and an import."""
        await self.gateway.start()
        fleet = [phones.Phone(self.gateway, self.backend, number, number) for number in range(6)]
        # A label that the phone has from elsewhere.
        fleet[0].label = "900-900-1"
        for _ in range(30):
            await asyncio.gather(*(phone.act() for phone in fleet))
        await asyncio.gather(*(phone.log_in() for phone in fleet))
        entries = self.gateway.directory / "hub.xml"
        entries.write_text(ENTRY.format(handle="77" * 32))
        await asyncio.to_thread(self.gateway.succeed, "registrations", "import", str(entries))
        await asyncio.to_thread(self.gateway.succeed, "tokens", "revoke", "--user", fleet[5].owner)
        self.refused(self.gateway, UNAVAILABLE, IN_USE, "ledger", "export", str(self.file()))
        self.refused(self.gateway, UNAVAILABLE, IN_USE, "ledger", "import", str(entries))
        for phone in fleet:
            phone.connection.close()
        await self.gateway.stop()
        fleet[5].ended.update(fleet[5].tokens)
        fleet[5].tokens = {}
        return fleet

    async def run(self):
        fleet = await self.fill()
        first = self.export(self.gateway)
        lines = first.read_text().splitlines(keepends=True)
        kinds = {next(iter(json.loads(line))) for line in lines}
        for kind in ("registration", "label", "session", "revoked_user", "imported", "account"):
            if kind not in kinds:
                self.problems.append(f"the export has no line of the kind {kind}")
        # To PostgreSQL, where a gateway runs with the same sessions, and back into another file.
        self.used = name = self.database()
        self.gateway.use(self.server.directory, name)
        self.gateway.succeed("ledger", "import", str(first))
        second = self.export(self.gateway)
        self.refused(self.gateway, 1, "not empty", "ledger", "import", str(first))
        for key in ("key", "digest.key"):
            shutil.copy(self.gateway.directory / f"ledger.sqlite.{key}", self.gateway.directory / f"back.sqlite.{key}")
        self.gateway.use(None)
        text = self.gateway.configuration.read_text()
        self.gateway.configuration.write_text(text.replace("file: ledger.sqlite,", "file: back.sqlite,"))
        self.gateway.succeed("ledger", "import", str(second))
        third = self.export(self.gateway)
        self.gateway.configuration.write_text(text)
        for file in (second, third):
            others = file.read_text().splitlines(keepends=True)
            if others != lines:
                differing = [pair for pair in zip(lines, others) if pair[0] != pair[1]][:3]
                self.problems.append(f"exports differ: {len(lines)} and {len(others)} lines, {differing}")
        self.gateway.use(self.server.directory, name)
        await self.gateway.start()
        for phone in fleet:
            self.problems += await phone.check_sessions()
        self.refused(self.gateway, UNAVAILABLE, IN_USE, "ledger", "export", str(self.file()))
        self.refused(self.gateway, UNAVAILABLE, IN_USE, "ledger", "import", str(first))
        await self.gateway.stop()
        self.refuse_changed(lines)
        await self.start_refused()
        return [f"moves: {problem}" for problem in self.problems], len(lines)

    def refuse_changed(self, lines):
        middle = next(number for number, line in enumerate(lines) if '"owner":"user' in line)
        changed = lines[middle].replace('"owner":"user', '"owner":"uses', 1)
        self.refused_import("incomplete", lines[:-1])
        self.refused_import("incomplete", [*lines[:-1], lines[-1][:-5]])
        self.refused_import("lines of", [*lines[:middle], *lines[middle + 1 :]])
        self.refused_import("digest", [*lines[:middle], changed, *lines[middle + 1 :]])
        self.refused_import(f"line {middle + 1}", [*lines[:middle], lines[middle][1:], *lines[middle + 1 :]])
        # The other gateway has never run: its first command creates its keys.
        name, file = self.database(), self.file()
        file.write_text("".join(lines))
        self.other.use(self.server.directory, name)
        self.refused(self.other, 1, "another key", "ledger", "import", str(file))
        if self.server.sql(name, "SELECT count(*) FROM registration, session") != ["0"]:
            self.problems.append("an import of another key stored something")

    async def start_refused(self):
        """Starts with stores that cannot be used, and with an environment that must not matter."""
        name, secret = self.database(), "correct-horse"
        self.server.sql(name, f"CREATE ROLE other LOGIN PASSWORD '{secret}'; GRANT ALL ON SCHEMA public TO other")
        nowhere = self.gateway.directory / "nowhere"
        nowhere.mkdir()
        wrong = "battery-staple"
        failed, role = "password authentication failed", f"user: other, password: {wrong}"
        starts = [
            (self.server.directory, name, role, failed, {}),
            (self.server.directory, name, role, failed, {"PGPASSWORD": secret}),
            (self.server.directory, name, "user: other", "password", {"PGPASSWORD": secret}),
            (self.server.directory, "none", "user: gateway", "does not exist", {}),
            (self.server.directory, "none", "user: gateway", "does not exist", {"PGDATABASE": name}),
            (self.server.directory, self.used, "user: gateway", "key of device handles", {}),
            (nowhere, name, "user: gateway", "nowhere", {}),
            (nowhere, name, "user: gateway", "nowhere", {"PGHOST": str(self.server.directory)}),
        ]
        for socket, database, role, words, environment in starts:
            self.other.use(socket, database, role)
            done = await asyncio.to_thread(self.other.command, "serve", environment=environment)
            lines = [line for line in done.stderr.splitlines() if "warning: limits" not in line]
            if done.returncode != UNAVAILABLE or len(lines) != 1 or words not in lines[0]:
                self.problems.append(f"a start: exit status {done.returncode}, without \"{words}\": {lines}")
            if secret in done.stderr or wrong in done.stderr:
                self.problems.append("a start logs a password")
        self.gateway.use(self.server.directory, self.used)
        done = self.gateway.command("registrations", "list", "--json", environment=VARIABLES)
        if done.returncode != 0 or not done.stdout:
            self.problems.append(f"the environment changes a connection: {done.stderr}")


async def run(program):
    """Runs the moves. Returns the problems and the figures."""
    server, backend = postgresql.Server(), await registrar.Backend().start()
    moves = None
    try:
        await server.start()
        moves = Moves(program, server, backend)
        problems, lines = await moves.run()
        return problems, f"{lines} lines exported three times"
    finally:
        if moves:
            for gateway in (moves.gateway, moves.other):
                if getattr(gateway, "process", None) and gateway.process.returncode is None:
                    await gateway.kill()
                gateway.remove()
        await server.remove()
