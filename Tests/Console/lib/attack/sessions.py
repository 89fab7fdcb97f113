"""Sessions that must not be accepted: chosen by an attacker, ended, or of users who lost their access."""

import re
import secrets
import time

from client import Browser
from report import check, skip
from live import LivePage

# The time after which a change of the users file or of the configuration must count (SECURITY.md: within a second), with a margin
# for the reload on a busy machine.
AT_ONCE = 3.0
# The maximum age of a known status of an account.
STATUS = 62.0


def seconds_until(condition, limit):
    """Returns the seconds until the condition holds; None if it did not in time."""
    begin = time.monotonic()
    while time.monotonic() - begin < limit:
        if condition():
            return time.monotonic() - begin
        time.sleep(0.1)
    return None


def fixation(gateway):
    """Logs in with a cookie that an attacker has set before."""
    problems = []
    chosen = [secrets.token_urlsafe(32), "A" * 43, "x", "", "a" * 100, '"quoted"', "=====", "\u00e9" * 10]
    for cookie in chosen:
        browser = Browser(gateway.console)
        browser.cookie = cookie
        reply = browser.post("/login", {"user": "bob", "password": "bob"})
        if reply.status != 303 or not reply.cookie or reply.cookie == cookie:
            problems.append(f"the cookie {cookie[:20]!r}: {reply.status} {reply.cookie}")
        browser.cookie = cookie
        if browser.is_logged_in():
            problems.append(f"the cookie {cookie[:20]!r} is logged in")
    # The session of an attacker in the browser of a victim ends when the victim logs in.
    attacker, victim = Browser(gateway.console), Browser(gateway.console)
    attacker.log_in("carol")
    victim.cookie = attacker.cookie
    victim.log_in("bob")
    if attacker.is_logged_in():
        problems.append("the session that was replaced by a login is still open")
    if not victim.is_logged_in():
        problems.append("the login over another session failed")
    check("sessions: fixation", problems, f"{len(chosen) + 1} cookies set before a login")


def cookies(gateway):
    """Sends several cookies of the name, and malformed and long ones."""
    problems, name = [], gateway.console.cookie
    bob = Browser(gateway.console)
    bob.log_in("bob")
    wrong = secrets.token_urlsafe(32)

    def status(value):
        return Browser(gateway.console).request("GET", "/policy", {"Cookie": value}).status

    refused = {
        "another name": f"x{name}={bob.cookie}", "a quoted value": f'{name}="{bob.cookie}"', "a longer value": f"{name}={bob.cookie}x",
        "a shorter value": f"{name}={bob.cookie[:-1]}", "a name with a suffix": f"{name}x={bob.cookie}", "only the value": bob.cookie,
        "another case": f"{name}={bob.cookie.swapcase()}", "another name's case": f"{name.upper()}={bob.cookie}",
        "a comma": f"a=b, {name}={bob.cookie}", "a NUL": f"{name}={bob.cookie}%00",
    }
    for what, value in refused.items():
        if status(value) not in (303, 400):
            problems.append(f"{what}: status {status(value)}")
    for value in (f"{name}={wrong}; {name}={bob.cookie}", f"{name}={bob.cookie}; {name}={wrong}"):
        if status(value) not in (200, 303, 400):
            problems.append(f"two cookies: status {status(value)}")
    both = Browser(gateway.console).request(
        "GET", "/policy", [("Cookie", f"{name}={wrong}"), ("Cookie", f"{name}={bob.cookie}")]).status
    if both not in (200, 303, 400):
        problems.append(f"two fields: status {both}")
    long = [Browser(gateway.console).request("GET", "/policy", {"Cookie": f"{name}=" + "x" * size}).status for size in (7_000, 100_000)]
    if long != [303, 431]:
        problems.append(f"7 KB and 100 KB: statuses {long}")
    if Browser(gateway.console).request("GET", "/policy", {"Cookie": "; ".join(f"c{n}={n}" for n in range(500)) + f"; {name}={bob.cookie}"}).status != 200:
        problems.append("the last of 500 cookies is not found")
    if bob.is_logged_in() is False:
        problems.append("the session has ended")
    check("sessions: cookies", problems, f"{len(refused)} malformed, 3 doubled, 2 long")


def logout(gateway):
    problems = []
    bob = Browser(gateway.console)
    bob.log_in("bob")
    # The page keeps its cookie when the browser loses it.
    page = Browser(gateway.console)
    page.cookie = cookie = bob.cookie
    live = LivePage(page)
    live.is_followed()
    reply = bob.submit("/logout", {})
    if reply.status != 303 or reply.cookie != "" or "Max-Age=0" not in reply.get("set-cookie"):
        problems.append(f"{reply.status} {reply.all('set-cookie')}")
    bob.cookie = cookie
    if bob.is_logged_in():
        problems.append("the cookie is still accepted")
    if not live.wait(lambda page: page.ended, 3):
        problems.append("the live page is still served 3 s later")
    live.close()
    browsers = [Browser(gateway.console) for _ in range(7)]
    for browser in browsers:
        browser.log_in("bob")
    count = sum(browser.is_logged_in() for browser in browsers)
    if count != 5:
        problems.append(f"{count} sessions of one user, not 5")
    check("sessions: logout", problems, "cookie and live page refused; 5 sessions of a user at most")


def ended(gateway, name, user, end, limit, quick):
    """Logs a user in, ends the access, and measures after what time pages, forms and live pages are refused."""
    problems, browser = [], Browser(gateway.console)
    browser.log_in(user)
    live = LivePage(browser)
    live.is_followed()
    if not browser.is_logged_in():
        problems.append("the login failed")
    end()
    # The live page is watched first, without other requests: a request would end the session and with it the page.
    closed = None
    if live.wait(lambda page: page.ended, AT_ONCE):
        closed = True
    else:
        before = live.changes()
        gateway.send("alice", "alice")
        if live.wait(lambda page: page.changes() > before, 3):
            problems.append(f"the live page was still told of a new call {AT_ONCE:.0f} s later")
        else:
            problems.append(f"the live page was not closed in {AT_ONCE + 3:.0f} s")
    seconds = seconds_until(lambda: not browser.is_logged_in(), limit if not quick else AT_ONCE)
    if seconds is None:
        problems.append(f"pages are still served {AT_ONCE if quick else limit:.0f} s later")
    elif seconds > AT_ONCE:
        problems.append(f"pages were served for {seconds:.0f} s more")
    live.close()
    check(f"sessions: {name}", problems, f"live page closed: {bool(closed)}; pages refused {seconds if seconds is None else round(seconds, 1)} s later")


def users_file(gateway, user, change):
    path = gateway.directory / "users.yaml"
    text = path.read_text()
    found = re.search(rf'^  "?{user}"?: \{{.*\}}$', text, re.M)
    gateway.write("users.yaml", text.replace(found.group(0), change(found.group(0))))
    gateway.command("reload")


def run(gateway, quick):
    fixation(gateway)
    cookies(gateway)
    logout(gateway)
    limit = STATUS
    ended(gateway, "revoked user", "bob", lambda: gateway.command("tokens", "revoke", "--user", "bob", check=False), limit, quick)

    def without_role():
        gateway.configure("bob, dave")
        gateway.command("reload")

    ended(gateway, "user without a role after a reload", "carol", without_role, limit, quick)
    disable = lambda line: line[:-1].rstrip() + ", disabled: true }"
    ended(gateway, "disabled user", "dave", lambda: users_file(gateway, "dave", disable), limit, quick)
    change = lambda: gateway.command("users", "passwd", "bob", input="bob-2\n")

    def passwd():
        change()
        gateway.command("reload")

    ended(gateway, "changed password", "bob", passwd, limit, quick)

    def remove():
        gateway.command("users", "remove", "alice")
        gateway.command("reload")

    gateway.command("users", "add", "frank", input="frank\n")
    ended(gateway, "removed operator", "alice", remove, limit, quick)
    skip("sessions: expiry", "30 min idle and 8 h in all cannot be awaited from outside; ConsoleSessions has a clock for tests")
