"""Directories of gateways as text, and the processes of the program in an environment with a fixed time."""

import base64
import calendar
import hmac
import json
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.parse

LIB = pathlib.Path(__file__).resolve().parent
ROOT = LIB.parents[2]
INPUTS = LIB.parent / "inputs"
for folder in ("Tests/Faults/lib", "Tests/Field/lib", "Tests/Console/lib/attack"):
    sys.path.append(str(ROOT / folder))
import client
import field

# The recordings begin at the first time; whatever reads them starts at the second one, early in a minute.
RECORDED, READ = "2026-11-02T10:00:00Z", "2026-11-02T10:10:01Z"
# The hash of the password "alice", with few rounds.
HASH = "$5$rounds=1000$alice$20.kuhUgjZX.hvUjrGqQVL1XUbt.G8CccOg9cU1M3/3"
PASSWORD = "alice"
# The files of a stopped gateway that are no part of its state.
TRANSIENT = ("*.lock", "lock", "*-shm", "*-wal", "control.sock", "log", "*.spool*", "index-*")


def build(directory):
    """Compiles the library with the clock, and has each later process of this one load it."""
    path = pathlib.Path(directory) / "environment.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", str(path), str(LIB / "environment.c")], check=True)
    return path


def use(library):
    """Gives this process's children the library and an environment without the user's settings."""
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR", "LD_LIBRARY_PATH") if name in os.environ}
    os.environ.clear()
    os.environ.update(kept, LD_PRELOAD=str(library), LANG="C.UTF-8", TZ="UTC", COLUMNS="80", HOME="/nonexistent")
    os.umask(0o077)


def seconds(text):
    """Returns a time in seconds since 1970."""
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


def set_clock(text):
    """Sets the time at which processes that are started from now on believe to be."""
    os.environ["GOLDEN_CLOCK_OFFSET"] = str(seconds(text) - int(time.time()))


class World:
    """A directory of a gateway with its configuration."""

    running = set()

    def __init__(self, program, name, parent, values=None):
        """Copies the recorded directory of that name, if there is one, and replaces each `@NAME@` in its configuration."""
        self.program, self.name = str(program), name
        self.directory = pathlib.Path(parent) / name.replace("/", "-")
        self.directory.mkdir()
        self.configuration = self.directory / "gateway.yaml"
        self.values = {"DIRECTORY": str(self.directory), **(values or {})}
        recorded = INPUTS / name
        if recorded.is_dir():
            thaw(recorded, self.directory, self.values)
        self.gateway = None

    def write(self, name, text):
        path = self.directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o600)

    def run(self, *arguments, text=None, configured=True):
        """Runs a command in the directory; returns its exit status, output and messages."""
        more = ["--config", "gateway.yaml"] if configured else []
        done = subprocess.run(
            [self.program, *arguments, *more], cwd=self.directory, input=text or "", text=True, capture_output=True,
            errors="replace", timeout=60)
        return done.returncode, done.stdout, done.stderr

    def succeed(self, *arguments, text=None):
        status, out, error = self.run(*arguments, text=text)
        if status != 0:
            raise RuntimeError(f"{' '.join(arguments)}: {status} {out} {error}")
        return out

    def version(self):
        """Returns the version of the program, which differs between builds."""
        return subprocess.run([self.program, "--version"], capture_output=True, text=True).stdout.strip().split()[-1]

    def start(self):
        self.gateway = Gateway(self.program, str(self.directory))
        World.running.add(self)
        return self.gateway

    def stop(self):
        if self.gateway:
            status = self.gateway.stop()
            self.gateway.reader.join()
            self.ended()
            return status

    def kill(self):
        self.gateway.process.kill()
        self.gateway.process.wait()
        self.ended()

    def ended(self):
        self.gateway = None
        World.running.discard(self)

    def journal(self):
        """Returns the records of the journal."""
        found = []
        for segment in sorted((self.directory / "journal").glob("journal-*.jsonl")):
            found += [json.loads(line) for line in segment.read_text().splitlines() if line.endswith("}")]
        return found

    def wait_for(self, what, seconds=30):
        """Waits until a function of the journal's records is true, and returns its value."""
        end = time.monotonic() + seconds
        while not (value := what(self.journal())):
            if time.monotonic() > end:
                raise RuntimeError(f"{self.name}: nothing in the journal after {seconds} s: {self.journal()[-3:]}")
            time.sleep(0.02)
        return value


class Hub(field.Process):
    """The program's hub as a process."""

    def __init__(self, program):
        super().__init__(["/bin/sh", "-c", 'exec "$0" hub --port 0 >&2', str(program)], r"KeyName=Manage;SharedAccessKey=.*")
        self.port = int(re.search(r"127\.0\.0\.1:(\d+)", "".join(self.log))[1])

    def connection_string(self, policy):
        return re.search(rf"Endpoint=.*KeyName={policy};.*", "".join(self.log))[0]


    def request(self, method, path, body=None):
        """Makes a request of the hub's own interface with the key that may do everything."""
        policy = self.connection_string("Manage")
        key = re.search(r"SharedAccessKey=(\S+)", policy)[1]
        resource = urllib.parse.quote(f"http://127.0.0.1:{self.port}/demo", safe="").lower()
        signed = base64.b64encode(hmac.digest(key.encode(), f"{resource}\n1900000000".encode(), "sha256")).decode()
        fields = [
            "Authorization: SharedAccessSignature "
            f"sr={resource}&sig={urllib.parse.quote(signed, safe='')}&se=1900000000&skn=Manage",
            "x-ms-version: 2020-06"]
        content = request(method, f"/demo/{path}?api-version=2020-06", None, body, fields)
        content = content.replace(b"gateway.test", f"127.0.0.1:{self.port}".encode())
        if body:
            content = content.replace(b"application/json", b"application/atom+xml;type=entry;charset=utf-8")
        elif method != "GET":
            content = content.replace(b"\r\n\r\n", b"\r\nContent-Length: 0\r\nIf-Match: *\r\n\r\n")
        reply = client.parse(exchange(("127.0.0.1", self.port), content))
        if not 200 <= reply.status < 300:
            raise RuntimeError(f"the hub's {method} {path}: {reply.raw}")
        return reply


class Gateway(field.Gateway):
    """A running gateway, and the ports that its log names."""

    def __init__(self, program, directory):
        super().__init__(program, directory)
        line = self.match.string
        self.port = int(self.match[1])
        self.admin = self.found(line, "admin")
        self.console = self.found(line, "console")
        self.socket = os.path.join(directory, "control.sock")

    @staticmethod
    def found(line, name):
        match = re.search(rf'"{name}":"127\.0\.0\.1:(\d+)"', line)
        return int(match[1]) if match else None

    def send(self, request):
        """Sends the bytes of one request with `Connection: close`, and returns the bytes of the response."""
        return exchange(("127.0.0.1", self.port), request)

    def request(self, method, target, user=None, body=None, fields=(), token=None):
        """Makes a call and returns the response as bytes. `body` is text."""
        return self.send(request(method, target, user, body, fields, token))

    def operate(self, method, target, body=None, fields=()):
        """Makes a request of the operator API and returns the response as bytes."""
        content = json.dumps(body) if body is not None else None
        return exchange(self.socket, request(method, target, None, content, fields))


def request(method, target, user=None, body=None, fields=(), token=None):
    """Returns the bytes of a request."""
    lines = [f"{method} {target} HTTP/1.1", "Host: gateway.test", "Connection: close"]
    if user:
        name, _, password = user.partition(":")
        lines.append("Authorization: Basic " + base64.b64encode(f"{name}:{password or PASSWORD}".encode()).decode())
    if token:
        lines.append(f"Authorization: Bearer {token}")
    lines += fields
    content = b""
    if body is not None:
        content = body.encode("utf-8", "surrogateescape")
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + content


def exchange(address, content):
    """Sends bytes and returns what arrives until the connection is closed."""
    kind = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(kind) as stream:
        stream.settimeout(60)
        stream.connect(address)
        stream.sendall(content)
        received = b""
        try:
            while piece := stream.recv(65536):
                received += piece
        except ConnectionError:
            pass
        return received


def document(response):
    """Returns the JSON document of a response; None without one."""
    reply = client.parse(response)
    return json.loads(reply.body) if reply.body.strip() else None


def freeze(directory, target):
    """Writes the state of a stopped gateway as text files."""
    shutil.rmtree(target, ignore_errors=True)
    ignored = shutil.ignore_patterns(*TRANSIENT)
    for folder, _, names in os.walk(directory):
        for name in sorted(set(names) - ignored(folder, names)):
            path = pathlib.Path(folder) / name
            place = pathlib.Path(target) / path.relative_to(directory)
            place.parent.mkdir(parents=True, exist_ok=True)
            content = path.read_bytes()
            if content.startswith(b"SQLite format 3\0"):
                place.with_name(name + ".sql").write_text(dump(path))
            elif name.endswith(".key"):
                place.with_name(name + ".base64").write_text(base64.b64encode(content).decode() + "\n")
            elif (padding := len(content) - len(content.rstrip(b"\n"))) > 1:
                # A segment in use is filled up with line feeds.
                place.write_bytes(content.rstrip(b"\n") + b"\n")
                place.with_name(name + ".padding").write_text(f"{padding - 1}\n")
            else:
                place.write_bytes(content)


def dump(path):
    """Returns the statements that make an SQLite file again."""
    connection = sqlite3.connect(path)
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    text = "\n".join([f"PRAGMA user_version = {version};", *connection.iterdump(), ""])
    connection.close()
    return text


def thaw(source, target, values):
    """Makes the files of a gateway again."""
    for path in sorted(pathlib.Path(source).rglob("*")):
        place = pathlib.Path(target) / path.relative_to(source)
        if path.is_dir():
            place.mkdir(exist_ok=True)
        elif path.suffix == ".sql" and path.name != "database.sql":
            connection = sqlite3.connect(place.with_suffix(""))
            connection.executescript("PRAGMA journal_mode = WAL;" + path.read_text())
            connection.close()
        elif path.suffix == ".base64":
            place.with_suffix("").write_bytes(base64.b64decode(path.read_text()))
        elif path.suffix == ".padding":
            with place.with_suffix("").open("ab") as file:
                file.write(b"\n" * int(path.read_text()))
        elif path.name == "gateway.yaml":
            place.write_text(filled(path.read_text(), values))
        else:
            place.write_bytes(path.read_bytes())


def filled(text, values):
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    return text


def remove(directory):
    """Ends the gateways that an error has left, and removes the directory."""
    for world in list(World.running):
        world.kill()
    shutil.rmtree(directory)


def temporary():
    """Returns a new directory that other users can enter, as the server of PostgreSQL has to load the library."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="gateway-golden-"))
    path.chmod(0o755)
    return path
