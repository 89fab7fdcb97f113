"""Runs a gateway whose journal is archived in a store. See ../README.md."""

import argparse
import atexit
import os
import ssl
import subprocess
import sys

from world import BUCKET, Gateway, Relay, Store, wait

problems = []
checks = 0


def expect(what, found, wanted):
    """Records a problem unless both are equal."""
    global checks
    checks += 1
    if found != wanted:
        problems.append(f"{what}: {found!r}, not {wanted!r}")


def contains(what, text, *parts):
    """Records a problem unless the text contains all parts."""
    global checks
    checks += 1
    missing = [part for part in parts if part not in text]
    if missing:
        problems.append(f"{what}: {missing} not in {text!r}")


def archived(gateway, store):
    """Waits until each finished segment is in the bucket, and the gateway has noted it."""
    wait("the archive", lambda: gateway.finished().keys() <= store.objects().keys())
    wait("the archive's progress", lambda: gateway.metric("notify_gateway_archive_behind_segments") == 0)


def outages(gateway, store, relay):
    """Restarts, a store that is down, and kill -9 in the middle of uploads."""
    for _ in range(3):
        gateway.start()
        expect("sends", gateway.send(20), {200})
        expect("the exit status", gateway.stop(), 0)
    gateway.start()
    archived(gateway, store)

    gateway.stop()
    relay.mode = "refuse"
    gateway.start()
    expect("sends while the store is down", gateway.send(20), {200})
    wait("the failure", lambda: gateway.metric("notify_gateway_archive_failures_total") >= 2)
    expect("segments behind", gateway.metric("notify_gateway_archive_behind_segments"), 1.0)
    expect("logged failures", gateway.log().count("Segment archive failed"), 1)
    relay.mode = "pass"
    archived(gateway, store)
    contains("the recovery", wait("a log", lambda: "recovered" in gateway.log() and gateway.log()), "archive recovered")

    for mode in ["tear", "swallow"] * 3:
        expect("sends before a kill", gateway.send(20), {200})
        gateway.kill()
        relay.caught.clear()
        relay.mode = mode
        gateway.start()
        if not relay.caught.wait(60):
            raise SystemExit(f"no upload met {mode}")
        gateway.kill()
        relay.mode = "pass"
        gateway.start()
    archived(gateway, store)

    # A stop during an upload ends within its grace.
    gateway.kill()
    relay.caught.clear()
    relay.mode = "tear"
    gateway.start()
    relay.caught.wait(60)
    expect("a stop during an upload", gateway.stop(), 0)
    relay.mode = "pass"
    gateway.start()
    archived(gateway, store)
    expect("the objects", store.objects() == gateway.finished(), True)
    expect("the versions of the objects", store.versions(), sorted(gateway.finished()))
    expect("segments behind at the end", gateway.metric("notify_gateway_archive_behind_segments"), 0.0)

    gateway.stop()
    (gateway.directory / "journal.archive").unlink()
    gateway.start()
    archived(gateway, store)
    wait("the cursor", (gateway.directory / "journal.archive").exists)
    expect("the versions after a lost cursor", store.versions(), sorted(gateway.finished()))


def verification(gateway, store):
    """`audit verify --archive` while the gateway runs, from another directory, and with damaged objects."""
    status, text = gateway.verify()
    expect("the verification", status, 0)
    contains("the verification", text, "OK: the archive is unchanged.", f"{len(store.objects())} archived, 1 only")
    # The same archive without the journal's directory and its ledger.
    gateway.configure("elsewhere.yaml", f"http://127.0.0.1:{store.port}", store.gateway, journal="elsewhere")
    status, text = gateway.verify("elsewhere.yaml")
    expect("the verification elsewhere", status, 0)
    contains("the verification elsewhere", text, "OK: the archive is unchanged.", "0 only")

    keys = sorted(store.objects())
    key = keys[len(keys) // 2]
    first = int(key[-26:-6])
    content = store.objects()[key]
    name = key.removeprefix("node-a/")
    changed = content.replace(b'"alice"', b'"mallo"', 1)
    short = content[: len(content) // 2]
    for what, damage, here, elsewhere in [
        ("a changed object", lambda: store.put(key, changed), ["the line was changed"], ["the line was changed"]),
        ("a truncated object", lambda: store.put(key, short), ["incomplete"], ["line"]),
        ("a missing object", lambda: store.delete(key), [f"{name} is missing in the archive"], [f"at lines {first} to"]),
    ]:
        damage()
        status, text = gateway.verify()
        expect(f"the status for {what}", status != 0, True)
        contains(what, text, *here)
        status, text = gateway.verify("elsewhere.yaml")
        expect(f"the status for {what} elsewhere", status != 0, True)
        contains(f"{what} elsewhere", text, *elsewhere)
        store.put(key, content)
    # Objects at the ends.
    for what, end in [("the first object", keys[0]), ("the last object", keys[-1])]:
        content = store.objects()[end]
        store.delete(end)
        status, text = gateway.verify()
        expect(f"the status without {what}", status != 0, True)
        contains(f"without {what}", text, f"{end.removeprefix('node-a/')} is missing in the archive")
        store.put(end, content)
    expect("the verification of the repaired archive", gateway.verify()[0], 0)


def encryption(gateway, store):
    """An endpoint with TLS, whose authority the configuration names, or does not."""
    files = gateway.directory / "store.pem", gateway.directory / "store.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-out", files[0], "-keyout", files[1]],
        check=True, stderr=subprocess.DEVNULL)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*files)
    endpoint = f"https://localhost:{Relay(store.port, context).port}"
    gateway.configure("tls.yaml", endpoint, store.gateway, more="ca: store.pem,")
    status, text = gateway.verify("tls.yaml")
    expect("the verification over TLS", status, 0)
    contains("the verification over TLS", text, "OK: the archive is unchanged.", endpoint)
    gateway.configure("tls.yaml", endpoint, store.gateway)
    status, text = gateway.verify("tls.yaml")
    expect("the status with an unknown authority", status != 0, True)
    contains("an unknown authority", text, "the certificate has expired or is of another authority")


def conflict(gateway, store):
    """An object with other content under the name of a segment."""
    key = f"node-a/{gateway.segments()[-1].name}"
    store.put(key, b"other content")
    gateway.stop()
    gateway.start()
    wait("the conflict", lambda: gateway.metric("notify_gateway_archive_conflicts_total") == 1)
    objects = store.objects()
    expect("the other object", objects[key], b"other content")
    beside = [name for name in objects if name.startswith(key.removesuffix(".jsonl") + ".conflict-")]
    expect("the number of conflicting objects", len(beside), 1)
    expect("the conflicting object", objects[beside[0]] == gateway.finished()[key], True)
    contains("the log of a conflict", gateway.log(), "Archive has another object under the name of a segment", key)
    status, text = gateway.verify()
    expect("the status for a conflict", status != 0, True)
    contains("a conflict", text, "was archived beside an object with other content")


def mistakes(gateway, store):
    """Messages for wrong credentials and a missing bucket, of the command and of the gateway."""
    endpoint = f"http://127.0.0.1:{store.port}"
    for what, credentials, bucket, part in [
        ("a wrong secret", (store.gateway[0], "x" * 40), BUCKET, "correct journal.archive.s3.secret-access-key"),
        ("an unknown key", ("AKIAIOSFODNN7EXAMPLE", "x" * 40), BUCKET, "correct journal.archive.s3.access-key-id"),
        ("a missing permission", store.powerless, BUCKET, "grant the permissions in docs/journal-archive.md"),
    ]:
        gateway.stop()
        gateway.configure("gateway.yaml", endpoint, credentials, bucket=bucket)
        status, text = gateway.verify()
        expect(f"the status for {what}", status != 0, True)
        contains(what, text, part)
        gateway.start()
        contains(f"the log of {what}", wait("a failure", lambda: "archive failed" in gateway.log() and gateway.log()), part)
    gateway.stop()
    administrator = store.s3._request_signer._credentials
    gateway.configure(
        "gateway.yaml", endpoint, (administrator.access_key, administrator.secret_key), bucket="no-such-bucket")
    contains("a missing bucket", gateway.verify()[1], "the bucket no-such-bucket does not exist; create it")
    gateway.start()
    log = wait("a failure", lambda: "archive failed" in gateway.log() and gateway.log())
    contains("the log of a missing bucket", log, "the bucket no-such-bucket does not exist; create it")
    expect("sends with a missing bucket", gateway.send(5), {200})
    gateway.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    program = parser.parse_args().program
    store = Store()
    relay = Relay(store.port)
    gateway = Gateway(os.path.abspath(program), f"http://127.0.0.1:{relay.port}", store.gateway)
    atexit.register(gateway.remove)
    try:
        outages(gateway, store, relay)
        verification(gateway, store)
        encryption(gateway, store)
        conflict(gateway, store)
        mistakes(gateway, store)
    except SystemExit:
        print("the gateway's log:\n" + gateway.log())
        raise
    print(f"archive: {checks} checks, {len(problems)} problems" + "".join(f"\n  {problem}" for problem in problems))
    sys.exit(1 if problems else 0)


main()
