"""Scripts and markup in every text that a stranger can place in a page."""

import base64
import concurrent.futures
import json
import re
import time

import pages
import payloads
from client import Browser, quote
from live import LivePage
from report import check, skip


def addresses(network):
    """Yields addresses of one of the networks 127.NETWORK, so that the throttle of one does not count the others."""
    for number in range(65_000):
        yield f"127.{network}.{number // 250}.{number % 250 + 1}"


def verify(problems, what, reply, texts=(), statuses=(200,)):
    """Adds the problems of a page."""
    if reply.status not in statuses:
        problems.append(f"{what}: status {reply.status}")
    if reply.status != 303:
        problems += [f"{what}: {problem}" for problem in pages.problems_of(reply.text, texts)]


def logins(gateway, alice, names):
    """Logs in with every payload as the name, and reads the pages and what live pages are told of the attempts."""
    problems, source = [], addresses(1)
    live = LivePage(alice, "/live?kind=refusals")
    live.is_followed()
    before = live.changes()

    def attempt(pair):
        name, address = pair
        reply = Browser(gateway.console, address).post("/login", {"user": name, "password": "x", "next": "/" + name})
        return name, reply

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        replies = list(pool.map(attempt, zip(names, source)))
    for name, reply in replies:
        verify(problems, f"login as {name[:30]!r}", reply, [name], (400, 401, 429, 503))
    check("xss: login page", problems, f"{len(names)} names")

    problems, texts, listed, calls = [], set(), 0, []
    time.sleep(1.5)
    target = "/calls?kind=refusals"
    while target:
        reply = alice.get(target)
        verify(problems, "refusals", reply, names)
        structure = pages.Structure(reply.text)
        texts.update(structure.texts)
        links = [value for tag, attributes in structure.elements for name, value in attributes if name == "href"]
        calls += [link for link in links if re.fullmatch("/calls/[0-9a-f]{8,}", link)]
        listed += 1
        older = [link for link in links if "after=" in link and link.startswith("/calls?")]
        target = older[0] if older and listed < 40 else None
    shown = sum(1 for name in names if name in texts)
    if shown < len(names) / 3:
        problems.append(f"only {shown} of {len(names)} attempted names are shown as they are")
    for target in ["/"] + calls[:: max(1, len(calls) // 60)]:
        verify(problems, target, alice.get(target), names)
    check("xss: attempted names", problems, f"{listed} pages of refusals, {min(60, len(calls))} calls, {shown} shown as text")
    live_answers(live, before)


def live_answers(live, before):
    """Verifies that an open page is told that there are new refusals, and nothing of what is in them."""
    problems, told = [], live.changes() - before
    grammar = {"at": r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}", "next": "[0-9]+", "changed": "True|False"}
    for answer in list(live.answers):
        problems += [f"a member {name!r}" for name in set(answer) ^ set(grammar)]
        problems += [f"{name} {str(value)[:60]!r}" for name, value in answer.items() if not re.fullmatch(grammar.get(name, ""), str(value))]
    if not told:
        problems.append("the page was told of no attempt")
    check("xss: live pages", problems, f"{len(live.answers)} answers, {told} of them after attempts")
    live.close()


def devices(gateway, alice, names):
    """Begins sessions with every payload as the name of the device; a user has at most 20."""
    problems, missing = [], []
    for first in range(0, len(names), 20):
        batch = names[first:first + 20]
        for name in batch:
            body = json.dumps({"device": name})
            if gateway.call("POST", "/auth/token", "bob", body, source=f"127.2.0.{first // 20 + 1}")[0] != 200:
                missing.append(name)
        reply = alice.get("/users/bob")
        verify(problems, "the page of bob", reply, names)
        missing += [name for name in batch if not pages.shows(reply.text, name)]
    if len(missing) > len(names) / 4:
        problems.append(f"{len(missing)} of {len(names)} are not shown as they are, such as {missing[0]!r}")
    check("xss: names of devices", problems, f"{len(names)} names, {len(names) - len(missing)} shown as text")


TARGETS = [
    "/calls?from={}", "/calls?to={}&kind=refusals", "/calls?user={}", "/calls?platform={}", "/calls?result={}",
    "/calls?since={}", "/calls?until={}", "/calls?kind={}", "/calls?after={}", "/calls/{}", "/users/{}", "/users?name={}",
    "/users/bob?done={}", "/journal?after={}", "/login?next={}", "/calls/export?from={}", "/{}", "/?{}=1", "/policy?{}",
    "/assets/{}", "/pairs?user={}&group={}", "/pairs?since={}", "/live?kind={}&after=x&from",
]


def urls(alice, names, each):
    """Requests every page with payloads in its filters and in its path; each payload in some of the places."""
    problems, count = [], 0
    stranger = Browser(alice.address)
    for number, name in enumerate(names):
        for step in range(each):
            target = TARGETS[(number + step * (len(TARGETS) // each)) % len(TARGETS)].replace("{}", quote(name))
            if len(target) > 7000 or target.startswith("/live"):
                continue
            browser = stranger if target.startswith("/login") else alice
            reply = browser.get(target)
            count += 1
            if reply.status >= 500 or reply.status == 0:
                problems.append(f"{target[:80]}: status {reply.status}")
            elif (reply.get("content-type") or "").startswith("text/html"):
                verify(problems, target[:80], reply, [name], (200, 400, 404, 422))
            for location in reply.all("location"):
                if not re.fullmatch(r"/(?![/\\])[!-~]*", location):
                    problems.append(f"{target[:80]}: Location {location[:60]!r}")
    check("xss: values in URLs", problems, f"{count} pages")


def forms(alice, names, quick):
    """Explains calls of payloads, and confirms changes to payloads with a wrong password."""
    problems, shown = [], 0
    for number, name in enumerate(names):
        form = {"user": "alice", "call": "POST /api/notifications?pns=apns&to_tag=bob", "body": "x"}
        form[["user", "call", "body"][number % 3]] = name
        reply = alice.submit("/policy/explain", form)
        verify(problems, f"explain {name[:30]!r}", reply, [name], (200, 400))
        shown += pages.shows(reply.text, name)
    check("xss: explanations", problems, f"{len(names)} forms, {shown} values shown as text")
    problems, shown, count = [], 0, 0
    browser = Browser(alice.address, "127.3.0.1")
    browser.cookie, browser.token = alice.cookie, alice.token
    for name in names[:60:4 if quick else 2]:
        reply = browser.submit("/users/bob/changes", {"change": "end-session", "target": name, "password": "wrong"})
        verify(problems, f"confirm {name[:30]!r}", reply, [name], (403, 400))
        count += 1
        shown += pages.shows(reply.text, name)
    check("xss: confirmations", problems, f"{count} forms, {shown} values shown as text")


def calls(gateway, alice, names):
    """Makes calls at the public listener with payloads as tag, platform, recipient, user agent and user."""
    problems, source = [], addresses(4)
    for number, name in enumerate(names):
        address = next(source)
        printable = re.sub("[\x00-\x1f\x7f]", "", name).encode("utf-8", "ignore").decode("latin-1")
        fields = {"User-Agent": printable, "traceparent": printable}
        if number % 3 == 0:
            body = json.dumps({"Platform": "apns", "Handle": "ab" * 32, "Tags": [name]})
            gateway.call("PUT", "/api/register/1-2-3", "bob", body, fields, source=address)
        elif number % 3 == 1:
            gateway.call("POST", f"/api/notifications?pns={quote(name)}&to_tag={quote(name)}", "bob", '"x"', fields, source=address)
        else:
            credential = base64.b64encode(name.encode("utf-8", "surrogatepass") + b":x").decode()
            fields["Authorization"] = f"Basic {credential}"
            gateway.call("GET", "/auth/whoami", "bob", None, fields, source=address)
    time.sleep(1.5)
    for target in ("/", "/calls", "/calls?kind=refusals", "/users", "/users/bob", "/policy"):
        verify(problems, target, alice.get(target), names)
    check("xss: calls", problems, f"{len(names)} calls")


def run(gateway, quick):
    alice = Browser(gateway.console)
    alice.log_in("alice")
    own, corpus = payloads.OWN, payloads.naughty()
    if not corpus:
        skip("xss: corpus", "shared/corpora/blns.json is not beside the repository")
    names = own + ([] if quick else corpus)
    logins(gateway, alice, names)
    devices(gateway, alice, payloads.labels(own if quick else names))
    urls(alice, own, 6 if quick else len(TARGETS))
    if corpus:
        urls(alice, corpus[::10] if quick else corpus, 2)
    forms(alice, own if quick else own + corpus[::2], quick)
    calls(gateway, alice, own[::4] if quick else own)
    problems = pages.problems_of(alice.get("/nope<b>").text)
    check("xss: problem page", problems, "1 page")
