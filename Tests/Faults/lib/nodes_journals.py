"""Attacks on the journals of nodes by whoever has their disks: each is found at another node."""

import asyncio
import http.client
import json
import shutil
import socket

import bench
import phones
import registrar

# The seconds within which another node finds a changed journal after the node has started again.
FOUND = 20


class Journals:
    """The journals of a world whose clients have ended and whose nodes are ready."""

    def __init__(self, world):
        self.world, self.problems, self.found = world, [], 0

    async def run(self):
        for node in self.world.nodes:
            words = await self.until_copied(node)
            if words:
                self.problems.append(f"node {node.number}: audit verify --all-lines: {words}")
            await self.check_query(node)
        await self.check_statistics()
        for attack, node in zip((self.shorten, self.delete, self.restore), self.world.nodes):
            other = self.world.nodes[(node.number + 1) % len(self.world.nodes)]
            if other is node:
                continue
            await attack(node)
            await node.want()
            await self.expect_found(attack.__name__, node, other)

    async def check_query(self, node):
        """Each node shows the calls of the others."""
        for call in sorted(await asyncio.to_thread(node.intents))[-3:]:
            for other in self.world.nodes:
                done = await asyncio.to_thread(other.command, "audit", "show", call, "--json")
                kinds = [json.loads(line)["kind"] for line in done.stdout.splitlines()]
                if "intent" not in kinds:
                    self.problems.append(f"node {other.number} does not show call {call} of node {node.number}: {done.stderr}")

    async def check_statistics(self):
        """Each node counts the sends of all journals, each once, also those that were recorded before a fault."""
        recorded = sum([await asyncio.to_thread(self.sends, node) for node in self.world.nodes])
        for node in self.world.nodes:
            end = bench.now() + FOUND
            while True:
                found = await asyncio.to_thread(self.pairs, node)
                counted = sum(found[part][word] for part in ("total", "others") for word in ("accepted", "failed", "refused"))
                if counted == recorded and found["complete"]:
                    break
                if bench.now() > end:
                    self.problems.append(f"node {node.number} counts {counted} sends, and the journals have {recorded}")
                    break
                await asyncio.sleep(0.2)

    @staticmethod
    def sends(node):
        """Returns the number of the sends of known users in a journal: its outcomes and refusals."""
        lines = [json.loads(line) for segment in node.journal.glob("journal-*.jsonl")
                 for line in segment.read_bytes().split(b"\n") if line.startswith(b"{") and line.endswith(b"}")]
        return sum(line.get("count", 1) for line in lines if line["kind"] in ("outcome", "refusal")
                   and line.get("action") == "send" and "user" in line)

    @staticmethod
    def pairs(node):
        """Asks a gateway's operator API who notified whom."""
        connection = http.client.HTTPConnection("localhost", timeout=10)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(node.directory / "control.sock"))
        connection.request("GET", "/v1/statistics/pairs")
        found = json.loads(connection.getresponse().read())
        connection.close()
        return found

    async def shorten(self, node):
        """Cuts off the last lines of the journal."""
        await node.kill()
        newest = max(node.journal.glob("journal-*.jsonl"))
        lines = newest.read_bytes().rstrip(b"\n").split(b"\n")
        newest.write_bytes(b"\n".join(lines[:-5]) + b"\n")

    async def delete(self, node):
        """Deletes the journal."""
        await node.kill()
        shutil.rmtree(node.journal)

    async def restore(self, node):
        """Puts an older copy of the journal into its place."""
        await node.kill()
        copy = node.directory / "older-journal"
        shutil.copytree(node.journal, copy)
        await node.want()
        for number in range(20):
            await self.send(node, f"restored {number}")
        await self.until_copied(node)
        await node.kill()
        shutil.rmtree(node.journal)
        copy.rename(node.journal)

    async def send(self, node, text):
        connection = registrar.Connection(node)
        target = f"/api/notifications?pns=apns&to_tag={phones.USERS[1]}"
        await connection.call("POST", target, registrar.basic(phones.USERS[0]), text, seconds=10)
        connection.close()

    async def until_copied(self, node):
        """Waits until the store has the journal's lines. Returns the words of a verification that fails for another reason."""
        end = bench.now() + FOUND
        while True:
            report, words = await asyncio.to_thread(self.verify, node, "--all-lines")
            others = [other for other in self.world.nodes if other is not node]
            seen = [await asyncio.to_thread(self.verify, other) for other in others]
            copied = [gateway["last"] for found, _ in seen for gateway in (found or {}).get("gateways", [])
                      if gateway["node"] == self.name(node)]
            if report and copied and min(copied) >= report["last"]:
                return "" if report["good"] and not any("what" in gateway for gateway in report["gateways"]) else words
            if bench.now() > end:
                return f"not copied to the store within {FOUND} s: {copied} of {report and report['last']}; {words}"
            await asyncio.sleep(0.2)

    async def expect_found(self, name, node, other):
        end, words = bench.now() + FOUND, ""
        while bench.now() < end:
            report, words = await asyncio.to_thread(self.verify, other)
            what = [gateway.get("what") for gateway in (report or {}).get("gateways", [])
                    if gateway["node"] == self.name(node)]
            if any(what):
                self.found += 1
                return
            await asyncio.sleep(0.2)
        self.problems.append(f"{name}: node {other.number} does not find the journal of node {node.number}: {words}")

    @staticmethod
    def name(node):
        """The random name of the installation."""
        return (node.directory / "ledger.sqlite.node").read_text().split()[0]

    @staticmethod
    def verify(node, *options):
        done = node.command("audit", "verify", "--json", *options)
        lines = done.stdout.splitlines()
        return json.loads(lines[0]) if lines else None, done.stdout + done.stderr
