#!/usr/bin/env python3
"""An authenticator for notify-gateway's external-process plug-in. It verifies passwords against a JSON file of scrypt
hashes.

    authenticator.py add users.json alice --group dispatch     prompts for the password
    authenticator.py disable users.json alice                  as long as it lasts, alice cannot log in
    authenticator.py remove users.json alice                   the account ends
    authenticator.py serve users.json /run/notify-auth.sock    serves the gateway

A running server notices a changed file. Python 3.9 or later, standard library only. The plug-in's README specifies the protocol.
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
import sys
import threading

LONGEST = 65536  # greatest length of the JSON in a frame, in bytes
VERSIONS = (2, 1)  # version 2 adds the status of accounts; a gateway that speaks 1 alone gets no status
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
# A user with "disabled": true exists and cannot log in.


def scrypt(password, user):
    return hashlib.scrypt(
        password, salt=bytes.fromhex(user["salt"]), n=user["n"], r=user["r"], p=user["p"], maxmem=256 * 1024 * 1024
    )


def load(path):
    users = read(path)
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


class Accounts:
    """The users of the file, read again when it changes."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.stamp = self.look()
        self.users = load(path)
        self.decoy = decoy_entry(self.users)

    def look(self):
        status = os.stat(self.path)
        return status.st_mtime_ns, status.st_size, status.st_ino

    def current(self):
        """Returns the users and the decoy. While the file is invalid, they stay what they were."""
        with self.lock:
            try:
                stamp = self.look()
                if stamp != self.stamp:
                    self.stamp = stamp
                    self.users = load(self.path)
                    self.decoy = decoy_entry(self.users)
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as fault:
                print("users file not read:", fault, file=sys.stderr, flush=True)
            return self.users, self.decoy


def verify(accounts, request):
    """Returns the members of the verdict on a request."""
    if text(request, "kind") != "password":
        return {"verdict": "not-mine"}
    name = text(request, "user")
    try:
        password = text(request, "password").encode("utf-8")
    except UnicodeEncodeError:  # an unpaired surrogate
        return {"verdict": "rejected", "reason": "malformed"}
    users, decoy = accounts.current()
    user = users.get(name)
    entry = user or decoy
    is_correct = hmac.compare_digest(scrypt(password, entry), bytes.fromhex(entry["hash"]))
    if user is None or not password or not is_correct:
        return {"verdict": "rejected", "reason": "wrong"}
    if user.get("disabled"):
        return {"verdict": "rejected", "reason": "disabled"}
    return {"verdict": "accepted", "user": name, "groups": user.get("groups", [])}


def report(accounts, query):
    """Returns the members of the report on an account. The gateway asks some time after a login, without a password."""
    users, _ = accounts.current()
    user = users.get(text(query, "user"))
    if user is None:
        return {"status": "absent"}
    if user.get("disabled"):
        return {"status": "disabled"}
    return {"status": "valid", "groups": user.get("groups", [])}


def converse(connection, accounts):
    hello = receive(connection)
    if hello is None:
        return
    offered = hello.get("versions")
    if hello.get("type") != "hello" or not isinstance(offered, list):
        raise Fault("not a hello")
    version = next((version for version in VERSIONS if version in offered), None)
    if version is None:
        raise Fault("no version in common")
    send(connection, {"type": "hello", "version": version, "name": "authenticator.py", "takes": ["password"]})
    while True:
        message = receive(connection)
        if message is None:
            return
        kind, identifier = message.get("type"), text(message, "id")
        if kind == "request":
            try:
                verdict = verify(accounts, message)
            except (MemoryError, OSError):
                verdict = {"verdict": "unavailable", "reason": "busy"}
            send(connection, {"type": "verdict", "id": identifier, **verdict})
        elif kind == "status" and version >= 2:
            send(connection, {"type": "status", "id": identifier, **report(accounts, message)})
        else:
            raise Fault("unknown type of message")


def handle(connection, accounts):
    with connection:
        connection.settimeout(IDLE)
        try:
            converse(connection, accounts)
        except (Fault, OSError):
            pass  # the connection is closed without a response


def serve(arguments):
    accounts = Accounts(arguments.users)
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
        threading.Thread(target=handle, args=(connection, accounts), daemon=True).start()


def add(arguments):
    password = arguments.password_file.read().rstrip("\n") if arguments.password_file else getpass.getpass()
    if not password:
        raise SystemExit("the password must not be empty")
    user = {"salt": secrets.token_hex(16), **COST, "n": arguments.cost, "groups": arguments.group}
    user["hash"] = scrypt(password.encode("utf-8"), user).hex()
    users = read(arguments.users) if os.path.exists(arguments.users) else {}
    users[arguments.name] = user
    write(arguments.users, users)


def disable(arguments):
    users = read(arguments.users)
    if arguments.name not in users:
        raise SystemExit("there is no such user")
    users[arguments.name]["disabled"] = True
    write(arguments.users, users)


def remove(arguments):
    users = read(arguments.users)
    if users.pop(arguments.name, None) is None:
        raise SystemExit("there is no such user")
    write(arguments.users, users)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write(path, users):
    temporary = path + ".new"
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(users, file, indent=2)
    os.replace(temporary, path)


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
    for name, run, explanation in [
        ("disable", disable, "reject the user's logins; a new password enables the user again"),
        ("remove", remove, "remove a user"),
    ]:
        command = commands.add_parser(name, help=explanation)
        command.add_argument("users")
        command.add_argument("name")
        command.set_defaults(run=run)
    arguments = parser.parse_args()
    try:
        arguments.run(arguments)
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
