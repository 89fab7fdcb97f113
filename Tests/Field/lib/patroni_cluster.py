"""Three PostgreSQL servers under Patroni, with etcd on loopback, all with directories of their own and as an unprivileged user."""

import asyncio
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import bench
import postgresql
from nodes_gateway import free_port

COUNT = 3
# The passwords of the superuser, of replication and of the gateways' role. The servers are reachable on loopback only.
PASSWORD = "a password of this test"
REPLICATION = "replicator"
# The seconds after which a leader that is gone loses its lock, and those between two looks at the cluster.
LEASE, PERIOD = 5, 1


class Certificates:
    """An authority, and a certificate for 127.0.0.1."""

    def __init__(self, directory, user):
        self.authority, self.certificate = directory / "ca.pem", directory / "server.pem"
        self.key, request, extensions = (directory / name for name in ("server.key", "server.csr", "server.ext"))
        extensions.write_text("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n")
        new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        authority_key = directory / "ca.key"
        self.openssl("req", "-x509", *new_key, "-days", 2, "-subj", "/CN=Patroni CA", "-keyout", authority_key, "-out", self.authority)
        self.openssl("req", *new_key, "-subj", "/CN=database", "-keyout", self.key, "-out", request)
        self.openssl(
            "x509", "-req", "-in", request, "-CA", self.authority, "-CAkey", authority_key, "-CAcreateserial", "-days", 2,
            "-extfile", extensions, "-out", self.certificate)
        self.key.chmod(0o600)
        if user is not None:
            os.chown(self.key, user, user)

    @staticmethod
    def openssl(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Postmaster:
    """The process of a server that Patroni started, which is no child of this one."""

    def __init__(self, data):
        self.data = data

    @property
    def pid(self):
        """The number in the file that the server writes, if that process works in the data directory; None otherwise."""
        try:
            pid = int((self.data / "postmaster.pid").read_text().split()[0])
            return pid if pathlib.Path(f"/proc/{pid}/cwd").resolve() == self.data.resolve() else None
        except (OSError, ValueError, IndexError):
            return None

    @property
    def returncode(self):
        return 0 if self.pid is None else None

    def send_signal(self, number):
        os.kill(self.pid, number)

    async def wait(self):
        while self.pid is not None:
            await asyncio.sleep(0.02)


class Member(postgresql.Server):
    """A server with its Patroni."""

    def __init__(self, cluster, number):
        self.cluster, self.number, self.name = cluster, number, f"member{number}"
        self.port, self.rest, self.patroni = free_port(), free_port(), None
        super().__init__()
        # Only the first server has no origin, and Patroni chooses it.
        self.is_standby = True
        self.process = Postmaster(self.data)

    @property
    def host(self):
        return f"127.0.0.1:{self.port}"

    def create(self, origin):
        """Writes the configuration. Patroni creates the data directory."""
        certificates, same = self.cluster.certificates, f"username: {{name}}, password: {PASSWORD}"
        (self.directory / "patroni.yml").write_text(f"""
scope: field
name: {self.name}
restapi: {{ listen: "127.0.0.1:{self.rest}", connect_address: "127.0.0.1:{self.rest}" }}
etcd3: {{ hosts: "127.0.0.1:{self.cluster.port}" }}
bootstrap:
  dcs:
    ttl: {LEASE}
    loop_wait: {PERIOD}
    retry_timeout: 2
    # What the gateways write within a second must not exclude all standbys.
    maximum_lag_on_failover: 1000000000
    postgresql:
      use_pg_rewind: true
      remove_data_directory_on_rewind_failure: true
      # A standby that was away during many checkpoints finds its place in the log.
      parameters: {{ wal_keep_size: 2GB }}
  initdb: [{{ encoding: UTF8 }}, {{ locale: C }}, no-sync]
postgresql:
  listen: "{self.host}"
  connect_address: "{self.host}"
  data_dir: {self.data}
  bin_dir: {postgresql.programs()}
  pgpass: {self.directory}/pgpass
  authentication:
    superuser: {{ {same.format(name=postgresql.ADMINISTRATOR)} }}
    replication: {{ {same.format(name=REPLICATION)} }}
  basebackup: [{{ checkpoint: fast }}, no-sync]
  parameters:
    unix_socket_directories: {self.directory}
    ssl: "on"
    ssl_cert_file: {certificates.certificate}
    ssl_key_file: {certificates.key}
    fsync: "off"
    wal_retrieve_retry_interval: 100ms
    shared_buffers: 32MB
    dynamic_shared_memory_type: mmap
    log_min_messages: warning
    max_connections: 100
  pg_hba:
  - local all all peer map=tests
  - hostssl all {postgresql.ROLE} 127.0.0.1/32 scram-sha-256
  - host all {postgresql.ADMINISTRATOR} 127.0.0.1/32 scram-sha-256
  - host replication {REPLICATION} 127.0.0.1/32 scram-sha-256
  pg_ident: {json.dumps([*self.identities()])}
""")

    async def join(self):
        """Starts Patroni, which starts the server in the role that the cluster has for it."""
        with (self.directory / "patroni.log").open("ab") as log:
            self.patroni = await asyncio.create_subprocess_exec(
                *self.before, "patroni", str(self.directory / "patroni.yml"), stdout=log, stderr=log, cwd="/")

    async def kill(self):
        """Kills Patroni and the server at once."""
        await self.end_patroni()
        await super().kill()

    async def end_patroni(self):
        if self.patroni and self.patroni.returncode is None:
            self.patroni.kill()
            await self.patroni.wait()

    async def start_fenced(self):
        """Starts the server without Patroni as the primary that it was, which accepts sessions and no changes."""
        self.settings = (self.data / "postgresql.auto.conf").read_text()
        self.change(f"listen_addresses = '127.0.0.1'\nport = {self.port}\ndefault_transaction_read_only = on\n")
        await self.start()

    async def stop_fenced(self):
        self.process.send_signal(signal.SIGINT)
        await self.process.wait()
        self.process = Postmaster(self.data)
        (self.data / "postgresql.auto.conf").write_text(self.settings)

    async def ask(self, method, path, body=None, seconds=2):
        """Calls Patroni. Returns the status and the body of its response, and 0 without one."""
        return await asyncio.to_thread(self.exchange, method, path, body, seconds)

    def exchange(self, method, path, body, seconds):
        connection = http.client.HTTPConnection("127.0.0.1", self.rest, timeout=seconds)
        try:
            connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""
        finally:
            connection.close()

    async def remove(self):
        await self.end_patroni()
        if not isinstance(self.process, Postmaster) and self.process.returncode is not None:
            self.process = Postmaster(self.data)
        # What Patroni was starting: a server that has not written its file yet, or a copy of another one.
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if str(self.directory).encode() in path.read_bytes() and int(path.parent.name) != self.process.pid:
                    os.kill(int(path.parent.name), signal.SIGKILL)
        await super().remove()


class Cluster:
    """The servers and etcd."""

    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="gateway-etcd-"))
        # The server's user reads the certificate here.
        self.directory.chmod(0o755)
        self.port, self.etcd = free_port(), None
        self.certificates = Certificates(self.directory, 65534 if os.geteuid() == 0 else None)
        self.is_synchronous = False
        self.members = []

    async def start(self):
        for number in range(COUNT):
            self.members.append(Member(self, number))
        first = self.members[0]
        data, peer = self.directory / "data", f"http://127.0.0.1:{free_port()}"
        data.mkdir(mode=0o700)
        if first.before:
            os.chown(data, 65534, 65534)
        url = f"http://127.0.0.1:{self.port}"
        with (self.directory / "log").open("wb") as log:
            self.etcd = await asyncio.create_subprocess_exec(
                *first.before, "etcd", "--data-dir", str(data), "--listen-client-urls", url, "--advertise-client-urls", url,
                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}",
                "--log-level", "error", stdout=log, stderr=log, cwd="/")
        for member in self.members:
            await member.join()
        self.leader = await self.find_leader()
        name = postgresql.ADMINISTRATOR
        self.leader.sql("postgres", f"""
            CREATE ROLE {postgresql.ROLE} LOGIN PASSWORD '{PASSWORD}';
            ALTER ROLE {name} SET search_path = {postgresql.SCHEMA}, public;""")

    async def until(self, what, condition, seconds=60):
        """Waits until the condition returns something, and returns it."""
        end = bench.now() + seconds
        while not (found := await condition()):
            if bench.now() > end:
                raise RuntimeError(f"{what} does not come about\n" + "".join(map(self.log, self.members)))
            if self.etcd.returncode is not None:
                raise RuntimeError("etcd ended: " + (self.directory / "log").read_text()[-1000:])
            await asyncio.sleep(0.1)
        return found

    @staticmethod
    def log(member):
        path = member.directory / "patroni.log"
        return f"--- {member.name}:\n{path.read_text()[-1500:] if path.exists() else ''}"

    async def find_leader(self, former=None):
        """Waits until another server than the former one is the primary and accepts writes. Returns it."""
        async def look():
            others = [member for member in self.members if member is not former]
            answers = await asyncio.gather(*(member.ask("GET", "/primary") for member in others))
            return next((member for member, (status, _) in zip(others, answers) if status == 200), None)
        self.leader = await self.until("a primary", look)
        return self.leader

    async def settle(self):
        """Lets servers that were killed return, and waits until they follow the primary, and commits wait for one if they should."""
        for member in self.members:
            if member.patroni.returncode is not None:
                await member.join()

        async def look():
            # A copy that pg_basebackup makes streams too.
            states = await asyncio.to_thread(
                self.leader.sql, "postgres",
                "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming' AND application_name LIKE 'member%'")
            if len(states) < COUNT - 1 or ("sync" in states) != self.is_synchronous:
                return False
            if any(status != 200 for status, _ in await asyncio.gather(*(member.ask("GET", "/health") for member in self.members))):
                return False
            # Patroni promotes only a standby of which its store says that commits wait for it.
            _, body = await self.leader.ask("GET", "/cluster")
            roles = [member["role"] for member in json.loads(body or '{"members": []}')["members"]]
            return len(roles) == COUNT and ("sync_standby" in roles) == self.is_synchronous
        await self.until("replication", look)

    async def set_synchronous(self, is_synchronous):
        """Sets whether commits wait for a standby. That takes effect by the end of `settle`."""
        self.is_synchronous = is_synchronous
        status, body = await self.leader.ask("PATCH", "/config", {"synchronous_mode": is_synchronous})
        if status != 200:
            raise RuntimeError(f"Patroni's configuration: {status} {body}")

    async def switch_over(self):
        """Asks Patroni for another primary. Returns once there is one."""
        former = self.leader
        status, body = await former.ask("POST", "/switchover", {"leader": former.name}, seconds=60)
        if status != 200:
            raise RuntimeError(f"switch-over: {status} {body}")
        await self.find_leader(former)

    async def fail_over(self):
        """Kills the primary with its Patroni. Returns it once there is another one."""
        former = self.leader
        await former.kill()
        await self.find_leader(former)
        return former

    async def remove(self):
        done = await asyncio.gather(*(member.remove() for member in self.members), return_exceptions=True)
        if self.etcd and self.etcd.returncode is None:
            self.etcd.kill()
            await self.etcd.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
        for problem in filter(None, done):
            raise problem
