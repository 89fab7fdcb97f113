"""Forms of other sites, and forms without the token of the session. Nothing may change."""

import itertools
import time

from client import Browser, quote, same_origin
from report import check

FORM = "application/x-www-form-urlencoded"


def state(gateway):
    """Returns what changes could change: the accounts' sessions and devices, the bans, and the records of changes."""
    users = [gateway.ask(f"/v1/users/{user}") for user in ("alice", "bob")]
    kept = [{name: len(user[name]) for name in ("registrations", "sessions")} for user in users]
    records = [record for record in gateway.records("operator") if record["action"] not in ("operator-login",)]
    return kept, len(gateway.ask("/v1/bans")["items"]), [(record["action"], record.get("by")) for record in records]


def routes(gateway):
    """Returns the routes that accept forms, with the form of each, as the pages would submit it."""
    bob = gateway.ask("/v1/users/bob")
    session, device = bob["sessions"][0]["session"], bob["registrations"][0]["registration"]
    changes = [
        ("end-session", session), ("revoke-device", device), ("revoke-user", ""), ("lift-bans", ""), ("reset-limits", "")]
    found = [("/users/bob/changes", {"change": change, "target": target}) for change, target in changes]
    return found + [("/policy/explain", {"user": "alice", "call": "GET /auth/whoami"}), ("/journal/verification", {}), ("/logout", {})]


def origins(address):
    """Returns the fields of requests that no page of the console makes."""
    other = f"http://127.0.0.1:{address.port + 1}"
    return {
        "cross-site": {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
        "cross-site, own Origin": {"Sec-Fetch-Site": "cross-site", "Origin": address.origin},
        "same-site": {"Sec-Fetch-Site": "same-site", "Origin": other},
        "same-site, own Origin": {"Sec-Fetch-Site": "same-site", "Origin": address.origin},
        "none": {"Sec-Fetch-Site": "none"},
        "none, own Origin": {"Sec-Fetch-Site": "none", "Origin": address.origin},
        "empty": {"Sec-Fetch-Site": "", "Origin": address.origin},
        "two": {"Sec-Fetch-Site": "same-origin, cross-site", "Origin": address.origin},
        "capitals": {"Sec-Fetch-Site": "SAME-ORIGIN", "Origin": address.origin},
        "absent": {},
        "Origin wrong": {"Origin": "https://evil.example"},
        "Origin null": {"Origin": "null"},
        "Origin empty": {"Origin": ""},
        "Origin of another port": {"Origin": other},
        "Origin https": {"Origin": address.origin.replace("http:", "https:")},
        "Origin with a path": {"Origin": address.origin + "/"},
        "Origin longer": {"Origin": address.origin + ".evil.example"},
        "same-origin, Origin wrong": {"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"},
        "same-origin, Origin null": {"Sec-Fetch-Site": "same-origin", "Origin": "null"},
    }


def foreign(gateway, alice, list_of_routes):
    """Submits each form from other origins, with the valid cookie and the valid token."""
    problems, count = [], 0
    for (target, form), (name, fields) in itertools.product(list_of_routes, origins(gateway.console).items()):
        reply = alice.submit(target, form, fields)
        count += 1
        if not 400 <= reply.status < 500:
            problems.append(f"{target} {form.get('change', '')} from {name}: status {reply.status}")
    for name, fields in origins(gateway.console).items():
        reply = Browser(gateway.console).post("/login", {"user": "bob", "password": "bob", "next": "/"}, fields)
        count += 1
        if not 400 <= reply.status < 500 or reply.cookie:
            problems.append(f"/login from {name}: status {reply.status}")
    return problems, count


def tokens(gateway, alice, bob, list_of_routes):
    """Submits each form as the console's page does, without the token of the session."""
    problems, count = [], 0
    wrong = {
        "missing": None, "empty": "", "wrong": "A" * 43, "of another session": bob.token, "the cookie": alice.cookie,
        "shorter": alice.token[:-1], "longer": alice.token + "A", "another case": alice.token.swapcase(), "NUL": alice.token + "\0",
    }
    for (target, form), (name, token) in itertools.product(list_of_routes, wrong.items()):
        reply = alice.post(target, form if token is None else {"token": token, **form})
        count += 1
        if reply.status != 403:
            problems.append(f"{target} {form.get('change', '')} with the token {name}: status {reply.status}")
    for target, form in list_of_routes:
        own = {"token": alice.token, **form}
        query = "&".join(f"{name}={quote(value)}" for name, value in own.items())
        body = query.encode()
        twice = b"token=" + alice.token.encode() + b"&token=x&" + body
        attempts = {
            "without a cookie": Browser(gateway.console).post(target, own),
            "with a token in the query": alice.post(f"{target}?token={alice.token}", form),
            "as GET": alice.get(f"{target}?{query}"),
            "as PUT": alice.request("PUT", f"{target}?{query}", same_origin(gateway.console)),
            "as HEAD": alice.request("HEAD", f"{target}?{query}", same_origin(gateway.console)),
            "with an overriding method": alice.request("GET", f"{target}?_method=POST&{query}", {"X-HTTP-Method-Override": "POST"}),
            "with names twice": alice.request("POST", target, {"Content-Type": FORM, **same_origin(gateway.console)}, twice),
        }
        types = ["text/plain", "multipart/form-data; boundary=x", "application/json", "", FORM.replace("/", " /"), "text/plain, " + FORM]
        for kind in types:
            fields = {**same_origin(gateway.console), "Content-Type": kind}
            attempts[f"as {kind!r}"] = alice.request("POST", target, fields, body)
        for name, reply in attempts.items():
            count += 1
            if not 400 <= reply.status < 500 and not (name == "as GET" and reply.status == 303):
                problems.append(f"{target} {form.get('change', '')} {name}: status {reply.status}")
    return problems, count


def run(gateway, quick):
    gateway.register("bob")
    gateway.token("bob")
    # A wrong password, so that there is a ban to lift.
    for _ in range(8):
        Browser(gateway.console, "127.5.0.9").log_in("bob", "wrong")
    alice, bob = Browser(gateway.console), Browser(gateway.console)
    alice.log_in("alice")
    bob.log_in("bob")
    time.sleep(1.2)
    list_of_routes, before = routes(gateway), state(gateway)
    problems, count = foreign(gateway, alice, list_of_routes)
    check("csrf: origins", problems, f"{count} requests from other origins to {len(list_of_routes) + 1} routes")
    problems, count = tokens(gateway, alice, bob, list_of_routes)
    check("csrf: tokens, methods and types", problems, f"{count} requests")
    time.sleep(1.2)
    problems = [] if state(gateway) == before else [f"{before} became {state(gateway)}"]
    problems += [] if alice.is_logged_in() and bob.is_logged_in() else ["a session has ended"]
    check("csrf: state", problems, f"{len(before[2])} records of changes before and after")
    genuine(gateway, alice, list_of_routes)


def genuine(gateway, alice, list_of_routes):
    """Submits the forms as pages do: the same requests with the token have their effect, so the checks above could fail."""
    problems = []
    # The target is empty: no argument must not mean all users or all sessions.
    for change in ("end-session", "revoke-device"):
        reply = alice.submit("/users/bob/changes", {"change": change, "target": ""})
        if not 400 <= reply.status < 500:
            problems.append(f"{change} without a target: status {reply.status}")
    for target, form in list_of_routes:
        before = len(gateway.records("operator"))
        reply = alice.submit(target, form)
        wanted = 200 if target == "/policy/explain" else 303
        if reply.status != wanted:
            problems.append(f"{target} {form.get('change', '')}: status {reply.status}, not {wanted}")
        if "change" in form and not any(record.get("by") == "alice" for record in gateway.records("operator")[before:]):
            problems.append(f"{form['change']}: no record with the operator's name")
    check("csrf: genuine forms", problems, f"{len(list_of_routes)} forms accepted and recorded")
