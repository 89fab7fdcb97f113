"""A running demo of the gateway, and the calls of its clients."""

import base64
import http.client
import json
import os
import re
import signal
import subprocess
import time
import urllib.parse


class Demo:
    """The gateway in front of an embedded backend, with the users alice (an operator) and bob (a viewer)."""

    def __init__(self, program):
        self.program = program
        self.process = subprocess.Popen(
            [program, "demo", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        text = ""
        for line in self.process.stdout:
            text += line
            if line.startswith("# The journal is in"):
                break
        self.gateway = re.search(r"The gateway listens on http://([0-9.:]+)", text)[1]
        self.address = re.search(r"in a browser: (http://[0-9.:]+)", text)[1]
        self.directory = re.search(r"Everything is in (\S+) until", text)[1]

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def add_users(self, names):
        """Adds users whose password is the name, and waits until the gateway knows them."""
        for name in names:
            subprocess.run(
                [self.program, "users", "add", name, "--config", os.path.join(self.directory, "gateway.yaml")],
                input=f"{name}\n", text=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait(lambda: self.call("GET", "/auth/whoami", names[-1])[0] == 200, 20)

    def call(self, method, path, user, body=None, content_type="application/json"):
        """Makes a call as a user whose password is the name. Returns the status and the body."""
        connection = http.client.HTTPConnection(self.gateway, timeout=10)
        credential = base64.b64encode(f"{user}:{user}".encode()).decode()
        headers = {"Authorization": f"Basic {credential}"}
        if body is not None:
            headers["Content-Type"] = content_type
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return response.status, data.decode()

    def register(self, user, handle):
        """Registers a phone of a user. Returns the id of the registration."""
        status, text = self.call("POST", f"/api/register?handle={urllib.parse.quote(handle)}", user)
        assert status == 200, (status, text)
        registration = json.loads(text)
        body = json.dumps({"Platform": "apns", "Handle": handle, "Tags": []})
        status, text = self.call("PUT", f"/api/register/{registration}", user, body)
        assert status == 200, (status, text)
        return registration

    def send(self, sender, recipient):
        """Makes a send and returns its status."""
        path = f"/api/notifications?pns=apns&to_tag={urllib.parse.quote(recipient)}"
        return self.call("POST", path, sender, '"hello"')[0]

    def log_in(self, user, device):
        """Begins a session of a user on a device."""
        return self.call("POST", "/auth/token", user, json.dumps({"device": device}))

    def verify(self):
        """Returns whether the journal is complete and unchanged."""
        command = [self.program, "audit", "verify", "--config", os.path.join(self.directory, "gateway.yaml")]
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def records(self):
        """Returns the records of the journal, in their order."""
        found = []
        journal = os.path.join(self.directory, "journal")
        for name in sorted(os.listdir(journal)):
            if not name.endswith(".jsonl") and not name.endswith(".ndjson"):
                continue
            with open(os.path.join(journal, name), encoding="utf-8") as lines:
                found += [json.loads(line) for line in lines if line.startswith("{") and line.endswith("\n")]
        return found


def wait(condition, seconds=10):
    """Waits until the condition holds and returns its value; the last value after the time limit."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.02)
