"""Requests that are framed ambiguously, that name other paths than they seem to, or that are very large."""

import re

from client import Browser, quote
from report import check

FORM = "Content-Type: application/x-www-form-urlencoded\r\n"


def framings(host):
    """Returns requests that two parsers could delimit differently, each with a second request hidden inside or behind it."""
    post, hidden = f"POST /login HTTP/1.1\r\nHost: {host}\r\n{FORM}", f"GET /login HTTP/1.1\r\nHost: {host}\r\n\r\n"
    chunked, length = "Transfer-Encoding: chunked\r\n", f"Content-Length: {len(hidden) + 5}\r\n"
    return {
        "CL and TE": f"{post}{length}{chunked}\r\n0\r\n\r\n{hidden}", "TE and CL": f"{post}{chunked}{length}\r\n0\r\n\r\n{hidden}",
        "two equal CL": f"{post}Content-Length: 0\r\nContent-Length: 0\r\n\r\n{hidden}",
        "two CL": f"{post}Content-Length: 0\r\n{length}\r\n{hidden}", "CL with a list": f"{post}Content-Length: 0, 0\r\n\r\n{hidden}",
        "CL +0": f"{post}Content-Length: +0\r\n\r\n{hidden}", "CL -1": f"{post}Content-Length: -1\r\n\r\n{hidden}",
        "CL 0x0": f"{post}Content-Length: 0x0\r\n\r\n{hidden}", "CL empty": f"{post}Content-Length:\r\n\r\n{hidden}",
        "CL of 2^64": f"{post}Content-Length: 18446744073709551616\r\n\r\n{hidden}",
        "CL of 2^63": f"{post}Content-Length: 9223372036854775808\r\n\r\n{hidden}",
        "TE xchunked": f"{post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{hidden}",
        "TE identity": f"{post}Transfer-Encoding: identity\r\n{length}\r\n0\r\n\r\n{hidden}",
        "TE chunked, identity": f"{post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{hidden}",
        "two TE": f"{post}{chunked}Transfer-Encoding: identity\r\n\r\n0\r\n\r\n{hidden}",
        "TE with a space": f"{post}Transfer-Encoding : chunked\r\n{length}\r\n0\r\n\r\n{hidden}",
        "TE with a tab": f"{post}Transfer-Encoding:\tchunked\r\n{length}\r\n0\r\n\r\n{hidden}",
        "TE folded": f"{post}Transfer-Encoding:\r\n chunked\r\n{length}\r\n0\r\n\r\n{hidden}",
        "obs-fold": f"GET /login HTTP/1.1\r\nHost: {host}\r\nX: a\r\n b\r\n\r\n{hidden}",
        "bare LF": f"GET /login HTTP/1.1\nHost: {host}\n\n{hidden}", "bare CR": f"GET /login HTTP/1.1\rHost: {host}\r\r{hidden}",
        "a chunk size of words": f"{post}{chunked}\r\nxyz\r\n\r\n{hidden}", "a negative chunk": f"{post}{chunked}\r\n-1\r\n\r\n{hidden}",
        "a chunk size of 17 digits": f"{post}{chunked}\r\n{'f' * 17}\r\nx\r\n0\r\n\r\n{hidden}",
        "a chunk without CRLF": f"{post}{chunked}\r\n1\r\nxx0\r\n\r\n{hidden}", "a long extension": f"{post}{chunked}\r\n1;{'x' * 9000}\r\nx\r\n0\r\n\r\n{hidden}",
        "an LF in an extension": f"{post}{chunked}\r\n1;a\nb\r\nx\r\n0\r\n\r\n{hidden}",
        "Host as trailer": f"{post}{chunked}\r\n0\r\nHost: evil.example\r\nCookie: x=y\r\n\r\n{hidden}",
        "GET with a body": f"GET /login HTTP/1.1\r\nHost: {host}\r\n{length}\r\n{hidden}xxxxx", "pipelined": hidden + hidden,
        "HTTP/1.0 with TE": f"POST /login HTTP/1.0\r\nHost: {host}\r\n{chunked}\r\n0\r\n\r\n{hidden}",
        "HTTP/2.0": f"GET /login HTTP/2.0\r\nHost: {host}\r\n\r\n{hidden}", "HTTP/0.9": f"GET /login\r\n\r\n{hidden}",
        "preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "upgrade": f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n{hidden}",
        "a NUL in a field": f"GET /login HTTP/1.1\r\nHost: {host}\r\nX: a\0b\r\n\r\n{hidden}",
        "a space before the method": f" GET /login HTTP/1.1\r\nHost: {host}\r\n\r\n{hidden}",
        "a field without a name": f"GET /login HTTP/1.1\r\nHost: {host}\r\n: x\r\n\r\n{hidden}",
        "keep-alive": f"GET /login HTTP/1.1\r\nHost: {host}\r\nConnection: keep-alive\r\n\r\n{hidden}",
        "expectation": f"{post}Expect: 100-continue\r\nContent-Length: 0\r\n\r\n{hidden}",
    }


# Those of the framings that are valid, so that a response other than a rejection is right.
VALID = {"pipelined", "keep-alive", "GET with a body", "Host as trailer", "expectation", "TE with a tab", "upgrade", "bare LF"}

PATHS = [
    "/assets/../users", "/assets/%2e%2e/users", "/assets/..%2fusers", "/assets/..%5cusers", "/assets/%00", "/assets/", "/assets", "/assets/.",
    "/assets//", "/assets/%c0%ae%c0%ae/x", "/assets/..%c0%af..%c0%afetc/passwd", "/assets/..;/users", "/assets/%252e%252e%252fusers",
    "/assets/....//....//etc/passwd", "/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/assets/console.css",
    "/assets/frame.mustache", "/Resources/frame.mustache", "/users/%2e%2e", "/users/..", "/users/.", "/users/%2F..%2F", "/users/%00",
    "/users/a%00b", "/users/%ff%fe", "/users/%c0%80", "/users/%ed%a0%80", "/users/%zz", "/users/%", "/users/%2", "/users/+", "/users/%20",
    "/users//bob", "/users/bob/", "/users/bob/changes", "/users/bob/x", "/users/*", "/users/{user}", "/users/:user", "/users/bob;x=y",
    "/users/bob%3fdone=x", "/users/bob%23", "/users/" + "a" * 8000, "/users/" + "%41" * 2500, "/users/" + "a/" * 3000, "/calls/" + "f" * 7000,
    "/calls/%00", "/calls/../users", "/calls/export/", "/calls/export/x", "/CALLS", "/Calls", "/calls%2fexport", "/calls\\export", "/.", "/..",
    "/./login", "/login/", "//login", "/login/../", "/login%00", "/login;jsessionid=x", "*", "/*", "/**", "/live/x", "/live", "/journal/x",
    "/policy/explain", "/favicon.ico", "/robots.txt", "/.git/config", "/.env", "/metrics", "/health/live", "/v1/bans", "/v1/sends", "/admin",
    "/api/notifications", "/auth/token", "/auth/whoami", "/?" + "a=b&" * 10, "/calls?" + "&".join(f"p{n}=x" for n in range(1000)),
    "/calls?from=a&from=b", "/calls?from", "/calls?=x", "/calls?&&&", "/calls?from=%00", "/calls?from=%ff", "/calls?since=" + "9" * 4000,
    "/calls?since=9999-99-99", "/calls?since=-1", "/calls?after=" + "A" * 5000, "/calls?after=-1", "/calls?after=18446744073709551616",
    "/calls?after=x&kind=refusals", "/calls?kind=x", "/calls/export?kind=x&since=x", "/journal?after=x", "/pairs?since=x", "/pairs?user=%00",
    "/pairs?group=" + "g" * 4000, "/pairs?result=x", "/live?kind=" + "x" * 4000, "/users?name=" + "n" * 4000, "/users?name=..", "/users?name=%2F",
]

METHODS = ["HEAD", "OPTIONS", "TRACE", "PUT", "PATCH", "DELETE", "CONNECT", "PROPFIND", "BREW", "get", "G" * 100, "POST"]


def lines(gateway):
    """Returns the number of lines of errors in the log."""
    return len(re.findall(r'"level":"(?:error|critical)"', gateway.text()))


def run(gateway, quick):
    console, before = gateway.console, lines(gateway)
    alice = Browser(console)
    alice.log_in("alice")
    problems, statuses, shapes = [], [], framings(console.host)
    for what, text in shapes.items():
        reply = console.exchange(text.encode("latin-1"), timeout=15)
        statuses.append(reply.status)
        if reply.raw.count(b"HTTP/1.1 ") > (2 if what == "expectation" else 1):
            problems.append(f"{what}: {reply.raw.count(b'HTTP/1.1 ')} responses")
        if what == "expectation" and reply.status == 100:
            continue
        if what not in VALID and (reply.status and not 400 <= reply.status < 500 or not reply.status and what != "HTTP/0.9"):
            problems.append(f"{what}: status {reply.status}")
        if reply.status >= 500 and reply.status != 505 or reply.status == 101:
            problems.append(f"{what}: status {reply.status}")
    check("shapes: framing", problems, f"{len(shapes)} requests, statuses {sorted(set(statuses))}, one response each")
    problems, count = [], 0
    for path in PATHS:
        for browser in (alice, Browser(console)):
            reply = browser.get(path, {"X-Console-Refresh": "1"} if path == "/live" else ())
            count += 1
            name = f"{path[:60]} {'as alice' if browser is alice else 'without a session'}"
            if not reply.status or reply.status >= 500:
                problems.append(f"{name}: status {reply.status}")
            if b"root:" in reply.body or b"{{" in reply.body:
                problems.append(f"{name}: {reply.body[:60]!r}")
            if browser is not alice and reply.status == 200 and "/login" not in path:
                problems.append(f"{name}: status 200")
    check("shapes: paths", problems, f"{count} requests")
    problems, found = [], []
    for method in METHODS:
        for path in ("/", "/login", "/users/bob/changes", "/assets/x", "*"):
            reply = alice.request(method, path, {"Content-Type": "application/x-www-form-urlencoded"})
            found.append(reply.status)
            if not reply.status or reply.status >= 500:
                problems.append(f"{method} {path[:20]}: status {reply.status}")
            if method == "TRACE" and alice.cookie.encode() in reply.raw:
                problems.append("TRACE returns the cookie")
            if method == "HEAD" and reply.body:
                problems.append(f"HEAD {path}: a body of {len(reply.body)} bytes")
    check("shapes: methods", problems, f"{len(METHODS)} methods, statuses {sorted(set(found))}")
    problems = []
    for path in ("/", "/login", "/calls"):
        head, get = alice.request("HEAD", path), alice.get(path)
        if head.status != get.status:
            problems.append(f"HEAD {path}: {head.status}, GET: {get.status} (RFC 9110, section 9.1)")
    reply = alice.request("PUT", "/login")
    if reply.status != 405 or not reply.get("allow"):
        problems.append(f"PUT /login: {reply.status} without Allow, not 405 (RFC 9110, section 15.5.6)")
    check("shapes: HEAD and 405", problems, "3 pages")
    large(gateway, alice)
    count = lines(gateway) - before
    check("shapes: log", [f"{count} lines of errors"] if count else [], f"{count} lines of errors by all requests of strangers")


def large(gateway, alice):
    """Sends heads, forms and queries at and beyond their limits."""
    problems, console = [], gateway.console
    host = f"Host: {console.host}\r\n"
    cases = {
        "a target of 64 KiB": (f"GET /{'x' * 65_536} HTTP/1.1\r\n{host}\r\n", {414, 431}),
        "a field of 64 KiB": (f"GET / HTTP/1.1\r\n{host}X: {'x' * 65_536}\r\n\r\n", {431}),
        "500 fields": (f"GET / HTTP/1.1\r\n{host}" + "".join(f"X-{n}: x\r\n" for n in range(500)) + "\r\n", {431}),
        "fields of 64 KiB together": (f"GET / HTTP/1.1\r\n{host}" + "".join(f"X-{n}: {'x' * 1000}\r\n" for n in range(65)) + "\r\n", {431}),
        "a method of 64 KiB": (f"{'G' * 65_536} / HTTP/1.1\r\n{host}\r\n", {400, 414, 431}),
        "a head without an end": (f"GET / HTTP/1.1\r\n{host}" + "X: x\r\n" * 20_000, {431}),
    }
    for what, (text, wanted) in cases.items():
        status = console.exchange(text.encode()).status
        if status not in wanted:
            problems.append(f"{what}: status {status}")
    for size in (32_000, 33_000, 1_000_000, 8_000_000):
        status = Browser(console).post("/login", {"user": "bob", "password": "x" * size}).status
        if status not in ((401, 429, 400) if size <= 32_000 else (413,)):
            problems.append(f"a form of {size} bytes: status {status}")
    form = {"token": alice.token, "user": "a" * 9000, "call": "GET /" + quote("\u00e9" * 2000)}
    if alice.post("/policy/explain", form).status not in (200, 400, 413):
        problems.append("an explanation of long values")
    check("shapes: large requests", problems, f"{len(cases)} heads, 5 forms")
