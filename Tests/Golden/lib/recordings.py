"""What the recorded gateways did: fixed calls and commands, which the program turns into journals. See ../README.md."""

import json
import re
import shutil
import threading

import backends
import client
import postgresql_store
import worlds

SEND = "/api/notifications?pns=apns&to_tag="
USERS = f"""users:
  alice: {{ hash: "{worlds.HASH}", groups: [dispatch] }}
  bob: {{ hash: "{worlds.HASH}" }}
  carol: {{ hash: "{worlds.HASH}", groups: [sales] }}
  dave: {{ hash: "{worlds.HASH}", disabled: true }}
  erin: {{ hash: "{worlds.HASH}", expires: 2027-01-01T00:00:00Z }}
  frank: {{ hash: "{worlds.HASH}" }}
  grace: {{ hash: "{worlds.HASH}" }}
"""
TOKEN_KEYS = """keys:
  - { id: golden, algorithm: HS256, not-before: 2026-01-01T00:00:00Z,
      secret: "yeUvGfyU6WulRr181rEnY2BlLWB0elmOEQGr1VlDnoN/s8OnnnBlc5P2yFHPVz+g" }
"""
CONFIGURATION = """listen: [{ address: "127.0.0.1:0" }]
admin: { address: "127.0.0.1:0" }
console: { address: "127.0.0.1:0", operators: [alice], viewers: [bob], self-service: true }
control: control.sock
backend: @BACKEND@
authenticators:
  - hmac-token: { keys: token-keys.yaml }
  - static-users: { file: users.yaml }
policy:
  send:
    - { from: "group:dispatch", to: "*" }
    - { from: "group:dispatch", to: "audience:oncall" }
    - { from: bob, to: alice }
    - { from: bob, to: carol, within: seattle }
    - { from: "*", to: "self" }
  tags:
    - { user: "*", allow: ["topic:*"] }
audiences:
  oncall: [alice, bob, carol]
fences:
  seattle: seattle.geojson
limits:
  - { name: sends, per: sender, rate: 30/h }
  - { name: pair, per: [sender, recipient], rate: 6/h }
  - { name: inbox, per: recipient, rate: 2/h, shadow: true }
  - { name: calls, per: user, rate: 2000/d }
journal: { directory: journal, signing-key: journal.key, minimum-free: 0, checkpoint-copy: checkpoints }
ledger: { file: ledger.sqlite, registrations-per-user: 3 }
drain: { grace: 0s }
"""
FENCE = """{"type":"Polygon","coordinates":[[[-122.5,47.4],[-122.1,47.4],[-122.1,47.8],[-122.5,47.8],[-122.5,47.4]]]}
"""


def handle(number):
    return f"{number:08X}" * 8


def address(backend, more=""):
    return f'{{ url: "http://127.0.0.1:{backend.port}"{more} }}'


def prepare(world, configuration=CONFIGURATION):
    """Writes the files of a gateway. The configuration keeps its `@NAME@`, which are replaced for this run only."""
    world.template = configuration
    world.write("gateway.yaml", worlds.filled(configuration, world.values))
    world.write("users.yaml", USERS)
    world.write("token-keys.yaml", TOKEN_KEYS)
    world.write("seattle.geojson", FENCE)


def keep(world, name):
    """Makes a stopped gateway's directory an input."""
    target = worlds.INPUTS / name
    worlds.freeze(world.directory, target)
    (target / "gateway.yaml").write_text(world.template)


class Calls:
    """Calls of users, whose statuses the recording expects, so that a changed program cannot record something else unseen."""

    def __init__(self, gateway):
        self.gateway = gateway

    def expect(self, status, method, target, user=None, body=None, **more):
        reply = client.parse(self.gateway.request(method, target, user, body, **more))
        if reply.status != status:
            raise RuntimeError(f"{method} {target} of {user}: {reply.status} instead of {status}: {reply.text}")
        return json.loads(reply.body) if reply.body.strip() else None

    def register(self, user, number, status=200, tags=(), platform="apns"):
        text = handle(number) if platform == "apns" else f"token-{number:016}"
        label = self.expect(200, "POST", f"/api/register?handle={text}", user)
        self.update(user, label, text, status, tags, platform)
        return label

    def update(self, user, label, text, status=200, tags=(), platform="apns"):
        body = json.dumps({"Platform": platform, "Handle": text, "Tags": list(tags)})
        self.expect(status, "PUT", f"/api/register/{label}", user, body)

    def log_in(self, user, device=None, status=200):
        body = json.dumps({"device": device}) if device else None
        return self.expect(status, "POST", "/auth/token", user, body)

    def operate(self, status, method, target, body=None):
        reply = client.parse(self.gateway.operate(method, target, body))
        if reply.status != status:
            raise RuntimeError(f"operator's {method} {target}: {reply.status} instead of {status}: {reply.text}")
        return reply


def one(program, parent):
    """Records a gateway with a backend, an SQLite ledger, and calls of all kinds that such a gateway has."""
    backend = backends.Backend()
    world = worlds.World(program, "one-recording", parent, {"BACKEND": address(backend, ", timeout: 1s")})
    prepare(world)
    calls = Calls(world.start())
    expect = calls.expect
    # Registrations: new, of each service, renewed with a new handle, taken over, lost at the backend, deleted, refused.
    phone = calls.register("bob", 1, tags=["topic:news"])
    calls.register("alice", 2, platform="gcm")
    channel = "https://am3.notify.windows.com/?token=BgUAAACz%2fR7kq9&v=2"
    label = expect(200, "POST", "/api/register", "carol")
    calls.update("carol", label, channel, 202, ["topic:weather"], "wns")
    calls.update("bob", phone, handle(3))
    calls.register("frank", 3)
    calls.register("bob", 3)
    lost = calls.register("alice", 4)
    backend.statuses["PUT", lost] = 410
    calls.update("alice", lost, handle(4))
    extra = calls.register("bob", 5)
    expect(200, "DELETE", f"/api/register/{extra}", "bob")
    stubborn = calls.register("bob", 6)
    backend.statuses["DELETE", stubborn] = 500
    expect(200, "DELETE", f"/api/register/{stubborn}", "bob")
    old = f"{backend.next}-{backend.next}-1"
    calls.update("grace", old, handle(10))
    broken = calls.register("carol", 7)
    backend.statuses["PUT", broken] = 503
    calls.update("carol", broken, handle(7), 502)
    calls.register("carol", 8, 403, ["region:north"])
    expect(403, "DELETE", "/api/register/1-2-3", "carol")
    expect(400, "POST", "/api/register?handle=nonsense!", "carol")
    # Sends: by each rule, to an audience, within a fence, with a key and repeated, refused, limited, failed.
    expect(200, "POST", SEND + "bob", "alice", '"hello"')
    expect(200, "POST", SEND + "alice", "bob", '"a "quoted" word"')
    expect(200, "POST", SEND + "bob", "bob", '"a note"')
    expect(200, "POST", SEND + "audience:oncall", "alice", '"all"')
    expect(200, "POST", SEND + "carol&latitude=47.6&longitude=-122.3", "bob", '"near"')
    expect(403, "POST", SEND + "carol&latitude=48.6&longitude=-122.3", "bob", '"far"')
    expect(403, "POST", SEND + "carol", "frank", '"no"')
    # Rules in shadow mode.
    world.write("gateway.yaml", worlds.filled(CONFIGURATION.replace("policy:", "policy:\n  enforce: false"), world.values))
    calls.operate(200, "POST", "/v1/reload")
    expect(200, "POST", SEND + "erin", "carol", '"shadow"')
    calls.register("carol", 9, tags=["region:north"])
    world.write("gateway.yaml", worlds.filled(CONFIGURATION, world.values))
    keyed = ["Idempotency-Key: order-1"]
    expect(200, "POST", SEND + "frank", "alice", '"once"', fields=keyed)
    expect(200, "POST", SEND + "frank", "alice", '"once"', fields=keyed)
    expect(422, "POST", SEND + "frank", "alice", '"twice"', fields=keyed)
    expect(502, "POST", SEND + "frank", "alice", '"status-500"')
    expect(502, "POST", SEND + "frank", "alice", '"cut"')
    expect(504, "POST", SEND + "frank", "alice", '"hold"')
    for platform in ("gcm", "wns"):
        expect(200, "POST", f"/api/notifications?pns={platform}&to_tag=frank", "alice", '"hello"')
    for status in (200, 200, 200, 200, 200, 429):
        expect(status, "POST", SEND + "carol", "alice", '"often"')
    expect(400, "POST", SEND + "bob", "alice", "no quotes")
    expect(413, "POST", SEND + "bob", "alice", '"' + "x" * 5000 + '"')
    # Sessions: begun, renewed, listed, ended, ended by others.
    token = calls.log_in("alice", "a phone")["access_token"]
    expect(200, "POST", "/auth/token", token=token)
    expect(200, "GET", "/auth/sessions", token=token)
    second = calls.log_in("alice", "a tablet")
    expect(204, "DELETE", f"/auth/sessions/{second['session']}", token=token)
    expect(401, "GET", "/auth/whoami", token=second["access_token"])
    expect(204, "DELETE", "/auth/token", token=token)
    calls.log_in("bob", "a desk")
    carol = calls.log_in("carol", "a watch")
    expect(200, "POST", SEND + "carol", token=carol["access_token"], body='"by token"')
    single = calls.log_in("carol")
    # Logins that fail, and a ban that an operator lifts.
    expect(401, "GET", "/auth/whoami", "dave")
    expect(401, "GET", "/auth/whoami", "nobody")
    for number in range(12):
        client.parse(world.gateway.request("GET", "/auth/whoami", f"grace:wrong-{number}"))
    calls.operate(200, "DELETE", "/v1/bans?user=grace")
    calls.operate(200, "DELETE", "/v1/bans?address=127.0.0.1")
    calls.operate(200, "DELETE", "/v1/bans?all=true")
    # Changes of operators.
    calls.operate(200, "POST", "/v1/reload")
    calls.operate(200, "DELETE", "/v1/limits?name=pair&recipient=bob")
    calls.operate(200, "DELETE", "/v1/limits?all=true")
    calls.operate(200, "POST", "/v1/revocations", {"session": carol["session"]})
    calls.operate(404, "POST", "/v1/revocations", {"session": "none"})
    calls.operate(200, "POST", "/v1/revocations", {"user": "frank"})
    calls.operate(204, "POST", "/v1/backups", {"target": "/backups"})
    listed = json.loads(calls.operate(200, "GET", "/v1/registrations?user=carol").text)["items"]
    calls.operate(204, "DELETE", f"/v1/registrations/{listed[0]['registration']}")
    world.write("export.xml", EXPORT)
    world.run("registrations", "import", "export.xml")
    # Deletions that the backend does not confirm.
    unconfirmed = CONFIGURATION.replace("@BACKEND@", world.values["BACKEND"].replace(
        "timeout", "profile: { from: classic, backend: { confirms-updates: false } }, timeout"))
    world.write("gateway.yaml", unconfirmed)
    calls.operate(200, "POST", "/v1/reload")
    stubborn = calls.register("grace", 11)
    backend.statuses["DELETE", stubborn] = 500
    expect(502, "DELETE", f"/api/register/{stubborn}", "grace")
    del backend.statuses["DELETE", stubborn]
    world.wait_for(repeated)
    world.write("gateway.yaml", worlds.filled(CONFIGURATION, world.values))
    calls.operate(200, "POST", "/v1/reload")
    # The console: a login with access, one without, a change, a logout.
    browser = client.Browser(client.Address(world.gateway.console))
    assert browser.log_in("alice", worlds.PASSWORD).status == 303
    assert client.Browser(browser.address).log_in("bob", "wrong").status != 303
    assert browser.submit("/users/erin/changes", {"change": "revoke-user"}).status == 303
    assert browser.submit("/logout", {}).status == 303
    # The others fail because the backend is gone.
    backend.close()
    expect(502, "POST", SEND + "erin", "alice", '"gone"')
    for number in range(4):
        client.parse(world.gateway.request("POST", SEND + "erin", "alice", '"gone"'))
    world.stop()
    # A second run makes a second segment.
    backend = backends.Backend()
    world.values["BACKEND"] = address(backend)
    world.write("gateway.yaml", worlds.filled(CONFIGURATION, world.values))
    world.start()
    Calls(world.gateway).expect(200, "POST", SEND + "bob", "bob", '"again"')
    world.stop()
    backend.close()
    keep(world, "one")


def repeated(records):
    """Returns whether an unconfirmed deletion was repeated with success."""
    ends = [record["result"] for record in records if record["kind"] == "outcome" and record["action"] == "register-delete"]
    return "delete-unconfirmed" in ends and ends[-1] == "accepted"


EXPORT = "".join(
    f'<AppleRegistrationDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">'
    f"<RegistrationId>{id}</RegistrationId><Tags>{tags}</Tags><DeviceToken>{handle(number)}</DeviceToken>"
    f"</AppleRegistrationDescription>\n"
    for id, tags, number in (
        ("7260336227650468927-4200236381151834034-1", "topic:news,username:alice", 901),
        ("7260336227650468927-4200236381151834035-1", "from:alice,username:bob", 902),
        ("7260336227650468927-4200236381151834036-1", "topic:news", 903),
        ("7260336227650468927-4200236381151834037-1", "username:grace", 904)))


ENTRY = f"""<?xml version="1.0" encoding="utf-8"?><entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">
<AppleRegistrationDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">
<Tags>from:alice,username:bob</Tags><DeviceToken>{handle(77)}</DeviceToken></AppleRegistrationDescription></content></entry>"""


def hub(program, parent):
    """Records a gateway with the embedded hub: secure and scheduled sends, and a reconciliation."""
    process = worlds.Hub(program)
    connection = process.connection_string("ListenSend")
    world = worlds.World(
        program, "hub-recording", parent, {"BACKEND": f'{{ hub: {{ connection-string: "{connection}", name: demo }} }}'})
    prepare(world, CONFIGURATION + "sends: { secure: requested }\n")
    calls = Calls(world.start())
    expect = calls.expect
    calls.register("bob", 1)
    calls.register("carol", 2, platform="gcm")
    expect(200, "POST", SEND + "bob", "alice", '"plain"')
    expect(200, "POST", SEND + "bob&secure=true", "alice", '"a secret"')
    texts = expect(200, "GET", "/api/notifications", "bob")["notifications"]
    expect(200, "GET", f"/api/notifications/{texts[0]['id']}", "bob")
    expect(404, "GET", f"/api/notifications/{texts[0]['id']}", "carol")
    expect(200, "POST", SEND + "audience:oncall&secure=true", "alice", '"for all"')
    reply = client.parse(world.gateway.request("POST", SEND + "bob&at=2026-11-03T10:00:00Z", "alice", '"tomorrow"'))
    assert reply.status == 200, reply
    expect(204, "DELETE", reply.get("location"), "alice")
    expect(403, "DELETE", reply.get("location"), "alice")
    expect(200, "POST", SEND + "bob&at=2026-11-04T10:00:00Z", "alice", '"the day after"')
    expect(400, "POST", SEND + "bob&at=2026-12-04T10:00:00Z", "alice", '"too late"')
    # Somebody else deletes a registration at the hub and makes another one.
    listed = json.loads(calls.operate(200, "GET", "/v1/registrations").text)["items"]
    process.request("DELETE", f"registrations/{listed[0]['registration']}")
    made = process.request("POST", "registrationIDs").get("location").rpartition("/")[2].partition("?")[0]
    process.request("PUT", f"registrations/{made}", ENTRY)
    world.succeed("registrations", "reconcile", "--connection-string", "-", "--apply", "--yes", "--all",
                  text=process.connection_string("Manage"))
    world.stop()
    process.stop()
    keep(world, "hub")


def crashed(program, parent):
    """Records a gateway that was killed in the middle of sends, and the same one after its next start."""
    backend = backends.Backend()
    world = worlds.World(program, "crashed-recording", parent, {"BACKEND": address(backend)})
    prepare(world)
    calls = Calls(world.start())
    calls.register("bob", 1)
    calls.expect(200, "POST", SEND + "bob", "alice", '"complete"')
    calls.expect(200, "POST", SEND + "bob", "alice", '"keyed"', fields=["Idempotency-Key: first"])

    def hang(number):
        world.gateway.request("POST", SEND + "bob", "alice", '"hold"', fields=[f"Idempotency-Key: held-{number}"])

    threads = [threading.Thread(target=hang, args=(number,), daemon=True) for number in range(3)]
    for thread in threads:
        thread.start()
    world.wait_for(lambda records: sum(record["kind"] == "intent" for record in records) >= 2 + 3 + 2)
    world.kill()
    # A crash may leave a part of a line.
    segment = max((world.directory / "journal").glob("journal-*.jsonl"))
    written = segment.read_bytes()
    torn = written.rstrip(b"\n") + b'\n{"seq":99,"at":"2026-11-'
    segment.write_bytes(torn.ljust(len(written), b"\n"))
    keep(world, "crashed")
    world.start()
    Calls(world.gateway).expect(504, "POST", SEND + "bob", "alice", '"hold"', fields=["Idempotency-Key: held-0"])
    world.stop()
    backend.close()
    keep(world, "recovered")


def cluster(program, parent):
    """Records three gateways on one PostgreSQL server; the third one is killed."""
    with postgresql_store.Server() as server:
        nodes = []
        backend = backends.Backend()
        for name in ("a", "b", "c"):
            values = {"BACKEND": address(backend), "SOCKET": server.directory}
            world = worlds.World(program, f"cluster-{name}-recording", parent, values)
            prepare(world, CONFIGURATION + "store: { postgresql: { socket: @SOCKET@, database: golden, user: gateway } }\n")
            if nodes:
                for file in nodes[0].directory.glob("*.key"):
                    if file.name != "journal.key":
                        shutil.copy(file, world.directory)
            nodes.append(world)
            world.start()
        first, second, third = (Calls(world.gateway) for world in nodes)
        first.register("bob", 1)
        second.register("carol", 2)
        third.register("alice", 3)
        for calls in (first, second, third):
            calls.expect(200, "POST", SEND + "bob", "alice", '"hello"')
            calls.expect(200, "POST", SEND + "bob", "bob", '"a note"')
            calls.expect(403, "POST", SEND + "carol", "frank", '"no"')
        first.expect(200, "POST", SEND + "frank", "alice", '"once"', fields=["Idempotency-Key: order-1"])
        # The first gateway stores the result after its response.
        server.wait_for("SELECT 1 FROM keyed_send WHERE state = 'completed'")
        second.expect(200, "POST", SEND + "frank", "alice", '"once"', fields=["Idempotency-Key: order-1"])
        token = second.log_in("carol", "a watch")["access_token"]
        third.expect(200, "GET", "/auth/whoami", token=token)
        first.operate(200, "POST", "/v1/revocations", {"user": "carol"})
        third.expect(200, "POST", SEND + "audience:oncall", "alice", '"all"')
        # The copies of all journals are complete when the database has the last line of each.
        server.wait_for_copies(nodes)
        nodes[1].stop()
        nodes[2].kill()
        # Another start records the ends of the journals of the others.
        nodes[1].start()
        nodes[1].wait_for(lambda records: any(record["kind"] == "node-head" for record in records))
        server.wait_for_copies(nodes[:2])
        nodes[1].stop()
        server.wait_for(COUNTED)
        nodes[0].stop()
        for name, world in zip("abc", nodes):
            keep(world, f"cluster/{name}")
        (worlds.INPUTS / "cluster" / "database.sql").write_text(server.dump())
        backend.close()


# All copied lines are counted.
COUNTED = """SELECT 1 WHERE NOT EXISTS (SELECT FROM journal_copy AS copy LEFT JOIN journal_count AS counted
    USING (instance, chain) WHERE counted.next IS DISTINCT FROM copy.next)"""
ALL = {"one": one, "hub": hub, "crashed": crashed, "cluster": cluster}
