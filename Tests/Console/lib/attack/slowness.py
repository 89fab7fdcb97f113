"""Connections that send slowly or nothing: pages stay reachable from other addresses, and the connections are closed in time."""

import time

from client import Browser
from gateway import Gateway
from honest import Honest
from report import check

# The time for a whole request, and for a rejection after it.
DEADLINE = 10
LINGER = 1
MARGIN = 4
# The maximum number of connections of one address.
PER_ADDRESS = 96


def open_many(console, addresses, count, first=b""):
    """Opens connections without a handshake of TLS, and sends the first bytes. Returns the sockets with their addresses."""
    sockets = []
    for number in range(count):
        try:
            stream = console.connect(addresses[number % len(addresses)], timeout=5, handshake=False)
            if first:
                stream.sendall(first)
            stream.setblocking(False)
            sockets.append(stream)
        except OSError:
            pass
    return sockets


def drain(sockets):
    """Reads what has arrived, and returns the sockets that are still open."""
    open_ones = []
    for stream in sockets:
        try:
            while piece := stream.recv(1 << 16):
                pass
            stream.close()
        except BlockingIOError:
            open_ones.append(stream)
        except OSError:
            stream.close()
    return open_ones


def attack(name, gateway, honest, alone, addresses, count, *, first=b"", drip=b""):
    """Opens the connections, requests pages from another address meanwhile, and measures when all have been closed."""
    console, problems, before = gateway.console, [], gateway.resident()
    honest.take()
    begin = time.monotonic()
    sockets = open_many(console, addresses, count, first)
    opening = time.monotonic() - begin
    time.sleep(0.5)
    sockets = held = drain(sockets)
    most, statuses, ticks = len(held), [], 0
    while sockets and time.monotonic() - begin < opening + DEADLINE + LINGER + MARGIN:
        statuses.append(Browser(console, "127.0.0.2").request("GET", "/login", timeout=5).status)
        for stream in sockets if drip else []:
            try:
                stream.send(drip)
            except OSError:
                pass
        time.sleep(1)
        sockets, ticks = drain(sockets), ticks + 1
    seconds = time.monotonic() - begin
    failed = [status for status in statuses if status != 200]
    if failed:
        problems.append(f"{len(failed)} of {len(statuses)} pages for another address failed: statuses {sorted(set(failed))}")
    if sockets:
        problems.append(f"{len(sockets)} connections are still open after {seconds:.0f} s")
    if most > PER_ADDRESS * len(addresses):
        problems.append(f"{most} connections of {len(addresses)} addresses are held")
    during, grown = honest.take(), gateway.resident() - before
    problems += Honest.problems(during, alone)
    for stream in sockets:
        stream.close()
    check(f"slowness: {name}", problems, f"{most} of {count} held, none after {seconds:.0f} s, {len(statuses) - len(failed)} of {len(statuses)} pages, {grown:+.0f} MiB, {Honest.text(during)}")


def run(gateway, quick):
    honest = Honest(gateway, pause=0.09)
    time.sleep(2)
    alone, count = honest.take(), 250 if quick else 1_000
    head = f"POST /login HTTP/1.1\r\nHost: {gateway.console.host}\r\n".encode()
    attack("idle connections", gateway, honest, alone, ["127.12.0.1"], count)
    attack("one byte a second", gateway, honest, alone, ["127.12.0.2"], 90, first=head, drip=b"X")
    if not quick:
        body = head + b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 20000\r\n\r\n"
        attack("one byte of a form a second", gateway, honest, alone, ["127.12.0.3"], 90, first=body, drip=b"x")
    attack("idle connections of two addresses", gateway, honest, alone, ["127.12.0.4", "127.12.0.5"], 400)
    honest.stop()
    with Gateway(gateway.program, users=("alice", "dave"), secure=True) as secure:
        honest = Honest(secure, pause=0.09)
        time.sleep(2)
        alone = honest.take()
        attack("handshakes that do not begin", secure, honest, alone, ["127.12.0.6"], count)
        if not quick:
            hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64)
            attack("handshakes that do not end", secure, honest, alone, ["127.12.0.7"], 90, first=hello, drip=b"\0")
        honest.stop()
