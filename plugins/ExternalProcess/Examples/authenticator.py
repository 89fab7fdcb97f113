#!/usr/bin/env python3
"""An authenticator for notify-gateway's external-process plug-in. It verifies passwords against a JSON file of scrypt
hashes.

    authenticator.py add users.json alice --group dispatch     prompts for the password
    authenticator.py serve users.json /run/notify-auth.sock    serves the gateway

Python 3.9 or later, standard library only. The plug-in's README specifies the protocol.
"""

import argparse
import getpass
import hashlib
import hmac
import json
import os
import secrets
import socket
import stat
import struct
import threading

LONGEST = 65536  # greatest length of the JSON in a frame, in bytes
VERSION = 1
COST = {"n": 16384, "r": 8, "p": 1}  # 16 MiB and about 50 ms a login
IDLE = 300  # seconds until an idle connection is closed; the gateway reconnects when it has a request


class Fault(Exception):
    """The peer violated the protocol. The connection is closed without a response."""


# A frame is a length of four bytes, most significant byte first, followed by that many bytes of JSON.


def read_exactly(connection, count):
    data = bytearray()
    while len(data) < count:
        chunk = connection.recv(count - len(data))
        if not chunk:
            if data:
                raise Fault("closed in the middle of a frame")
            return None
        data += chunk
    return bytes(data)


def unique(members):
    names = [name for name, _ in members]
    if len(set(names)) != len(names):
        raise Fault("duplicate name")
    return dict(members)


def receive(connection):
    prefix = read_exactly(connection, 4)
    if prefix is None:
        return None
    (length,) = struct.unpack(">I", prefix)
    if not 1 <= length <= LONGEST:
        raise Fault("invalid frame length %d" % length)
    data = read_exactly(connection, length)
    if data is None:
        raise Fault("closed in the middle of a frame")
    try:
        message = json.loads(data.decode("utf-8"), object_pairs_hook=unique)
    except (ValueError, RecursionError):
        raise Fault("not JSON") from None
    if not isinstance(message, dict):
        raise Fault("not an object")
    return message


def send(connection, message):
    data = json.dumps(message, separators=(",", ":")).encode("utf-8")
    connection.sendall(struct.pack(">I", len(data)) + data)


def text(message, name):
    value = message.get(name)
    if not isinstance(value, str):
        raise Fault(name + " is not a string")
    return value


# The users file: {"alice": {"salt": hex, "hash": hex, "n": 16384, "r": 8, "p": 1, "groups": ["dispatch"]}}


def scrypt(password, user):
    return hashlib.scrypt(
        password, salt=bytes.fromhex(user["salt"]), n=user["n"], r=user["r"], p=user["p"], maxmem=256 * 1024 * 1024
    )


def load(path):
    with open(path, encoding="utf-8") as file:
        users = json.load(file)
    for name, user in users.items():
        scrypt(b"", user)  # reports an invalid entry at the start instead of at a login
        bytes.fromhex(user["hash"])
        if not isinstance(user.get("groups", []), list):
            raise ValueError(name + ": groups must be a list")
    return users


def decoy_entry(users):
    """Returns an entry for unknown names, so that their logins take as long as those of known names."""
    model = next(iter(users.values()), COST)
    return {"salt": secrets.token_hex(16), "hash": secrets.token_hex(64), **{key: model[key] for key in COST}}


def verify(users, decoy, request):
    """Returns the members of the verdict on a request."""
    if text(request, "kind") != "password":
        return {"verdict": "not-mine"}
    name = text(request, "user")
    try:
        password = text(request, "password").encode("utf-8")
    except UnicodeEncodeError:  # an unpaired surrogate
        return {"verdict": "rejected", "reason": "malformed"}
    user = users.get(name)
    entry = user or decoy
    is_correct = hmac.compare_digest(scrypt(password, entry), bytes.fromhex(entry["hash"]))
    if user is None or not password or not is_correct:
        return {"verdict": "rejected", "reason": "wrong"}
    return {"verdict": "accepted", "user": name, "groups": user.get("groups", [])}


def converse(connection, users, decoy):
    hello = receive(connection)
    if hello is None:
        return
    versions = hello.get("versions")
    if hello.get("type") != "hello" or not isinstance(versions, list):
        raise Fault("not a hello")
    if VERSION not in versions:
        raise Fault("no version in common")
    send(connection, {"type": "hello", "version": VERSION, "name": "authenticator.py", "takes": ["password"]})
    while True:
        request = receive(connection)
        if request is None:
            return
        if request.get("type") != "request":
            raise Fault("not a request")
        identifier = text(request, "id")
        try:
            verdict = verify(users, decoy, request)
        except (MemoryError, OSError):
            verdict = {"verdict": "unavailable", "reason": "busy"}
        send(connection, {"type": "verdict", "id": identifier, **verdict})


def handle(connection, users, decoy):
    with connection:
        connection.settimeout(IDLE)
        try:
            converse(connection, users, decoy)
        except (Fault, OSError):
            pass  # the connection is closed without a response


def serve(arguments):
    users = load(arguments.users)
    decoy = decoy_entry(users)
    try:
        if stat.S_ISSOCK(os.stat(arguments.socket).st_mode):
            os.unlink(arguments.socket)  # left by a previous run
    except FileNotFoundError:
        pass
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    previous = os.umask(0o117 if arguments.group_may else 0o177)
    listener.bind(arguments.socket)
    os.umask(previous)
    listener.listen(64)
    print("listening at", arguments.socket, flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=handle, args=(connection, users, decoy), daemon=True).start()


def add(arguments):
    password = arguments.password_file.read().rstrip("\n") if arguments.password_file else getpass.getpass()
    if not password:
        raise SystemExit("the password must not be empty")
    users = {}
    if os.path.exists(arguments.users):
        with open(arguments.users, encoding="utf-8") as file:
            users = json.load(file)
    user = {"salt": secrets.token_hex(16), **COST, "n": arguments.cost, "groups": arguments.group}
    user["hash"] = scrypt(password.encode("utf-8"), user).hex()
    users[arguments.name] = user
    temporary = arguments.users + ".new"
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(users, file, indent=2)
    os.replace(temporary, arguments.users)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("serve", help="serve the gateway")
    command.add_argument("users")
    command.add_argument("socket")
    command.add_argument("--group-may", action="store_true", help="allow the socket's group to connect too (mode 0660)")
    command.set_defaults(run=serve)
    command = commands.add_parser("add", help="add a user, or set a new password")
    command.add_argument("users")
    command.add_argument("name", help="the canonical name, in lower case")
    command.add_argument("--group", action="append", default=[])
    command.add_argument("--cost", type=int, default=COST["n"], help="scrypt's n, a power of two; the same for all users")
    command.add_argument(
        "--password-file", type=argparse.FileType("r"), help="read the password from this file; - is standard input"
    )
    command.set_defaults(run=add)
    arguments = parser.parse_args()
    try:
        arguments.run(arguments)
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
