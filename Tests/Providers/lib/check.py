"""Runs a gateway against OpenID providers. See ../README.md."""

import argparse
import atexit
import base64
import json
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import uuid
import wsgiref.simple_server

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

import httpx  # noqa: E402
import oidc_provider_mock  # noqa: E402
import werkzeug.serving  # noqa: E402
from joserfc import jwt  # noqa: E402
from joserfc.jwk import JWKRegistry  # noqa: E402

from console import Browser  # noqa: E402

problems = []
checks = 0
LOGOUT = "http://schemas.openid.net/event/backchannel-logout"


def expect(what, found, wanted):
    """Records a problem unless both are equal."""
    global checks
    checks += 1
    if found != wanted:
        problems.append(f"{what}: {found!r}, not {wanted!r}")


class Gateway:
    """A `notify-gateway serve` process that knows one provider."""

    def __init__(self, program, issuer, settings):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="gateway-providers-"))
        secret = base64.b64encode(secrets.token_bytes(48)).decode()
        keys = self.directory / "token-keys.yaml"
        keys.write_text(f'keys: [{{ id: k, algorithm: HS256, secret: "{secret}" }}]\n')
        keys.chmod(0o600)
        secret = self.directory / "client-secret"
        secret.write_text("console's secret\n")
        secret.chmod(0o600)
        (self.directory / "gateway.yaml").write_text(
            f"""
listen: [{{ address: "127.0.0.1:0" }}]
admin: {{ address: "127.0.0.1:0" }}
backend: {{ url: "http://127.0.0.1:9" }}
authenticators:
  - hmac-token: {{ keys: token-keys.yaml }}
  - oidc: {{ issuer: "{issuer}", audience: notify, logout-audience: notify, leeway: 0s,
            login: {{ client: console, secret: client-secret, scopes: [openid, profile, groups] }}, {settings} }}
console: {{ address: "127.0.0.1:0", operators: [alice] }}
policy: {{ send: [{{ from: "*", to: "*" }}] }}
limits: []
journal: {{ directory: journal, minimum-free: 0 }}
ledger: {{ file: ledger.sqlite }}
log: {{ level: info }}
"""
        )
        self.process = subprocess.Popen(
            [program, "serve", "--config", str(self.directory / "gateway.yaml")],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        atexit.register(self.stop)
        self.log = []
        for line in self.process.stderr:
            self.log.append(line)
            if "Gateway started" in line:
                port = re.search(r'"listeners":"[^"]*127\.0\.0\.1:(\d+)', line)[1]
                self.console = "http://" + re.search(r'"console":"([^"]*)"', line)[1]
                break
        else:
            raise SystemExit("the gateway did not start:\n" + "".join(self.log))
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20)

    def whoami(self, token):
        """Returns the status, and the user with the groups."""
        response = self.client.get("/auth/whoami", headers={"Authorization": f"Bearer {token}"})
        body = response.json()
        return response.status_code, body.get("user"), sorted(body.get("groups", []))

    def exchange(self, token, device):
        """Returns the status and the session's token."""
        response = self.client.post(
            "/auth/token", headers={"Authorization": f"Bearer {token}"}, json={"device": device})
        return response.status_code, response.json().get("access_token")

    def log_out(self, token):
        """Returns the status of a logout."""
        return self.client.post("/auth/backchannel-logout", data={"logout_token": token}).status_code

    def records(self, action, count):
        """Returns the journal's records of the action. Waits up to ten seconds for that number of them, because an outcome is
        written after the response."""
        end = time.monotonic() + 10
        while len(records := self.records_now(action)) < count and time.monotonic() < end:
            time.sleep(0.05)
        return records

    def records_now(self, action):
        lines = [line for file in sorted((self.directory / "journal").glob("*.jsonl")) for line in file.open()]
        # A segment ends with reserved space.
        records = [json.loads(line) for line in lines if line.startswith("{")]
        return [record for record in records if record.get("action") == action]

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def code_flow(url, authorize, token, client_id, secret, approve):
    """Returns the response of the token endpoint after the authorization code flow."""
    query = urllib.parse.urlencode(
        {"response_type": "code", "client_id": client_id, "redirect_uri": "http://localhost/callback",
         "scope": "openid profile groups email", "nonce": secrets.token_hex(8)})
    code = urllib.parse.parse_qs(urllib.parse.urlparse(approve(f"{url}{authorize}?{query}")).query)["code"][0]
    response = httpx.post(
        f"{url}{token}", auth=(client_id, secret),
        data={"grant_type": "authorization_code", "code": code, "redirect_uri": "http://localhost/callback"})
    return response.json()


class MockProvider:
    """oidc-provider-mock in a thread."""

    def __init__(self, lifetime):
        self.app = oidc_provider_mock.app(access_token_max_age=lifetime)
        self.server = werkzeug.serving.make_server("localhost", 0, self.app, threaded=True)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://localhost:{self.server.server_port}"

    def login(self, subject):
        approve = lambda url: httpx.post(url, data={"sub": subject}).headers["Location"]
        return code_flow(self.url, "/oauth2/authorize", "/oauth2/token", "notify", "any", approve)["id_token"]

    def sign(self, claims):
        """Signs a token with the provider's own key."""
        from oidc_provider_mock._storage import storage

        with self.app.test_request_context():
            self.app.preprocess_request()
            key = JWKRegistry.import_key(storage.jwk.as_dict(is_private=True))
        header = {"alg": "RS256", "typ": "logout+jwt"} | ({"kid": key.kid} if key.kid else {})
        return jwt.encode(header, claims, key)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def console(name, gateway, approve, deny, rejects_unknown_codes=True):
    """Login to the console, and what must not log in. Returns the browser, which is logged in as alice.

    A forged code can be tried only at a provider that rejects codes which it has not issued.
    """
    browser, other = Browser(gateway.console), Browser(gateway.console)
    expect(f"{name}: console without login", browser.get("/").headers["Location"], "/login?next=%2F")
    callback, response, page = browser.log_in(approve, "/users/alice")
    expect(f"{name}: console callback", response.status_code, 200)
    expect(f"{name}: console page", (page.status_code, "alice" in page.text), (200, True))
    expect(f"{name}: console cookies", list(browser.cookies), ["notify-gateway-console"])
    expect(f"{name}: console repeated callback", browser.get(callback, cross_site=True).status_code, 400)
    expect(f"{name}: console session stays", browser.get("/").status_code, 200)
    callback = approve(other.begin())
    expect(f"{name}: console callback in another browser", Browser(gateway.console).get(callback).status_code, 400)
    expect(f"{name}: console callback after that", other.get(callback, cross_site=True).status_code, 400)
    url = urllib.parse.urlsplit(approve(other.begin()))
    if rejects_unknown_codes:
        query = dict(urllib.parse.parse_qsl(url.query)) | {"code": "forged"}
        forged = url._replace(query=urllib.parse.urlencode(query)).geturl()
        expect(f"{name}: console forged code", other.get(forged, cross_site=True).status_code, 401)
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(approve(other.begin())).query)) | {"iss": "https://evil.example"}
    mixed = url._replace(query=urllib.parse.urlencode(query)).geturl()
    expect(f"{name}: console foreign iss", other.get(mixed, cross_site=True).status_code, 401)
    if deny:
        denied = other.get(deny(other.begin()), cross_site=True)
        expect(f"{name}: console denied", (denied.status_code, "did not log you in" in denied.text), (401, True))
    expect(f"{name}: console of others", other.get("/").status_code, 303)
    again = browser.get("/login/provider?again=1&next=/users/alice").headers["Location"]
    parameters = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(again).query))
    expect(f"{name}: console new proof", (parameters["prompt"], parameters["max_age"]), ("login", "0"))
    return browser


def mock_provider(program):
    """Login, groups, expiry, sessions, logout, and a stopped provider, with oidc-provider-mock."""
    import datetime

    provider = MockProvider(datetime.timedelta(seconds=5))
    gateway = Gateway(program, provider.url, "")
    httpx.put(f"{provider.url}/users/alice", json={"groups": ["staff", "not a group"]})
    token = provider.login("alice")
    expect("mock: login", gateway.whoami(token), (200, "alice", ["staff"]))
    status, session = gateway.exchange(token, "phone")
    expect("mock: exchange", status, 200)
    expect("mock: session", gateway.whoami(session), (200, "alice", ["staff"]))
    expect("mock: changed token", gateway.whoami(token[:-8] + "AAAAAAAA")[0], 401)
    browser = console(
        "mock", gateway, lambda url: httpx.post(url, data={"sub": "alice"}).headers["Location"],
        # The provider omits the state of an error.
        lambda url: httpx.post(url, data={"action": "deny"}).headers["Location"]
        + "&state=" + urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["state"][0])
    now = int(time.time())
    claims = {"iss": provider.url, "aud": "notify", "iat": now, "exp": now + 60, "sub": "alice", "events": {LOGOUT: {}}}
    logout = provider.sign(claims | {"jti": "1"})
    expect("mock: logout token as login", gateway.whoami(logout)[0], 401)
    expect("mock: logout without jti", gateway.log_out(provider.sign(claims)), 400)
    expect("mock: logout with nonce", gateway.log_out(provider.sign(claims | {"jti": "2", "nonce": "n"})), 400)
    expect("mock: login token as logout", gateway.log_out(token), 400)
    expect("mock: still in session", gateway.whoami(session)[0], 200)
    began = time.monotonic()
    expect("mock: logout", gateway.log_out(logout), 200)
    expect("mock: session after logout", gateway.whoami(session)[0], 401)
    expect("mock: console after logout", browser.get("/").status_code, 303)
    expect("mock: token after logout", gateway.whoami(token)[0], 401)
    expect("mock: exchange after logout", gateway.exchange(token, "phone")[0], 401)
    expect("mock: within a second", time.monotonic() - began < 1, True)
    expect("mock: repeated logout", gateway.log_out(logout), 400)
    outcomes = [(r["kind"], r.get("user"), r.get("count")) for r in gateway.records("provider-logout", 2)]
    expect("mock: records", outcomes, [("intent", None, None), ("outcome", "alice", 1)])
    # A new login of a later second is valid again.
    while int(time.time()) <= now + 1:
        time.sleep(0.1)
    token = provider.login("alice")
    issued = time.monotonic()
    expect("mock: new login", gateway.whoami(token)[0], 200)
    provider.stop()
    expect("mock: provider stopped", gateway.whoami(token)[0], 200)
    while time.monotonic() < issued + 6:
        time.sleep(0.1)
    expect("mock: expired", gateway.whoami(token)[0], 401)
    gateway.stop()
    # Without the provider the gateway starts, and its tokens are unavailable.
    gateway = Gateway(program, provider.url, "")
    key = JWKRegistry.generate_key("RSA", 2048)
    now = int(time.time())
    claims = {"iss": provider.url, "aud": "notify", "iat": now, "exp": now + 60, "sub": "alice"}
    expect("mock: console away", Browser(gateway.console).get("/login/provider").status_code, 503)
    expect("mock: away at start", gateway.whoami(jwt.encode({"alg": "RS256"}, claims, key))[0], 503)
    expect("mock: others go on", gateway.whoami("a.b.c")[0], 401)
    gateway.stop()


def canaille(program):
    """Login and a change of keys under load, with Canaille."""
    from canaille import create_app
    from canaille.backends import Backend
    from pytest_iam import Server

    with wsgiref.simple_server.make_server("localhost", 0, None) as free:
        port = free.server_port
    first = JWKRegistry.generate_key("RSA", 2048)
    first.ensure_kid()
    app = create_app(
        config={
            "TESTING": True, "ENV_FILE": None, "SECRET_KEY": str(uuid.uuid4()), "WTF_CSRF_ENABLED": False,
            "PREFERRED_URL_SCHEME": "http", "SERVER_NAME": f"localhost:{port}",
            "CANAILLE": {
                "DATABASE": "memory", "JAVASCRIPT": False,
                "ACL": {"DEFAULT": {"PERMISSIONS": ["use_oidc", "manage_oidc"]}},
                "LOGGING": {"version": 1, "disable_existing_loggers": True},
            },
            "CANAILLE_OIDC": {"ACTIVE_JWKS": [first.as_dict(private=True)]},
        },
        env_file=None,
    )
    server = Server(app, port, Backend.instance)
    thread = threading.Thread(target=server.httpd.serve_forever, daemon=True)
    thread.start()
    url = f"http://localhost:{port}"
    with app.app_context():
        user = server.random_user(user_name="alice", emails=["alice@example.com"])
        client = server.models.Client(
            client_id="notify", client_secret="secret", client_name="notify", client_uri="http://localhost",
            redirect_uris=["http://localhost/callback"], grant_types=["authorization_code"], response_types=["code"],
            token_endpoint_auth_method="client_secret_basic", scope=["openid", "profile", "groups", "email"],
            id_token_signed_response_alg="RS256")
        Backend.instance.save(client)
        client.audience = [client]
        Backend.instance.save(client)
        server.login(user)
        server.consent(user)
    issuer = httpx.get(f"{url}/.well-known/openid-configuration").json()["issuer"]
    gateway = Gateway(program, issuer, "")
    with app.app_context():
        client = server.models.Client(
            client_id="console", client_secret="console's secret", client_name="console", client_uri=gateway.console,
            redirect_uris=[f"{gateway.console}/login/callback"], grant_types=["authorization_code"],
            response_types=["code"], token_endpoint_auth_method="client_secret_basic",
            scope=["openid", "profile", "groups"], id_token_signed_response_alg="RS256")
        Backend.instance.save(client)
        client.audience = [client]
        Backend.instance.save(client)
        server.consent(user, client)
    follow = lambda address: httpx.get(address).headers["Location"]
    # This provider verifies the code challenge and names itself in the response. Its memory database finds the code of a
    # client by the client alone, so it accepts one that it has not issued.
    console("Canaille", gateway, follow, None, rejects_unknown_codes=False)
    # The other failures of this minute are counted in the record of the first one.
    records = [(record["kind"], record["result"]) for record in gateway.records("operator-login", 2)]
    expect("Canaille: console records", records, [("operator", "accepted"), ("refusal", "login-failed")])

    def login():
        approve = lambda address: httpx.get(address).headers["Location"]
        return code_flow(url, "/oauth/authorize", "/oauth/token", "notify", "secret", approve)["id_token"]

    token = login()
    expect("Canaille: login", gateway.whoami(token)[:2], (200, "alice"))
    expect("Canaille: exchange", gateway.exchange(token, "phone")[0], 200)
    statuses = []
    done = threading.Event()

    def load():
        while not done.is_set():
            statuses.append(gateway.whoami(token)[0])

    threads = [threading.Thread(target=load, daemon=True) for _ in range(2)]
    for other in threads:
        other.start()
    second = JWKRegistry.generate_key("RSA", 2048)
    second.ensure_kid()
    app.config["CANAILLE_OIDC"]["ACTIVE_JWKS"] = [second.as_dict(private=True)]
    app.config["CANAILLE_OIDC"]["INACTIVE_JWKS"] = [first.as_dict(private=True)]
    with app.app_context():
        server.consent(user)
    renewed = login()
    kid = json.loads(base64.urlsafe_b64decode(renewed.split(".")[0] + "=="))["kid"]
    expect("Canaille: signs with the new key", kid, second.kid)
    expect("Canaille: new key", gateway.whoami(renewed)[:2], (200, "alice"))
    done.set()
    for other in threads:
        other.join()
    expect("Canaille: calls during the change", set(statuses), {200})
    server.httpd.shutdown()
    thread.join()
    gateway.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    program = parser.parse_args().program
    mock_provider(program)
    canaille(program)
    print(f"providers: {checks} checks, {len(problems)} problems" + "".join(f"\n  {problem}" for problem in problems))
    sys.exit(1 if problems else 0)


main()
