"""Hostile clients that take memory, in a process of their own: some open and close connections all the time, others hold them. For
`churn`, which starts this file with the attack, the port, the certificate or `-`, the client's address and the seconds or connections."""

import pathlib
import resource
import select
import socket
import ssl
import struct
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from held import BEGIN, INDEXED, LONG, PSEUDO, STREAMS, attack_bytes, opened, text  # noqa: E402  (the import needs the path above)

GET = b"GET /auth/whoami HTTP/1.1\r\nHost: gateway.test\r\n\r\n"
ALICE = b"\x0f\x08" + text(b"Basic YWxpY2U6YWxpY2U=")
MALLORY = b"\x0f\x08" + text(b"Basic YWxpY2U6d3Jvbmc=")
SEND = b"/api/notifications?pns=apns&to_tag=bob"
POST = b"POST " + SEND + b" HTTP/1.1\r\nHost: gateway.test\r\n"
WRONG = b"Authorization: Basic YWxpY2U6d3Jvbmc=\r\n"
GOAWAY = b"\0\0\x08\x07\0\0\0\0\0"
THREADS = 4
# More frames than an HTTP/2 connection may send without use.
EVENTS = 250


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def get(stream, path, more=b""):
    """Returns the HEADERS frame of a complete GET."""
    return frame(1, 5, stream, b"\x82\x87\x04" + text(path) + b"\x01\x0cgateway.test" + more)


def ended(data):
    """Returns the frames with END_STREAM in every HEADERS frame: complete requests."""
    return data.replace(b"\x01\x04\0\0", b"\x01\x05\0\0")


def settings(identifier, value):
    return frame(4, 0, 0, struct.pack(">HI", identifier, value))


def hello(length, sent):
    """Returns the first records of a ClientHello of the given length, with `sent` bytes of it."""
    message, records = (b"\x01" + struct.pack(">I", length)[1:] + b"\0" * sent)[:sent], b""
    for start in range(0, len(message), 16384):
        piece = message[start : start + 16384]
        records += b"\x16\x03\x01" + struct.pack(">H", len(piece)) + piece
    return records


def headers(stream, bytes_of_fields):
    """Returns a header block in three frames of at most 16 KiB, without compression."""
    block = PSEUDO + b"".join(b"\0" + text(b"x-%03d" % number) + text(LONG) for number in range(bytes_of_fields // 3940))
    pieces = [block[start : start + 16000] for start in range(0, len(block), 16000)]
    return b"".join(
        frame(9 if number else 1, (0 if number else 1) | (4 if number == len(pieces) - 1 else 0), stream, piece)
        for number, piece in enumerate(pieces))


# The connections that are opened and closed all the time: whether they use HTTP/2, what they send, and how they end.
CHURNED = {
    "nothing": (False, b"", "close"),
    "a request": (False, GET, "reply"),
    "a request, reset": (False, GET, "reset"),
    "a wrong password": (False, POST + WRONG + b"Content-Length: 15000\r\n\r\n" + b"x" * 15000, "close"),
    "half a head": (False, GET[:-2] + b"X: " + b"x" * 12000, "reset"),
    "half a body": (False, POST + b"Content-Length: 16000\r\n\r\n" + b"x" * 15000, "close"),
    "pipelined requests": (False, GET * 200, "reset"),
    "SETTINGS": (True, BEGIN + b"".join(settings(4, 65535 + number) for number in range(EVENTS)), "GOAWAY"),
    "SETTINGS, reset": (True, BEGIN + b"".join(settings(4, 65535 + number) for number in range(EVENTS)), "reset"),
    "PING": (True, BEGIN + frame(6, 0, 0, b"12345678") * EVENTS, "GOAWAY"),
    "header lists of 48 KB": (
        True, BEGIN + b"".join(headers(2 * number + 1, 46_000) for number in range(8)), "GOAWAY"),
    "referenced header lists": (
        True, BEGIN + ended(opened(1, PSEUDO + b"\x40" + text(b"x-held") + text(LONG))
                            + b"".join(opened(2 * number + 1, PSEUDO + INDEXED * 11) for number in range(1, 200))), "GOAWAY"),
    "rapid reset": (
        True, BEGIN + b"".join(
            get(2 * number + 1, b"/") + frame(3, 0, 2 * number + 1, b"\0\0\0\x08") for number in range(EVENTS)), "GOAWAY"),
    "unread responses, reset": (
        True, BEGIN + settings(4, 0) + b"".join(get(2 * number + 1, b"/") for number in range(STREAMS)), "reset"),
}

# The connections that are opened and held: whether they use HTTP/2, what they send, and whether they send it before TLS.
HELD = {
    "idle connections": (False, b"", False),
    "idle HTTP/2 connections": (True, BEGIN, False),
    "half heads": (False, GET[:-2] + b"X: " + b"x" * 12000, False),
    "half bodies": (False, POST + b"Content-Length: 16000\r\n\r\n" + b"x" * 15000, False),
    "unread pipelined responses": (False, GET * 4000, False),
    "half header blocks": (True, BEGIN + headers(1, 46_000)[:-20_000], False),
    "a large unknown frame": (True, BEGIN + frame(0x55, 0, 0, b"x" * 16384), False),
    "streams": (True, attack_bytes(b"authorization", 1), False),
    "a closed window": (
        True, BEGIN + settings(4, 0) + b"".join(get(2 * number + 1, b"/") for number in range(STREAMS)), False),
    "an open window, unread": (
        True, BEGIN + settings(4, 1 << 30) + frame(8, 0, 0, struct.pack(">I", 1 << 30))
        + b"".join(get(2 * number + 1, b"/") for number in range(3000)), False),
    "wrong passwords with long bodies": (
        True, BEGIN + b"".join(
            frame(1, 4, 2 * number + 1, b"\x83\x87\x04" + text(SEND) + b"\x01\x0cgateway.test" + MALLORY)
            + frame(0, 1, 2 * number + 1, b'"' + b"x" * 15000 + b'"') for number in range(STREAMS)), False),
    "half a ClientHello": (False, hello(16000, 15000), True),
    "half a ClientHello of 100 KB": (False, hello(100_000, 99_000), True),
}
# Needs a gateway with a text of nearly 16 KiB, which the path is of.
TEXTS = {
    "unread texts, a closed window": BEGIN + settings(4, 0),
    "unread texts, an open window": BEGIN + settings(4, 1 << 30) + frame(8, 0, 0, struct.pack(">I", 1 << 30)),
}


def context(certificate, http2):
    if certificate == "-":
        return None
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.load_verify_locations(certificate)
    made.set_alpn_protocols(["h2" if http2 else "http/1.1"])
    return made


def connect(port, tls, source):
    raw = socket.socket()
    raw.settimeout(5)
    raw.bind((source, 0))
    raw.connect(("127.0.0.1", port))
    return tls.wrap_socket(raw, server_hostname="localhost") if tls else raw


def churn(port, tls, source, data, end, until):
    """Opens one connection after the other; returns their number."""
    count = 0
    while time.monotonic() < until:
        try:
            connection = connect(port, tls, source)
        except OSError:
            time.sleep(0.01)
            continue
        count += 1
        try:
            connection.sendall(data)
            if end == "reply":
                connection.recv(4096)
            connection.settimeout(1)
            # The gateway waits for the client to close, which does so by a reset.
            while end == "GOAWAY" and (received := connection.recv(65536)) and GOAWAY not in received:
                pass
            if end in ("reset", "GOAWAY"):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if end == "reset":
                time.sleep(0.01)
        except OSError:
            pass
        connection.close()
    return count


def send_some(connection, data):
    """Sends what the socket takes at once; returns the rest."""
    try:
        while data:
            data = data[connection.send(data) :]
    except (BlockingIOError, ssl.SSLWantWriteError):
        return data
    except OSError:
        pass
    return b""


def hold(port, tls, source, data, is_raw, connections):
    """Opens connections, sends the data on each and receives nothing, and holds them until the standard input ends."""
    held = []
    for _ in range(connections):
        try:
            connection = connect(port, None if is_raw else tls, source)
        except OSError:
            continue
        connection.setblocking(False)
        held.append((connection, send_some(connection, data)))
    print(len(held), flush=True)
    while not select.select([sys.stdin], [], [], 0.05)[0]:
        held = [(connection, send_some(connection, rest)) for connection, rest in held]
    for connection, _ in held:
        connection.close()


def main():
    attack, port, certificate, source, amount = sys.argv[1:6]
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    if attack in CHURNED:
        http2, data, end = CHURNED[attack]
        tls, until = context(certificate, http2), time.monotonic() + float(amount)
        counts = []
        threads = [
            threading.Thread(target=lambda: counts.append(churn(int(port), tls, source, data, end, until))) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(sum(counts), flush=True)
    elif attack in TEXTS:
        path = sys.argv[6].encode()
        data = TEXTS[attack] + b"".join(get(2 * number + 1, path, ALICE) for number in range(STREAMS))
        hold(int(port), context(certificate, True), source, data, False, int(amount))
    else:
        http2, data, is_raw = HELD[attack]
        hold(int(port), context(certificate, http2), source, data, is_raw, int(amount))


if __name__ == "__main__":
    main()
