"""Compares the spans that a gateway exports with the definitions of OTLP. See ../README.md."""

import argparse
import base64
import http.client
import http.server
import json
import pathlib
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

SAMPLED_TRACE = "0af7651916cd43dd8448eb211c80319c"
SAMPLED_PARENT = "b7ad6b7169203331"
problems = []


def expect(what, found, wanted):
    """Records a problem unless both are equal."""
    if found != wanted:
        problems.append(f"{what}: {found!r}, not {wanted!r}")


class Collector:
    """An HTTP server that keeps the bodies of all requests."""

    def __init__(self):
        self.requests = []
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                fields = {name.lower(): value for name, value in self.headers.items()}
                collector.requests.append((self.path, fields, body))
                response = json_format.MessageToJson(ExportTraceServiceResponse()).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(response)))
                self.end_headers()
                self.wfile.write(response)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def port(self):
        return self.server.server_address[1]


class Gateway:
    """A `notify-gateway serve` process with the embedded backend, in a directory of its own."""

    def __init__(self, program, collector):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="gateway-tracing-"))
        self.program = program
        self.write("users.yaml", "users: {}\n")
        self.write("token", "collector-token\n")
        self.write(
            "gateway.yaml",
            f"""
listen: [{{ address: "127.0.0.1:0", trusted-proxies: [127.0.0.1], plaintext-credentials: allow }}]
admin: {{ address: "127.0.0.1:0" }}
control: control.sock
backend: {{ url: embedded }}
authenticators: [{{ static-users: {{ file: users.yaml }} }}]
audiences: {{ all: [alice, bob] }}
policy:
  send: [{{ from: "alice", to: "*" }}, {{ from: "alice", to: "audience:all" }}]
  tags: [{{ user: "*", allow: ["topic:*"] }}]
journal: {{ directory: journal, minimum-free: 0 }}
ledger: {{ file: ledger.sqlite }}
tracing:
  endpoint: "http://127.0.0.1:{collector.port}/v1/traces"
  headers: {{ authorization: "Bearer ${{file:token}}" }}
  sample: 1
  service: edge
drain: {{ grace: 0s }}
""",
        )
        for user in ("alice", "bob"):
            subprocess.run(
                [program, "users", "add", user, "--config", "gateway.yaml"],
                cwd=self.directory, input=f"{user}-secret\n", text=True, check=True, stderr=subprocess.DEVNULL,
            )
        self.log = open(self.directory / "log", "w+b")
        self.process = subprocess.Popen(
            [program, "serve", "--config", "gateway.yaml"], cwd=self.directory, stderr=self.log, stdout=self.log
        )
        self.port = self.started()

    def write(self, name, text):
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o600)

    def started(self):
        """Returns the port of the listener once the gateway has started."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            found = re.search(r'"listeners":"\[127\.0\.0\.1:(\d+)\]"', self.text())
            if found:
                return int(found.group(1))
            time.sleep(0.05)
        sys.exit(f"The gateway did not start:\n{self.text()}")

    def text(self):
        return (self.directory / "log").read_text()

    def call(self, method, target, user="alice", password=None, body=None, fields={}):
        """Makes a call and returns its status, its id and its body."""
        credential = base64.b64encode(f"{user}:{password or user + '-secret'}".encode()).decode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        fields = {"Authorization": f"Basic {credential}", "Content-Type": "application/json", **fields}
        connection.request(method, target, body, fields)
        response = connection.getresponse()
        result = response.status, response.headers["X-Request-Id"], response.read()
        connection.close()
        return result

    def stop(self):
        self.process.terminate()
        expect("the exit status of the gateway", self.process.wait(timeout=60), 0)


def decoded(body):
    """Returns the body as a message. In the JSON of OTLP, ids are hexadecimal; in that of Protobuf, base64."""
    document = json.loads(body)
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        expect(f"the alphabet of {name}", bool(re.fullmatch(r"[0-9a-f]+", span[name])), True)
                        span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
                for name in ("startTimeUnixNano", "endTimeUnixNano"):
                    expect(f"the type of {name}", type(span[name]), str)
                expect("the type of kind", type(span["kind"]), int)
    return json_format.Parse(json.dumps(document), ExportTraceServiceRequest(), ignore_unknown_fields=False)


def attributes(items):
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in items}


def check(calls, collector, began, ended):
    """Checks everything that the collector received. `calls` has the status of each call, by its id."""
    spans = []
    for path, fields, body in collector.requests:
        expect("the path", path, "/v1/traces")
        expect("the type", fields["content-type"], "application/json")
        expect("the credential", fields["authorization"], "Bearer collector-token")
        for word in (b"alice", b"bob", b"secret text", b"topic:", b"-secret", b"B0B0"):
            expect(f"whether {word} is exported", word in body, False)
        for resource in decoded(body).resource_spans:
            named = attributes(resource.resource.attributes)
            expect("the service", named["service.name"], "edge")
            expect("the type of the process", type(named["process.pid"]), int)
            expect("the number of scopes", [scope.scope.name for scope in resource.scope_spans], ["notify-gateway"])
            spans += resource.scope_spans[0].spans
    ids = {(span.trace_id, span.span_id) for span in spans}
    expect("the number of distinct ids", len(ids), len(spans))
    roots = {}
    for span in spans:
        expect("the lengths of the ids", (len(span.trace_id), len(span.span_id)), (16, 8))
        expect("whether the span ends after its start", span.start_time_unix_nano <= span.end_time_unix_nano, True)
        expect("whether the time is the present", began <= span.start_time_unix_nano / 1e9 <= ended, True)
        expect("the flags", span.flags & 0x1FF, 0x101)
        named = attributes(span.attributes)
        if span.kind == Span.SPAN_KIND_SERVER:
            roots[named["notify_gateway.call"]] = (span, named)
            remote = bool(span.parent_span_id)
            expect("whether the parent is remote", bool(span.flags & 0x200), remote)
            if not remote:
                expect("the trace of a call without parent", span.trace_id.hex(), named["notify_gateway.call"])
        else:
            expect("whether the parent exists", (span.trace_id, span.parent_span_id) in ids, True)
    expect("the statuses of the calls", {id: named["http.response.status_code"] for id, (_, named) in roots.items()}, calls)
    for span, named in roots.values():
        failed = named["http.response.status_code"] >= 500
        expect("whether the status is an error", span.status.code == Status.STATUS_CODE_ERROR, failed)
    names = {span.name for span in spans}
    wanted = {
        "POST /api/notifications", "POST /api/register", "PUT /api/register/{id}", "DELETE /api/register/{id}",
        "GET /auth/whoami", "GET", "parse", "authenticate", "limit", "record", "forward", "complete", "respond",
        "POST send", "POST reserve", "PUT upsert", "DELETE delete",
    }
    expect("the names that are missing", wanted - names, set())
    children = [span for span in spans if span.trace_id.hex() == SAMPLED_TRACE]
    expect("the parent of a trusted peer", [s.parent_span_id.hex() for s in children if s.kind == 2], [SAMPLED_PARENT])
    expect("the state of a trusted peer", {span.trace_state for span in children}, {"rojo=1"})
    return len(spans)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    collector = Collector()
    began = time.time() - 1
    gateway = Gateway(arguments.program.resolve(), collector)
    calls = {}

    def call(wanted, *rest, **more):
        status, id, body = gateway.call(*rest, **more)
        expect(f"the status of {rest[:2]}", status, wanted)
        calls[id] = status
        return body

    try:
        handle = "B0" * 32
        reserved = json.loads(call(200, "POST", f"/api/register?handle={handle}"))
        device = json.dumps({"Platform": "apns", "Handle": handle, "Tags": ["topic:news"]})
        call(200, "PUT", f"/api/register/{reserved}", body=device)
        message = '"a secret text"'
        call(200, "POST", "/api/notifications?pns=apns&to_tag=bob", body=message)
        call(200, "POST", "/api/notifications?pns=apns&to_tag=audience:all", body=message)
        call(403, "POST", "/api/notifications?pns=apns&to_tag=alice", user="bob", body=message)
        call(401, "GET", "/auth/whoami", password="wrong")
        call(200, "GET", "/auth/whoami")
        call(404, "GET", "/topic:nowhere")
        call(400, "POST", "/api/notifications?pns=apns&to_tag=bob", body="no JSON")
        call(200, "DELETE", f"/api/register/{reserved}")
        traced = {"traceparent": f"00-{SAMPLED_TRACE}-{SAMPLED_PARENT}-01", "tracestate": "rojo=1"}
        call(200, "GET", "/auth/whoami", fields=traced)
        unsampled = {"traceparent": f"00-{SAMPLED_TRACE[::-1]}-{SAMPLED_PARENT}-00"}
        expect("the status of an unsampled call", gateway.call("GET", "/auth/whoami", fields=unsampled)[0], 200)
        gateway.stop()
        count = check(calls, collector, began, time.time() + 1)
        print(f"{count} spans of {len(calls)} calls", file=sys.stderr)
    finally:
        if gateway.process.poll() is None:
            gateway.process.kill()
        shutil.rmtree(gateway.directory)
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)


main()
