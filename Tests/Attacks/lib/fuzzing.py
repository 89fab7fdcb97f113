"""Connections with random content that end at random points, for `fuzz`."""

import asyncio
import base64
import collections
import socket
import ssl
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
AUTHORIZATION = b"Basic " + base64.b64encode(b"alice:alice")
SEND_PATH = b"/api/notifications?pns=apns&to_tag=bob"
# Bytes that once crashed the gateway.
REGRESSIONS = [PREFACE + b"\xff" * 4096]


class Tally:
    """The counts of connections, of connections that the gateway closed, and of response statuses."""

    def __init__(self):
        self.connections, self.cut, self.statuses = 0, 0, collections.Counter()


class Wire:
    """A socket with explicit TLS, so that it can be closed or reset after any byte."""

    def __init__(self, raw, tls):
        self.raw, self.loop = raw, asyncio.get_running_loop()
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = tls.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost") if tls else None

    @classmethod
    async def connect(cls, port, tls):
        raw = socket.socket()
        raw.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port))
        except OSError:
            raw.close()
            raise
        return cls(raw, tls)

    async def shake_hands(self):
        """Performs the TLS handshake; returns whether it completed."""
        while self.tls:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                await self.flush()
                data = await self.loop.sock_recv(self.raw, 16384)
                if not data:
                    return False
                self.incoming.write(data)
            except ssl.SSLError:
                return False
        await self.flush()
        return True

    async def flush(self):
        if data := self.outgoing.read():
            await self.loop.sock_sendall(self.raw, data)

    async def send(self, data):
        if self.tls:
            try:
                self.tls.write(data)
            except ssl.SSLError as error:
                raise OSError(str(error)) from error
            await self.flush()
        else:
            await self.loop.sock_sendall(self.raw, data)

    async def read(self, seconds):
        """Returns the next bytes; returns none at the end of the connection or after the time."""
        while True:
            if self.tls:
                try:
                    return self.tls.read(65536)
                except ssl.SSLWantReadError:
                    pass
                except ssl.SSLError:
                    return b""
            try:
                data = await asyncio.wait_for(self.loop.sock_recv(self.raw, 65536), seconds)
            except (asyncio.TimeoutError, TimeoutError):
                return b""
            if not self.tls or not data:
                return data
            self.incoming.write(data)

    def close(self, reset=False):
        if reset:
            self.raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.raw.close()


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """Returns a field of HPACK, neither indexed nor compressed."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def fields(chance, method, path):
    """Returns the encoded fields of a request, sometimes with invalid ones."""
    listed = [(b":method", method), (b":scheme", b"https"), (b":path", path), (b":authority", b"gateway.test")]
    if chance.random() < 0.9:
        listed.append((b"authorization", AUTHORIZATION))
    if method == b"POST":
        listed.append((b"content-type", b"application/json"))
    if chance.random() < 0.1:
        listed.insert(chance.randrange(len(listed)), (chance.randbytes(3), chance.randbytes(chance.randrange(40))))
    if chance.random() < 0.05:
        chance.shuffle(listed)
    return b"".join(literal(name, value) for name, value in listed)


def http2(chance):
    """Returns frames of a client: valid ones, invalid ones, and random bytes."""
    data, stream = PREFACE + frame(4, 0, 0, b"\0\4" + struct.pack(">I", chance.choice([0, 1, 65535, 65535, 1 << 31]))), 1
    for _ in range(chance.randrange(1, 12)):
        kind = chance.random()
        if kind < 0.45:
            block = fields(chance, b"POST", SEND_PATH)
            cut = chance.randrange(len(block)) if chance.random() < 0.1 else None
            if cut is not None:
                data += frame(1, 0, stream, block[:cut]) + frame(9, 4, stream, block[cut:])
            else:
                data += frame(1, 4, stream, block)
            data += frame(0, 1, stream, b'"fuzz"')
            if chance.random() < 0.2:
                data += frame(3, 0, stream, struct.pack(">I", 8))
            stream += 2
        elif kind < 0.65:
            data += frame(1, 5, stream, fields(chance, b"GET", b"/auth/whoami"))
            stream += 2
        elif kind < 0.95:
            payload = chance.randbytes(chance.choice([0, 4, 5, 6, 8, chance.randrange(64)]))
            data += frame(chance.randrange(11), chance.randrange(256), chance.choice([0, stream, chance.randrange(64)]), payload)
        else:
            data += chance.randbytes(chance.randrange(5000))
    return data


def http1(chance):
    """Returns pipelined requests, with Content-Length or chunked."""
    data = b""
    for _ in range(chance.randrange(1, 6)):
        kind = chance.random()
        head = b"Host: gateway.test\r\nAuthorization: " + AUTHORIZATION + b"\r\n"
        if kind < 0.3:
            data += b"GET /auth/whoami HTTP/1.1\r\n" + head + b"\r\n"
        elif kind < 0.6:
            data += b"POST " + SEND_PATH + b" HTTP/1.1\r\n" + head + b"Content-Length: 6\r\n\r\n\"fuzz\""
        elif kind < 0.8:
            data += b"POST " + SEND_PATH + b" HTTP/1.1\r\n" + head + b"Transfer-Encoding: chunked\r\n\r\n"
            data += b"2\r\n\"f\r\n4\r\nuzz\"\r\n0\r\n\r\n"
        elif kind < 0.9:
            data += b"PROXY TCP4 192.0.2.1 10.0.0.1 1 1\r\n"
        else:
            data += chance.randbytes(chance.randrange(1, 5000))
    return data


def mutated(data, chance):
    """Returns the data with some bytes changed, deleted, repeated or truncated."""
    data = bytearray(data)
    for _ in range(chance.choice([0, 0, 0, 1, 2, 8])):
        place = chance.randrange(len(data))
        change = chance.randrange(4)
        if change == 0:
            data[place] = chance.randrange(256)
        elif change == 1:
            del data[place : place + chance.randrange(1, 20)]
        elif change == 2:
            data[place:place] = data[place : place + chance.randrange(1, 200)]
        else:
            del data[place:]
        if not data:
            return b"\0"
    return bytes(data)


def statuses(data, is_http2):
    """Returns the statuses of the responses; with HTTP/2 only statuses of HPACK's static table."""
    if not is_http2:
        return [int(part[:3]) for part in data.split(b"HTTP/1.1 ")[1:] if part[:3].isdigit()]
    found = []
    while len(data) >= 9:
        length = int.from_bytes(data[:3], "big")
        if data[3] == 1 and len(data) > 9 and 0x88 <= data[9] <= 0x8E:
            found.append([200, 204, 206, 304, 400, 404, 500][data[9] - 0x88])
        data = data[9 + length :]
    return found


async def connection(port, tls, chance, tally):
    """Opens one connection, sends random content in random pieces, and closes it in a random way."""
    tally.connections += 1
    speaks_http2 = chance.random() < 0.6
    wire = await Wire.connect(port, None if tls and chance.random() < 0.1 else offered(tls, speaks_http2))
    resets = chance.random() < 0.5
    try:
        if wire.tls and not await wire.shake_hands():
            return
        data = mutated(http2(chance) if speaks_http2 else http1(chance), chance)
        while data:
            count = len(data) if chance.random() < 0.5 else chance.randrange(1, len(data) + 1)
            await wire.send(data[:count])
            data = data[count:]
            if chance.random() < 0.3:
                await asyncio.sleep(chance.random() / 200)
        if wire.tls and chance.random() < 0.1:
            # Bytes between TLS records that are not a record.
            await wire.loop.sock_sendall(wire.raw, chance.randbytes(chance.randrange(1, 500)))
        if chance.random() < 0.5:
            responses = b""
            while part := await wire.read(0.3):
                responses += part
            tally.statuses.update(statuses(responses, speaks_http2))
        elif chance.random() < 0.3:
            wire.raw.shutdown(socket.SHUT_WR)
            await wire.read(0.3)
    finally:
        wire.close(reset=resets)


def offered(tls, speaks_http2):
    """Returns the TLS context that offers the protocol, or None without TLS."""
    return tls[speaks_http2] if tls else None


async def send_and_reset(port, tls, data):
    """Sends the data and closes the connection immediately: once normally, once with a reset."""
    for reset in (False, True):
        wire = await Wire.connect(port, offered(tls, True))
        try:
            if not wire.tls or await wire.shake_hands():
                await wire.send(data)
        finally:
            wire.close(reset=reset)


async def is_served(port, tls):
    """Returns whether a listener responds to an HTTP/1.1 call with 200."""
    try:
        wire = await Wire.connect(port, offered(tls, False))
    except OSError:
        return False
    try:
        if wire.tls and not await wire.shake_hands():
            return False
        await wire.send(
            b"GET /auth/whoami HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: " + AUTHORIZATION
            + b"\r\nConnection: close\r\n\r\n")
        return statuses(await wire.read(5), False) == [200]
    except OSError:
        return False
    finally:
        wire.close()
