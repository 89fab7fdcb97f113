"""Requests for other hosts: a page of another site whose name resolves to this machine (DNS rebinding)."""

from client import Browser
from gateway import Gateway
from report import check

# Names that must not be taken for this machine's, whatever they resolve to.
FOREIGN = [
    "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "evil.example:{port}", "127.0.0.1.nip.io", "127-0-0-1.example",
    "localhost.", "localhost.localdomain", "xlocalhost", "localhostx", "local", "0.0.0.0", "0", "127", "127.1", "127.0.1", "2130706433",
    "0x7f000001", "0177.0.0.1", "127.0.0.01", "127.0.0.1.", "128.0.0.1", "10.0.0.1", "[::]", "[::ffff:10.0.0.1]", "[::2]", "[fe80::1]",
    "::1", "[::1", "[::1%25lo]", "1.0.0.127", "\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021", "localho\u017ft", "*", "null",
    "evil.example#127.0.0.1", "evil.example/127.0.0.1", "evil.example?127.0.0.1", "127.0.0.1@evil.example", " ", "",
]
# No valid values of the field (RFC 9112, section 3.2), which begin with a valid one.
MALFORMED = [
    "127.0.0.1:evil.example", "localhost:80@evil.example", "127.0.0.1:{port}@evil.example", "[::1]evil.example", "[::1].evil.example",
    "[::1]:80@evil.example", "127.0.0.1:{port}.evil.example", "localhost:99999999", "127.0.0.1:-1", "localhost:{port}:{port}",
    "127.0.0.1, evil.example", "127.0.0.1 evil.example", "[127.0.0.1]", "127.0.0.1:{port}/evil",
]
OWN = ["127.0.0.1:{port}", "127.0.0.1", "localhost", "LOCALHOST:{port}", "[::1]:{port}", "127.9.9.9:1"]


def statuses(console, names):
    for name in names:
        host = name.replace("{port}", str(console.port))
        reply = Browser(console).request("GET", "/login", {"Host": host}, host=False)
        yield host, reply.status


def run(gateway, quick):
    console, port = gateway.console, gateway.console.port
    problems = [f"{host!r}: {status}" for host, status in statuses(console, FOREIGN) if status not in (400, 421)]
    problems += [f"{host!r}: {status}" for host, status in statuses(console, OWN) if status != 200]
    check("hosts: other names", problems, f"{len(FOREIGN)} refused, {len(OWN)} accepted")
    problems = [f"{host!r}: {status}" for host, status in statuses(console, MALFORMED) if status not in (400, 421)]
    check("hosts: malformed values", problems, f"{len(MALFORMED)} refused")
    problems, own = [], f"Host: {console.host}\r\n"
    shapes = {
        "no Host": "GET /login HTTP/1.1\r\n\r\n", "HTTP/1.0 without Host": "GET /login HTTP/1.0\r\n\r\n",
        "two, the first wrong": f"GET /login HTTP/1.1\r\nHost: evil.example\r\n{own}\r\n",
        "two, the second wrong": f"GET /login HTTP/1.1\r\n{own}Host: evil.example\r\n\r\n",
        "two equal": f"GET /login HTTP/1.1\r\n{own}{own}\r\n",
        "a target of another site": f"GET http://evil.example/login HTTP/1.1\r\n{own}\r\n",
        "a target of another site and Host": f"GET http://evil.example/login HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "own target, Host wrong": f"GET http://127.0.0.1:{port}/login HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "a space before the colon": f"GET /login HTTP/1.1\r\nHost : {console.host}\r\n\r\n",
        "a folded field": f"GET /login HTTP/1.1\r\nHost:\r\n {console.host}\r\n\r\n",
        "CONNECT": f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n{own}\r\n", "an authority target": f"GET evil.example:80 HTTP/1.1\r\n{own}\r\n",
    }
    for what, text in shapes.items():
        reply = console.exchange(text.encode())
        # An absolute target that names the console is valid, and its Host does not count (RFC 9112, section 3.2.2).
        accepted = (200, 400, 421) if what == "own target, Host wrong" else (400, 404, 421)
        if reply.status not in accepted:
            problems.append(f"{what}: {reply.status}")
    check("hosts: shapes", problems, f"{len(shapes)} refused")
    # A page of the rebound name has this name as its origin: a login from it must fail too.
    problems = []
    for host in ("evil.example", f"evil.example:{port}"):
        fields = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}
        reply = Browser(console).request("POST", "/login", fields, b"user=bob&password=bob", host=False)
        if reply.status != 421 or reply.cookie:
            problems.append(f"{host}: {reply.status}")
    check("hosts: login of a rebound name", problems, "2 refused")
    with Gateway(gateway.program, users=("alice",), origin="https://console.example") as proxied:
        console, problems = proxied.console, []
        cases = {
            "https://console.example": 303, "https://console.example.evil.example": 403, "http://console.example": 403,
            "https://console.example:444": 403, "https://evil.example": 403, "null": 403,
        }
        for origin, wanted in cases.items():
            fields = {"Host": "console.example", "Origin": origin, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}
            reply = Browser(console).request("POST", "/login", fields, b"user=alice&password=alice", host=False)
            if reply.status != wanted or (wanted == 303 and not (reply.get("set-cookie") or "").startswith("__Host-")):
                problems.append(f"{origin}: {reply.status} {reply.get('set-cookie')}")
        for host, wanted in {"console.example": 200, "console.example:443": 421, "CONSOLE.example": 200, "evil.example": 421}.items():
            reply = Browser(console).request("GET", "/login", {"Host": host}, host=False)
            if reply.status not in (wanted, 200 if host.endswith(":443") else wanted):
                problems.append(f"Host {host}: {reply.status}")
        check("hosts: configured origin", problems, f"{len(cases)} origins and 4 hosts")
