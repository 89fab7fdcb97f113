"""A client of `/live` that reads in the background."""

import json
import socket
import threading
import time


class Stream:
    """The events of a live page, as they arrive until the connection closes."""

    def __init__(self, browser, target="/live?kind=sends", read=True):
        self.socket = browser.address.connect(browser.source, timeout=120)
        self.received = b""
        self.ended = None
        self.socket.sendall(
            f"GET {target} HTTP/1.1\r\nHost: {browser.address.host}\r\nAccept: text/event-stream\r\n"
            f"Cookie: {browser.address.cookie}={browser.cookie}\r\n\r\n".encode())
        self.thread = threading.Thread(target=self._read, daemon=True)
        if read:
            self.thread.start()

    def _read(self):
        try:
            while piece := self.socket.recv(1 << 16):
                self.received += piece
        except OSError:
            pass
        self.ended = time.monotonic()

    @property
    def status(self):
        return int(self.received[9:12] or 0)

    def rows(self):
        """Returns the rows of the events."""
        # The framing of chunks is between the lines of events, because each event is one chunk.
        lines = [line for line in self.received.split(b"\n") if line.startswith(b"data: ")]
        return [row for line in lines for row in json.loads(line[6:])["rows"]]

    def wait(self, condition, seconds):
        """Waits until the condition holds. Returns whether it did in time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if condition(self):
                return True
            time.sleep(0.05)
        return False

    def close(self):
        try:
            # The system closes a socket only after the read that is waiting on it.
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
