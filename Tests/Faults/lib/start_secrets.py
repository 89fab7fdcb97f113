"""The log of a gateway at the level debug: no secret of its configuration, files and calls, and no line that is too long."""

import asyncio
import base64
import json
import re
import secrets
import signal
import subprocess

import bench
import registrar
import start_gateway

LONGEST_LINE = 64 << 10
# The time for a line of the log to appear.
LIMIT = 20


class Gateway(start_gateway.Gateway):
    """A gateway with each section that has a secret. Nothing listens where the collector and the archive should be."""

    def __init__(self, program, backend):
        super().__init__(program)
        self.known = {
            name: secrets.token_urlsafe(32)
            for name in ("backend", "webhook", "collector", "archive key id", "archive key", "archive token", "password")}
        self.change(
            "backend: { url: embedded }",
            f'backend: {{ url: "http://127.0.0.1:{backend.port}", credential: {{ user-header: X-User, '
            f'secret-header: X-Secret, secret: "{self.known["backend"]}" }} }}')
        self.change(
            "minimum-free: 0",
            f'minimum-free: 0, sinks: [{{ name: events, webhook: {{ url: "http://127.0.0.1:{backend.port}/events", '
            f'secret: "{self.known["webhook"]}" }} }}], archive: {{ s3: {{ endpoint: "http://127.0.0.1:9", region: here, '
            f'bucket: bucket, prefix: gateway, access-key-id: "{self.known["archive key id"]}", '
            f'secret-access-key: "{self.known["archive key"]}", session-token: "{self.known["archive token"]}" }} }}')
        self.change(
            "control:",
            'tracing: { endpoint: "http://127.0.0.1:9/v1/traces", sample: 1, '
            f'headers: {{ authorization: "Bearer ${{file:collector.token}}" }} }}\ncontrol:')
        (self.directory / "collector.token").write_text(self.known["collector"])
        (self.directory / "collector.token").chmod(0o600)
        self.change("level: notice", "level: debug")
        self.logs, self.problems, self.figures = "", [], "the log was not read"

    async def run(self):
        """Makes starts, reloads and calls, right and wrong ones, and reads the log."""
        self.add_user("carol", self.known["password"])
        hashes = set(re.findall(r"\$[^\"' ]*", (self.directory / "users.yaml").read_text()))
        self.known |= {f"hash {number}": text for number, text in enumerate(hashes)}
        await self.start()
        await self.call()
        await self.reload("Configuration reloaded")
        await self.reload_broken()
        await self.restart()
        await self.call()
        await self.reload("Configuration reloaded")
        await self.stop()
        await self.reading
        self.logs += self.log
        for file in [*self.directory.glob("*.key"), self.directory / "token-keys.yaml"]:
            content = file.read_bytes()
            found = re.findall(rb'secret: "([^"]*)"', content) or [content]
            self.known |= {f"{file.name} {number}": key for number, key in enumerate(found)}
        self.search()

    def add_user(self, name, password):
        done = subprocess.run(
            [self.program, "users", "add", name, "--config", str(self.configuration)], input=password + "\n", text=True,
            capture_output=True, check=False)
        if done.returncode:
            raise RuntimeError(f"users add: {done.stderr}")

    async def restart(self):
        await self.stop()
        await self.reading
        self.logs += self.log
        await self.start()

    async def call(self):
        """Makes calls of each kind, with the right credentials and with wrong ones."""
        password, connection = self.known["password"], registrar.Connection(self)
        basic = base64.b64encode(f"carol:{password}".encode()).decode()
        wrong = self.known.setdefault("wrong password", secrets.token_urlsafe(32))
        number = len(self.known)
        text = self.known[f"text {number}"] = secrets.token_urlsafe(32)
        self.known["credential"] = basic

        async def call(expected, method, target, *arguments, **more):
            status, _, body = await connection.call(method, target, *arguments, **more)
            if status != expected:
                self.problems.append(f"{method} {target[:100]}: {status} instead of {expected}: {body[:200]}")
            return body

        login = json.loads(await call(200, "POST", "/auth/token", f"Basic {basic}") or b"{}")
        token = self.known[f"token {number}"] = login.get("access_token", "no token")
        self.known[f"signature {number}"] = token.rpartition(".")[2]
        send = "/api/notifications?pns=apns&to_tag=sender00"
        label = await call(200, "POST", f"/api/register?handle={'AB' * 32}", f"Bearer {token}")
        await call(
            200, "PUT", f"/api/register/{label.decode().strip(chr(34))}", f"Bearer {token}",
            {"Platform": "apns", "Handle": "AB" * 32, "Tags": []})
        await call(200, "POST", send, f"Bearer {token}", text, more=f"Idempotency-Key: key-{number}\r\n")
        await call(200, "POST", send, f"Bearer {token}", text, more=f"Idempotency-Key: key-{number}\r\n")
        await call(200, "POST", send, f"Basic {basic}", text)
        await call(401, "POST", send, "Basic " + base64.b64encode(f"carol:{wrong}".encode()).decode(), text)
        await call(401, "POST", send, f"Bearer {token[:-4]}AAAA", text)
        await call(413, "POST", send, f"Bearer {token}", text * 2000)
        await call(400, "POST", send + "&more=" + "m" * 7000, f"Bearer {token}", text)
        await call(200, "GET", "/auth/sessions", f"Bearer {token}")
        connection.close()

    async def reload(self, words):
        """Sends SIGHUP and waits for the words in the log."""
        seen, end = self.log.count(words), bench.now() + LIMIT
        self.process.send_signal(signal.SIGHUP)
        while self.log.count(words) <= seen:
            if bench.now() > end:
                raise RuntimeError(f"the log does not say {words}: {self.log[-500:]}")
            await asyncio.sleep(0.02)

    async def reload_broken(self):
        """Reloads files in which a mistake is beside a secret or in each rule."""
        rejected = "Configuration rejected"
        for name, old, new in (
            ("token-keys.yaml", 'secret: "', 'secret: ["'), ("token-keys.yaml", 'secret: "', 'secret: "x'),
            ("users.yaml", 'hash: "', 'hash: "x'), ("gateway.yaml", "secret-header:", "secret-headers:"),
            ("gateway.yaml", 'secret-access-key: "', 'secret-access-key: ["'), ("gateway.yaml", "from:", "form:"),
            ("gateway.yaml", "${file:", "${none:"),
        ):
            file = self.directory / name
            content = file.read_text()
            assert old in content, old
            file.write_text(content.replace(old, new))
            await self.reload(rejected)
            file.write_text(content)
        await self.reload("Configuration reloaded")

    def search(self):
        """Searches the log for all secrets and for lines that are too long."""
        for name, secret in self.known.items():
            found = next((form for form in forms(secret) if form in self.logs), None)
            if found:
                place = self.logs.index(found)
                line = self.logs[self.logs.rfind("\n", 0, place) + 1 : place]
                self.problems.append(f"the log contains the secret {name!r} after {line[-300:]}")
        longest = max(len(line.encode()) for line in self.logs.splitlines())
        if longest > LONGEST_LINE:
            self.problems.append(f"the log has a line of {longest} bytes")
        for words in ("Gateway started", "Configuration reloaded", "Configuration rejected", '"level":"debug"'):
            if words not in self.logs:
                self.problems.append(f"the log does not say {words}")
        self.figures = f"{len(self.known)} secrets, {len(self.logs) >> 10} KiB of log, the longest line {longest} bytes"


def forms(secret):
    """Returns the ways to write a secret in a log, none of them short enough to be there by chance."""
    content = secret if isinstance(secret, bytes) else secret.encode()
    contents = [content]
    try:
        contents.append(base64.b64decode(content, validate=True))
    except ValueError:
        pass
    for raw in contents:
        yield raw.hex()
        yield raw.hex().upper()
        # Without the end, which padding and the next bytes change.
        yield base64.b64encode(raw).decode()[: len(raw) * 4 // 3 - 2]
        yield base64.urlsafe_b64encode(raw).decode()[: len(raw) * 4 // 3 - 2]
    yield content.decode("latin-1")
    # A part of it, of a message that was cut.
    yield content.decode("latin-1")[:20]
