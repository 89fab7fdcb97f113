"""Streams of HTTP/2 that are held open, each with a long field that the client refers to by one byte: what of the gateway's memory an
attacker gets without a login, and whether the gateway gives it back. For `http2`."""

import asyncio
import pathlib
import socket
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import edge  # noqa: E402  (the folder has to be named first)
from edge import bench  # noqa: E402

# What the gateway may grow by, and what may be left some seconds after: in MiB.
GROWTH, LEFT = 64, 32
STREAMS = 100
# As long as one entry of the table may be (RFC 7541, section 4.2), with its name and 32 bytes beside.
LONG = b"x" * 3900
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
BEGIN = PREFACE + b"\0\0\0\4\0\0\0\0\0" + b"\0\0\0\4\1\0\0\0\0"
# POST, http, a path and an authority.
PSEUDO = b"\x83\x86\x04\x01/\x01\x0cgateway.test"
INDEXED = b"\xbe"


def text(value):
    """A string of HPACK that is not compressed."""
    if len(value) < 127:
        return bytes([len(value)]) + value
    head, rest = b"\x7f", len(value) - 127
    while rest >= 128:
        head, rest = head + bytes([rest % 128 + 128]), rest // 128
    return head + bytes([rest]) + value


def opened(stream, block):
    """HEADERS of a request whose body never comes."""
    return struct.pack(">I", len(block))[1:] + b"\x01\x04" + struct.pack(">I", stream) + block


def attack_bytes(name, references):
    """All that one connection sends."""
    first = PSEUDO + b"\x40" + text(name) + text(LONG)
    data = BEGIN + opened(1, first)
    for number in range(1, STREAMS):
        data += opened(2 * number + 1, PSEUDO + INDEXED * references)
    return data


def resident(pid):
    """The memory of a process in MiB."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Rss:")) / 1024


async def hold(port, source, data):
    """One connection that sends it all and reads nothing; None where it is not even made."""
    raw = socket.socket()
    raw.setblocking(False)
    try:
        raw.bind((source, 0))
        await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port))
        await asyncio.wait_for(asyncio.get_running_loop().sock_sendall(raw, data), 5)
    except (OSError, asyncio.TimeoutError, TimeoutError):
        # Cut while it sent, which is an end that an attacker has to reckon with.
        pass
    return raw


async def variant(program, name, field, references, addresses, each, problems):
    """One gateway, one attack; how it went, in words."""
    server, port = await bench.backend()
    gateway = bench.Gateway(program, port, listen='[{ address: "127.0.0.1:0", http2: true }]')
    await gateway.start()
    honest = edge.Honest(gateway.port)
    control = await edge.Control.start()
    held, most = [], 0.0
    try:
        asking = asyncio.create_task(honest.run())
        await asyncio.sleep(1)
        before = resident(gateway.process.pid)
        data = attack_bytes(field, references)
        for address in range(addresses):
            for _ in range(each):
                held.append(await hold(gateway.port, f"127.0.1.{address + 1}", data))
            most = max(most, resident(gateway.process.pid))
        # Until the gateway has looked at all of it: a debug build takes its time. After 30 s the requests would have met their deadline.
        end, spent = bench.now() + 25, 0.0
        while bench.now() < end:
            await asyncio.sleep(1)
            if gateway.process.returncode is not None:
                problems.append(f"{name}: the gateway ended")
                return f"{name}: ended"
            most = max(most, resident(gateway.process.pid))
            before_that, spent = spent, edge.processor_seconds(gateway.process.pid)
            # On a busy machine the gateway gets little of a processor, and still has something to do.
            if spent - before_that < 0.05:
                break
        judged = control.judge(name, honest, problems, limit=50 if "release" in program else 1000)
        for raw in held:
            raw.close()
        held.clear()
        end = bench.now() + 20
        while (after := resident(gateway.process.pid)) - before > LEFT and bench.now() < end:
            await asyncio.sleep(0.5)
        asking.cancel()
        if most - before >= GROWTH:
            problems.append(f"{name}: the gateway grew by {most - before:.0f} MiB")
        if after - before > LEFT:
            problems.append(f"{name}: {after - before:.0f} MiB are left after the attack")
        return (
            f"{name}: {addresses * each * len(data) / 1e6:.1f} MB sent, {before:.0f} MiB grew by {most - before:.0f}, "
            f"{after - before:.0f} were left after; {judged}")
    finally:
        for raw in held:
            raw.close()
        await control.stop()
        if gateway.process.returncode is None:
            await gateway.stop()
        server.close()
        gateway.remove()


async def run(program, full, problems):
    """All variants; how they went, in words."""
    kinds = [("held streams, a field that is not used", b"x-held", 4), ("held streams, a field that is used", b"authorization", 1)]
    figures = []
    for name, field, references in kinds:
        figures.append(await variant(program, name, field, references, 1, 190, problems))
        if full:
            figures.append(await variant(program, f"{name}, 950 connections", field, references, 5, 190, problems))
    return figures
