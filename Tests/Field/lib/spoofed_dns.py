"""DNS that an attacker controls: each service's name leads to the attacker's address, for which they have a trusted certificate.

/etc/hosts and the system's authorities are replaced in this process's mount namespace only. The attacker's server completes each TLS
handshake and notes what arrives after it. With a certificate for the address nothing may arrive, over any of the gateway's clients;
with one for the name everything has to, which shows that the test would notice. curl is the control for both.
"""

import argparse
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading

import field

ADDRESS, DOMAIN = "127.0.0.66", "field.test"
# What must not reach a false server.
PASSWORD, SHARED = "the user's password", "the-shared-password"
SERVICES = ["login", "backend", "ldap", "starttls", "oidc", "webhook", "syslog", "store", "traces", "database"]
# Those that only a command of the test contacts.
ON_COMMAND = ["store", "database"]
# The longest wait for a client that makes its connection in the background.
PATIENCE = 20
LDAP_STARTTLS_DONE = bytes.fromhex("300c02010178070a010004000400")


class Service:
    """A server with TLS on the attacker's address that notes what arrives after the handshake."""

    def __init__(self, name, context):
        self.name, self.context, self.received, self.handshakes = name, context, b"", 0
        self.change = threading.Condition()
        self.listener = socket.create_server((ADDRESS, 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            connection.settimeout(30)
            if self.name == "database":
                connection.recv(8)  # SSLRequest
                connection.sendall(b"S")
            elif self.name == "starttls":
                request = connection.recv(4096)
                # The result has the request's number, which is below 128.
                connection.sendall(LDAP_STARTTLS_DONE[:4] + request[4:5] + LDAP_STARTTLS_DONE[5:])
            with self.context.wrap_socket(connection, server_side=True) as tls:
                self.note(handshakes=1)
                while data := tls.recv(65536):
                    self.note(data)
                    if self.name not in ("database", "ldap", "starttls", "syslog"):
                        tls.sendall(self.response(data))
        except OSError:
            self.note(handshakes=0)

    def response(self, data):
        fields = "X-Forwarded-User: alice\r\n" if self.name == "login" else ""
        body = '"1-2-3"' if data.startswith(b"POST /api/register") else "{}"
        return f"HTTP/1.1 200 OK\r\n{fields}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()

    def note(self, data=b"", handshakes=0):
        with self.change:
            self.received += data
            self.handshakes += handshakes
            self.change.notify_all()

    def wait(self, condition):
        """Waits until the condition holds, and returns whether it does."""
        with self.change:
            return self.change.wait_for(condition, PATIENCE)

    def stop(self):
        self.listener.close()


class Attacker:
    """An authority that this machine trusts, and the certificates that it gave the attacker."""

    def __init__(self, directory):
        self.directory = directory
        self.authority = directory / "ca.pem"
        self.openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=Field CA",
            "-keyout", directory / "ca.key", "-out", self.authority)

    def openssl(self, *arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)

    def context(self, name, alternative):
        """Returns a server's TLS with a certificate for this common name and these alternative names."""
        base = self.directory / f"server-{name}"
        key, request, certificate, extensions = (base.with_suffix(end) for end in (".key", ".csr", ".pem", ".ext"))
        extensions.write_text(f"subjectAltName={alternative}\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n")
        self.openssl(
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}.{DOMAIN}", "-keyout", key,
            "-out", request)
        self.openssl(
            "x509", "-req", "-in", request, "-CA", self.authority, "-CAkey", self.directory / "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", extensions, "-out", certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return context


def configuration(ports, authority):
    """Returns a configuration that uses every client with TLS, without and with a store in PostgreSQL."""
    url = {name: f"https://{name}.{DOMAIN}:{port}" for name, port in ports.items()}
    text = f"""
listen: [{{ address: "127.0.0.1:0" }}]
admin: {{ address: "127.0.0.1:0" }}
control: control.sock
backend:
  url: {url["backend"]}
  tls: {{ ca: {authority} }}
  profile: core
  credential: {{ shared-password: {SHARED} }}
authenticators:
  - hmac-token: {{ keys: token-keys.yaml }}
  - static-users: {{ file: users.yaml, users: [bob] }}
  - oidc: {{ issuer: "{url["oidc"]}", audience: notify, ca: {authority} }}
  - forward-auth: {{ url: "{url["login"]}/verify", kinds: [password], users: [alice] }}
  - ldap:
      url: ldaps://ldap.{DOMAIN}:{ports["ldap"]}
      ca: {authority}
      base: dc=example,dc=com
      bind-dn: cn=gateway
      bind-password: {SHARED}
      timeout: 2s
      users: [carol]
  - ldap:
      url: ldap://starttls.{DOMAIN}:{ports["starttls"]}
      start-tls: true
      ca: {authority}
      base: dc=example,dc=com
      bind-dn: cn=gateway
      bind-password: {SHARED}
      timeout: 2s
      users: [dave]
policy: {{ send: [{{ from: "*", to: "*" }}] }}
journal:
  directory: journal
  minimum-free: 0
  sinks:
    - {{ name: hook, start: oldest, webhook: {{ url: "{url["webhook"]}/in", secret: {SHARED * 2}, ca: {authority} }} }}
    - {{ name: log, start: oldest, syslog: {{ address: "syslog.{DOMAIN}:{ports["syslog"]}", ca: {authority} }} }}
  archive:
    s3:
      endpoint: {url["store"]}
      region: r
      bucket: audit
      prefix: p
      access-key-id: k
      secret-access-key: {SHARED}
      ca: {authority}
ledger: {{ file: ledger.sqlite }}
tracing:
  endpoint: {url["traces"]}/v1/traces
  ca: {authority}
  headers: {{ authorization: "Bearer {SHARED}" }}
  sample: 1
drain: {{ grace: 0s }}
"""
    store = f"""store:
  postgresql:
    hosts: ["database.{DOMAIN}:{ports["database"]}"]
    ca: {authority}
    database: d
    user: gateway
    password: {SHARED}
    timeout: 2s
"""
    return text, text + store


def curl(service, authority):
    """Returns whether curl sends a password to the service."""
    done = subprocess.run(
        ["curl", "-sS", "-m", "10", "--cacert", str(authority), "-u", f"alice:{PASSWORD}", f"https://{service.name}.{DOMAIN}:{service.port}/"],
        capture_output=True, check=False)
    return done.returncode == 0


def attack(program, attacker, directory, is_attack, checks):
    """Runs a gateway with services whose certificates are for the attacker's address, or for their names."""
    kind = "for the address" if is_attack else "for the name"
    services = {}
    for name in SERVICES:
        alternative = f"IP:{ADDRESS}" if is_attack else f"DNS:{name}.{DOMAIN}"
        services[name] = Service(name, attacker.context(name, alternative))
    control = Service("control", attacker.context("control", f"IP:{ADDRESS}" if is_attack else f"DNS:control.{DOMAIN}"))
    checks.expect(f"curl, certificate {kind}", curl(control, attacker.authority) != is_attack)
    control.stop()
    file = directory / "gateway.yaml"
    without_store, with_store = configuration(
        {name: service.port for name, service in services.items()}, attacker.authority)
    file.write_text(without_store)
    field.run(program, "keys", "rotate", "--config", str(file))
    field.run(program, "users", "add", "bob", "--config", str(file), text=f"{PASSWORD}\n")
    gateway = field.Gateway(program, str(directory))
    try:
        for user in ("alice", "carol", "dave"):
            status, _ = gateway.call("GET", "/auth/whoami", user, PASSWORD)
            if is_attack:
                checks.expect(f"login of {user}, certificate {kind}", status == 503, status)
        status, _ = gateway.call("POST", "/api/register?handle=" + "ab" * 32, "bob", PASSWORD)
        checks.expect(f"registration, certificate {kind}", (status in (502, 503)) == is_attack, status)
        for name, service in services.items():
            if name in ON_COMMAND:
                continue
            if is_attack:
                service.wait(lambda service=service: service.handshakes > 0)
            else:
                service.wait(lambda service=service: service.received)
    finally:
        gateway.stop()
    gateway.run("audit", "verify", "--archive")
    file.write_text(with_store)
    status, output = gateway.run("serve")
    checks.expect(f"start without the database, certificate {kind}", status != 0, status)
    for name, service in services.items():
        service.stop()
        if is_attack:
            checks.expect(
                f"{name}, certificate {kind}", service.handshakes > 0 and not service.received,
                f"{service.handshakes} handshakes, {service.received[:60]!r}")
        else:
            checks.expect(f"{name}, certificate {kind}", service.received)
    if is_attack:
        checks.expect("the log says why", "is for another name" in "".join(gateway.log) + output)


def main():
    root = pathlib.Path(__file__).resolve().parents[3]
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default=root / ".build/debug/notify-gateway")
    parser.add_argument("--full", action="store_true", help="the same: the test has one size")
    program = str(pathlib.Path(parser.parse_args().program).resolve())
    work = pathlib.Path(tempfile.mkdtemp(prefix="spoofed-dns-"))
    checks = field.Checks()
    try:
        attacker = Attacker(work)
        names = " ".join(f"{name}.{DOMAIN}" for name in [*SERVICES, "control"])
        (work / "hosts").write_text(f"127.0.0.1 localhost\n{ADDRESS} {names}\n")
        system = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
        (work / "authorities.pem").write_text((system.read_text() if system.exists() else "") + attacker.authority.read_text())
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        for source, target in (("hosts", "/etc/hosts"), ("authorities.pem", str(system))):
            subprocess.run(["mount", "--bind", str(work / source), target], check=True)
        for is_attack in (True, False):
            directory = work / ("attack" if is_attack else "honest")
            directory.mkdir(mode=0o700)
            attack(program, attacker, directory, is_attack, checks)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    checks.finish()


if __name__ == "__main__":
    main()
