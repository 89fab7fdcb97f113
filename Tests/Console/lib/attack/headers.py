"""The fields of responses that protect pages in browsers: on every page and on every error."""

import re

from client import Browser, same_origin
from gateway import Gateway
from report import check, skip

WANTED = {
    "content-security-policy": r"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    r"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "x-frame-options": "DENY", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer|same-origin",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin", "cache-control": "no-store",
}


def lacks(what, reply, cache="no-store", secure=False):
    """Returns the fields that a response lacks or has twice."""
    found = []
    for name, wanted in WANTED.items():
        values = reply.all(name)
        wanted = cache if name == "cache-control" else wanted
        if len(values) != 1 or not re.fullmatch(wanted, values[0]):
            found.append(f"{what} ({reply.status}): {name} {values}")
    if bool(reply.get("strict-transport-security")) != secure:
        found.append(f"{what} ({reply.status}): strict-transport-security {reply.get('strict-transport-security')}")
    for name in ("server", "x-powered-by", "access-control-allow-origin"):
        if reply.get(name):
            found.append(f"{what}: {name} {reply.get(name)}")
    return found


def requests(console, alice):
    """Returns a response of every page, and of every error that a router, a page or a reload of it can make."""
    stranger = Browser(console)
    pages = ["/", "/calls", "/calls?kind=refusals", "/users", "/users/bob", "/policy", "/journal", "/pairs", "/calls/export"]
    found = {f"GET {target}": alice.get(target) for target in pages + ["/nope", "/calls/nope", "/calls?since=x", "/calls?x=%zz"]}
    found |= {f"without a session: GET {target}": stranger.get(target) for target in ("/login", "/", "/nope", "/live", "/users/bob")}
    found["another host"] = stranger.request("GET", "/login", {"Host": "evil.example"}, host=False)
    found["POST without a session"] = stranger.post("/logout", {})
    found["a foreign form"] = alice.post("/logout", {"token": "x"})
    found["a wrong password"] = Browser(console, "127.6.0.1").log_in("bob", "wrong")
    found["a user without access"] = Browser(console).log_in("erin")
    found["a type that is not a form"] = stranger.request("POST", "/login", same_origin(console), b"x")
    found["a form of 33 KB"] = stranger.post("/login", {"user": "x" * 33_000})
    found["an unknown method"] = alice.request("BREW", "/")
    found["a login"] = Browser(console).post("/login", {"user": "bob", "password": "bob"})
    found["a live page without a session"] = stranger.request("GET", "/live", {"X-Console-Refresh": "1"})
    return found


def wire(console):
    """Returns responses to requests that do not reach a page."""
    host = f"Host: {console.host}\r\n".encode()
    return {
        "not HTTP": console.exchange(b"\x16\x03\x01 nonsense\r\n\r\n"),
        "a head of 64 KiB": console.exchange(b"GET / HTTP/1.1\r\n" + host + b"X: " + b"x" * 65_536 + b"\r\n\r\n"),
        "a bad chunk": console.exchange(b"POST /login HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
        "a form of 1 MB": Browser(console).post("/login", {"user": "x" * 1_000_000}),
    }


def assets(console, alice):
    """Returns the problems of the assets of a page, and their number."""
    found = set(re.findall(r'(?:href|src)="(/assets/[^"]+)"', alice.get("/").text))
    problems, types = [], {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
    for path in found:
        reply = Browser(console).get(path)
        problems += lacks(path, reply, cache="public, max-age=31536000, immutable", secure=console.secure)
        if reply.status != 200 or reply.get("content-type") != types[path.rpartition(".")[2]] or not reply.body:
            problems.append(f"{path}: {reply.status} {reply.get('content-type')} {len(reply.body)}")
        problems += lacks(path + "x", Browser(console).get(path + "x"), secure=console.secure)
    if len(found) < 3:
        problems.append(f"only the assets {found}")
    return problems, len(found)


def check_all(console, name, gateway):
    alice = Browser(console)
    alice.log_in("alice")
    problems, replies = [], requests(console, alice)
    for what, reply in replies.items():
        problems += lacks(what, reply, secure=console.secure)
    check(f"headers: pages and errors{name}", problems, f"{len(replies)} responses with {len(WANTED)} fields")
    problems, replies = [], wire(console)
    for what, reply in replies.items():
        problems += lacks(what, reply, secure=console.secure) if reply.status else [f"{what}: no response"]
    check(f"headers: requests that reach no page{name}", problems, f"{len(replies)} responses")
    problems, count = assets(console, alice)
    check(f"headers: assets{name}", problems, f"{count} assets, immutable")


def cookies(console, name):
    reply = Browser(console).post("/login", {"user": "bob", "password": "bob", "next": "/"}, same_origin(console))
    values = reply.all("set-cookie")
    attributes = [part.strip().lower() for part in values[0].split(";")[1:]] if values else []
    wanted = {"path=/", "httponly", "samesite=strict", "max-age=28800"} | ({"secure"} if console.secure else set())
    problems = [] if set(attributes) == wanted and len(values) == 1 else [f"{values}"]
    if console.secure and not (values or [""])[0].startswith("__Host-"):
        problems.append("no __Host- before the name")
    check(f"headers: cookie{name}", problems, "; ".join(attributes))


def run(gateway, quick):
    gateway.command("users", "add", "erin", input="erin\n")
    gateway.command("reload")
    check_all(gateway.console, "", gateway)
    cookies(gateway.console, "")
    skip("headers: expiry", "30 min idle, 8 h in all and the 5 min of a proof cannot be awaited from outside")
    with Gateway(gateway.program, users=("alice", "bob", "erin"), secure=True) as secure:
        check_all(secure.console, " with TLS", secure)
        cookies(secure.console, " with TLS")
