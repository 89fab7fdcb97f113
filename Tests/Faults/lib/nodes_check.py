"""The promises of several nodes, compared with what clients were told and what reached the backend, after all faults."""

import asyncio
import re
import statistics

import nodes_gateway
from nodes_faults import KILL

# After this time an acknowledged end of a session binds every node, also one that was frozen or cut off.
EFFECT = 1.0
# The seconds for which a device may be kept by a call that never ended.
PATIENCE = 20


def abridged(problems):
    """Returns the problems without most of those that differ only in numbers, with the number of each kind."""
    kinds = {}
    for problem in problems:
        kinds.setdefault(re.sub(r"\S*\d\S*", "#", problem)[:80], []).append(problem)
    return [f"{len(kind)} times: {problem}" for kind in kinds.values() for problem in kind[:3]]


class Check:
    """The checks of a world whose clients have ended and whose nodes are ready."""

    def __init__(self, world):
        self.world, self.record, self.backend = world, world.record, world.backend
        self.problems = world.record.problems
        # For how long ended sessions still sent, at nodes without a fault and at others.
        self.lags, self.lags_cut_off = [0.0], [0.0]

    async def run(self):
        # In a thread: the gateways' ways to the server are in this process, and reading long journals would hold them up.
        for check in (self.check_intents, self.check_ended, self.check_answers, self.check_limits):
            await asyncio.to_thread(check)
        await self.check_registrations()
        for device in self.world.devices:
            self.problems += device.problems
            # At each node, since each one has its own memory of ended sessions.
            for node in self.world.nodes:
                device.connection.close()
                device.connection.gateway = node
                self.problems += [f"node {node.number}: {problem}" for problem in await device.check_sessions()]
        await self.check_changes()
        for node in self.world.nodes:
            is_good, words = await asyncio.to_thread(node.verify)
            if not is_good:
                self.problems.append(f"node {node.number}: audit verify: {words}")
            if node.ends and "Fatal error" in node.logs:
                self.problems.append(f"node {node.number} crashed: {node.logs[-2000:]}")

    def check_intents(self):
        """Each call that reached the backend has an intent in exactly one journal."""
        self.node_of = {}
        for node in self.world.nodes:
            for call in node.intents():
                if call in self.node_of:
                    self.problems.append(f"call {call} has intents at two nodes")
                self.node_of[call] = node.number
        self.problems += [f"call {call} has no intent" for call in sorted(self.backend.calls - set(self.node_of))]

    def check_ended(self):
        """No send with a token of an ended session arrived that began after the end had taken effect."""
        for text, (began, ended, how) in self.record.attempts.items():
            for arrived, call in self.backend.arrivals.get(text, []):
                lag, node = began - ended, self.node_of.get(call)
                around = [name for name, number, start, end in self.world.faults
                          if name != KILL and number in (None, node) and start < arrived and ended < end + 2]
                (self.lags_cut_off if around else self.lags).append(lag)
                if lag > EFFECT:
                    self.problems.append(
                        f"node {node} sent {text} with a token that ended {lag:.2f} s before by {how}, during {around or 'no fault'}"
                        f" [ended at {ended - self.record.began:.1f} s]")

    def check_answers(self):
        """Each text whose send was acknowledged arrived."""
        for text, send in self.record.sends.items():
            if 200 in send.statuses and text not in self.backend.arrivals:
                self.problems.append(f"the send of {text} was acknowledged and did not arrive")

    def check_limits(self):
        """Senders near a limit sent at most a burst a node beyond what the limit allows, which is its burst and its rate."""
        seconds = self.world.ended - self.world.began
        # A fail-over that loses what was charged costs another burst.
        bursts = (1 + len(self.world.nodes)) * (1 + len(self.world.losses()))
        allowed = nodes_gateway.RATE * seconds + nodes_gateway.BURST * bursts
        self.limited = []
        for user in nodes_gateway.LIMITED:
            sent = sum(len(self.backend.arrivals.get(text, [])) for text, send in self.record.sends.items() if send.user == user)
            self.limited.append(sent / (nodes_gateway.RATE * seconds + nodes_gateway.BURST))
            if sent > allowed + 1:
                self.problems.append(f"{user} sent {sent} times in {seconds:.0f} s, and {allowed:.0f} are allowed")

    async def check_registrations(self):
        """Acknowledged registrations are in the ledger, revoked ones are not, and no handle has two. All nodes list the same."""
        for _ in range(PATIENCE):
            listed = [await node.registrations() for node in self.world.nodes]
            if all(other.keys() == listed[0].keys() for other in listed):
                break
            # Registrations of revoked users are still being deleted at the backend.
            await asyncio.sleep(1)
        else:
            self.problems.append(f"the nodes list {[len(list) for list in listed]} registrations, which differ")
        for device in self.world.devices:
            self.problems += device.check_registration(listed[0], self.backend.handles)
        handles = [self.backend.handles[id] for id, item in listed[0].items()
                   if id in self.backend.handles and item["state"] == "live"]
        self.problems += [f"the handle {handle[:16]} has two registrations"
                          for handle in {handle for handle in handles if handles.count(handle) > 1}]
        self.problems += [f"the handle {handle[:16]} of a revoked user is registered"
                          for handle in self.record.revoked_handles & set(handles)]

    async def check_changes(self):
        """No fault left a device that cannot be registered again, at any node."""
        for device in self.world.devices:
            if not device.is_certain:
                continue
            device.connection.close()
            device.connection.gateway = self.world.chance.choice(self.world.nodes)
            for _ in range(PATIENCE):
                if await device.register():
                    break
                await asyncio.sleep(1)
            else:
                self.problems.append(
                    f"node {device.connection.gateway.number}: the device {device.handle} cannot be registered: {device.last}")

    def times(self):
        """Returns the faults with their times, and the responses, for those who look for the reason of a problem."""
        faults = [(name, node, round(begin - self.record.began, 1), round(end - self.record.began, 1))
                  for name, node, begin, end in self.world.faults]
        ends = [(node.number, round(time - self.record.began, 1), log) for node in self.world.nodes for time, log in node.ends]
        return (f"faults (node, begin, end): {faults}; responses: {sorted(self.record.statuses.items())}; gateways that ended by "
                f"themselves: {ends}")

    def figures(self):
        record, world = self.record, self.world
        counts = {key: count for key, count in record.statuses.items() if key[0] != "ghost"}
        calls, served = sum(counts.values()), sum(count for (_, status), count in counts.items() if status in (200, 204, 429))
        sends = len(self.backend.calls)
        keyed = [send for send in record.sends.values() if send.user in nodes_gateway.KEYED]
        attempts = sum(len(send.statuses) for send in keyed)
        slowest = max(world.recoveries, default=(0, "none"))
        median = statistics.median(time for time, _ in world.recoveries) if world.recoveries else 0
        return (
            f"{len(world.nodes)} nodes, {world.ended - world.began:.0f} s, {len(world.faults)} faults; {100 * served / calls:.1f} % of "
            f"{calls} calls carried out; acknowledged: {record.registrations} registrations, {record.logins} logins, "
            f"{record.logouts} logouts, {record.revocations} revocations; {sends} sends arrived, {len(keyed)} keyed ones of "
            f"{attempts} requests; 401 to valid credentials: {record.unauthorized}; ended sessions sent for at most "
            f"{max(self.lags):.2f} s, {max(self.lags_cut_off):.2f} s at a node that is cut off; limited sends: "
            f"{max(self.limited):.2f} of the rate; nodes serve after {median:.1f} s, at most {slowest[0]:.1f} s ({slowest[1]}); "
            f"gateways ended by themselves: {sum(len(node.ends) for node in world.nodes)}")
