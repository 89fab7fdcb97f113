"""What the counterparts share: options, checks, and a gateway with a directory of its own."""

import argparse
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
PASSWORD = "secret"
HASH = "$6$rounds=1000$saltsalt$LAV5VE5Y7w1d73x1mFNspYWUpazfmwv2SoepNXNKJ/otop/Zok96Hr8Q13LEv0DRY/x8v0/crpIjl8NJSAqXV/"


def options(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--program", default=str(ROOT / ".build/debug/notify-gateway"), help="the gateway's program")
    parser.add_argument("--full", action="store_true", help="run the full counts")
    found = parser.parse_args()
    found.program = str(pathlib.Path(found.program).resolve())
    return found


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Checks:
    """Counts checks and prints a line for each."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, is_right, name, detail=""):
        self.passed += bool(is_right)
        self.failed += not is_right
        print(f"{'ok' if is_right else 'FAILED'}: {name}{'' if is_right else f': {detail}'}", flush=True)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        sys.exit(self.failed > 0)


class Gateway:
    """A gateway with static users whose password is PASSWORD, in a temporary directory."""

    def __init__(self, program, backend, users, more=""):
        self.program = program
        self.directory = tempfile.mkdtemp(prefix="field-")
        self.port = free_port()
        self.write("users.yaml", "users:\n" + "".join(f'  {user}: {{ hash: "{HASH}" }}\n' for user in users))
        self.config = self.write("gateway.yaml", f"""
listen:
  - address: 127.0.0.1:{self.port}
backend: {backend}
authenticators:
  - static-users: {{ file: users.yaml }}
policy:
  send: [{{ from: "*", to: "*" }}]
journal: {{ directory: {self.directory}/journal }}
ledger: {{ file: {self.directory}/ledger.sqlite }}
control: {self.directory}/control.sock
{more}""")
        self.process = None

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path

    def start(self):
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen([self.program, "serve", "--config", self.config], stdout=log, stderr=log)
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.05)
        with open(os.path.join(self.directory, "log")) as log:
            sys.exit("the gateway did not start: " + log.read()[-2000:])

    def command(self, *arguments, input=None):
        return subprocess.run(
            [self.program, *arguments, "--config", self.config], capture_output=True, text=True, input=input or "")

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(60)
        shutil.rmtree(self.directory)
