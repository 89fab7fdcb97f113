"""Viewers: they read, and change nothing."""

import time

import csrf
import pages
from client import Browser
from report import check, skip

CHANGES = {"/users/bob/changes"}


def run(gateway, quick):
    gateway.register("bob")
    gateway.token("bob")
    for _ in range(8):
        Browser(gateway.console, "127.5.0.9").log_in("bob", "wrong")
    carol = Browser(gateway.console)
    carol.log_in("carol")
    time.sleep(1.2)
    list_of_routes, before, problems, count = csrf.routes(gateway), csrf.state(gateway), [], 0
    for target, form in list_of_routes:
        if target not in CHANGES:
            continue
        for more in ({}, {"password": "carol"}, {"isOperator": "true", "role": "operator"}):
            for path in (target, "/users/carol/changes", target + "/", "//users//bob//changes"):
                reply = carol.submit(path, {**form, **more})
                count += 1
                if reply.status not in ((403,) if path == target else (403, 404)):
                    problems.append(f"{path} {form['change']} with {more}: status {reply.status}")
    time.sleep(1.2)
    if csrf.state(gateway) != before:
        problems.append(f"{before} became {csrf.state(gateway)}")
    check("roles: changes of a viewer", problems, f"{count} forms with the viewer's own token, no record of a change")
    problems, buttons = [], 0
    for target in ("/", "/calls", "/calls?kind=refusals", "/users", "/users/bob", "/policy", "/journal"):
        structure = pages.Structure(carol.get(target).text)
        for tag, attributes in structure.elements:
            action = dict(attributes).get("action") or ""
            buttons += tag == "button"
            if tag == "form" and action.endswith("/changes"):
                problems.append(f"{target}: a form for {action}")
    alice = Browser(gateway.console)
    alice.log_in("alice")
    if "/users/bob/changes" not in alice.get("/users/bob").text:
        problems.append("an operator has no forms either")
    check("roles: buttons of a viewer", problems, f"{buttons} buttons on 7 pages, none for a change")
    erin = Browser(gateway.console)
    gateway.command("users", "add", "erin", input="erin\n")
    gateway.command("reload")
    reply = erin.log_in("erin")
    problems = [] if reply.status == 403 and reply.cookie is None else [f"{reply.status} {reply.cookie}"]
    check("roles: user without a role", problems, f"status {reply.status}, no cookie")
    skip("roles: proof", "a change after the 5 min of a proof cannot be awaited from outside")
