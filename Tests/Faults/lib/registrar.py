"""A backend that knows its registrations, and connections of clients to a gateway."""

import asyncio
import base64
import json

# The password of each user.
PASSWORD = "alice"


class Backend:
    """A classic backend: the ids that it issued, the handle of each, the last id of each handle, and all sends."""

    def __init__(self):
        self.sends = []
        self.handles, self.ids = {}, {}
        self.next = 1

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def serve(self, reader, writer):
        try:
            while True:
                method, target, fields, body = await read_message(reader)
                writer.write(self.response(method, target, fields, body))
                await writer.drain()
        except (OSError, EOFError, asyncio.IncompleteReadError):
            writer.transport.abort()

    def response(self, method, target, fields, body):
        text = b""
        if target.startswith("/api/notifications"):
            self.sends.append((fields["x-request-id"], json.loads(body)))
        elif method == "POST":
            text = json.dumps(f"{self.next}-{self.next}-1").encode()
            self.next += 1
        elif method == "PUT":
            id, handle = target.rpartition("/")[2], json.loads(body)["Handle"]
            self.handles[id], self.ids[handle] = handle, id
        elif method == "DELETE":
            self.handles.pop(target.rpartition("/")[2], None)
        return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text) + text


async def read_message(reader):
    """Returns the two words after the first one of a request line, or of a status line, the fields, and the body."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *rest = head.rstrip().split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in rest)}
    body = await reader.readexactly(int(fields.get("content-length", 0)))
    words = line.split()
    return words[0], words[1], fields, body


class Connection:
    """A client's connection to a gateway, opened again after each failure."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.writer = None

    async def call(self, method, target, credential, body=None, seconds=30, more=""):
        """Returns status, fields and body; status 0 without a response. `more` has further header fields, each with CRLF."""
        try:
            return await asyncio.wait_for(self.exchange(method, target, credential, body, more), seconds)
        except (OSError, EOFError, asyncio.IncompleteReadError, asyncio.TimeoutError):
            self.close()
            return 0, {}, b""

    async def exchange(self, method, target, credential, body, more):
        if not self.writer:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.gateway.port)
        content = json.dumps(body).encode() if body is not None else b""
        kind = "Content-Type: application/json\r\n" if body is not None else ""
        self.writer.write(
            f"{method} {target} HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: {credential}\r\n{kind}{more}"
            f"Content-Length: {len(content)}\r\n\r\n".encode() + content)
        _, status, fields, body = await read_message(self.reader)
        if fields.get("connection", "").lower() == "close":
            self.close()
        return int(status), fields, body

    def close(self):
        if self.writer:
            self.writer.transport.abort()
        self.writer = None


def basic(user):
    return "Basic " + base64.b64encode(f"{user}:{PASSWORD}".encode()).decode()
