"""Recorded clients at a gateway: the bytes of the responses, and what arrives at the backend. Metrics and log messages."""

import json
import re
import socket
import time

import backends
import postgresql_store
import recordings
import worlds
from documents import Document

FIXTURES = worlds.ROOT / "Tests" / "Fixtures" / "clients"
CONFIGURATION = """listen: [{ address: "127.0.0.1:0" }]
admin: { address: "127.0.0.1:0" }
control: control.sock
backend: @BACKEND@
authenticators:
  - hmac-token: { keys: token-keys.yaml }
  - static-users: { file: users.yaml }
policy:
  send: [{ from: "alice", to: "*" }, { from: "*", to: "self" }]
  tags: [{ user: "*", allow: [myTag, "topic:*"] }]
limits: [{ name: pair, per: [sender, recipient], rate: 24/d }]
journal: { directory: journal, minimum-free: 0 }
ledger: { file: ledger.sqlite }
drain: { grace: 0s }
"""
BASIC = b"Authorization: Basic YWxpY2U6YWxpY2U=\r\n"
HOST = b"Host: notify.example\r\n"
SEND = b"POST /api/notifications?pns=apns&to_tag=bob HTTP/1.1\r\n" + HOST + BASIC + b"Content-Type: application/json\r\n"


def body(text):
    return b"Content-Length: %d\r\n\r\n%s" % (len(text), text)


# Requests of other clients, by title, each on a connection of its own.
OTHERS = {
    "a send without credentials": b"POST /api/notifications?pns=apns&to_tag=bob HTTP/1.1\r\n" + HOST + body(b'"x"'),
    "a wrong password": b"GET /auth/whoami HTTP/1.1\r\n" + HOST + b"Authorization: Basic YWxpY2U6Ym9i\r\n\r\n",
    "an unknown scheme": b"GET /auth/whoami HTTP/1.1\r\n" + HOST + b"Authorization: Digest x\r\n\r\n",
    "a malformed credential": b"GET /auth/whoami HTTP/1.1\r\n" + HOST + b"Authorization: Basic ***\r\n\r\n",
    "a damaged token": b"GET /auth/whoami HTTP/1.1\r\n" + HOST + b"Authorization: Bearer a.b.c\r\n\r\n",
    "who is it": b"GET /auth/whoami HTTP/1.1\r\n" + HOST + BASIC + b"\r\n",
    "HTTP/1.0": b"GET /auth/whoami HTTP/1.0\r\n" + BASIC + b"\r\n",
    "HTTP/2.0 in a line": b"GET /auth/whoami HTTP/2.0\r\n" + HOST + b"\r\n",
    "no host": b"GET /auth/whoami HTTP/1.1\r\n" + BASIC + b"\r\n",
    "two hosts": b"GET /auth/whoami HTTP/1.1\r\n" + HOST + HOST + BASIC + b"\r\n",
    "no request": b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n\r\n",
    "a space before the colon": b"GET /auth/whoami HTTP/1.1\r\nHost : x\r\n\r\n",
    "another path": b"GET /nowhere HTTP/1.1\r\n" + HOST + BASIC + b"\r\n",
    "another method": b"PATCH /api/register/1-1-1 HTTP/1.1\r\n" + HOST + BASIC + b"\r\n",
    "a method of a route": b"GET /api/register/1-1-1 HTTP/1.1\r\n" + HOST + BASIC + b"\r\n",
    "HEAD": b"HEAD /auth/whoami HTTP/1.1\r\n" + HOST + BASIC + b"\r\n",
    "an absolute target": b"GET http://notify.example/auth/whoami HTTP/1.1\r\n" + HOST + BASIC + b"\r\n",
    "a long target": b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "a long field": b"GET /auth/whoami HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 40000 + b"\r\n\r\n",
    "many fields": b"GET /auth/whoami HTTP/1.1\r\n" + HOST + b"X: a\r\n" * 300 + b"\r\n",
    "two lengths": SEND + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\n\"x\"",
    "a length and chunks": SEND + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n\"x\"\r\n0\r\n\r\n",
    "chunks": SEND + b"Transfer-Encoding: chunked\r\n\r\n2\r\n\"c\r\n1\r\n\"\r\n0\r\n\r\n",
    "an expectation": SEND + b"Expect: 100-continue\r\n" + body(b'"x"'),
    "another expectation": SEND + b"Expect: something\r\n" + body(b'"x"'),
    "a content coding": SEND + b"Content-Encoding: gzip\r\n" + body(b'"x"'),
    "another type": SEND.replace(b"application/json", b"text/xml") + body(b'"x"'),
    "another charset": SEND.replace(b"application/json", b"application/json; charset=utf-16") + body(b'"x"'),
    "no text": SEND + body(b""),
    "no quotation marks": SEND + body(b"text"),
    "half a surrogate pair": SEND + body(b'"\\ud800"'),
    "escapes": SEND + body(b'"a \\"b\\" \\u00e4 \\n <c> & \'d\'"'),
    "a long text": SEND + body(b'"' + b"x" * 4080 + b'"'),
    "a very long body": SEND + b"Content-Length: 10000000\r\n\r\n",
    "an unknown platform": SEND.replace(b"apns", b"icq") + body(b'"x"'),
    "no recipient": SEND.replace(b"&to_tag=bob", b"") + body(b'"x"'),
    "an expression as the recipient": SEND.replace(b"=bob", b"=bob%20||%20carol") + body(b'"x"'),
    "a recipient in capitals": SEND.replace(b"=bob", b"=BOB") + body(b'"x"'),
    "another parameter": SEND.replace(b"=bob", b"=bob&at=tomorrow") + body(b'"x"'),
    "a send with a key": SEND + b"Idempotency-Key: k-1\r\n" + body(b'"once"'),
    "a send with the key again": SEND + b"Idempotency-Key: k-1\r\n" + body(b'"once"'),
    "another send with the key": SEND + b"Idempotency-Key: k-1\r\n" + body(b'"twice"'),
    "a malformed key": SEND + b"Idempotency-Key: \"\r\n" + body(b'"x"'),
    "a trace": SEND + b"traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n" + body(b'"x"'),
    "a registration with a foreign tag": b"PUT /api/register/1-1-1 HTTP/1.1\r\n" + HOST + BASIC
    + body(b'{"Platform":"apns","Handle":"' + b"A1" * 32 + b'","Tags":["from:bob"]}'),
    "a registration with an unusable handle": b"PUT /api/register/1-1-1 HTTP/1.1\r\n" + HOST + BASIC
    + body(b'{"Platform":"apns","Handle":"(null)","Tags":[]}'),
    "a registration that is no document": b"PUT /api/register/1-1-1 HTTP/1.1\r\n" + HOST + BASIC + body(b"{"),
    "a registration without a member": b"PUT /api/register/1-1-1 HTTP/1.1\r\n" + HOST + BASIC + body(b'{"Platform":"apns"}'),
    "a malformed id": b"DELETE /api/register/1-2 HTTP/1.1\r\n" + HOST + BASIC + b"\r\n",
    "a foreign id": b"DELETE /api/register/1-2-3 HTTP/1.1\r\n" + HOST + BASIC + b"\r\n",
    "a login": b"POST /auth/token HTTP/1.1\r\n" + HOST + BASIC + b"Content-Type: application/json\r\n"
    + body(b'{"device":"a phone"}'),
    "a login with another member": b"POST /auth/token HTTP/1.1\r\n" + HOST + BASIC + b"Content-Type: application/json\r\n"
    + body(b'{"colour":"blue"}'),
    "a logout at a provider": b"POST /auth/backchannel-logout HTTP/1.1\r\n" + HOST + body(b"logout_token=x"),
    "sends beyond the limit": (SEND.replace(b"bob", b"carol") + body(b'"x"')) * 26,
}


def sessions(document, gateway):
    """Replays the recorded clients, each on one connection, and the others."""
    for client in ("ios", "windows", "android"):
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=30) as stream:
            responses = Responses(stream)
            for path in sorted(FIXTURES.glob(f"{client}-*.http")):
                stream.sendall(path.read_bytes())
                document.add(path.stem, text_of(responses.next()))
    for title, content in OTHERS.items():
        with socket.create_connection(("127.0.0.1", gateway.port), timeout=30) as stream:
            stream.sendall(content)
            responses = Responses(stream)
            received = b"".join(responses.next(title == "HEAD") for _ in range(max(content.count(b" HTTP/1.1\r\n"), 1)))
            # The end of the client's side is later than its responses, which say whether the connection stays.
            stream.shutdown(socket.SHUT_WR)
            received += responses.end()
            document.add(title, text_of(received))


class Responses:
    """The responses that arrive at a client's connection."""

    def __init__(self, stream):
        self.stream, self.rest = stream, b""

    def next(self, is_head=False):
        """Returns the bytes of one response, with those that precede it."""
        interim = b""
        while True:
            head, end, body = self.rest.partition(b"\r\n\r\n")
            length = LENGTH.search(head)
            size = 0 if is_head or not length else int(length[1])
            if end and b" 100 " in head[:13]:
                interim, self.rest = interim + head + end, body
            elif end and len(body) >= size:
                self.rest = body[size:]
                return interim + head + end + body[:size]
            elif not self.fill():
                found, self.rest = interim + self.rest, b""
                return found

    def fill(self):
        """Reads; returns whether something arrived."""
        try:
            piece = self.stream.recv(65536)
        except ConnectionError:
            self.rest += b"(connection reset)"
            return False
        self.rest += piece
        return bool(piece)

    def end(self):
        """Returns what arrives until the connection ends."""
        while self.fill():
            pass
        return self.rest


LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


def unmeasured(content):
    """Returns messages without the lengths that are those of their bodies, because ids have different numbers of digits."""
    whole = b""
    while True:
        head, end, rest = content.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if not end or not length or int(length[1]) > len(rest):
            return whole + content
        size = int(length[1])
        whole += head[:length.start(1)] + b"(that of the body)" + head[length.end(1):] + end + rest[:size]
        content = rest[size:]


def text_of(content):
    """Returns bytes as text: each line end that is not CRLF is shown."""
    content = unmeasured(content)
    return content.decode("utf-8", "backslashreplace").replace("\r\n", "\r\r").replace("\n", "\\n\n").replace("\r\r", "\n")


def make(program, parent, name, backend, more=""):
    world = worlds.World(program, name, parent, {"BACKEND": backend})
    recordings.prepare(world, CONFIGURATION + more)
    return world


def embedded(program, parent):
    """Each profile of the embedded backend, and the metrics after these calls."""
    found, first = {}, None
    for profile in ("classic", "core", "net6"):
        world = make(program, parent, profile, f"{{ url: embedded, profile: {profile} }}")
        gateway = world.start()
        document = Document(world)
        sessions(document, gateway)
        first = first or document
        found[f"wire/embedded-{profile}.txt"] = document.beside("classic", first) if document != first else document.text()
        if profile == "classic":
            found["metrics/classic.txt"] = metrics(world)
        world.stop()
    world = make(program, parent, "hub", "{ hub: embedded }", "sends: { secure: requested }\n")
    gateway = world.start()
    document = Document(world)
    sessions(document, gateway)
    found["wire/embedded-hub.txt"] = document.beside("classic", first)
    world.stop()
    return found


def recorded(program, parent):
    """What arrives at backends of each profile."""
    found, first = {}, None
    for profile in ("classic", "core", "net6"):
        backend = backends.Backend()
        world = make(program, parent, f"to-{profile}", f'{{ url: "http://127.0.0.1:{backend.port}", profile: {profile} }}')
        gateway = world.start()
        document = Document(world)
        document.normalise.also("parent", r"(?m)^traceparent: 00-[0-9a-f]{32}-([0-9a-f]{16})-")
        sessions(document, gateway)
        for number, content in enumerate(backend.arrived, 1):
            document.add(f"request {number} at the backend", text_of(content))
        first = first or document
        found[f"wire/backend-{profile}.txt"] = document.beside("classic", first) if document != first else document.text()
        world.stop()
        backend.close()
    return found


def metrics(world):
    """Returns the metrics: help, type, and labels; the values of counters of calls."""
    document = Document(world)
    gateway = world.gateway
    # The first scrape makes the series about scrapes.
    for target in ("/health/live", "/health/ready", "/nothing", "/metrics"):
        answer = worlds.exchange(("127.0.0.1", gateway.admin), worlds.request("GET", target))
        if target != "/metrics":
            document.add(f"GET {target}", text_of(answer))
    answer = worlds.exchange(("127.0.0.1", gateway.admin), worlds.request("GET", "/metrics")).decode()
    head, _, text = answer.partition("\r\n\r\n")
    text = re.sub(r"\r\n[0-9a-f]+\r\n|^[0-9a-f]+\r\n", "", text)
    document.add("GET /metrics", re.sub(r"Content-Length: \d+\r\n", "", head).replace("\r\n", "\n"))
    lines, bounds = set(), {}
    for line in text.replace("\r", "").split("\n"):
        if line.startswith("#") or not line or COUNTED.match(line):
            lines.add(line)
        elif bound := re.search(r',?le="([^"]*)"', line):
            series = (line[:bound.start()] + line[bound.end():]).rpartition(" ")[0]
            bounds.setdefault(series, []).append(bound[1])
        else:
            lines.add(line.rpartition(" ")[0])
    lines |= {f"{series} with the bounds {' '.join(found)}" for series, found in bounds.items()}
    document.add("families and series", "\n".join(sorted(lines, key=lambda line: (re.sub("^# (HELP|TYPE) ", "", line), line))))
    return document.text()


# The metrics whose values depend on the calls only.
COUNTED = re.compile(
    r"notify_gateway_(calls_total|limit_rejections_total|ready|ledger_up|journal_up|bans|sessions)\b")


def logs(program, parent):
    """The messages of a start, a reload and a stop, with the names of their metadata."""
    found = {}
    with postgresql_store.Server() as server:
        store = f"store: {{ postgresql: {{ socket: {server.directory}, database: golden, user: gateway }} }}\n"
        for name, backend, more in (
            ("files", "{ url: embedded }", ""),
            ("hub", "{ hub: embedded }", "sends: { secure: requested }\n"),
            ("store", "{ url: embedded }", store),
            ("sinks", "{ url: embedded }", "tracing: { endpoint: \"http://127.0.0.1:9/v1/traces\", sample: 1 }\n"),
        ):
            world = make(program, parent, f"log-{name}", backend, more + "log: { level: debug }\n")
            if name == "sinks":
                sinks = "minimum-free: 0, sinks: [{ name: copy, file: { path: copy } }]"
                world.write("gateway.yaml", world.configuration.read_text().replace("minimum-free: 0", sinks))
            document = Document(world)
            gateway = world.start()
            calls = recordings.Calls(gateway)
            calls.register("bob", 1)
            calls.expect(200, "POST", recordings.SEND + "bob", "alice", '"hello"')
            calls.expect(403, "POST", recordings.SEND + "bob", "carol", '"no"')
            calls.expect(401, "GET", "/auth/whoami", "nobody")
            wait_for_line(gateway, "Login failed")
            calls.operate(200, "POST", "/v1/reload")
            world.write("gateway.yaml", world.configuration.read_text() + "nonsense: 1\n")
            document.add("reload with an error", worlds.client.parse(gateway.operate("POST", "/v1/reload")).text)
            for text in ("Configuration rejected", "Token keys reloaded", "Users file reloaded"):
                wait_for_line(gateway, text)
            if name in ("store", "sinks"):
                found[f"metrics/{name}.txt"] = metrics(world)
            world.stop()
            document.add("messages", messages(gateway.log))
            found[f"logs/{name}.txt"] = document.text()
    return found


# What a gateway logs at its end, or not.
UNCERTAIN = ("Checkpoint copying failed", "File rejected")


def messages(lines):
    """Returns the messages, each once, with their levels and the names of their metadata."""
    found = set()
    for line in lines:
        if line.startswith("{"):
            entry = json.loads(line)
            names = sorted(entry.keys() - {"at", "level", "message", "source"})
            message = re.sub(r":\d+$", ":<port>", entry["message"])
            if entry["message"] not in UNCERTAIN:
                found.add(f"{entry['level']} {message} [{', '.join(names)}]")
        else:
            found.add(line.rstrip("\n"))
    return "\n".join(sorted(found))


def wait_for_line(gateway, text, seconds=30):
    end = time.monotonic() + seconds
    while not any(text in line for line in list(gateway.log)):
        if time.monotonic() > end:
            raise RuntimeError(f"no line with {text!r}: {gateway.log[-5:]}")
        time.sleep(0.02)
