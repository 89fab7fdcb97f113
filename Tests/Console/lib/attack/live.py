"""Clients of `/live`: the script of an open page, and requests that wait."""

import json
import socket
import threading
import time

# The console answers a request for changes after this time at the latest, and not before it without a change.
HOLD = 1.0
BY_PAGE = {"X-Console-Refresh": "1", "Sec-Fetch-Site": "same-origin"}


def ask(browser, target="/live?kind=sends", position=0):
    """Asks once for changes, and returns the response."""
    return browser.request("GET", f"{target}&after={position}", BY_PAGE)


class LivePage:
    """Asks for changes again and again, as the script of an open page does, until the session has ended."""

    def __init__(self, browser, target="/live?kind=sends"):
        self.browser, self.target = browser, target
        self.answers, self.status, self.ended = [], None, None
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        position = 0
        while not self.stopped.is_set():
            reply = ask(self.browser, self.target, position)
            self.status = reply.status
            if reply.status == 200:
                self.answers.append(json.loads(reply.body))
                position = self.answers[-1]["next"]
            elif reply.status in (401, 403):
                break
        self.ended = time.monotonic()

    def changes(self):
        """Returns the number of answers that told of a change."""
        return sum(answer["changed"] for answer in list(self.answers))

    def wait(self, condition, seconds):
        """Waits until the condition holds. Returns whether it did in time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if condition(self):
                return True
            time.sleep(0.05)
        return False

    def is_followed(self):
        """Waits until the page is told of no more than happens from now on. Returns whether it is."""
        return self.wait(lambda page: any(not answer["changed"] for answer in list(page.answers)), 10)

    def close(self):
        self.stopped.set()


class WaitingRequest:
    """One request for changes, whose response is read in the background, or not at all."""

    def __init__(self, browser, position, read=True):
        self.socket = browser.address.connect(browser.source, timeout=120)
        self.received = b""
        self.ended = None
        self.socket.sendall(
            f"GET /live?kind=sends&after={position} HTTP/1.1\r\nHost: {browser.address.host}\r\nX-Console-Refresh: 1\r\n"
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

    def close(self):
        try:
            # The system closes a socket only after the read that is waiting on it.
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
