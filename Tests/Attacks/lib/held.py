"""An attack that holds HTTP/2 streams open, each with a long field that one byte refers to. Measures how much of the gateway's memory
an attacker can use without a login, and whether the gateway releases it. For `http2`."""

import asyncio
import pathlib
import socket
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import edge  # noqa: E402  (the import needs the path above)
from edge import bench  # noqa: E402

# The limit of the gateway's growth during the attack, and of its remaining growth some seconds after it, in MiB.
GROWTH, LEFT = 64, 32
# The limit of the growth if the attacker has an address for each ten connections: the complete request memory of 64 MiB, and 950
# connections with their tables and buffers.
GROWTH_OF_MANY_ADDRESSES = 112
STREAMS = 100
# Nearly the largest entry of HPACK's dynamic table (RFC 7541, section 4.2), with its name and an overhead of 32 bytes.
LONG = b"x" * 3900
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
BEGIN = PREFACE + b"\0\0\0\4\0\0\0\0\0" + b"\0\0\0\4\1\0\0\0\0"
# The pseudo-header fields POST, http, a path and an authority.
PSEUDO = b"\x83\x86\x04\x01/\x01\x0cgateway.test"
INDEXED = b"\xbe"


def text(value):
    """Returns a string of HPACK that is not compressed."""
    if len(value) < 127:
        return bytes([len(value)]) + value
    head, rest = b"\x7f", len(value) - 127
    while rest >= 128:
        head, rest = head + bytes([rest % 128 + 128]), rest // 128
    return head + bytes([rest]) + value


def opened(stream, block):
    """Returns the HEADERS frame of a request whose body never arrives."""
    return struct.pack(">I", len(block))[1:] + b"\x01\x04" + struct.pack(">I", stream) + block


def attack_bytes(name, references):
    """Returns the bytes that one connection sends."""
    first = PSEUDO + b"\x40" + text(name) + text(LONG)
    data = BEGIN + opened(1, first)
    for number in range(1, STREAMS):
        data += opened(2 * number + 1, PSEUDO + INDEXED * references)
    return data


def resident(pid):
    """Returns the resident memory of a process in MiB, without the pages of its program, which are read when they run first."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Anonymous:")) / 1024


async def hold(port, source, data):
    """Opens one connection that sends the data and reads nothing; returns its socket."""
    raw = socket.socket()
    raw.setblocking(False)
    try:
        raw.bind((source, 0))
        await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port))
        await asyncio.wait_for(asyncio.get_running_loop().sock_sendall(raw, data), 5)
    except (OSError, asyncio.TimeoutError, TimeoutError):
        # The gateway may close the connection during the attack.
        pass
    return raw


async def variant(program, name, field, references, addresses, each, problems):
    """Runs one attack against a new gateway; returns a summary of its result."""
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
        # Wait until the gateway has processed all data; a debug build is slow. After 30 s the requests would exceed their deadline.
        end, spent = bench.now() + 25, 0.0
        while bench.now() < end:
            await asyncio.sleep(1)
            if gateway.process.returncode is not None:
                problems.append(f"{name}: the gateway exited")
                return f"{name}: the gateway exited"
            most = max(most, resident(gateway.process.pid))
            before_that, spent = spent, edge.processor_seconds(gateway.process.pid)
            # A gateway with work uses more processor time than this, even on a busy machine.
            if spent - before_that < 0.05:
                break
        # A debug build takes milliseconds for a frame with a long field, and a turn has several of them.
        latency = control.check_latency(name, honest, problems, limit=50 if "release" in program else 1000)
        for raw in held:
            raw.close()
        held.clear()
        end = bench.now() + 20
        while (after := resident(gateway.process.pid)) - before > LEFT and bench.now() < end:
            await asyncio.sleep(0.5)
        asking.cancel()
        if most - before >= (GROWTH if addresses <= 5 else GROWTH_OF_MANY_ADDRESSES):
            problems.append(f"{name}: the gateway grew by {most - before:.0f} MiB")
        if after - before > LEFT:
            problems.append(f"{name}: {after - before:.0f} MiB are still in use after the attack")
        return (
            f"{name}: {addresses * each * len(data) / 1e6:.1f} MB sent, {before:.0f} MiB before, growth {most - before:.0f}, "
            f"{after - before:.0f} after; {latency}")
    finally:
        for raw in held:
            raw.close()
        await control.stop()
        if gateway.process.returncode is None:
            await gateway.stop()
        server.close()
        gateway.remove()


async def run(program, full, problems):
    """Runs all variants; returns a summary of each."""
    kinds = [("held streams, unused field", b"x-held", 4), ("held streams, used field", b"authorization", 1)]
    figures = []
    for name, field, references in kinds:
        figures.append(await variant(program, name, field, references, 1, 190, problems))
        if full:
            figures.append(await variant(program, f"{name}, 950 connections", field, references, 5, 190, problems))
            figures.append(await variant(program, f"{name}, 95 addresses", field, references, 95, 10, problems))
    return figures
