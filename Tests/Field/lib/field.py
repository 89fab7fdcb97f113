"""Shared by the scripts with real counterparts: counted checks, and the gateway as a process."""

import base64
import http.client
import json
import os
import re
import subprocess
import sys
import threading
import urllib.parse


class Checks:
    """Prints one line a check. The last line has the counts."""

    def __init__(self):
        self.passed = self.failed = 0

    def expect(self, name, holds, detail=""):
        self.passed, self.failed = self.passed + bool(holds), self.failed + (not holds)
        print(("ok      " if holds else "FAILED  ") + name + ("" if holds or not detail else f": {detail}"), flush=True)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(1 if self.failed else 0)


class Process:
    """A command whose standard error is read, until it is stopped."""

    def __init__(self, command, started, **options):
        self.log = []
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, **options)
        for line in self.process.stderr:
            self.log.append(line)
            match = re.search(started, line)
            if match:
                self.match = match
                break
        else:
            raise SystemExit(f"{command[0]} did not start:\n" + "".join(self.log))
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)
        self.reader.start()

    def stop(self):
        self.process.terminate()
        return self.process.wait(timeout=90)


class Gateway(Process):
    """A running gateway. `gateway.yaml` is in the directory; its first listener is on 127.0.0.1."""

    def __init__(self, program, directory):
        self.program, self.configuration = program, os.path.join(directory, "gateway.yaml")
        super().__init__(
            [program, "serve", "--config", self.configuration], r'Gateway started.*"listeners":"[^"]*?127\.0\.0\.1:(\d+)')
        self.base = f"http://127.0.0.1:{self.match[1]}"

    def run(self, *arguments):
        """Runs a command of the program with the configuration. Returns its exit status and all that it prints."""
        return run(self.program, *arguments, "--config", self.configuration)

    def call(self, method, path, *arguments, **options):
        """Returns the status and the body of the response. The rest is as for `call`."""
        return call(method, self.base + path, *arguments, **options)


def run(*command, text=None):
    done = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    return done.returncode, done.stdout


def call(method, url, user=None, password=None, token=None, body=None, source=None):
    """Returns the status and the body of the response. `source` is the client's address, in 127.0.0.0/8."""
    parts = urllib.parse.urlsplit(url)
    fields = {}
    if user is not None:
        fields["Authorization"] = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
    if token is not None:
        fields["Authorization"] = "Bearer " + token
    if body is not None:
        fields["Content-Type"] = "application/json"
    connection = http.client.HTTPConnection(
        parts.hostname, parts.port, timeout=60, source_address=(source, 0) if source else None)
    path = parts.path + ("?" + parts.query if parts.query else "")
    connection.request(method, path, None if body is None else json.dumps(body), fields)
    response = connection.getresponse()
    try:
        return response.status, response.read().decode()
    finally:
        connection.close()
