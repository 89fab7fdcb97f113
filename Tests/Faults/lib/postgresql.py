"""A PostgreSQL server of a test, as an unprivileged user on a Unix socket, and a proxy that cuts its connections."""

import asyncio
import os
import pathlib
import pwd
import random
import shutil
import signal
import subprocess
import tempfile

import bench

PORT = 5432
# The gateways' role, and the superuser.
ROLE, ADMINISTRATOR = "gateway", "postgres"
# The schema of the gateways' tables.
SCHEMA = "notify_gateway"


def programs():
    """Returns the directory of the newest server's programs, or None."""
    found = [path.parent for path in pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(found, key=lambda path: int(path.parent.name), default=None)


def obstacle():
    """Returns why this machine cannot run a server; None if it can."""
    if programs() is None:
        return "the package postgresql is missing"
    return None if os.geteuid() != 0 or shutil.which("setpriv") else "setpriv is missing"


class Server:
    """A server without fsync, since its faults end only processes: what it wrote is in the page cache then.

    With `origin` it is a standby that copies that running server until it is promoted.
    """

    port = PORT

    def __init__(self, origin=None):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="gateway-postgresql-"))
        self.data = self.directory / "data"
        self.process = None
        self.is_standby = origin is not None
        # nobody. The group has the same number in Debian.
        user = 65534
        as_nobody = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--"]
        self.before = as_nobody if os.geteuid() == 0 else []
        if self.before:
            os.chown(self.directory, user, user)
        # The users of the tests and of the server.
        self.users = sorted({pwd.getpwuid(os.geteuid()).pw_name, pwd.getpwuid(user if self.before else os.geteuid()).pw_name})
        self.create(origin)

    def create(self, origin):
        """Creates the data directory."""
        if origin:
            origin.client("pg_basebackup", "-D", self.data, "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
        else:
            self.run(
                "initdb", "--no-sync", "--auth=peer", f"--username={ADMINISTRATOR}", "--encoding=UTF8", "--locale=C",
                "-D", self.data)
            # Only these users are these roles, whoever else reaches the socket.
            (self.data / "pg_hba.conf").write_text(
                f"local all,replication {ROLE},{ADMINISTRATOR} peer map=tests\nlocal all all scram-sha-256\n")
            (self.data / "pg_ident.conf").write_text("".join(line + "\n" for line in self.identities()))
        self.change(f"""
listen_addresses = ''
port = {self.port}
unix_socket_directories = '{self.directory}'
synchronous_standby_names = ''
wal_retrieve_retry_interval = 100ms
fsync = off
full_page_writes = off
shared_buffers = 32MB
dynamic_shared_memory_type = mmap
log_min_messages = warning
""")

    def identities(self):
        """Returns the lines of pg_ident.conf."""
        return [f"tests {name} {role}" for name in self.users for role in (ROLE, ADMINISTRATOR)]

    def change(self, settings):
        """Appends settings, which override earlier ones. A running server needs `reload` to apply them."""
        with (self.data / "postgresql.auto.conf").open("a") as file:
            file.write(settings)

    def reload(self):
        os.kill(self.process.pid, signal.SIGHUP)

    def command(self, program, *arguments):
        return [*self.before, str(programs() / program), *map(str, arguments)]

    def run(self, program, *arguments, text=None):
        done = subprocess.run(
            self.command(program, *arguments), input=text, capture_output=True, text=True, check=False, cwd="/")
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr.strip()}")
        return done.stdout

    def client(self, program, *arguments, text=None):
        return self.run(program, "-h", self.directory, "-p", self.port, "-U", ADMINISTRATOR, *arguments, text=text)

    def create_database(self, name):
        """Creates a database with the gateways' schema."""
        self.client("createdb", "--owner", ROLE, name)
        self.sql(name, f"CREATE SCHEMA {SCHEMA} AUTHORIZATION {ROLE}")

    def sql(self, database, text):
        """Runs statements as the superuser, who finds the gateways' tables, and returns the rows, one a line."""
        return self.client("psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", database, text=text).splitlines()

    async def start(self):
        with (self.directory / "log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *self.command("postgres", "-D", self.data), stdout=log, stderr=log, cwd="/")
        end = bench.now() + 60
        while True:
            done = await asyncio.create_subprocess_exec(
                *self.command("pg_isready", "-q", "-h", self.directory, "-p", self.port), cwd="/")
            if await done.wait() == 0:
                break
            if bench.now() > end or self.process.returncode is not None:
                raise RuntimeError("PostgreSQL did not start:\n" + (self.directory / "log").read_text()[-2000:])
            await asyncio.sleep(0.02)
        if not self.is_standby and not self.sql("postgres", f"SELECT 1 FROM pg_roles WHERE rolname = '{ROLE}'"):
            self.sql("postgres", f"CREATE ROLE {ROLE} LOGIN; ALTER ROLE {ADMINISTRATOR} SET search_path = {SCHEMA}, public")

    def signal(self, number):
        """Sends a signal to all processes of the server. The postmaster is first: while it is stopped, it forks none."""
        pid = self.process.pid
        os.kill(pid, signal.SIGSTOP if number == signal.SIGKILL else number)
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for process in [*map(int, children), pid]:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)

    async def kill(self):
        self.signal(signal.SIGKILL)
        await self.process.wait()

    async def remove(self):
        if self.process and self.process.returncode is None:
            self.thaw()
            # The immediate shutdown, which removes the server's shared memory.
            self.process.send_signal(signal.SIGQUIT)
            await self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


class CuttingProxy:
    """A Unix socket before the server's. It drops some connections: before a COMMIT, after it, or anywhere."""

    def __init__(self, server, seed):
        self.server = server
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="gateway-proxy-"))
        self.chance = random.Random(seed)
        self.is_cutting = False
        self.cuts = 0
        self.tasks = set()

    async def start(self):
        self.listener = await asyncio.start_unix_server(self.accept, self.directory / f".s.PGSQL.{PORT}")

    async def accept(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        other = None
        try:
            other_reader, other = await asyncio.open_unix_connection(self.server.directory / f".s.PGSQL.{PORT}")
            ways = (reader, other, True), (other_reader, writer, False)
            copies = [asyncio.create_task(self.copy(*way)) for way in ways]
            await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
            for task in copies:
                task.cancel()
        except OSError:
            pass
        finally:
            for end in (writer, other):
                if end:
                    end.transport.abort()
            self.tasks.discard(asyncio.current_task())

    async def copy(self, reader, writer, is_to_server):
        """Copies until an end is closed or the connection is cut."""
        try:
            while data := await reader.read(1 << 16):
                is_commit = is_to_server and b"COMMIT" in data
                cut = self.is_cutting and self.chance.random() < (0.1 if is_commit else 0.002)
                self.cuts += cut
                # The server carries a commit out in half of the cases, and its client never learns of it.
                if not cut or (is_commit and self.chance.random() < 0.5):
                    writer.write(data)
                    await writer.drain()
                if cut:
                    # Also delivers what was just written, before the caller aborts both ends.
                    await asyncio.sleep(0.01)
                    return
        except OSError:
            pass

    async def remove(self):
        self.listener.close()
        for task in list(self.tasks):
            task.cancel()
        shutil.rmtree(self.directory, ignore_errors=True)
