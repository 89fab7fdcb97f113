"""Attacks over HTTP/2: the gateway must close each attacker's connection within 250 events and serve another connection normally."""

import asyncio
import base64
import pathlib
import sys
import time

import h2.config
import h2.connection
import h2.events
from hyperframe.frame import (
    ContinuationFrame, DataFrame, HeadersFrame, PingFrame, PriorityFrame, RstStreamFrame, SettingsFrame, WindowUpdateFrame,
)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import edge  # noqa: E402  (the import needs the path above)
import held  # noqa: E402
from edge import bench  # noqa: E402

EVENTS = 250
AUTHORIZATION = ("authorization", "Basic " + base64.b64encode(b"alice:alice").decode())
GET = [
    (":method", "GET"), (":scheme", "https"), (":path", "/auth/whoami"), (":authority", "gateway.test"), AUTHORIZATION,
]
SEND = [
    (":method", "POST"), (":scheme", "https"), (":path", "/api/notifications?pns=apns&to_tag=bob"),
    (":authority", "gateway.test"), AUTHORIZATION, ("content-type", "application/json"),
]


class Client:
    """One HTTP/2 connection."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.h2 = h2.connection.H2Connection(
            config=h2.config.H2Configuration(
                client_side=True, header_encoding="utf-8", validate_outbound_headers=False,
                normalize_outbound_headers=False))
        self.h2.initiate_connection()
        self.code = None

    @classmethod
    async def connect(cls, port, tls, source):
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=tls, server_hostname="localhost" if tls else None, local_addr=(source, 0))
        client = cls(reader, writer)
        await client.flush()
        return client

    async def flush(self, more=b""):
        self.writer.write(self.h2.data_to_send() + more)
        await self.writer.drain()

    async def call(self, fields, body=None):
        """Makes one call; returns its status, the negative code of a reset, or None if the connection ended before the response."""
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, fields, end_stream=body is None)
        if body is not None:
            self.h2.send_data(stream, body, end_stream=True)
        await self.flush()
        status = None
        while True:
            data = await asyncio.wait_for(self.reader.read(65536), 10)
            if not data:
                return None
            for event in self.h2.receive_data(data):
                if isinstance(event, h2.events.ResponseReceived) and event.stream_id == stream:
                    status = int(dict(event.headers)[":status"])
                if isinstance(event, h2.events.StreamReset) and event.stream_id == stream:
                    return -int(event.error_code)
                if isinstance(event, h2.events.StreamEnded) and event.stream_id == stream:
                    await self.flush()
                    return status
                if isinstance(event, h2.events.ConnectionTerminated):
                    self.code = int(event.error_code)
            await self.flush()

    def encoded(self, fields):
        return self.h2.encoder.encode(fields)


def opened(client, stream, end, fields=None):
    frame = HeadersFrame(stream, data=client.encoded(fields or (GET if end else SEND)), flags=["END_HEADERS"])
    if end:
        frame.flags.add("END_STREAM")
    return frame.serialize()


def reset(stream):
    return RstStreamFrame(stream, error_code=8).serialize()


def window_of_nothing(stream):
    """Returns a WINDOW_UPDATE frame with an increment of 0, which the library cannot create."""
    return b"\0\0\4\x08\0" + stream.to_bytes(4, "big") + b"\0\0\0\0"


# For each attack: the initial bytes, and the bytes of one event, numbered from 0.
ATTACKS = {
    "rapid reset": (None, lambda c, n: opened(c, 2 * n + 1, True) + reset(2 * n + 1)),
    "rapid reset of sends": (
        None, lambda c, n: opened(c, 2 * n + 1, False)
        + DataFrame(2 * n + 1, data=b'"hi"', flags=["END_STREAM"]).serialize() + reset(2 * n + 1)),
    "provoked resets: window increment of 0": (
        None, lambda c, n: opened(c, 2 * n + 1, False) + window_of_nothing(2 * n + 1)),
    "provoked resets: window overflow": (
        None, lambda c, n: opened(c, 2 * n + 1, False)
        + WindowUpdateFrame(2 * n + 1, window_increment=0x7FFFFFFF).serialize()),
    "provoked resets: DATA after END_STREAM": (
        None, lambda c, n: opened(c, 2 * n + 1, True) + DataFrame(2 * n + 1, data=b"x").serialize()),
    "provoked resets: wrong content-length": (
        None, lambda c, n: opened(c, 2 * n + 1, False, SEND + [("content-length", "1")])
        + DataFrame(2 * n + 1, data=b"xx").serialize()),
    "CONTINUATION": (
        lambda c: HeadersFrame(1, data=c.encoded(GET)).serialize(),
        lambda c, n: ContinuationFrame(1, data=c.encoded([("x", "y")])).serialize()),
    "empty CONTINUATION": (
        lambda c: HeadersFrame(1, data=c.encoded(GET)).serialize(), lambda c, n: ContinuationFrame(1).serialize()),
    "PING": (None, lambda c, n: PingFrame(0, opaque_data=b"12345678").serialize()),
    "SETTINGS": (None, lambda c, n: SettingsFrame(0, settings={4: 65535 + n}).serialize()),
    "empty SETTINGS": (None, lambda c, n: SettingsFrame(0).serialize()),
    "PRIORITY": (None, lambda c, n: PriorityFrame(2 * n + 1, depends_on=0, stream_weight=1).serialize()),
    "empty DATA": (lambda c: opened(c, 1, False), lambda c, n: DataFrame(1, data=b"").serialize()),
    "padded empty DATA": (
        lambda c: opened(c, 1, False), lambda c, n: DataFrame(1, data=b"", pad_length=9, flags=["PADDED"]).serialize()),
    "WINDOW_UPDATE": (None, lambda c, n: WindowUpdateFrame(0, window_increment=1).serialize()),
}


async def attack(port, tls, name):
    """Runs one attack; returns the number of events before the gateway closed the connection, or None if it did not."""
    first, event = ATTACKS[name]
    client = await Client.connect(port, tls, "127.0.0.1")
    sent, cut = 0, asyncio.Event()

    async def watch():
        try:
            while await client.reader.read(65536):
                pass
        except OSError:
            pass
        cut.set()

    watching = asyncio.create_task(watch())
    try:
        await client.flush(first(client) if first else b"")
        while sent < EVENTS and not cut.is_set():
            await client.flush(event(client, sent))
            sent += 1
            await asyncio.sleep(0)
        await asyncio.wait_for(cut.wait(), 5)
        return sent
    except (asyncio.TimeoutError, TimeoutError):
        return None
    except OSError:
        return sent
    finally:
        watching.cancel()
        client.writer.close()


class Beside:
    """A client that repeats calls on its own connection during the attacks."""

    def __init__(self):
        self.seconds, self.failures = [], []

    async def run(self, port, tls):
        client = await Client.connect(port, tls, edge.HONEST)
        number = 0
        while True:
            began = time.monotonic()
            body = b'"hi"' if number % 2 else None
            status = await client.call(SEND if body else GET, body)
            if status != 200:
                self.failures.append(status)
                if status is None:
                    client = await Client.connect(port, tls, edge.HONEST)
            self.seconds.append(time.monotonic() - began)
            number += 1
            await asyncio.sleep(0.005)


async def main():
    options = bench.arguments(full=10, reduced=1)
    problems, most, cuts = [], 0, 0
    server, port = await bench.backend()
    gateway = bench.Gateway(
        options.program, port,
        listen='[{ address: "127.0.0.1:0", http2: true }, '
        '{ address: "127.0.0.1:0", tls: { certificate: cert.pem, key: key.pem } }]')
    tls = edge.certificate(gateway.directory)[1]
    beside = Beside()
    await gateway.start()
    try:
        for name, port, context in [("plaintext", gateway.ports[0], None), ("TLS", gateway.ports[1], tls)]:
            calling = asyncio.create_task(beside.run(port, context))
            for attacked in ATTACKS:
                for _ in range(options.rounds):
                    events = await attack(port, context, attacked)
                    cuts += 1
                    most = max(most, events or 0)
                    if events is None:
                        problems.append(f"{attacked}, {name}: the connection was not closed within {EVENTS} events")
            if calling.done():
                problems.append(f"{name}: the honest client failed: {calling.exception()!r}")
            calling.cancel()
            await asyncio.gather(calling, return_exceptions=True)
            await asyncio.gather(calling, return_exceptions=True)
        if gateway.process.returncode is not None:
            problems.append("the gateway exited")
        await gateway.stop()
    finally:
        server.close()
        gateway.remove()
    if beside.failures or not beside.seconds:
        problems.append(f"{len(beside.failures)} of {len(beside.seconds)} calls of the honest client failed: {beside.failures[:3]}")
    figures = await held.run(options.program, options.full, problems)
    slow = 1000 * sorted(beside.seconds)[int(0.99 * len(beside.seconds))] if beside.seconds else 0
    bench.finish(
        "HTTP/2", problems,
        f"{cuts} attacks of {len(ATTACKS)} kinds, each closed within {most} events; "
        f"{len(beside.seconds)} honest calls, p99 {slow:.1f} ms; " + "; ".join(figures))


asyncio.run(main())
