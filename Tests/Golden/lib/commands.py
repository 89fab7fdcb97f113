"""The help, the output and the exit status of each command, with good and with bad input."""

import base64
import hmac
import json
import os
import re
import shutil
import signal
import subprocess
import threading

import recordings
import worlds
from documents import Document

EXAMPLES = worlds.ROOT / "deploy" / "examples"
REGISTRATION = "8-8-1"
SEND = "POST /api/notifications?pns=apns&to_tag="
# Configurations with several faults each, beside the examples that have one each.
BROKEN = {
    "empty": "",
    "no-mapping": "- listen\n",
    "no-yaml": "listen: [{ address: \"127.0.0.1:0\" }\nbackend: {\n",
    "tabs": "backend:\n\turl: http://127.0.0.1:5000\n",
    "duplicate": "backend: { url: embedded }\nbackend: { url: embedded }\n",
    "null": "backend:\nauthenticators:\npolicy:\n",
    "many": """listen: [{ address: "example.org:80" }, { address: "127.0.0.1:x", http2: maybe }]
backend: { url: "ftp://127.0.0.1", profile: modern, timeout: 0s }
authenticators: [{ static-users: { file: missing.yaml, users: 1 } }, { oauth: {} }]
policy: { enforce: perhaps, send: [{ from: "*", to: "audience:none", when: always }, { from: "a b", to: "*" }] }
limits: [{ name: x, per: planet, rate: fast }, { name: x, per: sender, rate: 0/min, burst: 0 }]
journal: { keep: 1min, keep-size: 1, minimum-free: -1 }
ledger: { registrations-per-user: 0, hand-overs-per-day: 100000 }
log: { level: loud, format: xml }
drain: { grace: soon, limit: 400d }
nonsense: 1
""",
    "variables": "backend: { url: \"${NOT_SET}\" }\nauthenticators: [{ static-users: { file: \"${file:missing}\" } }]\n",
    "fences": """backend: { url: embedded }
authenticators: [{ static-users: { file: users.yaml } }]
fences: { open: open.geojson, line: line.geojson, missing: missing.geojson, text: users.yaml }
policy: { send: [{ from: "*", to: "*", within: nowhere }, { from: "*", to: self, within: open }] }
""",
    "certificates": """listen:
  - { address: "0.0.0.0:0", tls: { certificate: users.yaml, key: missing.pem, clients: { ca: missing.pem } } }
backend: { url: "https://127.0.0.1:1", tls: { ca: missing.pem } }
authenticators: [{ client-certificate: {} }, { static-users: { file: users.yaml } }]
policy: { send: [{ from: "*", to: "*" }] }
""",
    "console": """console: { address: "0.0.0.0:0", origin: "console", viewers: ["*"], operators: [], self-service: 1 }
backend: { url: embedded }
authenticators: [{ static-users: { file: users.yaml } }]
policy: { send: [{ from: "*", to: "*" }] }
admin: { address: "nowhere" }
control: /a/very/long/path/"""
               + "x" * 120 + "\n",
    "stores": """backend: { hub: { connection-string: "Endpoint=sb://example.org/;SharedAccessKeyName=x;SharedAccessKey=y" } }
sends: { secure: sometimes, lifetime: 1s, texts: 0 }
store: { postgresql: { hosts: [], socket: relative, user: "" , connections: 100, timeout: 2min } }
authenticators: [{ static-users: { file: users.yaml } }]
policy: { send: [{ from: "*", to: "*" }] }
tracing: { endpoint: "http://example.org/", sample: 2 }
identity: { strip: ["none"], case: upper, escape: maybe }
overload: { calls: 0 }
connections: { total: 1, per-address: 0, request-memory: 1 }
event-loops: 0
audiences: { "a b": [alice], empty: [], nested: ["audience:empty"] }
version: 2
""",
    "users": """listen: [{ address: "127.0.0.1:0" }]
admin: { address: "127.0.0.1:0" }
backend: { url: embedded }
authenticators: [{ static-users: { file: bad-users.yaml } }, { hmac-token: { keys: bad-keys.yaml } }]
policy: { send: [{ from: "*", to: "*" }] }
""",
    "plugins": """backend: { url: embedded }
authenticators:
  - ldap: { url: "ldap://directory.example.org", base: "", filter: "(uid" }
  - pam: { service: "", workers: 0 }
  - oidc: { issuer: "http://provider.example.org", audience: "" }
  - forward-auth: { url: "http://example.org/auth" }
  - external-process: { socket: relative.sock }
policy: { send: [{ from: "*", to: "*" }], tags: [{ user: "*", allow: ["a b", "username:x", "from:*"] }], hand-over: maybe }
""",
}
FILES = {
    "open.geojson": '{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,2]]]}',
    "line.geojson": '{"type":"LineString","coordinates":[[0,0],[1,0]]}',
    "bad-users.yaml": "users:\n  alice: { hash: nonsense }\n  'b c': { hash: \"$5$x\" }\n"
    "  carol: { password: x, groups: 1 }\n  dave:\n",
    "bad-keys.yaml": 'keys:\n  - { id: "", algorithm: none, secret: "AAAA" }\n  - { id: a, algorithm: HS256 }\n',
    "token.txt": "nonsense",
}


def subcommands(program, path):
    """Yields a command and those below it, in the order of the help."""
    yield path
    help_text = subprocess.run([program, *path, "--help"], capture_output=True, text=True).stdout
    found = help_text.partition("SUBCOMMANDS:\n")[2].partition("\n\n")[0]
    for name in re.findall(r"(?m)^  ([a-z-]+)(?: |$)", found):
        yield from subcommands(program, [*path, name])


def helps(program, parent):
    """The help of each command."""
    world = worlds.World(program, "help", parent)
    document = Document(world)
    for path in subcommands(program, []):
        document.run(world, *path, "--help", configured=False)
    for arguments in (
        ["help", "audit", "list"], ["version"], ["--version"], [], ["nonsense"], ["audit"], ["serve", "--colour"],
        ["audit", "list", "--limit"], ["audit", "show"], ["users", "add"], ["check", "extra"], ["tokens", "issue"],
        ["explain"], ["audit", "who-notified"], ["demo", "--listen", "0.0.0.0:80"], ["demo", "--profile", "modern"],
        ["backend", "--port", "x"], ["backend", "--profile", "modern"], ["hub", "--port", "70000"],
        ["check", "--config", "missing.yaml"], ["serve", "--config", "missing.yaml"], ["check"],
    ):
        document.run(world, *arguments, configured=False)
    return {"commands/help.txt": document.text()}


def checks(program, parent):
    """What `check` says about configurations."""
    found = {}
    os.environ.update(
        HUB_CONNECTION_STRING="Endpoint=sb://golden.servicebus.windows.net/;SharedAccessKeyName=ListenSend;SharedAccessKey="
        "c2VjcmV0LWtleS1vZi0zMi1ieXRlcy1sb25nLi4uLi4=", WEBHOOK_SECRET="x" * 40, ARCHIVE_KEY_ID="AKIAIOSFODNN7EXAMPLE",
        ARCHIVE_SECRET="secret", ARCHIVE_TOKEN="token", STORE_PASSWORD="secret", COLLECTOR_TOKEN="token")
    world = worlds.World(program, "check", parent)
    for name, text in {**FILES, "users.yaml": recordings.USERS, "token-keys.yaml": recordings.TOKEN_KEYS}.items():
        world.write(name, text)
    for path in sorted(EXAMPLES.glob("*.geojson")):
        shutil.copy(path, world.directory)
    for title, paths in (("examples", EXAMPLES.glob("*.yaml")), ("invalid", (EXAMPLES / "invalid").glob("*.yaml"))):
        document = Document(world)
        for path in sorted(paths):
            shutil.copy(path, world.configuration)
            document.run(world, "check", shown=f"check of {path.name}")
        found[f"commands/check-{title}.txt"] = document.text()
    document = Document(world)
    for name, text in BROKEN.items():
        world.write("gateway.yaml", text)
        document.run(world, "check", shown=f"check of {name}")
        if name in ("many", "users"):
            document.run(world, "serve", shown=f"serve with {name}")
            document.run(world, "audit", "list", shown=f"audit list with {name}")
            document.run(world, "users", "list", shown=f"users list with {name}")
    found["commands/check-broken.txt"] = document.text()
    return found


def token(user="alice", expires="2026-11-02T11:00:00Z", secret=None, **claims):
    """Returns a token with the key of the recordings."""
    key = base64.b64decode(re.search(r'secret: "([^"]*)"', recordings.TOKEN_KEYS)[1])
    end = worlds.seconds(expires)
    head = {"alg": "HS256", "typ": "JWT", "kid": "golden"}
    content = {"iss": "notify-gateway", "aud": "notify", "sub": user, "iat": end - 3600, "nbf": end - 3600, "exp": end,
               "jti": "golden-token", **claims}
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (head, content)]
    tag = hmac.digest(secret or key, b".".join(parts), "sha256")
    return b".".join([*parts, base64.urlsafe_b64encode(tag).rstrip(b"=")]).decode()


# Questions that change nothing, with and without a running gateway: the arguments and the standard input.
READING = [
    (["check"], None),
    (["users", "list"], None), (["users", "list", "--json"], None), (["users", "list", "--file", "missing.yaml"], None),
    (["tokens", "list"], None), (["tokens", "list", "--json"], None), (["tokens", "list", "--user", "bob"], None),
    (["tokens", "list", "--user", "nobody"], None), (["tokens", "list", "--user", "not a name"], None),
    (["registrations", "list"], None), (["registrations", "list", "--json"], None),
    (["registrations", "list", "--user", "alice"], None), (["registrations", "list", "--user", "nobody"], None),
    (["keys", "list"], None), (["keys", "list", "--json"], None),
    (["bans", "list"], None), (["bans", "list", "--json"], None),
    (["limits", "show"], None), (["limits", "show", "--user", "alice"], None),
    (["limits", "show", "--json", "--recipient", "bob"], None),
    (["limits", "show", "--pns", "nonsense"], None), (["limits", "show", "--limit", "none"], None),
    (["limits", "show", "--address", "127.0.0.1"], None), (["limits", "show", "--address", "nowhere"], None),
    (["nodes"], None), (["nodes", "--json"], None), (["accounts", "apply"], None),
    (["tokens", "inspect"], "token"), (["tokens", "inspect", "--json"], "token"), (["tokens", "inspect"], "expired"),
    (["tokens", "inspect"], "forged"), (["tokens", "inspect"], "nonsense"), (["tokens", "inspect"], ""),
    (["explain", "--user", "alice", "--body", '"hello"', SEND + "bob"], None),
    (["explain", "--user", "alice", "--body", '"hello"', "--json", SEND + "bob"], None),
    (["explain", "--user", "frank", "--body", '"hello"', SEND + "bob"], None),
    (["explain", "--user", "frank", "--group", "dispatch", "--body", '"hello"', SEND + "bob"], None),
    (["explain", "--user", "alice", "--body", '"hello"', SEND + "audience:oncall"], None),
    (["explain", "--user", "bob", "--body", '"near"', SEND + "carol&latitude=47.6&longitude=-122.3"], None),
    (["explain", "--user", "bob", "--body", '"near"', SEND + "carol&latitude=x&longitude=-122.3"], None),
    (["explain", "--user", "dave", "--body", '"hello"', SEND + "dave"], None),
    (["explain", "--user", "nobody", "--body", '"hello"', SEND + "bob"], None),
    (["explain", "--user", "alice", SEND + "bob"], None),
    (["explain", "--user", "alice", "--body", "unquoted", SEND + "bob"], None),
    (["explain", "--user", "alice", "--body", '"hello"', "POST /api/notifications?pns=icq&to_tag=bob"], None),
    (["explain", "--user", "alice", "GET /auth/whoami"], None), (["explain", "--user", "alice", "PATCH /nowhere"], None),
    (["explain", "--user", "alice", "nonsense"], None),
    (["explain", "--user", "carol", "--body", json.dumps({"Platform": "apns", "Handle": recordings.handle(1), "Tags": ["topic:x"]}),
      "PUT /api/register/1-1-1"], None),
    (["explain", "--user", "alice", "DELETE /api/register/8-8-1"], None),
    (["explain", "--user", "alice", f"POST /api/register?handle={recordings.handle(99)}"], None),
    (["explain", "--as-token", "-", "--body", '"hello"', SEND + "bob"], "token"),
    (["explain", "--as-token", "-", "--body", '"hello"', SEND + "bob"], "expired"),
    (["explain", "--as-token", "token.txt", "--body", '"hello"', SEND + "bob"], None),
    (["explain", "--as-token", "missing", SEND + "bob"], None), (["explain", SEND + "bob"], None),
    (["registrations", "reconcile", "--connection-string", "missing"], None),
    (["plugin", "test", "missing.sock"], None), (["plugin", "test", "missing.sock", "--account", "x"], None),
]
# Changes, in this order.
CHANGING = [
    (["users", "add", "Heidi", "--group", "staff"], "correct horse\n"), (["users", "add", "heidi"], "again\n"),
    (["users", "add", "no/name"], "x\n"), (["users", "add", "ivan"], "\n"), (["users", "passwd", "heidi"], "battery staple\n"),
    (["users", "passwd", "nobody"], "x\n"), (["users", "list"], None), (["users", "remove", "heidi"], None),
    (["users", "remove", "heidi"], None),
    (["tokens", "issue", "--user", "alice"], None), (["tokens", "issue", "--user", "a b"], None),
    (["tokens", "issue", "--user", "alice", "--group", "g", "--lifetime", "30min"], None),
    (["tokens", "issue", "--user", "alice", "--lifetime", "400d"], None),
    (["tokens", "revoke"], "token"), (["tokens", "revoke"], "nonsense"), (["tokens", "revoke", "--session", "none"], None),
    (["tokens", "revoke", "--user", "carol"], None), (["tokens", "revoke", "--user", "carol", "--json"], None),
    (["tokens", "revoke", "--user", "a", "--session", "b"], None), (["tokens", "list"], None),
    (["registrations", "revoke", REGISTRATION], None), (["registrations", "revoke", "1-2-3"], None),
    (["registrations", "revoke", "nonsense"], None),
    (["registrations", "import", "export.xml"], None),
    (["registrations", "import", "export.xml", "--json", "--purge", "--all"], None),
    (["registrations", "import", "-", "--delete", "no-user", "--yes", "--all"], "export"),
    (["registrations", "import", "-", "--delete", "nonsense"], "export"), (["registrations", "import", "-"], "not xml\n"),
    (["registrations", "import", "missing.xml"], None), (["registrations", "import", "export.xml", "--confirm-all"], None),
    (["bans", "lift"], None), (["bans", "lift", "--all"], None), (["bans", "lift", "--user", "bob", "--json"], None),
    (["bans", "lift", "--address", "nowhere"], None), (["bans", "lift", "--address", "127.0.0.1"], None),
    (["limits", "reset"], None), (["limits", "reset", "--all"], None),
    (["limits", "reset", "--user", "alice", "--limit", "pair"], None),
    (["limits", "reset", "--limit", "none", "--all"], None),
    (["reload"], None), (["reload", "--json"], None),
    (["keys", "rotate", "--id", "next"], None), (["keys", "rotate", "--id", "next"], None),
    (["keys", "rotate", "--algorithm", "RS256"], None),
    (["keys", "rotate", "--id", "third", "--overlap", "2h", "--algorithm", "HS512"], None),
    (["keys", "list"], None),
    (["backup", "missing"], None), (["backup", "backups"], None), (["backup", "backups", "--whole-journal", "--json"], None),
    (["ledger", "export", "ledger.jsonl"], None), (["ledger", "export", "-"], None),
    (["ledger", "import", "ledger.jsonl"], None), (["ledger", "import", "missing"], None), (["ledger", "import", "-"], "nonsense"),
    (["restore", "missing"], None), (["restore", "backups"], None), (["restore", "backups", "--replace"], None),
    (["restore", "-"], "nonsense"), (["check"], None), (["audit", "list", "--user", "carol", "-n", "3"], None),
]


def perform(document, world, table):
    """Adds the answers to a table of commands."""
    inputs = {"token": token(), "expired": token(expires="2026-11-02T09:00:00Z"), "forged": token(secret=b"x" * 32),
              "export": recordings.EXPORT}
    for arguments, text in table:
        title = " ".join(f"'{word}'" if set(word) & set(' "&?*{') else word for word in arguments)
        document.run(world, *arguments, text=inputs.get(text, text), shown=title + (f" < {text.strip()}" if text else ""))


def add_files(world):
    world.write("token.txt", token(user="bob", groups=["dispatch"]))
    (world.directory / "backups").mkdir()


def stopped(program, parent):
    """The commands without a running gateway."""
    world = worlds.World(program, "one", parent, {"BACKEND": "{ url: embedded }"})
    add_files(world)
    document = Document(world)
    perform(document, world, READING + [(["probe"], None)] + CHANGING)
    return {"commands/without-gateway.txt": document.text()}


def running(program, parent):
    """The commands beside a running gateway."""
    world = worlds.World(program, "one", parent, {"BACKEND": "{ url: embedded }"})
    add_files(world)
    gateway = world.start()
    calls = recordings.Calls(gateway)
    calls.expect(200, "POST", recordings.SEND + "bob", "alice", '"hello"')
    for number in range(8):
        gateway.request("GET", "/auth/whoami", f"grace:wrong-{number}")
    document = Document(world)
    perform(document, world, READING + CHANGING)
    world.write("gateway.yaml", world.configuration.read_text().replace("limits:", "limit:"))
    document.run(world, "reload", shown="reload with a broken configuration")
    document.add("status of the end", str(world.stop()))
    return {"commands/with-gateway.txt": document.text()}


def demonstrations(program, parent):
    """What the commands print that run until they are stopped, and the probe of a backend and of a hub."""
    world = worlds.World(program, "demo", parent)
    document = Document(world)
    document.normalise.also("demo", r"notify-gateway-demo-([0-9A-F]{8})")
    document.normalise.also("key", r"SharedAccessKey=([A-Za-z0-9+/]{43}=)")
    for arguments, last in (
        (["backend", "--port", "0"], "listens on"), (["backend", "--port", "0", "--profile", "net6"], "listens on"),
        (["hub", "--port", "0", "--name", "news"], "listens on"), (["demo", "--listen", "127.0.0.1:0"], "/health/ready"),
        (["demo", "--listen", "127.0.0.1:0", "--profile", "core"], "/health/ready"),
        (["demo", "--listen", "127.0.0.1:0", "--upstream", "hub"], "/health/ready"),
    ):
        process = subprocess.Popen(
            [str(program), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=world.directory,
            env=os.environ | {"TMPDIR": str(world.directory)})
        texts, seen = {process.stdout: "", process.stderr: ""}, threading.Event()

        def read(stream):
            for line in stream:
                texts[stream] += line
                if last in line:
                    seen.set()

        threads = [threading.Thread(target=read, args=(stream,)) for stream in texts]
        for thread in threads:
            thread.start()
        if not seen.wait(30):
            process.kill()
        process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        out, messages = texts.values()
        # What a gateway logs while it ends depends on what it was doing.
        messages = "".join(re.split(r"(?m)(^.*Gateway stopping.*\n)", messages)[:2])
        document.add("$ " + " ".join(arguments), f"{out}--- messages\n{messages}--- status {process.wait()}")
    return {"commands/demonstrations.txt": document.text()}
