"""Calls to a proxy: single ones, and the load of wrk."""
import contextlib
import dataclasses
import http.client
import os
import re
import subprocess
import sys

from .journals import unindexed_bytes
from .processes import machine_seconds, processor_seconds, resident_mebibytes, supervised

# The largest share of processor time that the host may take from a measurement before it is repeated, and the number of attempts.
MOST_STOLEN, ATTEMPTS = 0.02, 3


@dataclasses.dataclass(frozen=True)
class Call:
    method: str
    target: str
    body: str | None
    authorization: str


def ask(endpoint, call):
    """Makes one call; returns the status and the body of its response."""
    connection = http.client.HTTPConnection("127.0.0.1", endpoint.port, timeout=10)
    with contextlib.closing(connection):
        connection.sock = endpoint.connect(10)
        body = call.body.encode() if call.body is not None else None
        fields = {"Authorization": call.authorization, "Content-Type": "application/json"}
        connection.request(call.method, call.target, body, fields)
        response = connection.getresponse()
        return response.status, response.read()


class Client:
    """wrk. `shim` is the library that lets it connect to Unix sockets. Without `allows_failures`, a failed call ends the run."""

    def __init__(self, directory, shim, allows_failures):
        self.script, self.shim, self.allows_failures = directory / "call.lua", shim, allows_failures

    def measure(self, start, connections, seconds, calls, warming=1, attempts=ATTEMPTS):
        """Starts a proxy and measures it; repeats the measurement if the host took too much processor time.

        `calls` are made in turn; a function that returns them receives the endpoint.
        """
        results = []
        while len(results) < attempts and all(result["stolen"] > MOST_STOLEN for result in results):
            with start() as proxy:
                self.write_script(calls(proxy.endpoint) if callable(calls) else calls)
                self.load(proxy, connections, warming)
                results.append(self.load(proxy, connections, seconds))
        return min(results, key=lambda result: result["stolen"])

    def load(self, proxy, connections, seconds):
        """Runs wrk once; returns successful requests per second, p50 and p99 in ms, processor time per successful request in µs, MiB
        after the run, and the MiB of a gateway's closed journal segments without an index then."""
        endpoint = proxy.endpoint
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", self.script, f"http://127.0.0.1:{endpoint.port}"]
        environment = dict(os.environ)
        if endpoint.path:
            environment |= {
                "LD_PRELOAD": str(self.shim), "UNIX_CONNECT_PORT": str(endpoint.port), "UNIX_CONNECT_PATH": endpoint.path}
        before, (all_before, stolen_before) = processor_seconds(proxy.pid), machine_seconds()
        output = subprocess.run(supervised(command), capture_output=True, text=True, check=True, env=environment).stdout
        used, (all_after, stolen_after) = processor_seconds(proxy.pid) - before, machine_seconds()
        responses, duration, p50, p99, rejected, broken = map(int, re.search(r"RESULT (.*)", output).group(1).split())
        requests, failed = responses - rejected, rejected + broken
        if requests <= 0 or failed and not self.allows_failures:
            sys.exit(f"compare: {failed} of {responses + broken} calls failed:\n{output}")
        return {
            "requests": requests / duration * 1e6, "failed": failed, "p50": p50 / 1000, "p99": p99 / 1000,
            "cpu": used / requests * 1e6, "memory": resident_mebibytes(proxy.pid),
            "stolen": (stolen_after - stolen_before) / max(1, all_after - all_before),
            "unindexed": unindexed_bytes(proxy.journal) / 2 ** 20 if proxy.journal else None,
        }

    def write_script(self, calls):
        """Writes the Lua script that makes wrk send the calls in turn. wrk formats each call once."""
        numbers = {}
        for call in calls:
            numbers.setdefault(call.authorization, len(numbers) + 1)
            numbers.setdefault(call.body or "", len(numbers) + 1)
        lines = ["local texts = {", *(f"  [==[{text}]==]," for text in numbers), "}"]
        if len(calls) == 1:
            call = calls[0]
            # Without a function `request`, wrk sends the same bytes again and calls no Lua.
            lines += [
                f'wrk.method, wrk.path, wrk.body = "{call.method}", "{call.target}", texts[{numbers[call.body or ""]}]',
                f'wrk.headers = {{ Authorization = texts[{numbers[call.authorization]}], ["Content-Type"] = "application/json" }}']
        else:
            lines += [
                "local calls, last = {}, 0", "local function add(method, path, authorization, body)",
                '  local fields = { Authorization = texts[authorization], ["Content-Type"] = "application/json", Host = "127.0.0.1" }',
                "  calls[#calls + 1] = wrk.format(method, path, fields, texts[body])", "end", "init = function()",
                *(f'  add("{call.method}", "{call.target}", {numbers[call.authorization]}, {numbers[call.body or ""]})'
                  for call in calls),
                "end", "request = function() last = last % #calls + 1; return calls[last] end"]
        lines += [
            "done = function(summary, latency)", "  local errors = summary.errors",
            '  io.write(string.format("RESULT %d %d %d %d %d %d\\n", summary.requests, summary.duration,',
            "    latency:percentile(50), latency:percentile(99), errors.status,",
            "    errors.read + errors.write + errors.timeout + errors.connect))", "end"]
        self.script.write_text("\n".join(lines) + "\n")
