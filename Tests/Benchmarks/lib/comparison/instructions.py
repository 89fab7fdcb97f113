"""Counts the instructions of a send with callgrind, which neither the machine's speed nor its other work affects."""
import contextlib
import pathlib
import re
import subprocess
import sys

# The seconds that a start or an end may take: callgrind makes programs about 50 times slower.
PATIENCE = 180


def request(call):
    body = call.body.encode()
    head = (
        f"{call.method} {call.target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {call.authorization}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n")
    return head.encode() + body


def read_response(connection):
    """Reads one response, which must be 200 and have a Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        block = connection.recv(65536)
        if not block:
            sys.exit(f"compare: the proxy closed a connection after {data}")
        data += block
    head, _, rest = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    if head.split(b" ", 2)[1] != b"200" or not length:
        sys.exit(f"compare: a call got this response: {data}")
    missing = int(length.group(1)) - len(rest)
    while missing > 0:
        missing -= len(connection.recv(missing))


def send(endpoint, calls, count, connections):
    """Sends so many calls over the connections: one on each, then all responses, then again."""
    requests = [request(call) for call in calls]
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(contextlib.closing(endpoint.connect(PATIENCE))) for _ in range(connections)]
        for first in range(0, count, connections):
            for offset, connection in enumerate(opened):
                connection.sendall(requests[(first + offset) % len(requests)])
            for connection in opened:
                read_response(connection)


def counted(peers, row, preloaded, count, connections):
    """Returns the instructions of a proxy's processes from start to end, with so many sends."""
    files = pathlib.Path(peers.directory)
    output = f"--callgrind-out-file={files}/callgrind.%p"
    peers.wrapper = ["env", f"LD_PRELOAD={preloaded}", "valgrind", "--tool=callgrind", "--quiet", output]
    peers.patience = PATIENCE
    with row.start() as proxy:
        send(proxy.endpoint, row.calls, count, connections)
    total = 0
    for path in files.glob("callgrind.*"):
        totals = re.findall(r"^totals: (\d+)", path.read_text(), re.MULTILINE)
        total += sum(map(int, totals))
        path.unlink()
    if not total:
        sys.exit(f"compare: {row.name}: callgrind counted nothing")
    return total


def of_one_send(peers, row, preloaded, count, connections):
    """Returns the instructions of one send: those of twice `count` sends less those of `count`, divided by `count`.

    `preloaded` is the library that lets valgrind run programs with libdispatch.
    """
    count = max(connections, count - count % connections)
    once = counted(peers, row, preloaded, count, connections)
    return (counted(peers, row, preloaded, 2 * count, connections) - once) / count


def without_debugging_symbols(program, directory):
    """Copies a program without debugging symbols: valgrind 3.19 cannot read those of Swift programs."""
    path = pathlib.Path(directory) / "stripped" / pathlib.Path(program).name
    path.parent.mkdir(exist_ok=True)
    subprocess.run(["objcopy", "--strip-debug", program, path], check=True)
    return str(path)
