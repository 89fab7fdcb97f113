"""The answers of a running gateway about a recorded journal: to users, to operators, and as pages of the console."""

import json
import re
import time
import urllib.parse

import audit
import client
import postgresql_store
import recordings
import worlds
from documents import Document, shown

DAY = "since=2026-11-02T00:00:00Z&until=2026-11-03T00:00:00Z"
OWN = [
    "/auth/whoami", "/auth/notifications-received", "/auth/notifications-received?limit=1",
    "/auth/notifications-received?since=2026-11-02T10:00:01.4Z", "/auth/notifications-received?since=2026-11-03T00:00:00Z",
    "/auth/notifications-received?limit=0", "/auth/notifications-received?since=yesterday", "/auth/registrations", "/auth/sessions",
    "/api/notifications", "/api/notifications/1", "/auth/nothing",
]
OPERATOR = [
    "/v1/bans", "/v1/limits", "/v1/limits?user=alice", "/v1/limits?recipient=bob&pns=apns", "/v1/limits?pns=icq", "/v1/sessions",
    "/v1/sessions?user=bob", "/v1/sessions?limit=1", "/v1/registrations", "/v1/registrations?user=alice",
    "/v1/registrations?limit=2",
    "/v1/policy", "/v1/sends?limit=1000", "/v1/sends?limit=3", "/v1/sends?from=alice&to=bob", "/v1/sends?to=ALICE",
    "/v1/sends?platform=fcm", "/v1/sends?result=backend-failed", "/v1/sends?result=nonsense", "/v1/sends?from=a%20b",
    "/v1/sends?since=2026-11-02T10:00:01.5Z&limit=2", "/v1/sends?until=2026-11-02T10:00:01Z", "/v1/sends?limit=0",
    "/v1/sends?cursor=x",
    "/v1/sends?limit=1&limit=2", "/v1/sends?nonsense=1", "/v1/refusals", "/v1/refusals?user=frank",
    "/v1/refusals?result=login-failed",
    "/v1/refusals?from=bob", f"/v1/statistics/minutes?{DAY}", f"/v1/statistics/pairs?{DAY}",
    f"/v1/statistics/pairs?from=alice&{DAY}",
    f"/v1/statistics/pairs?to=bob&{DAY}", f"/v1/statistics/pairs?user=bob&result=failed&{DAY}",
    f"/v1/statistics/pairs?limit=2&{DAY}",
    "/v1/statistics/pairs?result=nonsense", "/v1/users/alice", "/v1/users/bob", "/v1/users/nobody", "/v1/users/a%20b", "/v1/nodes",
    "/v1/journal/segments", "/v1/journal/verification", "/v1/calls/" + "0" * 32, "/v1/nothing", "/v2/sends", "/",
]
CONSOLE = [
    "/", "/calls", "/calls?kind=refusals", "/calls?kind=nonsense", "/calls?from=alice", "/calls?from=alice&to=bob&platform=apns",
    "/calls?result=backend-failed", "/calls?since=2026-11-02T10:00&until=2026-11-02T10:01", "/calls?since=nonsense",
    "/calls/" + "0" * 32, "/calls/export?kind=sends&from=bob", "/calls/export?kind=refusals", "/pairs", "/pairs?user=bob",
    "/pairs?result=failed", "/pairs?group=dispatch", "/pairs?since=2026-11-02&until=2026-11-02", "/users", "/users?name=al",
    "/users?user=bob",
    "/users/alice", "/users/bob", "/users/nobody", "/users/a%20b", "/policy", "/journal", "/nodes", "/me", "/login", "/nothing",
    "/live?kind=all",
]


def files(program, parent):
    """A gateway with an SQLite ledger."""
    world = worlds.World(program, "one", parent, {"BACKEND": "{ url: embedded }"})
    return ask(world, "one", len(world.journal()))


def hub(program, parent):
    """A gateway of a hub, with stored texts."""
    world = worlds.World(program, "hub", parent, {"BACKEND": "{ hub: embedded }"})
    document = Document(world)
    document.use_lines("hub", world)
    world.start()
    texts = sorted(record["secure-id"] for record in world.journal() if record.get("secure-id") and record["kind"] == "intent")
    for user in ("alice", "bob", "carol"):
        for target in ["/api/notifications", *(f"/api/notifications/{text}" for text in texts), "/auth/registrations"]:
            document.add(f"GET {target} of {user}", shown(world.gateway.request("GET", target, user)))
    for target in ("/v1/users/bob", "/v1/registrations", "/v1/policy", "/v1/sends"):
        document.add(f"GET {target}", shown(world.gateway.operate("GET", target)))
    recordings.Calls(world.gateway)
    document.normalise.also("key", r"SharedAccessKey=([A-Za-z0-9+/]{43}=)")
    for arguments in (
        ["probe"], ["probe", "--json"], ["registrations", "list"],
        ["explain", "--user", "alice", "--body", '"x"', "POST /api/notifications?pns=apns&to_tag=bob&secure=true"],
        ["explain", "--user", "alice", "--body", '"x"', "POST /api/notifications?pns=gcm&to_tag=bob&at=2026-11-03T00:00:00Z"],
    ):
        document.run(world, *arguments)
    world.stop()
    return {"pages/hub.txt": document.text()}


def store(program, parent):
    """One of three gateways with a store in PostgreSQL."""
    with postgresql_store.Server((worlds.INPUTS / "cluster" / "database.sql").read_text()) as server:
        world = worlds.World(program, "cluster/a", parent, {"BACKEND": "{ url: embedded }", "SOCKET": server.directory})
        server.wait_for_copies([])
        return ask(world, "cluster", len(world.journal()))


def ask(world, name, lines):
    answers = Document(world)
    answers.use_lines(name, world)
    calls = audit.interesting(world)
    gateway = world.start()
    wait_for_counts(gateway)
    for user in ("alice", "bob", "frank", None):
        for target in OWN:
            answers.add(f"GET {target} of {user}", shown(gateway.request("GET", target, user)))
    # Metrics of what is counted in the background are complete then too.
    for target in OPERATOR + [f"/v1/calls/{call}" for call in calls]:
        answers.add(f"GET {target}", shown(gateway.operate("GET", target)))
    for method, target, body in (
        ("POST", "/v1/policy/explain", {"user": "alice", "call": recordings_send("bob"), "body": '"hello"'}),
        ("POST", "/v1/policy/explain", {"user": "alice"}), ("POST", "/v1/policy/explain", []),
        ("PATCH", "/v1/sends", None), ("DELETE", "/v1/bans", None), ("POST", "/v1/revocations", {"nonsense": 1}),
    ):
        answers.add(f"{method} {target} {json.dumps(body)}", shown(gateway.operate(method, target, body)))
    pages = console(world, name, calls)
    world.stop()
    return {f"pages/{name}-answers.txt": answers.text(), f"pages/{name}-console.txt": pages.text()}


def recordings_send(user):
    return "POST " + recordings.SEND + user


def wait_for_counts(gateway, seconds=30):
    """Waits until the statistics have counted the whole journal."""
    end = time.monotonic() + seconds
    while not all(
            worlds.document(gateway.operate("GET", f"/v1/statistics/{kind}")).get("complete") for kind in ("minutes", "pairs")):
        if time.monotonic() > end:
            raise RuntimeError(f"the statistics are not complete: {gateway.operate('GET', '/v1/statistics/minutes')}")
        time.sleep(0.02)


def wait_for_deletions(gateway, user, seconds=30):
    """Waits until the devices of a revoked user are deleted at the backend."""
    end = time.monotonic() + seconds
    while worlds.document(gateway.operate("GET", f"/v1/registrations?user={user}"))["items"]:
        if time.monotonic() > end:
            raise RuntimeError(f"{user} still has devices")
        time.sleep(0.02)


def console(world, name, calls):
    """Returns the pages of the console as an operator, a viewer, a user and nobody see them."""
    document = Document(world)
    document.use_lines(name, world)
    # The seconds since a gateway was seen, on the page of gateways.
    document.normalise.also("seen", r'<td class="number">(6\d\d)</td>')
    address = client.Address(world.gateway.console)
    nobody, operator, viewer, user = (client.Browser(address) for _ in range(4))

    def add(title, reply):
        # Attributes and elements on lines of their own make differences short.
        text = shown(reply.raw)
        document.add(title, text.replace("><", ">\n<"))

    for target in ("/", "/login", "/login?next=/calls", "/me", "/calls", "/nothing"):
        add(f"GET {target} of nobody", nobody.get(target))
    for browser, user_name in ((operator, "alice"), (viewer, "bob"), (user, "carol")):
        add(f"the login of {user_name}", browser.log_in(user_name, worlds.PASSWORD))
    for target in (CONSOLE if name == "one" else CONSOLE[::2] + ["/nodes"]) + [f"/calls/{call}" for call in calls[::3]]:
        add(f"GET {target} of an operator", operator.get(target))
    for target in ("/", "/users/alice", "/policy", "/journal", "/me"):
        add(f"GET {target} of a viewer", viewer.get(target))
    for target in ("/", "/me", "/calls"):
        add(f"GET {target} of a user", user.get(target))
    user.token = token_of(user.get("/me").text)
    form = {"user": "alice", "method": "POST", "target": recordings.SEND + "bob", "call": recordings_send("bob"), "body": '"hello"'}
    add("an explanation", operator.submit("/policy/explain", form))
    add("an explanation for a viewer", viewer.submit("/policy/explain", {**form, "user": "nobody"}))
    add("an explanation of nonsense", operator.submit("/policy/explain", {"user": "", "call": "nonsense"}))
    add("a verification", operator.submit("/journal/verification", {}))
    add("a change without a token", operator.post("/users/bob/changes", {"change": "revoke-user"}))
    add("a change from elsewhere", operator.submit("/users/bob/changes", {"change": "lift-bans"}, {"Origin": "http://example.org"}))
    add("a change of a viewer", viewer.submit("/users/bob/changes", {"change": "lift-bans"}))
    for change in ("lift-bans", "reset-limits", "end-session", "revoke-device", "revoke-user", "nonsense"):
        add(f"the change {change}", operator.submit("/users/bob/changes", {"change": change, "target": "none"}))
        if change == "revoke-user":
            wait_for_deletions(world.gateway, "bob")
        add(f"the page after {change}", operator.get("/users/bob"))
    add("the change of a foreign device", user.submit("/me/changes", {"change": "revoke-device", "target": "1-1-1"}))
    add("the end of everything of a user", user.submit("/me/changes", {"change": "revoke-user"}))
    add("a login with a wrong password", client.Browser(address).log_in("bob", "wrong"))
    add("a logout", operator.submit("/logout", {}))
    add("a page after the logout", operator.get("/"))
    # The names of these files change with their content.
    for asset in sorted(set(re.findall(r"/assets/[\w.-]+", nobody.get("/login").text))):
        reply = nobody.get(asset)
        document.add(f"GET {asset}", reply.raw.partition(b"\r\n\r\n")[0].decode().replace("\r\n", "\n"))
    return document


def token_of(text):
    found = re.search(r'name="token" value="([^"]*)"', text)
    return found[1] if found else ""
