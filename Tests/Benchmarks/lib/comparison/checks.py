"""Checks that a peer does the whole job before it is measured."""
import base64
import contextlib
import dataclasses
import http.server
import json
import os
import socketserver
import sys
import threading
import urllib.parse

from .client import Call, ask

# A message in which a quotation mark, a backslash, a line feed and a letter outside ASCII have to be encoded.
TEXT = 'Lunch at "Zoë\'s" \\ noon\n'


@dataclasses.dataclass(frozen=True)
class Received:
    """A call as the backend receives it. The message is decoded from the push payload in the body."""
    method: str
    path: str
    query: list
    authorization: str
    message: str
    has_id: bool


class Recorder(http.server.BaseHTTPRequestHandler):
    """Records calls in `server.received`, and responds with 200."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urllib.parse.urlsplit(self.path)
        try:
            message = json.loads(f'"{json.loads(body)}"')
        except ValueError:
            message = f"not a message encoded twice: {body}"
        self.server.received.append(Received(
            self.command, url.path, sorted(urllib.parse.parse_qsl(url.query)), self.headers.get("Authorization", ""), message,
            bool(self.headers.get("X-Request-Id"))))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class TCPServer(http.server.ThreadingHTTPServer):
    daemon_threads = True


class UnixServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


@contextlib.contextmanager
def recording(endpoint):
    """Runs a backend on the endpoint's port and Unix socket; yields the list of the calls that it receives."""
    received = []
    with contextlib.ExitStack() as stack:
        for kind, address in [(TCPServer, ("127.0.0.1", endpoint.port)), (UnixServer, endpoint.path)]:
            server = stack.enter_context(kind(address, Recorder))
            server.received = received
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
            stack.callback(server.shutdown)
        stack.callback(os.unlink, endpoint.path)
        yield received


def tampered(authorization):
    """Returns the credential with one other character in the tag of a token, or in a password."""
    position = len(authorization) - 12
    other = "A" if authorization[position] != "A" else "B"
    return authorization[:position] + other + authorization[position + 1:]


def check(row, peers):
    """Exits with a message unless the row's proxy sends a good call to the backend in full, and rejects bad ones itself."""
    authorization = row.calls[0].authorization
    user = peers.user_of(authorization)

    def call(to, body=json.dumps(TEXT), authorization=authorization):
        return Call("POST", f"/api/notifications?pns=APNS&to_tag={to}", body, authorization)

    with recording(peers.backend) as received, row.start() as proxy:
        for text, made, expected in [
            ("a send", call("User-7@Example.com"), 200),
            ("a forged credential", call("bob", authorization=tampered(authorization)), 401),
            ("no credential", call("bob", authorization=""), 401),
            ("a tag expression as recipient", call("bob%20%7C%7C%20carol"), 400),
            ("a message that is not a JSON string", call("bob", body='{ "text": 1 }'), 400),
        ]:
            status, content = ask(proxy.endpoint, made)
            if status != expected:
                sys.exit(f"compare: {row.name}: {text} got status {status} instead of {expected}: {content.decode(errors='replace')}")
    credential = "Basic " + base64.b64encode(f"{user}:{user}".encode()).decode()
    wanted = Received("POST", "/api/notifications", [("pns", "apns"), ("to_tag", "user-7@example.com")], credential, TEXT, True)
    if received != [wanted]:
        sys.exit(f"compare: {row.name}: the backend received {received} instead of {[wanted]}")
