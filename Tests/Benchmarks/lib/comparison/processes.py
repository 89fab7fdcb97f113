"""Processes of a measurement: their sockets, their start and end, and what they have used."""
import contextlib
import dataclasses
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time


@dataclasses.dataclass(frozen=True)
class Endpoint:
    """The address of a listener: a TCP port of 127.0.0.1, or a Unix socket. The port of a Unix socket is only a placeholder."""
    port: int
    path: str | None = None

    def connect(self, timeout):
        if not self.path:
            return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(timeout)
        try:
            connection.connect(self.path)
        except OSError:
            connection.close()
            raise
        return connection


@dataclasses.dataclass(frozen=True)
class Proxy:
    """A running proxy. `journal` is the directory of a gateway's journal."""
    pid: int
    endpoint: Endpoint
    journal: pathlib.Path | None = None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def supervised(command):
    """Returns the command whose process ends when this one ends, even by SIGKILL."""
    return ["setpriv", "--pdeathsig", "TERM", *map(str, command)]


@contextlib.contextmanager
def running(command, endpoint, log, seconds=20):
    """Runs a program, from the time that it listens until the context ends. `seconds` limits its start and its end."""
    with open(log, "wb") as output:
        process = subprocess.Popen(supervised(command), stdout=output, stderr=output, start_new_session=True)
    try:
        deadline = time.monotonic() + seconds
        while True:
            try:
                endpoint.connect(1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"compare: {command[0]} did not start:\n{pathlib.Path(log).read_text(errors='replace')}")
                time.sleep(0.02)
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def family(pid):
    """Returns the ids of a process and its children."""
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [pid, *map(int, text.split())]


def processor_seconds(pid):
    """Returns the user and system time of all threads of a process and its children."""
    total = 0.0
    for process in family(pid):
        fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def machine_seconds():
    """Returns the time of all processors so far, and the part of it that the host took for other machines (steal)."""
    fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(fields), fields[7]


def resident_mebibytes(pid):
    total = 0
    for process in family(pid):
        match = re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{process}/status").read_text())
        total += int(match.group(1)) if match else 0
    return total / 1024
