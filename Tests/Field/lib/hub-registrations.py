"""A notification hub with thousands of mixed registrations, in the forms that Microsoft's SDK recorded: native ones,
templates, installations, registrations without a user, old GCM tokens, other services, and escaped names. Import and
reconciliation delete nothing that the operator did not name."""

import argparse
import base64
import collections
import http.client
import http.server
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

import field

NAMESPACE = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"
INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
KEY = "c2VjcmV0LWtleS1vZi0zMi1ieXRlcy1sb25nLi4uLi4="
HANDLES = {"Apple": "DeviceToken", "Gcm": "GcmRegistrationId", "FcmV1": "FcmV1RegistrationId", "Windows": "ChannelUri",
           "Mpns": "ChannelUri", "Adm": "AdmRegistrationId", "Baidu": "BaiduUserId"}
Registration = collections.namedtuple("Registration", "id service template handle tags")


def description(registration, exported=False):
    """The element of a registration as the interface writes it, or as the export job does."""
    kind = registration.service + ("Template" if registration.template else "") + "RegistrationDescription"
    name = "RegistrationDescription" if exported else kind
    type = f' i:type="{kind}"' if exported else ""
    tags = f"<Tags>{escape(','.join(registration.tags))}</Tags>" if registration.tags else ""
    element = HANDLES[registration.service]
    template = "<BodyTemplate><![CDATA[{\"aps\":{\"alert\":\"$(message)\"}}]]></BodyTemplate><TemplateName>t</TemplateName>"
    return (f'<{name} xmlns="{NAMESPACE}" xmlns:i="{INSTANCE}"{type}><ETag>1</ETag>'
            f"<ExpirationTime>9999-12-31T23:59:59.9999999Z</ExpirationTime><RegistrationId>{registration.id}"
            f"</RegistrationId>{tags}<{element}>{escape(registration.handle)}</{element}>"
            f"{template if registration.template else ''}</{name}>")


PASSWORD = "secret"
HASH = "$6$rounds=1000$saltsalt$LAV5VE5Y7w1d73x1mFNspYWUpazfmwv2SoepNXNKJ/otop/Zok96Hr8Q13LEv0DRY/x8v0/crpIjl8NJSAqXV/"


class HubGateway(field.Gateway):
    """A gateway of the hub, with users whose password is PASSWORD, in a temporary directory. It is started by `start`."""

    def __init__(self, program, hub, users):
        self.program = program
        self.directory = tempfile.mkdtemp(prefix="notify-gateway-hub-")
        self.write("users.yaml", "users:\n" + "".join(f'  {user}: {{ hash: "{HASH}" }}\n' for user in users))
        self.write("gateway.yaml", f"""
listen:
  - address: 127.0.0.1:0
admin: {{ address: 127.0.0.1:0 }}
backend: {{ hub: {{ connection-string: "{hub.connection_string()}", name: news }} }}
identity: {{ escape: hex }}
authenticators:
  - static-users: {{ file: users.yaml }}
policy:
  send: [{{ from: "*", to: "*" }}]
journal: {{ directory: journal }}
ledger: {{ file: ledger.sqlite }}
control: control.sock
""")

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path

    def start(self):
        super().__init__(self.program, self.directory)

    def command(self, *arguments):
        return subprocess.run(
            [self.program, *arguments, "--config", self.configuration], capture_output=True, text=True, input="")

    def stop(self):
        super().stop()
        shutil.rmtree(self.directory)


class Hub:
    """The REST interface of a hub, with the registrations in memory."""

    def __init__(self, registrations):
        self.registrations = {registration.id: registration for registration in registrations}
        self.writes = []
        self.lock = threading.Lock()
        self.next = 0
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, status, body="", **fields):
                body = body.encode()
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Type", "application/atom+xml; type=feed; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
                with hub.lock:
                    found = list(hub.registrations.values())
                if "$filter" in query:
                    element, handle = re.fullmatch(r"(\w+) eq '(.*)'", query["$filter"][0]).groups()
                    found = [r for r in found if HANDLES[r.service] == element and r.handle == handle]
                start = int(query.get("ContinuationToken", ["0"])[0])
                page = found[start:start + int(query.get("$top", ["100"])[0])]
                rest = {"X_MS_ContinuationToken": str(start + len(page))} if start + len(page) < len(found) else {}
                self.answer(200, "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title type=\"text\">Registrations</title>"
                            + "".join(f'<entry a:etag="W/&quot;1&quot;" xmlns:a="http://schemas.microsoft.com/ado/2007/08/'
                                      f'dataservices/metadata"><id>https://x/{r.id}</id><content type="application/xml">'
                                      f"{description(r)}</content></entry>" for r in page) + "</feed>", **rest)

            def do_POST(self):
                with hub.lock:
                    hub.next += 1
                    id = f"8{hub.next}-1-1"
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.answer(201, Location=f"https://x/news/registrationids/{id}?api-version=2020-06")

            def do_PUT(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                id = urllib.parse.urlsplit(self.path).path.split("/")[-1]
                service = re.search(r"<(\w+?)RegistrationDescription", body)[1]
                handle = re.search(rf"<{HANDLES[service]}>(.*?)<", body)[1]
                tags = re.search("<Tags>(.*?)<", body)[1].split(",")
                with hub.lock:
                    hub.registrations[id] = Registration(id, service, False, handle, tags)
                    hub.writes.append(("PUT", id))
                self.answer(200, "<entry/>")

            def do_DELETE(self):
                id = urllib.parse.urlsplit(self.path).path.split("/")[-1]
                with hub.lock:
                    known = hub.registrations.pop(id, None)
                    hub.writes.append(("DELETE", id))
                self.answer(200 if known else 404)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def deleted(self):
        with self.lock:
            return [id for method, id in self.writes if method == "DELETE"]

    def connection_string(self):
        return f"Endpoint=sb://127.0.0.1:{self.server.server_port}/;SharedAccessKeyName=Full;SharedAccessKey={KEY}"


def token(number):
    return f"{number:064X}"


def mixture(count):
    """Registrations of all kinds, by kind. Only those of `native` are the gateway's business."""
    found = collections.defaultdict(list)
    for number in range(count):
        id, user = f"{number + 1}-2-3", f"u{number}"
        install = [f"$InstallationId:{{2f0c1d00-1111-2222-3333-{number:012x}}}"]
        wns = f"https://db5p.notify.windows.com/?token={number:x}%2b&n=1"
        kind, service, handle, tags, template = [
            ("native", "Apple", token(number), [f"username:{user}", "topic:news"], False),
            ("native", "FcmV1", f"fcm-{number}:APA91bHun4MxP5egoKMwt2KZFBaFUH", [f"username:{user}"], False),
            ("native", "Windows", wns, [f"username:{user}"], False),
            ("native", "Apple", token(number), [f"username:z_xc3_xa4{number}"], False),
            ("templates", "Apple", token(number), [f"username:{user}"], True),
            ("templates", "Windows", wns, [f"username:{user}"], True),
            ("installations", "Apple", token(number), [f"username:{user}", *install], False),
            ("installations", "Apple", token(number), [f"$UserId:{{{user}}}", *install], False),
            ("installations", "FcmV1", f"fcm-{number}:APA91bHun4MxP5egoKMwt2KZFBaFUH", install, False),
            ("installations", "Apple", token(number), [f"username:{user}", *install], True),
            ("no-user", "Apple", token(number), [], False),
            ("no-user", "Gcm", f"gcm-{number}:APA91bHun4MxP5egoKMwt2KZFBaFUH", ["topic:all"], False),
            ("handle-unusable", "Gcm", f"|ID|{number}|:APA91bHun4MxP5egoKMwt2KZFBaFUH", [f"username:{user}"], False),
            ("handle-unusable", "Apple", "{LENGTH=32,BYTES=0x74}", [f"username:{user}"], False),
            ("other-kind", "Adm", f"amzn1.adm-registration.v2.{number}", [f"username:{user}"], False),
            ("other-kind", "Baidu", f"{number}-1", [], False),
            ("tag-unusable", "Apple", token(number), [f"username:{user}", "blank and |"], False),
            ("user-spelling", "Apple", token(number), [f"username:Upper{number}"], False),
        ][number % 18]
        found[kind].append(Registration(id, service, template, handle, tags))
    return found


def lines(outcome):
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def until(condition, seconds=60):
    """Waits for what the gateway does in the background."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.1)
    return condition()


def reconciliation(checks, program, count):
    kinds = mixture(count)
    everything = [registration for found in kinds.values() for registration in found]
    forged = [Registration(f"{number}-9-9", "Apple", False, token(10_000_000 + number), [f"username:f{number}", tag])
              for number, tag in enumerate(["from:alice", "username:bob"] * (count // 400))]
    hub = Hub(everything)
    gateway = HubGateway(program, hub, ["alice", "bob"])
    gateway.write("manage.txt", hub.connection_string())
    gateway.start()

    def reconcile(*more):
        return gateway.command(
            "registrations", "reconcile", "--json", "--connection-string", gateway.directory + "/manage.txt", *more)

    try:
        listed = reconcile()
        checks.expect("a list changes nothing", listed.returncode == 0 and not hub.writes, listed.stderr)
        applied = reconcile("--apply")
        bound = {line["registration"] for line in lines(applied) if line["result"] == "bound"}
        checks.expect(f"--apply over {len(everything)} mixed registrations deletes nothing",
                     applied.returncode == 0 and not hub.writes, applied.stderr)
        native = {registration.id for registration in kinds["native"]}
        checks.expect(f"--apply binds the {len(native)} native registrations of users", bound == native,
                     f"{len(bound)} bound, {len(bound - native)} others, {sorted(native - bound)[:3]} missing")
        again = reconcile("--apply")
        checks.expect("a second run finds them equal",
                     again.returncode == 0 and not hub.writes and f"equal {len(native)}," in again.stderr, again.stderr)

        hub.registrations.update({registration.id: registration for registration in forged})
        applied = reconcile("--apply")
        wanted = {registration.id for registration in forged}
        until(lambda: len(hub.deleted()) >= len(wanted))
        checks.expect(f"--apply deletes the {len(wanted)} forged ones and no other", set(hub.deleted()) == wanted,
                     f"{len(hub.deleted())} deleted; {applied.stderr}")

        hub.writes.clear()
        wanted = {registration.id for registration in kinds["no-user"]}
        asked = reconcile("--apply", "--delete", "no-user", "--all")
        checks.expect("a named kind is deleted after a confirmation only",
                     asked.returncode == 1 and f"{len(wanted)} of" in asked.stderr and not hub.writes, asked.stderr)
        many = reconcile("--apply", "--delete", "no-user", "--yes")
        checks.expect("more than a tenth is deleted with --all only",
                     many.returncode == 1 and "more than a tenth" in many.stderr and not hub.writes, many.stderr)
        named = reconcile("--apply", "--delete", "no-user", "--yes", "--all")
        until(lambda: len(hub.deleted()) >= len(wanted), 300)
        checks.expect(f"the {len(wanted)} registrations of the named kind are deleted", set(hub.deleted()) == wanted,
                     f"{len(hub.deleted())} deleted; {named.stderr}")
        left = {registration.id for registration in everything} - wanted
        checks.expect("everything else is still at the hub", set(hub.registrations) == left,
                     f"{len(left - set(hub.registrations))} missing")
        devices(checks, hub, gateway)
    finally:
        gateway.stop()


def devices(checks, hub, gateway):
    """Devices that the hub knows from before for other users, and for other apps, register in the ordinary flow."""
    connection = http.client.HTTPConnection(gateway.base.removeprefix("http://"))

    def call(method, path, user, body=None):
        basic = base64.b64encode(f"{user}:{PASSWORD}".encode()).decode()
        connection.request(method, path, body, {"Authorization": f"Basic {basic}", "Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read().decode()

    wrong, installed = [], 0
    for number in range(20):
        handle = token(20_000_000 + number)
        old = [Registration(f"{number}-{copy}-8", "Apple", False, handle, ["username:alice"]) for copy in range(3)]
        other = [Registration(f"{number}-7-8", "Apple", False, handle, ["username:alice", "$InstallationId:{1}"]),
                 Registration(f"{number}-6-8", "Apple", True, handle, ["username:alice"])]
        hub.registrations.update({registration.id: registration for registration in other + old})
        _, id = call("POST", f"/api/register?handle={handle}", "bob")
        status, _ = call("PUT", f"/api/register/{id[1:-1]}", "bob",
                         json.dumps({"Platform": "apns", "Handle": handle, "Tags": []}))
        # The gateway's sweeper may have begun with one of them.
        until(lambda: len([r for r in hub.registrations.values() if r.handle == handle]) <= 3)
        found = [r for r in hub.registrations.values() if r.handle == handle]
        own = [r for r in found if r not in other]
        installed += len(found) - len(own)
        if status != 200 or [r.tags for r in own] != [["username:bob"]]:
            wrong.append((status, own))
    checks.expect("a device that registers has one registration, for its user", not wrong, wrong[:2])
    checks.expect("its template and its installation stay", installed == 40, installed)
    records = "".join(open(os.path.join(gateway.directory, "journal", name)).read()
                      for name in os.listdir(os.path.join(gateway.directory, "journal")) if name.endswith(".jsonl"))
    checks.expect("each deletion beside a registration is a record",
                 len(re.findall(r'"kind":"intent"[^\n]*"rule":"superseded"', records)) == 40)


def exports(checks, program, count):
    kinds = mixture(count)
    everything = [registration for found in kinds.values() for registration in found]
    forged = [Registration(f"{number}-9-9", "Apple", False, token(10_000_000 + number), [f"username:f{number}", "from:a"])
              for number in range(20)]
    for exported in (True, False):
        form = "export job" if exported else "interface"
        hub = Hub([])
        gateway = HubGateway(program, hub, ["alice"])
        file = gateway.write("export.xml", "".join(description(r, exported) + "\n" for r in everything + forged))
        gateway.start()
        try:
            outcome = gateway.command("registrations", "import", file, "--purge", "--json")
            native = len(kinds["native"])
            checks.expect(f"an export in the form of the {form} binds {native} registrations",
                         outcome.returncode == 0 and f"bound {native}," in outcome.stderr, outcome.stderr)
            until(lambda: len(hub.deleted()) >= len(forged))
            checks.expect("and --purge deletes the forged ones only", set(hub.deleted()) == {r.id for r in forged},
                         f"{len(hub.deleted())} deleted")
            foreign = [r for name in kinds if name != "native" for r in kinds[name]]
            file = gateway.write("foreign.xml", "".join(description(r, exported) + "\n" for r in foreign))
            outcome = gateway.command("registrations", "import", file, "--purge", "--json")
            checks.expect("an import that recognizes nothing fails",
                         outcome.returncode == 1 and f"None of the {len(foreign)} lines" in outcome.stderr, outcome.stderr)
        finally:
            gateway.stop()


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--program", default=".build/debug/notify-gateway", help="the gateway's program")
parser.add_argument("--full", action="store_true", help="20,000 registrations in place of 2,000")
options = parser.parse_args()
program, count = os.path.abspath(options.program), 20_000 if options.full else 2_000
checks = field.Checks()
reconciliation(checks, program, count)
exports(checks, program, count)
checks.finish()
