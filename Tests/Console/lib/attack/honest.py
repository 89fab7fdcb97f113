"""An honest client of the public listener beside the attacks: the latency of its calls."""

import http.client
import threading
import time


class Honest:
    """Calls `GET /auth/whoami` with a token from 127.0.0.2, one call after the other with a pause, until it is stopped."""

    def __init__(self, gateway, pause=0.01, user="dave"):
        self.port, self.pause = gateway.port, pause
        self.token = gateway.token(user)
        self.seconds, self.failures = [], []
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        connection = None
        while not self.stopped.wait(self.pause):
            begin = time.monotonic()
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=20, source_address=("127.0.0.2", 0))
                connection.request("GET", "/auth/whoami", headers={"Authorization": f"Bearer {self.token}"})
                response = connection.getresponse()
                response.read()
                if response.status not in (200, 429):
                    self.failures.append(response.status)
            except OSError as error:
                self.failures.append(str(error))
                connection = None
            self.seconds.append(time.monotonic() - begin)

    def take(self):
        """Returns the 50th and the 99th percentile in milliseconds since the last time, the number of calls, and the failures."""
        seconds, self.seconds = sorted(self.seconds) or [0.0], []
        failures, self.failures = self.failures, []
        return seconds[len(seconds) // 2] * 1000, seconds[int(len(seconds) * 0.99)] * 1000, len(seconds), failures

    def stop(self):
        self.stopped.set()
        self.thread.join(timeout=30)

    @staticmethod
    def text(figures):
        return f"calls p50 {figures[0]:.1f} ms, p99 {figures[1]:.1f} ms, {figures[2]} calls"

    @staticmethod
    def problems(figures, alone, most=250):
        """Returns a problem if calls failed, or took much longer than without the attack. Two cores do the attack too."""
        found = [f"{len(figures[3])} calls failed, such as {figures[3][0]}"] if figures[3] else []
        bound = max(most, 12 * alone[1])
        return found + ([f"p99 {figures[1]:.0f} ms, bound {bound:.0f} ms"] if figures[1] > bound else [])
