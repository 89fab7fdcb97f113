"""Wrong logins in great number: they are throttled, take a bounded amount of memory, and do not lock out others."""

import collections
import concurrent.futures
import itertools
import secrets
import time

from client import Browser, same_origin
from honest import Honest
from report import check

# The logins of the attack that may wait for a response at once. An address may have 64 connections, and one may end later
# at the console than at its client; half of them is within the bound, so that each login gets a response.
CONCURRENCY = 32
# The resident memory that the tables of the throttle and the records may take.
GROWTH = 64


def attack(console, count, name, address):
    """Makes logins with functions that return a name and a source address, and returns the statuses and the seconds."""

    def attempt(number):
        return Browser(console, address(number)).post("/login", {"user": name(number), "password": secrets.token_hex(4)}).status

    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(CONCURRENCY) as pool:
        statuses = collections.Counter(pool.map(attempt, range(count)))
    return statuses, time.monotonic() - begin


def run(gateway, quick):
    console, count = gateway.console, 400 if quick else 7_000
    known = Browser(console, "127.0.0.3")
    problems = [] if known.log_in("bob").status == 303 else ["bob cannot log in before the attack"]
    honest = Honest(gateway, pause=0.09)
    time.sleep(3)
    alone, memory = honest.take(), gateway.resident()
    # From one address: real and unknown names.
    names = itertools.cycle(["bob", "alice", "carol", ""])
    statuses, seconds = attack(console, count, lambda _: next(names) or secrets.token_hex(8), lambda _: "127.7.0.1")
    if statuses[429] < count * 0.5:
        problems.append(f"only {statuses[429]} of {count} were throttled")
    if set(statuses) - {401, 429, 503}:
        problems.append(f"statuses {dict(statuses)}")
    check("guessing: one address", problems, f"{count} in {seconds:.0f} s: {dict(statuses)}")
    # The right password from the address of the attack: the response is that of a wrong one.
    problems = []
    right, wrong = Browser(console, "127.7.0.1").log_in("carol"), Browser(console, "127.7.0.1").log_in("carol", "wrong")
    if right.status != 429 or wrong.status != 429 or right.cookie or not right.get("retry-after"):
        problems.append(f"the right password: {right.status}, a wrong one: {wrong.status}, Retry-After {right.get('retry-after')}")
    if Browser(console, "127.0.0.4").log_in("dave").status != 303:
        problems.append("dave cannot log in from another address")
    if Browser(console, "127.0.0.3").log_in("bob").status != 303:
        problems.append("bob, who logged in before from the address, is locked out")
    check("guessing: right logins beside one address", problems, "dave from a new address, bob from a known one")
    # From many addresses: one name, then names at random.
    problems = []
    address = lambda number: f"127.8.{number % 250}.{number // 250 % 250 + 1}"
    one, first = attack(console, count_of_one := 200 if quick else 2_000, lambda _: "alice", address)
    many, second = attack(console, count_of_many := 100 if quick else 1_000, lambda _: secrets.token_hex(secrets.randbelow(100) + 1), address)
    if one[429] < count_of_one * 0.3:
        problems.append(f"one name: only {one[429]} of {count_of_one} were throttled")
    check("guessing: many addresses", problems, f"one name, {count_of_one} in {first:.0f} s: {dict(one)}; random names, {count_of_many} in {second:.0f} s: {dict(many)}")
    during, grown = honest.take(), gateway.resident() - memory
    check("guessing: calls beside it", Honest.problems(during, alone), f"alone p99 {alone[1]:.1f} ms; {Honest.text(during)}")
    problems = [f"grew by {grown:.0f} MiB"] if grown > GROWTH else []
    check("guessing: memory", problems, f"{memory:.0f} MiB before, {grown:+.0f} MiB after {count + count_of_one + count_of_many} logins")
    problems = []
    for user, source in (("bob", "127.0.0.3"), ("dave", "127.0.0.4")):
        if (status := Browser(console, source).log_in(user).status) != 303:
            problems.append(f"{user} from {source}: status {status}")
    check("guessing: right logins afterwards", problems, "bob and dave")
    forms(gateway, honest, alone, quick)
    honest.stop()


def forms(gateway, honest, alone, quick):
    """Sends forms with as many fields as fit: their parsing must not take longer than a login, nor delay calls."""
    problems, figures, fields = [], [], {"Content-Type": "application/x-www-form-urlencoded", **same_origin(gateway.console)}

    def submit(count):
        body = "&".join(f"{number:x}" for number in range(count)).encode()[:32_000].rpartition(b"&")[0]
        begin = time.monotonic()
        reply = Browser(gateway.console, "127.0.0.6").request("POST", "/login", fields, body, timeout=60)
        return body.count(b"&") + 1, time.monotonic() - begin, reply.status

    for number, seconds, status in map(submit, (100, 8_000)):
        figures.append(f"{number} fields {seconds:.2f} s ({status})")
    if seconds > 1:
        problems.append(f"{number} fields took {seconds:.1f} s before the login")
    honest.take()
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        forms = [pool.submit(submit, 8_000) for _ in range(4 if quick else 6)]
        time.sleep(0.3)
        asked = time.monotonic()
        page = Browser(gateway.console, "127.0.0.7").request("GET", "/login", timeout=60)
        waited = time.monotonic() - asked
        if page.status != 200 or waited > 3:
            problems.append(f"a page from another address took {waited:.1f} s meanwhile (status {page.status})")
        concurrent.futures.wait(forms)
    during = honest.take()
    figures.append(f"{len(forms)} of them at once {time.monotonic() - begin:.1f} s, a page meanwhile {waited:.1f} s, {Honest.text(during)}")
    check("guessing: forms with many fields", problems + Honest.problems(during, alone), ", ".join(figures))
