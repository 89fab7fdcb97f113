"""An HTTP client that sends what it is told, byte by byte, and a browser that keeps a session."""

import dataclasses
import html
import re
import socket
import ssl
import urllib.parse


def quote(text):
    return urllib.parse.quote(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"), safe="")


@dataclasses.dataclass
class Reply:
    """A response as it arrived; status 0 if the connection closed without one."""

    status: int
    fields: list
    body: bytes
    raw: bytes

    def all(self, name):
        return [value for field, value in self.fields if field == name.lower()]

    def get(self, name):
        return (self.all(name) or [None])[0]

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    @property
    def cookie(self):
        """The value of the session cookie that the response sets; empty if it removes it, None without one."""
        for value in self.all("set-cookie"):
            return value.split(";")[0].partition("=")[2]
        return None


def parse(raw):
    """Returns the first response of the bytes."""
    head, separator, body = raw.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    match = re.fullmatch(r"HTTP/1\.[01] (\d{3}).*", lines[0])
    if not separator or not match:
        return Reply(0, [], b"", raw)
    fields = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines[1:])]
    if ("transfer-encoding", "chunked") in fields:
        body = unchunked(body)
    return Reply(int(match.group(1)), fields, body, raw)


def unchunked(body):
    whole = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size or b"0", 16)
        if not length:
            break
        whole, body = whole + body[:length], body[length + 2:]
    return whole


class Address:
    """Where a console listens, and whether it has TLS."""

    def __init__(self, port, secure=False):
        self.port = port
        self.secure = secure
        self.host = f"127.0.0.1:{port}"
        self.origin = ("https://" if secure else "http://") + self.host
        self.cookie = "__Host-notify-gateway" if secure else "notify-gateway-console"

    def connect(self, source=None, timeout=30, handshake=True):
        """Opens a connection from an address of 127.0.0.0/8."""
        stream = socket.create_connection(
            ("127.0.0.1", self.port), timeout=timeout, source_address=(source, 0) if source else None)
        if self.secure and handshake:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            stream = context.wrap_socket(stream)
        return stream

    def exchange(self, request, source=None, timeout=30):
        """Sends bytes, and returns the response when the connection has closed. A reset ends the reading."""
        raw = b""
        try:
            with self.connect(source, timeout) as stream:
                try:
                    stream.sendall(request)
                except OSError:
                    pass
                while piece := stream.recv(1 << 16):
                    raw += piece
        except (ConnectionError, ssl.SSLError, TimeoutError):
            pass
        return parse(raw)


def same_origin(address):
    """The fields that a browser sends with a form of the console."""
    return {"Origin": address.origin, "Sec-Fetch-Site": "same-origin"}


class Browser:
    """A user's browser: it sends the fields that browsers send, and keeps the cookie of the session."""

    def __init__(self, address, source=None):
        self.address = address
        self.source = source
        self.cookie = None
        self.token = None

    def request(self, method, target, fields=(), body=b"", cookie=True, host=True, timeout=30):
        lines = [f"{method} {target} HTTP/1.1"]
        if host:
            lines.append(f"Host: {self.address.host}")
        if cookie and self.cookie:
            lines.append(f"Cookie: {self.address.cookie}={self.cookie}")
        lines += [f"{name}: {value}" for name, value in (fields.items() if isinstance(fields, dict) else fields)]
        if body or method == "POST":
            lines.append(f"Content-Length: {len(body)}")
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogatepass")
        return self.address.exchange(head + body, self.source, timeout)

    def get(self, target, fields=()):
        return self.request("GET", target, fields or {"Sec-Fetch-Site": "same-origin"})

    def post(self, target, form, fields=None, **more):
        """Submits a form as the console's own page does."""
        body = "&".join(f"{quote(name)}={quote(value)}" for name, value in form.items()).encode()
        fields = same_origin(self.address) if fields is None else fields
        return self.request(
            "POST", target, {"Content-Type": "application/x-www-form-urlencoded", **fields}, body, **more)

    def log_in(self, user, password=None, next="/"):
        """Logs in, and returns the response. A success keeps the cookie and the token of the forms."""
        reply = self.post("/login", {"user": user, "password": user if password is None else password, "next": next})
        if reply.status == 303 and reply.cookie:
            self.cookie = reply.cookie
            self.token = self.form_token()
        return reply

    def form_token(self):
        found = re.search(r'name="token" value="([^"]*)"', self.get("/policy").text)
        return html.unescape(found.group(1)) if found else None

    def submit(self, target, form, fields=None):
        """Submits a form with the session's token."""
        return self.post(target, {"token": self.token or "", **form}, fields)

    def is_logged_in(self):
        return self.get("/policy").status == 200
