"""The proxies and the fixed backend: their configurations, users and tokens, and their start."""
import base64
import contextlib
import dataclasses
import grp
import itertools
import json
import os
import pathlib
import platform
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile

from .client import Call, ask
from .processes import Endpoint, Proxy, free_port, running
from .provider import ALGORITHMS, ISSUER, Provider

CONFIGURATIONS = pathlib.Path(__file__).resolve().parents[2] / "peers"
PASSWORD = "a password of some length"
TARGET = "/api/notifications?pns=apns&to_tag=bob"
MESSAGE = '"The meeting is at noon."'
DEVICES_OF_A_USER, USERS, RECIPIENTS = 4, 64, 10_000
# More tokens of a provider in turn than the gateway caches, so that each one is verified again.
NEW_TOKENS = 20_000
# The longest path of a Unix socket in Linux.
LONGEST_SOCKET_PATH = 107


@dataclasses.dataclass
class Programs:
    gateway: str
    forwarder: str | None = None
    envoy: str | None = None


class Peers:
    """Starts each proxy on a new port or Unix socket, as a context that yields a `Proxy`."""

    def __init__(self, programs, directory, journals):
        self.programs, self.directory, self.journals = programs, pathlib.Path(directory), journals
        # The journal on which gateways start; None for a new one.
        self.template = None
        self.backend = Endpoint(free_port(), f"{self.directory}/backend.sock")
        self.key = secrets.token_bytes(32)
        self.numbers = itertools.count()
        self.provider = None
        # The command that runs the programs of proxies, for example a profiler, and the seconds that a start or an end may take.
        self.wrapper, self.patience = [], 20
        if len(self.backend.path) + 4 > LONGEST_SOCKET_PATH:
            sys.exit(f"compare: {directory}: the path is too long for Unix sockets; name a shorter one with --directory")

    def endpoint(self, unix):
        return Endpoint(free_port(), f"{self.directory}/{next(self.numbers)}.sock" if unix else None)

    @contextlib.contextmanager
    def started(self, command, endpoint, name, journal=None):
        log = self.directory / f"{name}.out"
        wrapper = self.wrapper if endpoint is not self.backend else []
        with running([*wrapper, *command], endpoint, log, self.patience) as pid:
            yield Proxy(pid, endpoint, journal)

    def configure(self, source, values, target=None):
        """Copies a configuration, and replaces @…@ in it."""
        text = (CONFIGURATIONS / source).read_text()
        for word, value in {"directory": self.directory, **values}.items():
            text = text.replace(f"@{word}@", str(value))
        path = self.directory / (target or source)
        path.write_text(text)
        return path

    def nginx(self, name, unix=False, endpoint=None):
        endpoint = endpoint or self.endpoint(unix)
        values = {
            "name": name, "user": pwd.getpwuid(os.geteuid()).pw_name, "group": grp.getgrgid(os.getegid()).gr_name,
            "machine": platform.machine(), "key": "".join(f"\\{byte:03d}" for byte in self.key),
            "listen": f"unix:{endpoint.path}" if unix else f"127.0.0.1:{endpoint.port}", "backend-socket": self.backend.path,
            "backend": f"unix:{self.backend.path}" if unix else f"127.0.0.1:{self.backend.port}",
        }
        self.configure(f"{name}.server", values)
        configuration = self.configure("nginx.conf", values, f"{name}.conf")
        return self.started(["nginx", "-p", str(self.directory), "-c", str(configuration)], endpoint, name)

    def serve_backend(self):
        """Runs the backend, which listens on a TCP port and on a Unix socket."""
        return self.nginx("backend", endpoint=self.backend)

    def haproxy(self):
        endpoint = self.endpoint(False)
        path = self.configure("haproxy.cfg", {"port": endpoint.port, "backend": self.backend.port})
        return self.started(["haproxy", "-db", "-f", str(path)], endpoint, "haproxy")

    def envoy(self, unix=False):
        endpoint = self.endpoint(unix)

        def address(of):
            if unix:
                return f'{{ pipe: {{ path: "{of.path}" }} }}'
            return f"{{ socket_address: {{ address: 127.0.0.1, port_value: {of.port} }} }}"

        key = base64.urlsafe_b64encode(self.key).rstrip(b"=").decode()
        self.configure("envoy.lua", {})
        path = self.configure("envoy.yaml", {"listener": address(endpoint), "backend": address(self.backend), "key": key})
        command = [
            self.programs.envoy, "-c", path, "--concurrency", "1", "--disable-hot-restart", "--log-level", "warning",
            "--file-flush-interval-msec", "1000"]
        return self.started(command, endpoint, "envoy")

    def forward(self, loops=1):
        """Runs the program that only forwards bytes with SwiftNIO."""
        endpoint = self.endpoint(False)
        command = [
            self.programs.forwarder, "--port", str(endpoint.port), "--backend-port", str(self.backend.port), "--loops", str(loops)]
        return self.started(command, endpoint, "forward")

    @contextlib.contextmanager
    def gateway(self, loops=1, unix=False, journal=None, provider=None, sample=None):
        """Runs the gateway with a new ledger, and a new journal or a copy of the template. `loops` is None for the default. `provider`
        says whether the authenticator of the provider's tokens is `first` or `last`. `sample` is the ratio of calls with spans, which
        the fixed backend receives; None for no tracing."""
        endpoint = self.endpoint(unix)
        home = pathlib.Path(tempfile.mkdtemp(dir=self.directory))
        records = pathlib.Path(tempfile.mkdtemp(dir=journal or self.journals, prefix="compare-journal-"))
        try:
            if self.template:
                self.template.copy(records / "journal")
            for name in ["users.yaml", "keys.yaml"]:
                shutil.copy(self.directory / name, home / name)
            listen = f"unix:{endpoint.path}" if unix else f"127.0.0.1:{endpoint.port}"
            backend = f"unix:{self.backend.path}" if unix else f"http://127.0.0.1:{self.backend.port}"
            authenticators = ["hmac-token: { keys: keys.yaml }", "static-users: { file: users.yaml }"]
            if provider:
                shutil.copy(self.directory / "provider.json", home / "provider.json")
                oidc = (
                    f'oidc: {{ issuer: "{ISSUER}", audience: notify, jwks: provider.json, '
                    f"algorithms: [{', '.join(ALGORITHMS)}] }}")
                authenticators = [oidc, *authenticators] if provider == "first" else [*authenticators, oidc]
            tracing = ""
            if sample is not None:
                tracing = f'tracing: {{ endpoint: "http://127.0.0.1:{self.backend.port}/v1/traces", sample: {sample} }}'
            authenticators = ", ".join(f"{{ {text} }}" for text in authenticators)
            (home / "gateway.yaml").write_text(f"""
listen: [{{ address: "{listen}" }}]
admin: {{ address: "127.0.0.1:0" }}
control: {home}/control.sock
backend: {{ url: "{backend}" }}
{f"event-loops: {loops}" if loops else ""}
connections: {{ per-address: 1000 }}
drain: {{ grace: 0s }}
authenticators: [{authenticators}]
policy: {{ send: [{{ from: "*", to: "*" }}], tags: [{{ user: "*", allow: ["topic:*"] }}] }}
overload: {{ calls-per-user: 1000 }}
limits: [{{ name: sends, per: sender, rate: 1000000/s }}]
journal: {{ directory: {records}/journal, minimum-free: 0, keep-size: {"1024GiB" if self.template else "1GiB"} }}
ledger: {{ file: {home}/ledger.sqlite, migrated: true }}
log: {{ level: warning }}
{tracing}
""")
            command = [self.programs.gateway, "serve", "--config", str(home / "gateway.yaml")]
            with self.started(command, endpoint, "gateway", records / "journal") as proxy:
                yield proxy
        finally:
            shutil.rmtree(records, ignore_errors=True)
            shutil.rmtree(home, ignore_errors=True)

    def prepare(self):
        """Creates users, keys and tokens with the gateway's own commands."""
        keys = base64.b64encode(self.key).decode()
        (self.directory / "keys.yaml").write_text(f'keys: [{{ id: k1, algorithm: HS256, secret: "{keys}" }}]\n')
        (self.directory / "keys.yaml").chmod(0o600)
        (self.directory / "gateway.yaml").write_text(
            'backend: { url: "http://127.0.0.1:1" }\n'
            "authenticators: [{ hmac-token: { keys: keys.yaml } }, { static-users: { file: users.yaml } }]\n"
            'policy: { send: [{ from: "*", to: "*" }] }\n')
        options = ["--config", str(self.directory / "gateway.yaml")]
        subprocess.run(
            [self.programs.gateway, "users", "add", "alice", *options], input=PASSWORD + "\n", text=True, check=True,
            stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.bearer = self.token("alice", options)
        self.bearers = [self.token(f"user-{number}", options) for number in range(USERS)]
        self.basic = "Basic " + base64.b64encode(f"alice:{PASSWORD}".encode()).decode()

    def token(self, user, options):
        issued = subprocess.run(
            [self.programs.gateway, "tokens", "issue", "--user", user, *options], text=True, check=True, capture_output=True)
        return "Bearer " + issued.stdout.strip().splitlines()[-1]

    def prepare_provider(self):
        """Creates the keys of an OpenID provider."""
        self.provider = Provider()
        (self.directory / "provider.json").write_text(self.provider.key_set())
        (self.directory / "provider.json").chmod(0o600)

    def provider_sends(self, algorithm, count=1):
        """Returns sends of alice, each with another token of the provider."""
        return [
            Call("POST", TARGET, MESSAGE, self.provider.bearer(algorithm, "alice", number)) for number in range(count)]

    def user_of(self, authorization):
        return f"user-{self.bearers.index(authorization)}" if authorization in self.bearers else "alice"

    def sends(self):
        """Returns sends of several users to many recipients, the users of the journal's template."""
        return [
            Call("POST", f"/api/notifications?pns=apns&to_tag=user-{number}@example.com", MESSAGE, self.bearers[number % USERS])
            for number in range(RECIPIENTS)]

    def devices(self, endpoint):
        """Registers devices; returns the calls that renew the registrations."""
        calls = []
        for number in range(USERS * DEVICES_OF_A_USER):
            bearer, handle = self.bearers[number % USERS], f"{number:064X}"
            id = json.loads(accepted(endpoint, Call("POST", f"/api/register?handle={handle}", None, bearer)))
            body = json.dumps({"Platform": "apns", "Handle": handle, "Tags": []})
            renewal = Call("PUT", f"/api/register/{id}", body, bearer)
            accepted(endpoint, renewal)
            calls.append(renewal)
        return calls


def accepted(endpoint, call):
    """Makes one call; returns the body of its response, whose status must be 200."""
    status, content = ask(endpoint, call)
    if status != 200:
        sys.exit(f"compare: {call.method} {call.target} returned status {status}: {content}")
    return content
