"""Redirections to other sites, by the parameter `next`, and by the fields of a request."""

import re
import urllib.parse

from client import Browser, quote, same_origin
from report import check

EVIL = [
    "//evil.example", "///evil.example", "////evil.example", "/\\evil.example", "\\\\evil.example", "\\/evil.example",
    "https://evil.example", "https:evil.example", "https:/evil.example", "http:///evil.example", "HTTPS://evil.example",
    "javascript:alert(1)", "data:text/html,x", "evil.example", "@evil.example", "/@evil.example", "/.//evil.example",
    "/..//evil.example", "/%2f%2fevil.example", "%2f%2fevil.example", "/%5cevil.example", "/%09/evil.example", "/\t/evil.example",
    "\t//evil.example", " //evil.example", "/ /evil.example", "/\n/evil.example", "/\r\n/evil.example", "/\x0b/evil.example",
    "/x\r\nLocation: https://evil.example", "/x\r\nSet-Cookie: a=b", "/x%0d%0aSet-Cookie: a=b", "/x\nX: y", "/\x00/evil.example",
    "/\u2028/evil.example", "/\u3002evil.example", "/\uff0fevil.example", "\uff0f\uff0fevil.example", "/\u00a0/evil.example",
    "/;//evil.example", "/?//evil.example", "/#//evil.example", "/login?next=//evil.example", "", "/" + "x" * 5000, "//",
    "/\\/evil.example", "/\ufeff/evil.example", "http://127.0.0.1@evil.example/", "//127.0.0.1:1/", "/%00//evil.example", "/:80",
]


def is_own(location):
    """Returns whether browsers resolve the location to a path of the console."""
    if location is None or not re.fullmatch(r"/(?![/\\])[!-~]*", location) or "\\" in location or re.search("[\t\r\n]", location):
        return False
    return urllib.parse.urlsplit(urllib.parse.urljoin("http://console.test/login", location)).netloc == "console.test"


def run(gateway, quick):
    problems, bob = [], Browser(gateway.console)
    bob.log_in("bob")
    replies = {}
    for text in EVIL:
        replies[f"login form, {text[:40]!r}"] = bob.post("/login", {"user": "bob", "password": "bob", "next": text})
        if len(text) < 1000:
            replies[f"query, {text[:40]!r}"] = bob.get(f"/login?next={quote(text)}")
    bob.log_in("bob")
    for text in EVIL:
        if len(text) < 1000:
            replies[f"second query, {text[:40]!r}"] = bob.get(f"/login?next={quote(text)}")
            raw = re.sub(r"[^!-~]", "", text)
            if raw.startswith("/"):
                replies[f"path, {raw[:40]!r}"] = Browser(gateway.console).get(raw.replace("#", "%23"))
    redirected = 0
    for what, reply in replies.items():
        if reply.status in (301, 302, 303, 307, 308):
            redirected += 1
            if len(reply.all("location")) != 1 or not is_own(reply.get("location")):
                problems.append(f"{what}: {reply.all('location')}")
        if reply.all("set-cookie") and not all(value.startswith(gateway.console.cookie + "=") for value in reply.all("set-cookie")):
            problems.append(f"{what}: {reply.all('set-cookie')}")
        if reply.status >= 500 or not reply.status:
            problems.append(f"{what}: status {reply.status}")
    check("redirects: next", problems, f"{len(EVIL)} targets, {len(replies)} requests, {redirected} redirections")
    problems, stranger = [], Browser(gateway.console)
    fields = {
        "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https", "Forwarded": "host=evil.example;proto=https",
        "X-Original-URL": "/users/bob", "X-Rewrite-URL": "/users/bob", "X-Forwarded-For": "127.0.0.1",
    }
    for name, value in fields.items():
        reply = stranger.request("GET", "/users", {name: value})
        if reply.status != 303 or reply.get("location") != "/login?next=%2Fusers" or b"evil" in reply.raw:
            problems.append(f"{name}: {reply.status} {reply.get('location')}")
    # The link in a login page must not leave the console either.
    page = stranger.get("/login?next=" + quote("//evil.example")).text
    if "evil.example" in page:
        problems.append("the login page contains the other site")
    reply = stranger.post("/login?next=//evil.example", {"user": "bob", "password": "bob"}, same_origin(gateway.console))
    if reply.get("location") != "/":
        problems.append(f"a query of the form: {reply.get('location')}")
    check("redirects: fields", problems, f"{len(fields)} fields of proxies ignored")
