"""Live pages and exports whose clients do not read, and more of them than the console serves at the same time."""

import collections
import concurrent.futures
import http.client
import json
import socket
import time

from client import Browser
from honest import Honest
from report import check
from live import HOLD, LivePage, WaitingRequest, ask

# Without limits of calls, so that the sends are not refused.
GATEWAY = {"more": 'limits: [{ name: many, per: sender, rate: "1000000/min" }]'}
# The memory that the clients of a group may take in MiB.
GROWTH = 96
MAXIMUM = 64
MAXIMUM_OF_SESSION = 8


def send_many(gateway, count, workers=8):
    """Makes sends of alice to bob with a token. Returns the number of those that were accepted."""
    token = gateway.token("alice")

    def work(share):
        connection, accepted = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=60), 0
        for _ in range(share):
            fields = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            connection.request("POST", "/api/notifications?pns=apns&to_tag=bob", '"x"', fields)
            response = connection.getresponse()
            response.read()
            accepted += response.status == 200
        return accepted

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return sum(pool.map(work, [count // workers] * workers))


def unread(gateway, alice, honest, alone, count):
    """Asks for changes without reading the answers, beside a page that reads them."""
    problems, before = [], gateway.resident()
    reading = LivePage(alice)
    if not reading.is_followed():
        problems.append("the page that reads is not served")
    told = reading.changes()
    # A viewer may have eight requests, and the first one must not be the one that is refused.
    silent = [WaitingRequest(alice, reading.answers[-1]["next"], read=False) for _ in range(7)]
    accepted = send_many(gateway, count)
    if accepted < count * 0.9:
        problems.append(f"only {accepted} of {count} sends were accepted")
    if not reading.wait(lambda page: page.changes() > told, 5):
        problems.append("the page that reads was told of no call")
    during, grown = honest.take(), gateway.resident() - before
    problems += [f"grew by {grown:.0f} MiB"] if grown > GROWTH else []
    problems += Honest.problems(during, alone)
    for page in silent + [reading]:
        page.close()
    check("streams: clients that do not read", problems, f"{len(silent)} of them during {accepted} sends, {reading.changes() - told} changes told beside them, {grown:+.0f} MiB, {Honest.text(during)}")


def position(browser):
    """Returns a position after which there are no calls yet."""
    answer = json.loads(ask(browser).body)
    while answer["changed"]:
        answer = json.loads(ask(browser, position=answer["next"]).body)
    return answer["next"]


def served_at_once(requests, begin):
    """Returns the number of requests that waited at the same time as the first one. Requests that begin after the end of one take
    at least twice the time."""
    return sum(request.status == 200 and request.ended is not None and request.ended - begin < 1.9 * HOLD for request in requests)


def crowd(gateway, alice, honest, alone, count):
    """Has more live pages ask than may wait, from several addresses and in several sessions."""
    problems, before, requests, refused = [], gateway.resident(), [], collections.Counter()
    sessions = [Browser(gateway.console) for _ in range(12)]
    for number, browser in enumerate(sessions):
        browser.log_in(("bob", "carol", "dave")[number % 3])
    after = position(alice)
    begin = time.monotonic()
    for number in range(count):
        browser = Browser(gateway.console, f"127.10.0.{number * 8 // count + 1}")
        browser.cookie = sessions[number % len(sessions)].cookie
        try:
            requests.append(WaitingRequest(browser, after))
        except OSError as error:
            refused[type(error).__name__] += 1
    time.sleep(2)
    statuses = collections.Counter(request.status for request in requests)
    served = served_at_once(requests, begin)
    page = Browser(gateway.console, "127.0.0.5").get("/login").status
    during, grown = honest.take(), gateway.resident() - before
    if not 1 <= served <= MAXIMUM:
        problems.append(f"{served} wait at the same time, at most {MAXIMUM} may")
    if statuses[200] == count:
        problems.append("none is refused")
    if page != 200:
        problems.append(f"a page from another address: status {page}")
    problems += [f"grew by {grown:.0f} MiB"] if grown > GROWTH else []
    problems += Honest.problems(during, alone)
    check("streams: crowd", problems, f"{served} of {count} at the same time, {dict(statuses)}, {grown:+.0f} MiB, {Honest.text(during)}")
    for request in requests:
        request.close()
    time.sleep(1)
    again = ask(alice)
    check("streams: after the crowd", [] if again.status == 200 else [f"status {again.status} after the crowd has gone"], "a live page is served again")


def one_user(gateway):
    """Takes as many live pages as possible as one viewer, and looks whether another user still has one."""
    carol, dave = Browser(gateway.console, "127.11.0.1"), Browser(gateway.console, "127.11.0.2")
    carol.log_in("carol")
    dave.log_in("dave")
    after, begin = position(carol), time.monotonic()
    requests = [WaitingRequest(carol, after) for _ in range(90)]
    other = ask(dave, position=after).status
    time.sleep(2)
    served = served_at_once(requests, begin)
    problems = [] if other == 200 else [f"the live page of another user: status {other}"]
    if not 1 <= served <= MAXIMUM_OF_SESSION:
        problems.append(f"{served} of one session wait at the same time, at most {MAXIMUM_OF_SESSION} may")
    check("streams: one viewer", problems, f"{served} live pages of one viewer at the same time; another user's: {other}")
    for request in requests:
        request.close()


def exports(gateway, alice, honest, alone):
    """Begins exports and stops reading."""
    problems, before, sockets = [], gateway.resident(), []
    begin = time.monotonic()
    whole = alice.request("GET", "/calls/export?kind=sends", timeout=60)
    seconds = time.monotonic() - begin
    lines = whole.body.splitlines()
    if whole.status != 200 or not lines or any(not isinstance(json.loads(line), dict) for line in lines):
        problems.append(f"an export that is read: {whole.status}, {len(lines)} lines")
    honest.take()
    for number in range(20):
        stream = socket.socket()
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stream.settimeout(60)
        stream.connect(("127.0.0.1", gateway.console.port))
        stream.sendall(f"GET /calls/export?kind=sends HTTP/1.1\r\nHost: {gateway.console.host}\r\nCookie: {gateway.console.cookie}={alice.cookie}\r\n\r\n".encode())
        sockets.append(stream)
    time.sleep(2)
    page, during, grown = alice.get("/login").status, honest.take(), gateway.resident() - before
    problems += [f"a page meanwhile: status {page}"] if page != 303 else []
    problems += [f"grew by {grown:.0f} MiB"] if grown > GROWTH else []
    problems += Honest.problems(during, alone)
    for stream in sockets:
        stream.close()
    check("streams: exports", problems, f"{len(lines)} lines, {len(whole.raw) >> 10} KiB in {seconds:.1f} s; 20 clients stop reading: {grown:+.0f} MiB, {Honest.text(during)}")


def run(gateway, quick):
    gateway.register("bob")
    alice = Browser(gateway.console)
    alice.log_in("alice")
    honest = Honest(gateway, pause=0.02)
    time.sleep(3)
    alone = honest.take()
    unread(gateway, alice, honest, alone, 300 if quick else 2_000)
    crowd(gateway, alice, honest, alone, 150 if quick else 1_000)
    one_user(gateway)
    if not quick:
        send_many(gateway, 8_000)
    begin = time.monotonic()
    reply = alice.get("/calls?from=nobody")
    seconds = time.monotonic() - begin
    check("streams: filter without a match", [] if reply.status == 200 and seconds < 3 else [f"status {reply.status}"], f"{seconds:.2f} s")
    exports(gateway, alice, honest, alone)
    honest.stop()
